//! Every test, in groups, with one closing line over all of them.

use std::time::Instant;

use crate::{
    agents, setup,
    sh::{self, Result},
};

/// A group of tests.
struct Group {
    name: &'static str,
    run: fn() -> Result<Tally>,
}

/// In the order of cost: the cheap ones fail first.
const GROUPS: &[Group] = &[
    Group { name: "format", run: || check(sh::cargo(&["fmt", "--all", "--check"])) },
    // Before lint, because a feature of `swdt` carries them inside.
    Group { name: "agents", run: || agents::build().map(|_| Tally { passed: 1, ..Tally::default() }) },
    Group {
        name: "lint",
        run: || {
            check(sh::cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ]))
        },
    },
    Group {
        name: "unit",
        run: || {
            cargo_test(&["--workspace", "--exclude", "swdt", "--exclude", "swdt-ground", "--all-features"])
        },
    },
    Group { name: "ground", run: || cargo_test(&["--package", "swdt-ground"]) },
    Group { name: "command", run: || cargo_test(&["--package", "swdt"]) },
];

#[derive(Default, Clone, Copy)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Runs all groups, or those named; goes on after a failure, to tell everything at once.
pub(crate) fn run(only: &[String]) -> Result<()> {
    if let Some(unknown) = only.iter().find(|name| !GROUPS.iter().any(|group| group.name == **name)) {
        let names: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
        return Err(format!("no group `{unknown}`; there are {}", names.join(", ")));
    }
    setup::packages()?;
    let mut rows = Vec::new();
    let mut total = Tally::default();
    for group in GROUPS.iter().filter(|group| only.is_empty() || only.iter().any(|name| name == group.name)) {
        sh::say(&format!("\n== {} ==", group.name));
        let started = Instant::now();
        let tally = (group.run)().unwrap_or_else(|error| {
            sh::say(&error);
            Tally { failed: 1, ..Tally::default() }
        });
        rows.push((group.name, tally, started.elapsed()));
        total.passed += tally.passed;
        total.failed += tally.failed;
        total.skipped += tally.skipped;
    }
    sh::say("");
    for (name, tally, took) in rows {
        let Tally { passed, failed, skipped } = tally;
        sh::say(&format!(
            "{name:<10} {passed:>5} passed {failed:>3} failed {skipped:>3} skipped {:>7.1} s",
            took.as_secs_f64()
        ));
    }
    sh::say(&format!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped));
    if total.failed == 0 { Ok(()) } else { Err("some tests failed".into()) }
}

fn check(command: sh::Sh) -> Result<Tally> {
    command.run().map(|()| Tally { passed: 1, ..Tally::default() })
}

fn cargo_test(arguments: &[&str]) -> Result<Tally> {
    let (ok, output) = sh::cargo(&["test", "--no-fail-fast"]).args(arguments).tee()?;
    let mut tally = count(&output);
    // A binary that did not build or crashed has no result line, and must not count as nothing.
    if !ok && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

/// Adds up the `test result:` lines.
fn count(output: &str) -> Tally {
    let mut tally = Tally::default();
    for line in output.lines().filter(|line| line.starts_with("test result:")) {
        let number = |word: &str| {
            let before = line.split(word).next().unwrap_or_default().trim_end();
            before.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
        };
        tally.passed += number("passed");
        tally.failed += number("failed");
        tally.skipped += number("ignored");
    }
    tally
}

#[cfg(test)]
mod tests {
    #[test]
    fn result_lines_are_added_up() {
        let output = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\nnoise\n\
                      test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured\n";
        let tally = super::count(output);
        assert_eq!((tally.passed, tally.failed, tally.skipped), (15, 2, 1));
    }
}
