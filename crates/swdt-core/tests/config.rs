//! Cluster files, good and bad: what they resolve to, and what users are told.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::{fs, path::Path};

use proptest::prelude::*;
use swdt_core::{
    Error,
    config::{self, Problems},
    spec::Spec,
};
use unicode_width::UnicodeWidthStr;

fn load(name: &str, bytes: &[u8]) -> Result<Spec, Problems> {
    config::load(name, bytes, Some(Path::new("/home/me")), Path::new("/work"))
}

/// File name and content of every YAML file of a directory (below this crate) whose name starts so.
fn files(directory: &str, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .filter(|(name, _)| name.starts_with(prefix))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("config/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name.trim_end_matches(".yaml"), text));
}

fn message(bytes: &[u8]) -> String {
    load("cluster.yaml", bytes).unwrap_err().render()
}

#[test]
fn valid_files_resolve() {
    for (name, bytes) in files("tests/config", "valid-") {
        let spec = load(&name, &bytes).unwrap_or_else(|problems| panic!("{problems}"));
        snapshot(&name, &serde_json::to_string_pretty(&spec).unwrap());
    }
}

#[test]
fn invalid_files_are_explained() {
    for (name, bytes) in files("tests/config", "invalid-") {
        let problems = load(&name, &bytes).expect_err(&name);
        snapshot(&name, &problems.render());
    }
}

#[test]
fn examples_load() {
    for (name, bytes) in files("../../examples", "") {
        load(&name, &bytes).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn a_spec_survives_its_own_json() {
    for (name, bytes) in files("tests/config", "valid-") {
        let spec = load(&name, &bytes).unwrap();
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<Spec>(&json).unwrap(), spec);
    }
}

#[test]
fn the_schema_is_reviewed() {
    snapshot("schema", &serde_json::to_string_pretty(config::schema()).unwrap());
}

#[test]
fn problems_become_one_error() {
    let error = Error::from(load("cluster.yaml", b"a: b\nc: d").unwrap_err());
    assert_eq!(error.id(), "config-invalid");
    assert_eq!(error.message, "`cluster.yaml` has 7 problems");
    assert!(error.output.iter().any(|line| line.contains("cluster.yaml:2:1")), "{:?}", error.output);
}

#[test]
fn no_home_directory_is_explained() {
    let yaml = fs::read("../../examples/linux-and-windows.yaml").unwrap();
    let problems = config::load("cluster.yaml", &yaml, None, Path::new("/work")).unwrap_err();
    assert!(problems.render().contains("needs a home directory"), "{problems}");
}

#[test]
fn empty_files_are_explained() {
    for empty in ["", "\n\n", "# only a comment\n", "---\n", "\u{feff}"] {
        assert!(message(empty.as_bytes()).contains("the file is empty"), "{empty:?}");
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_do_no_harm() {
    let (_, bytes) = files("tests/config", "valid-brief").remove(0);
    let text = String::from_utf8(bytes.clone()).unwrap();
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(load("a", windows.as_bytes()).unwrap(), load("a", &bytes).unwrap());
}

#[test]
fn rubbish_is_refused() {
    assert!(message(b"apiVersion: \xff\xfe").contains("cluster.yaml:1:13"));
    assert!(message(b"apiVersion: \xff\xfe").contains("not UTF-8 text"));
    assert!(message(b"a: b\nc: \0").contains("cluster.yaml:2:4"));
    assert!(message(b"a: b\nc: \0").contains("NUL byte"));
    assert!(message(b"\xff\xfea\0:\0").contains("UTF-16"));
    assert!(message(b"\x7fELF\x02\x01\x01\0\0\0").contains("NUL byte"));
}

#[test]
fn huge_files_are_refused_unread() {
    let huge = vec![b'#'; 50 << 20];
    assert!(message(&huge).contains("too large: at most 1048576 bytes are read"));
}

#[test]
fn deep_files_are_refused() {
    let flow = "[".repeat(100_000);
    let maps = "{a: ".repeat(100_000);
    let blocks = "- ".repeat(100_000);
    for deep in [flow, maps, blocks] {
        let message = message(deep.as_bytes());
        assert!(message.contains("nests too deep"), "{message}");
        assert!(message.len() < 1000, "{}", message.len());
    }
}

#[test]
fn files_with_too_many_values_are_refused() {
    let many = format!("a: [{}]", "1,".repeat(200_000));
    assert!(message(many.as_bytes()).contains("more than 50000 values"));
}

#[test]
fn alias_bombs_are_refused() {
    let mut bomb = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x, x]".to_owned()];
    for level in 1..100 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push(format!("a{level}: &a{level} [{aliases}]"));
    }
    let bomb = bomb.join("\n");
    let problems = load("bomb.yaml", bomb.as_bytes()).unwrap_err();
    assert!(problems.len() <= 101, "{}", problems.len());
    let text = problems.render();
    assert!(text.contains("anchors (`&a0`) are not used"), "{text}");
    assert!(text.contains("more problems"), "{text}");
}

#[test]
fn thousands_of_mistakes_make_a_short_report() {
    let many: Vec<_> = (0..20_000).map(|index| format!("key{index}: x")).collect();
    let problems = load("many.yaml", many.join("\n").as_bytes()).unwrap_err();
    assert!(problems.len() > 20_000);
    assert!(problems.render().len() < 20_000);
}

/// The pieces are the report, and nothing in it can move the cursor.
#[test]
fn reports_are_safe_for_terminals() {
    for (name, bytes) in files("tests/config", "invalid-") {
        let problems = load(&name, &bytes).unwrap_err();
        let joined: String = problems.pieces().into_iter().map(|piece| piece.text).collect();
        assert_eq!(joined, problems.render());
        assert!(joined.chars().all(|c| c == '\n' || !c.is_control()), "{name}");
    }
}

#[test]
fn secrets_are_not_repeated() {
    let secrets = ["hunter2", "c2VjcmV0", "0123456789abcdef", "VVVVV", "AAAAA-", "ABCDE", "abcde-"];
    let mut seen = 0;
    for (name, bytes) in files("tests/config", "invalid-") {
        let text = load(&name, &bytes).unwrap_err().render();
        let held = secrets.iter().filter(|secret| String::from_utf8_lossy(&bytes).contains(**secret));
        for secret in held {
            assert!(!text.contains(secret), "{text}");
            seen += 1;
        }
    }
    assert!(seen > secrets.len(), "{seen}");
}

#[test]
fn keys_of_windows_are_secrets() {
    let (name, bytes) = files("tests/config", "invalid-product-keys").remove(0);
    let problems = load(&name, &bytes).unwrap_err();
    let ids: Vec<_> = problems.iter().map(|problem| (problem.line, problem.id)).collect();
    assert_eq!(ids, [6, 10, 11, 12].map(|line| (line, "secret-in-file")), "{problems}");
}

/// What nodes share is marked where it stands, once.
#[test]
fn defaults_are_marked_where_they_stand() {
    let (name, bytes) = files("tests/config", "invalid-defaults.").remove(0);
    let problems = load(&name, &bytes).unwrap_err();
    let marked: Vec<_> = problems.iter().map(|problem| problem.line).collect();
    // Memory is too small for a control plane and for Windows, the disk for Windows; one node has no machine.
    assert_eq!(marked, [8, 9, 9, 10, 11, 15], "{problems}");
}

#[test]
fn a_network_that_nobody_wrote_is_too_small_for_the_nodes_that_somebody_wrote() {
    let node = |at: usize| format!("  - {{name: w{at}, address: 192.168.{}.{}}}\n", at / 200, at % 200 + 1);
    let nodes: String = (0..300).map(node).collect();
    let text = format!(
        "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: test}}\nkubernetes: {{version: 1.36.3}}\n\
         nodes:\n{}",
        nodes.replacen("name: w0,", "name: w0, role: control-plane,", 1)
    );
    let told = message(text.as_bytes());
    assert!(told.contains("cluster.yaml:5:1") && told.contains("at least a /15"), "{told}");
    let larger = text.replace("nodes:\n", "network: {podCIDR: 10.128.0.0/15}\nnodes:\n");
    load("cluster.yaml", larger.as_bytes()).unwrap_or_else(|problems| panic!("{problems}"));
}

/// A line that wraps has nothing below its mark.
#[test]
fn excerpts_fit_the_terminal() {
    for (name, bytes) in files("tests/config", "invalid-") {
        let problems = load(&name, &bytes).unwrap_err();
        for columns in [40, 80, 200] {
            let text: String =
                problems.pieces_for(Some(columns)).into_iter().map(|piece| piece.text).collect();
            let lines: Vec<_> = text.lines().collect();
            let is_source = |line: &str| {
                line.split_once(" | ").is_some_and(|(number, _)| number.trim().parse::<u32>().is_ok())
            };
            for pair in lines.windows(2).filter(|pair| is_source(pair[0])) {
                assert!(pair[0].width() <= columns, "{name}, {columns}: {}", pair[0]);
                assert!(pair[1].find('^').is_some_and(|at| at < columns), "{name}, {columns}: {}", pair[1]);
            }
            // Hints break between words; an address is one.
            let mut hints = lines
                .split(|line| line.is_empty())
                .flat_map(|block| block.iter().skip_while(|line| !line.contains("= help: ")));
            let long = |line: &&&str| {
                let words = line.trim_start_matches([' ', '=']).trim_start_matches("help: ");
                line.width() > columns && words.contains(' ')
            };
            assert_eq!(hints.find(long), None, "{name}, {columns}");
        }
    }
    let long = format!(
        "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: {}, nmae: x}}",
        "a".repeat(90)
    );
    let problems = load("cluster.yaml", long.as_bytes()).unwrap_err();
    for columns in [40, 80] {
        let text: String = problems.pieces_for(Some(columns)).into_iter().map(|piece| piece.text).collect();
        let lines: Vec<_> = text.lines().collect();
        let at = lines.iter().position(|line| line.contains("nmae: x")).unwrap();
        assert_eq!(
            lines[at].chars().take_while(|c| *c != 'n').count(),
            lines[at + 1].find('^').unwrap(),
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(problems) = load("any", &bytes) {
            prop_assert!(!problems.render().is_empty());
        }
    }

    #[test]
    fn any_text_is_answered(text in "[ -~\n\t{}\\[\\]:,&*!|>'\"#%@`日\u{202e}-]{0,200}") {
        if let Err(problems) = load("any", text.as_bytes()) {
            prop_assert!(!problems.render().is_empty());
        }
    }

    /// A sound file with some of it cut out, doubled or replaced.
    #[test]
    fn any_damage_is_answered(
        which in 0usize..3,
        edits in proptest::collection::vec((any::<usize>(), 0usize..30, "[ -~\n日]{0,8}"), 1..6),
    ) {
        let mut text = String::from_utf8(files("tests/config", "valid-").swap_remove(which).1).unwrap();
        for (at, length, new) in edits {
            let start = (0..=at % (text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let end = (start + length).min(text.len());
            let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
            text.replace_range(start..end, &new);
        }
        if let Err(problems) = load("damaged", text.as_bytes()) {
            prop_assert!(!problems.render().is_empty());
            for problem in &problems {
                prop_assert!(!problem.message.contains("does not know why"), "{}\n{}", text, problems);
            }
        }
    }
}
