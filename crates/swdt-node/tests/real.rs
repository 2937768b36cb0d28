//! The cases of `tests/cases/`, which need a real machine that may break.

mod cases;
mod here;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use cases::Case;
use here::Here;

fn all() -> Vec<Case> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<_> =
        fs::read_dir(dir).expect("cases").map(|file| file.expect("a file of cases").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let cases =
        |file: &PathBuf| cases::parse(&fs::read_to_string(file).expect("readable cases")).expect("cases");
    files.iter().flat_map(cases).collect()
}

#[test]
fn cases_are_well_formed_and_have_names_of_their_own() {
    let cases = all();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len());
}

#[test]
#[ignore = "changes the machine it runs on: apt, systemd, ufw, nftables and firewalld must be there, and nothing of worth"]
fn cases_of_a_debian_machine() {
    let mut here = Here::new();
    let failed: Vec<String> = all()
        .iter()
        .filter(|case| !case.name.starts_with("dnf"))
        .filter_map(|case| {
            cases::run(case, &mut here).err().map(|problem| format!("{}: {problem}", case.name))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
