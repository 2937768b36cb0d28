//! The commands of swdt's developers. No dependencies, so that a fresh clone starts at once.

mod agents;
mod bench;
mod dist;
mod fuzz;
mod sbom;
mod setup;
mod sh;
mod sweep;
mod test;

use std::{io::IsTerminal, process::ExitCode};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [GROUP…]       install what is needed, then run every test (or the named groups)
  test --slow [slow]  also (or only) what builds other versions from source first
  agents              build the node programs and put them beside swdt
  quickstart [--yes]  build swdt and make a real cluster of two nodes on this machine
  fuzz [--target T]… [--inputs N | --minutes M] [--seed S]
                      throw bad bytes at whatever swdt reads; figures go to docs/reliability.md
  sweep               try every fault at every resource, and write the table of docs/reliability.md
  dist                make the archive and the Debian package that users install
  bench               measure swdt against others, both in one run, and print ratios
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let done = match arguments.first().map(String::as_str) {
        Some("test") => test::run(rest),
        Some("agents") => agents::build().map(|_| ()),
        Some("quickstart") => quickstart(rest),
        Some("fuzz") => fuzz::run(rest),
        Some("sweep") => sweep::run(rest),
        Some("dist") => dist::run(),
        Some("bench") => bench::run(),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            sh::say(&message);
            ExitCode::FAILURE
        }
    }
}

/// Builds swdt and lets it make the cluster `quickstart`. It installs what it needs itself.
fn quickstart(arguments: &[String]) -> sh::Result<()> {
    agents::build()?;
    sh::cargo(&["build", "--package", "swdt"]).run()?;
    let mut words: Vec<&str> = vec!["quickstart"];
    words.extend(arguments.iter().map(String::as_str));
    // Where there is nobody to ask, having called this is the answer.
    if !std::io::stdin().is_terminal() && !words.contains(&"--yes") {
        words.push("--yes");
    }
    sh::command(&agents::swdt().to_string_lossy()).args(&words).with_stdin().run()
}
