//! Pages that are made from the program itself, and the book they belong to.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

mod common;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use common::Swdt;
use swdt_core::{config, index};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
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
            let _ = write!(text, "\n## {path}\n\n{}: {}\n", field.kind, field.about);
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

/// Every page is in the book, and every link of a page leads somewhere.
#[test]
fn the_book_is_whole() {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    let mut pages = Vec::new();
    for dir in ["", "reference"] {
        let entries = fs::read_dir(docs().join(dir)).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let names = names
            .filter(|name| Path::new(name).extension().is_some_and(|it| it == "md") && name != "SUMMARY.md");
        pages.extend(names.map(|name| if dir.is_empty() { name } else { format!("{dir}/{name}") }));
    }
    for name in &pages {
        assert!(summary.contains(&format!("]({name})")), "docs/{name} is not in docs/SUMMARY.md");
    }
    let mut links = 0;
    for name in pages.iter().map(String::as_str).chain(["SUMMARY.md", "adr/README.md"]) {
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
