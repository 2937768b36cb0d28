//! What reads the bytes, and where good examples lie.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What reads bytes; see `fuzz.rs` of both halves.
pub type Read = fn(&[u8], &Path) -> String;

/// Files of the repository that are good examples for a target, besides its own directory under `corpus/`.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("config", &["examples", "crates/swdt-core/tests/config"]),
    ("state", &["crates/swdt-core/tests/state"]),
    ("spec", &["crates/swdt-core/tests/state"]),
    ("lock", &["crates/swdt-core/tests/state"]),
    ("artifacts", &["crates/swdt-core/tests/state"]),
    ("journal", &["crates/swdt-core/tests/state"]),
    ("request", &["crates/swdt-wire/tests/fixtures/v1"]),
    ("node-event", &["crates/swdt-wire/tests/fixtures/v1"]),
    ("node-stream", &["crates/swdt-wire/tests/fixtures/v1"]),
    ("receipts", &["crates/swdt-wire/tests/fixtures/v1"]),
    ("node-files", &["crates/swdt-wire/tests/fixtures/v1"]),
];

/// For tests of the fuzzer itself: each fails in a way of its own, once an input is long enough.
const FAILING: &[(&str, Read)] = &[
    ("fails-by-panic", |bytes, _| {
        assert!(bytes.len() < 100, "it is too long");
        String::new()
    }),
    ("fails-by-hanging", |bytes, _| {
        while bytes.len() >= 100 {
            std::thread::yield_now();
        }
        String::new()
    }),
    ("fails-by-memory", |bytes, _| {
        let mut all = Vec::new();
        while bytes.len() >= 100 {
            all.push(vec![1_u8; 1 << 20]);
        }
        String::new()
    }),
    ("fails-by-depth", |bytes, _| {
        fn deeper(number: u64) -> u64 {
            if number == 0 { 0 } else { deeper(std::hint::black_box(number + 1)).wrapping_add(1) }
        }
        deeper(u64::from(bytes.len() >= 100)).to_string()
    }),
];

/// The names of all targets, in the order of the lists.
pub fn names() -> Vec<&'static str> {
    listed().map(|(name, _)| name).collect()
}

fn listed() -> impl Iterator<Item = (&'static str, Read)> {
    swdt_core::fuzz::TARGETS.iter().chain(swdt_node::fuzz::TARGETS).copied()
}

/// A target by its name.
pub fn find(name: &str) -> Option<Read> {
    listed().chain(FAILING.iter().copied()).find(|(other, _)| *other == name).map(|(_, read)| read)
}

/// The directory of a target's own good examples, and of whatever once made it fail.
pub fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name)
}

/// All examples of a target, in an order that is always the same; at least an empty one.
pub fn examples(name: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let elsewhere = EXAMPLES.iter().filter(|(other, _)| *other == name).flat_map(|(_, dirs)| *dirs);
    let mut found = Vec::new();
    for dir in elsewhere.map(|dir| root.join(dir)).chain([corpus(name)]) {
        let mut files: Vec<PathBuf> = fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        for path in files {
            let Ok(bytes) = fs::read(&path) else { continue };
            // Of a file of lines, each is an example of its own.
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                found.extend(bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            }
            found.push(bytes);
        }
    }
    if found.is_empty() {
        found.push(Vec::new());
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_target_has_an_example() {
        let names = names();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for name in names {
            assert!(examples(name).iter().any(|example| !example.is_empty()), "{name} has no example");
        }
    }
}
