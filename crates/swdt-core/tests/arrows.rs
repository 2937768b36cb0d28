//! Which part of the library may use which. What decides must not be able to act.

use std::{collections::BTreeMap, fs, path::Path};

/// Module, and what it may name of this crate (besides itself and errors).
const ALLOWED: &[(&str, &[&str])] = &[
    ("artifact", &["spec"]),
    ("catalog", &["spec", "state"]),
    ("cni", &["spec"]),
    ("config", &["spec", "words"]),
    ("doctor", &["catalog", "kube", "spec", "config", "plan", "preflight", "support", "words"]),
    ("error", &[]),
    ("event", &["words"]),
    ("files", &[]),
    // It names whatever reads bytes of others; nothing names it.
    (
        "fuzz",
        &[
            "config", "event", "image", "journal", "kube", "machine", "remote", "run", "smoke", "source",
            "spec", "state",
        ],
    ),
    ("image", &["files"]),
    ("index", &["doctor", "words"]),
    ("interrupt", &[]),
    ("journal", &["event", "files", "state"]),
    ("keys", &["files"]),
    ("kube", &["files", "remote"]),
    ("machine", &["doctor", "event", "files", "interrupt", "keys", "source", "spec", "words"]),
    ("pace", &["files", "spec", "state"]),
    ("plan", &["artifact", "catalog", "cni", "spec", "config", "state"]),
    ("preflight", &["doctor", "plan", "spec", "config"]),
    ("remote", &["event", "spec"]),
    ("report", &["artifact", "event", "plan", "spec", "state"]),
    (
        "run",
        &[
            "artifact",
            "catalog",
            "config",
            "doctor",
            "event",
            "files",
            "image",
            "interrupt",
            "journal",
            "keys",
            "kube",
            "machine",
            "pace",
            "plan",
            "preflight",
            "remote",
            "report",
            "smoke",
            "snapshot",
            "source",
            "spec",
            "state",
            "support",
            "words",
        ],
    ),
    ("smoke", &["cni", "event", "kube", "spec"]),
    ("snapshot", &["files", "spec", "state"]),
    ("source", &["catalog", "event", "files", "spec", "state"]),
    ("spec", &[]),
    ("state", &["artifact", "files", "spec"]),
    ("support", &["files"]),
    ("words", &[]),
];

/// Tests inside `plan`, `preflight` and `run` load files; the code itself must not.
const ONLY_IN_TESTS: &[(&str, &str)] = &[
    ("catalog", "state"),
    ("doctor", "config"),
    ("doctor", "plan"),
    ("doctor", "preflight"),
    ("plan", "config"),
    ("plan", "state"),
    ("preflight", "config"),
    ("run", "config"),
];

#[test]
fn arrows_point_the_right_way() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&source, &mut files);
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let mut wrong = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&source).unwrap();
        let module = relative.components().next().unwrap().as_os_str().to_string_lossy();
        let module = module.trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let Some(may) = allowed.get(module) else {
            wrong.push(format!("{module}: say in this test what it may use"));
            continue;
        };
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let tests = relative.ends_with("tests.rs") || relative.iter().any(|part| part == "tests");
        for used in uses(code) {
            let in_tests_only = ONLY_IN_TESTS.contains(&(module, used.as_str())) && !tests;
            let known = allowed.contains_key(used.as_str());
            if known && used != module && used != "error" && (!may.contains(&used.as_str()) || in_tests_only)
            {
                wrong.push(format!("{} uses {used}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The modules named by `crate::x` and by the lines of a `use crate::{…}` block.
fn uses(code: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found: Vec<String> =
        code.match_indices("crate::").map(|(at, word)| name(&code[at + word.len()..])).collect();
    for (at, word) in code.match_indices("use crate::{") {
        let block = code[at + word.len()..].split("};").next().unwrap_or_default();
        let top_level = block.lines().map(str::trim).map(name);
        found.extend(top_level);
        found.extend(block.split(',').map(str::trim).map(name));
    }
    found
}

fn collect(dir: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).expect("a directory of this crate").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
