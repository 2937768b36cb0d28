//! A short run of every target, and whether the fuzzer sees what it is there to see.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn fuzz(words: &[&str], keep: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swdt-fuzz"));
    command.arg("run").args(words).arg("--keep").arg(keep);
    command.output().expect("the fuzzer")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_target_survives_a_short_run() {
    let keep = tempfile::tempdir().expect("a directory");
    let output = fuzz(&["--minutes", "1", "--inputs", "5000"], keep.path());
    let said = said(&output);
    // Whoever sees this fail can repeat it: the seed is its first line.
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("seed "), "{said}");
    assert!(said.contains("| **all** |") && said.contains("| **0** |"), "{said}");
}

#[test]
fn what_fails_is_seen_and_its_input_is_kept() {
    for (target, words) in [
        ("fails-by-panic", "it is too long"),
        ("fails-by-hanging", "no end after 2 s"),
        ("fails-by-memory", "its process died"),
        ("fails-by-depth", "its process died"),
    ] {
        let keep = tempfile::tempdir().expect("a directory");
        let output = fuzz(&["--target", target, "--deadline", "2", "--seed", "7"], keep.path());
        let said = said(&output);
        assert!(!output.status.success() && said.contains(words), "{target}: {said}");
        let kept: Vec<_> = fs::read_dir(keep.path().join(target)).expect("what it kept").flatten().collect();
        assert_eq!(kept.len(), 1, "{target}: {said}");
        assert!(fs::read(kept[0].path()).expect("an input").len() >= 100, "{target}");
    }
}

#[test]
fn wrong_words_are_answered() {
    let nowhere = Path::new("/nowhere");
    for (words, answer) in [
        (vec!["--target", "nobody"], "no target `nobody`; there are config, "),
        (vec!["--inputs", "many"], "that is no number"),
        (vec!["--speed", "1"], "no option `--speed`"),
    ] {
        let output = fuzz(&words, nowhere);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(said(&output).contains(answer), "{words:?}: {}", said(&output));
    }
}
