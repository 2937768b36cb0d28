//! The whole fault sweep: every resource of the plan, every fault. Its table goes into `docs/reliability.md`.

use crate::{
    agents, setup,
    sh::{self, Result},
};

const USAGE: &str = "usage: cargo xtask sweep [--seed NUMBER] [--passes NUMBER] [--only WORDS] [--resume]\n\n\
                     A seed repeats a sweep; --resume goes on with one that was stopped. --only takes the \
                     faults of create and destroy with these words in their names. That, and fewer passes than there are \
                     faults, is a sample, which is shown but not kept.";

pub(crate) fn run(words: &[String]) -> Result<()> {
    let mut settings = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number =
            || words.next().map(String::as_str).filter(|word| word.parse::<u32>().is_ok()).ok_or(USAGE);
        settings.push(match word.as_str() {
            "--seed" => ("SWDT_SWEEP_SEED", number()?),
            "--passes" => ("SWDT_SWEEP_PASSES", number()?),
            "--only" => ("SWDT_SWEEP_ONLY", words.next().ok_or(USAGE)?.as_str()),
            "--resume" => ("SWDT_SWEEP_RESUME", "yes"),
            _ => return Err(USAGE.to_owned()),
        });
    }
    setup::packages()?;
    agents::build()?;
    let sweep = [
        "test",
        "--package",
        "swdt",
        "--test",
        "sweep",
        "--",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ];
    // Faults are chosen for create and destroy only; updates have few passes anyway.
    let some = settings.iter().any(|(name, _)| *name == "SWDT_SWEEP_ONLY");
    let sweep = sh::cargo(&sweep).args(if some { &["all_faults"] } else { &[] });
    settings.into_iter().fold(sweep, |sh, (name, number)| sh.env(name, number)).run()
}
