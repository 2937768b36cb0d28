//! Every test, in groups, with one closing line over all of them.

use std::time::{Duration, Instant};

use crate::{
    agents, dist, docs, setup,
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
    Group { name: "lint for Windows", run: || check(sh::cargo(LINT_FOR_WINDOWS)) },
    Group { name: "book", run: book },
    Group { name: "tests", run: || cargo_tests(&["--workspace"]) },
    Group { name: "browser", run: browser },
    // Last, because its swdt has the node programs inside, and lies where that of the tests was.
    Group { name: "package", run: package },
];

/// The site is built, and every link of a page leads somewhere.
fn book() -> Result<Tally> {
    let mut tally = Tally::default();
    for (page, dead) in docs::dead_links(&docs::build()?)? {
        tally.passed += u64::from(dead.is_empty());
        tally.failed += u64::from(!dead.is_empty());
        for link in dead {
            sh::say(&format!("{page} links to {link}, which is not there"));
        }
    }
    Ok(tally)
}

/// Where there is no browser to be had, that is said and counted.
fn browser() -> Result<Tally> {
    match setup::install(&["chromium"]) {
        Ok(()) => cargo_tests(&["--package", "swdt", "--test", "report", "--", "--ignored"]),
        Err(why) => {
            sh::say(&format!("skipped, because Chromium cannot be installed: {why}"));
            Ok(Tally { skipped: 1, ..Tally::default() })
        }
    }
}

/// What users install, on a machine that nobody prepared.
fn package() -> Result<Tally> {
    let dir = dist::make(&dist::Profile::Dev)?;
    let test = ["--package", "swdt", "--test", "package", "--", "--ignored"];
    cargo_tests_with(&test, &[("SWDT_DIST_DIR", &dir.to_string_lossy())])
}

/// What is only compiled there.
const LINT_FOR_WINDOWS: &[&str] = &[
    "clippy",
    "--target",
    agents::WINDOWS,
    "--package",
    "swdt-node",
    "--package",
    "swdt-win",
    "--package",
    "swdt-standins",
    "--package",
    "swdt-hns",
    "--",
    "-D",
    "warnings",
];

/// What takes long because it builds from source first; only with `--slow`.
const SLOW: Group = Group {
    name: "slow",
    run: || {
        cargo_tests(&[
            "--package",
            "swdt",
            "--test",
            "power",
            "--test",
            "versions",
            "--test",
            "vm",
            "--",
            "--ignored",
            "--nocapture",
        ])
    },
};

#[derive(Default, Clone, Copy)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Runs all groups, or those named; goes on after a failure, to tell everything at once.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let slow = words.iter().any(|word| word == "--slow");
    let only: Vec<&String> = words.iter().filter(|word| *word != "--slow").collect();
    let groups: Vec<&Group> = GROUPS.iter().chain(slow.then_some(&SLOW)).collect();
    if let Some(unknown) = only.iter().find(|name| !groups.iter().any(|group| group.name == name.as_str())) {
        let names: Vec<&str> = groups.iter().map(|group| group.name).collect();
        return Err(format!("no group `{unknown}`; there are {}", names.join(", ")));
    }
    setup::packages()?;
    let mut rows = Vec::new();
    let mut total = Tally::default();
    for group in groups.iter().filter(|group| only.is_empty() || only.iter().any(|name| *name == group.name))
    {
        sh::say(&format!("\n== {} ==", group.name));
        let started = Instant::now();
        let tally = (group.run)().unwrap_or_else(|error| {
            sh::say(&error);
            Tally { failed: 1, ..Tally::default() }
        });
        rows.push((group.name, tally, started.elapsed()));
        total.add(tally);
    }
    sh::say("");
    for (name, tally, took) in rows {
        sh::say(&row(name, tally, took));
    }
    sh::say(&format!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped));
    if total.failed == 0 { Ok(()) } else { Err("some tests failed".into()) }
}

fn check(command: sh::Sh) -> Result<Tally> {
    command.run().map(|()| Tally { passed: 1, ..Tally::default() })
}

/// One cargo for all tests: asked for one package after the other, it would build the dependencies
/// anew for each set of features.
fn cargo_tests(which: &[&str]) -> Result<Tally> {
    cargo_tests_with(which, &[])
}

fn cargo_tests_with(which: &[&str], environment: &[(&str, &str)]) -> Result<Tally> {
    let mut binaries = Vec::new();
    let mut tally = Tally::default();
    let mut began = Instant::now();
    let mut current = String::new();
    let command = sh::cargo(&["test", "--no-fail-fast"]).args(which);
    let command = environment.iter().fold(command, |command, (name, value)| command.env(name, value));
    let ok = command.follow(&mut |line| {
        if let Some(binary) = running(line) {
            (current, began) = (binary, Instant::now());
        } else if line.starts_with("test result:") {
            let counted = count(line);
            tally.add(counted);
            if counted.passed + counted.failed + counted.skipped > 0 {
                binaries.push((current.clone(), counted, began.elapsed()));
            }
        }
    })?;
    sh::say("");
    for (name, tally, took) in binaries {
        sh::say(&row(&name, tally, took));
    }
    // A binary that did not build or crashed has no result line, and must not count as nothing.
    if !ok && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

/// The name in `     Running tests/laws.rs (/…/deps/laws-1a2b)`.
fn running(line: &str) -> Option<String> {
    let file = line.trim_start().strip_prefix("Running ")?.rsplit_once("/deps/")?.1;
    Some(file.rsplit_once('-')?.0.to_owned())
}

fn row(name: &str, tally: Tally, took: Duration) -> String {
    let Tally { passed, failed, skipped } = tally;
    format!(
        "{name:<16} {passed:>5} passed {failed:>3} failed {skipped:>3} skipped {:>7.1} s",
        took.as_secs_f64()
    )
}

/// The numbers of a `test result:` line.
fn count(line: &str) -> Tally {
    let number = |word: &str| {
        let before = line.split(word).next().unwrap_or_default().trim_end();
        before.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
    };
    Tally { passed: number("passed"), failed: number("failed"), skipped: number("ignored") }
}

#[cfg(test)]
mod tests {
    use super::{count, running};

    #[test]
    fn result_lines_are_read() {
        let tally = count("test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out");
        assert_eq!((tally.passed, tally.failed, tally.skipped), (12, 2, 1));
    }

    #[test]
    fn binaries_are_named() {
        assert_eq!(running("     Running tests/laws.rs (/t/debug/deps/laws-1a2b)").as_deref(), Some("laws"));
        assert_eq!(running("test running ... ok"), None);
    }
}
