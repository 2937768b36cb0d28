//! The commands of swdt's developers. No dependencies, so that a fresh clone starts at once.

mod agents;
mod bench;
mod setup;
mod sh;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [GROUP…]   install what is needed, then run every test (or the named groups)
  agents          build the node programs and put them beside swdt
  quickstart      make the cluster of examples/quickstart.yaml on this machine
  bench           measure swdt against others, both in one run, and print ratios
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let done = match arguments.first().map(String::as_str) {
        Some("test") => test::run(rest),
        Some("agents") => agents::build().map(|_| ()),
        Some("quickstart") => quickstart(),
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

fn quickstart() -> sh::Result<()> {
    setup::packages()?;
    agents::build()?;
    sh::cargo(&["build", "--package", "swdt"]).run()?;
    sh::command(&agents::swdt().to_string_lossy())
        .args(&["cluster", "create", "--config", "examples/quickstart.yaml", "--until", "smoke"])
        .run()
}
