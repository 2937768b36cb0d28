//! Pages that are made from the program itself, and the book they belong to.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

mod common;

use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};

use common::{
    Swdt,
    pages::{self, LINES, Run, Scene},
    scene,
};
use swdt_core::{config, index};

fn docs() -> PathBuf {
    pages::root().join("docs")
}

/// The page must be this. `SWDT_WRITE_DOCS=1` makes it so.
fn page(name: &str, text: &str) {
    let path = docs().join(name);
    if std::env::var_os("SWDT_WRITE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "docs/{name} is old: run this test with SWDT_WRITE_DOCS=1");
}

#[test]
fn commands() {
    fn add(swdt: &Swdt, words: &[&str], text: &mut String) {
        let help = swdt.run(&[words, &["--help"]].concat()).ok().stdout;
        // What every command takes is told once, with the first.
        let own = if words.is_empty() { help.clone() } else { without_globals(&help) };
        let _ = write!(
            text,
            "\n## {}\n\n```text\n{}\n```\n",
            ["swdt"].iter().chain(words).copied().collect::<Vec<_>>().join(" "),
            own.trim()
        );
        for below in listed(&help) {
            add(swdt, &[words, &[below.as_str()]].concat(), text);
        }
    }
    let mut text = String::from("# Commands\n\nAs `--help` prints them; made by a test.\n");
    add(&Swdt::new(), &[], &mut text);
    page("reference/commands.md", &text);
}

/// The names below `Commands:`.
fn listed(help: &str) -> Vec<String> {
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    lines
        .filter_map(|line| {
            line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()).map(str::to_owned)
        })
        .collect()
}

fn without_globals(help: &str) -> String {
    let (before, rest) = help.split_once("Global options:").unwrap_or((help, ""));
    let after = rest
        .split_once("\n\nExamples:")
        .map_or(String::new(), |(_, examples)| format!("Examples:{examples}"));
    format!("{before}{after}")
}

#[test]
fn configuration() {
    fn add(path: &str, text: &mut String) {
        let field = config::explain(path).unwrap();
        if !path.is_empty() {
            let depth = "#".repeat(2 + path.matches('.').count().min(2));
            let _ = write!(text, "\n{depth} {path}\n\n{}: {}\n", field.kind, field.about);
            let words = (!field.words.is_empty()).then(|| field.words.join("`, `"));
            let facts = [("one of", words), ("default", field.default), ("example", field.example)];
            for (what, value) in facts.into_iter().filter_map(|(what, value)| Some((what, value?))) {
                let _ = write!(text, "\n- {what}: `{value}`");
            }
            text.push('\n');
        }
        for below in &field.fields {
            // Every component takes the same; one stands for all.
            if path.ends_with("components") && below.key != "kubelet" {
                continue;
            }
            add(&if path.is_empty() { below.key.clone() } else { format!("{path}.{}", below.key) }, text);
        }
    }
    let mut text = String::from(
        "# Configuration\n\nEvery field of the file, in the words of the schema; made by a test. `swdt config explain FIELD` \
         prints the same in a terminal.\n",
    );
    add("", &mut text);
    page("reference/configuration.md", &text);
}

#[test]
fn catalog() {
    let told = Swdt::new().run(&["catalog"]).ok().stdout;
    page(
        "reference/catalog.md",
        &format!(
            "# Versions\n\nAs `swdt catalog` prints them; made by a test.\n\n```text\n{}\n```\n",
            told.trim()
        ),
    );
}

#[test]
fn errors() {
    page("reference/errors.md", &index::page());
}

/// Here, because a link that leaves the book leads nowhere on the site.
#[test]
fn examples() {
    let mut text =
        String::from("# Examples\n\nThe files of `examples`, which the tests load; put here by a test.\n");
    for path in pages::files(&pages::root().join("examples")) {
        let name = path.file_stem().unwrap().to_string_lossy();
        let example = fs::read_to_string(&path).unwrap();
        let _ = write!(text, "\n## {name}\n\n```yaml\n{}\n```\n", example.trim());
    }
    page("reference/examples.md", &text);
}

/// Every page is in the book, and every link of a page leads somewhere.
#[test]
fn the_book_is_whole() {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let mut names = Vec::new();
    for dir in ["", "reference", "adr"] {
        let found = pages::files(&docs().join(dir)).into_iter();
        let found = found.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
        let found = found.map(|path| path.strip_prefix(docs()).unwrap().to_string_lossy().into_owned());
        names.extend(found.filter(|name| name != "SUMMARY.md"));
    }
    for name in &names {
        assert!(summary.contains(&format!("]({name})")), "docs/{name} is not in docs/SUMMARY.md");
    }
    let mut links = 0;
    for name in names.iter().map(String::as_str).chain(["SUMMARY.md", "../README.md", "../CHANGELOG.md"]) {
        let path = docs().join(name);
        let text = fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if link.contains("://") || file.is_empty() {
                continue;
            }
            links += 1;
            assert!(
                path.parent().unwrap().join(file).exists(),
                "docs/{name} links to {link}, which is not there"
            );
        }
    }
    assert!(links > 30, "only {links} links were found");
}

/// Every command on a page has its place in `common/pages.rs`, and every place there is still true.
#[test]
fn every_command_of_the_pages_is_run_somewhere() {
    let read = |file: &str| fs::read_to_string(pages::root().join(file)).unwrap_or_default();
    let on_pages = pages::lines();
    let known: BTreeSet<&str> = LINES.iter().map(|(line, _)| *line).collect();
    assert_eq!(known.len(), LINES.len(), "a line is there twice");
    for line in &on_pages {
        let (page, text) = (&line.page, &line.text);
        assert!(known.contains(text.as_str()), "{page} has `{text}`: say in common/pages.rs where it is run");
    }
    for (line, run) in LINES {
        assert!(on_pages.iter().any(|there| there.text == *line), "`{line}` is on no page any more");
        let (file, words) = match *run {
            Run::In(scene) | Run::Typed(scene, ..) => {
                let file = match scene {
                    Scene::Alone => "crates/swdt/tests/docs.rs",
                    Scene::Cluster => "crates/swdt/tests/cluster/pages.rs",
                    Scene::Windows => "crates/swdt/tests/windows.rs",
                };
                (file, format!("(Scene::{scene:?}, "))
            }
            Run::At(file) => (file, format!("\"{line}\"")),
            Run::Like(file, words) => (file, words.to_owned()),
            Run::Not(_) => continue,
        };
        assert!(read(file).contains(&words), "`{line}` is not run: {file} has no `{words}`");
    }
}

/// With the files that the pages themselves show, and a cache of its own.
#[test]
fn what_needs_no_machine_does_what_the_pages_say() {
    scene::play_each(Scene::Alone, || {
        let mut swdt = Swdt::new();
        swdt.set("SWDT_CACHE_DIR", &swdt.home().join("cache").to_string_lossy());
        for (page, file) in [("README.md", "my-cluster.yaml"), ("docs/windows.md", "mixed.yaml")] {
            let text = fs::read_to_string(pages::root().join(page)).unwrap();
            let blocks = pages::blocks(&text, "yaml");
            let whole = blocks.iter().find(|block| block.contains("kind: Cluster")).unwrap();
            fs::write(swdt.home().join(file), whole).unwrap();
        }
        swdt
    });
}
