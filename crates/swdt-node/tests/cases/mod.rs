//! Cases: what is tried on a real machine, as data, and the one way to run them.
//!
//! A case changes the machine it runs on. [`Machine`] is how it gets there: in this crate the library
//! itself (`here`), in `swdt-ground` the node program over SSH.

use std::collections::BTreeSet;

use serde::Deserialize;
use swdt_wire::{Kind, Outcome, Status};

/// One thing to try.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// A short sentence.
    pub(crate) name: String,
    /// Brings the machine into the state the case begins with.
    #[serde(default)]
    setup: Vec<Vec<String>>,
    resource: Kind,
    steps: Vec<Step>,
    /// What these programs print must be the same after the last step as before the first.
    #[serde(default)]
    unchanged: Vec<Vec<String>>,
    /// Run at the end, whatever happened.
    #[serde(default)]
    cleanup: Vec<Vec<String>>,
}

/// One step of a case.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
enum Step {
    /// `check` says satisfied.
    Satisfied,
    /// `check` says that something differs, in words that contain this.
    Differs(String),
    /// Made true; satisfied after.
    Apply,
    /// It is true already, and nothing is written.
    ApplyAgain,
    /// Fails with a message, output or hint that contain these.
    ApplyFails(Vec<String>),
    /// Undone to what was there before the first apply.
    Revert,
    /// The same with force.
    ForceRevert,
    /// Kept, for a reason that contains this.
    RevertKept(String),
    /// A program of the world outside, which must succeed.
    Run(Vec<String>),
    /// A note was made that contains this.
    Note(String),
}

/// A machine on which cases run. Errors are all that was said: message, output and hint.
pub(crate) trait Machine {
    /// Runs a program that must succeed; what it printed.
    fn program(&mut self, argv: &[String]) -> Result<String, String>;
    /// Looks.
    fn check(&mut self, kind: &Kind) -> Result<Status, String>;
    /// Makes it true; with the notes made and the number of writes.
    fn apply(&mut self, kind: &Kind) -> Result<(Vec<String>, u64), String>;
    /// Undoes all that was applied.
    fn revert(&mut self, kind: &Kind, force: bool) -> Result<Outcome, String>;
    /// Forgets receipts, for the next case.
    fn forget(&mut self);
}

/// The cases of a file of [`Case`]s.
pub(crate) fn parse(json: &str) -> Result<Vec<Case>, serde_json::Error> {
    serde_json::from_str(json)
}

/// Runs a case; an error says what was not as expected.
pub(crate) fn run(case: &Case, machine: &mut impl Machine) -> Result<(), String> {
    machine.forget();
    let outcome = try_case(case, machine);
    for argv in &case.cleanup {
        let _ = machine.program(argv);
    }
    outcome
}

fn try_case(case: &Case, machine: &mut impl Machine) -> Result<(), String> {
    for argv in &case.setup {
        machine.program(argv)?;
    }
    let before = look(case, machine)?;
    let mut notes = Vec::new();
    for (number, step) in case.steps.iter().enumerate() {
        take(machine, &case.resource, step, &mut notes)
            .map_err(|problem| format!("step {} ({step:?}): {problem}", number + 1))?;
    }
    let after = look(case, machine)?;
    for (argv, (before, after)) in case.unchanged.iter().zip(before.iter().zip(&after)) {
        if before != after {
            return Err(format!("`{}` changed\n{}", argv.join(" "), difference(before, after)));
        }
    }
    Ok(())
}

fn look(case: &Case, machine: &mut impl Machine) -> Result<Vec<String>, String> {
    case.unchanged.iter().map(|argv| machine.program(argv)).collect()
}

fn take(machine: &mut impl Machine, kind: &Kind, step: &Step, notes: &mut Vec<String>) -> Result<(), String> {
    match step {
        Step::Satisfied => satisfied(machine, kind),
        Step::Differs(text) => match machine.check(kind)? {
            Status::Differs(what) if what.contains(text) => Ok(()),
            other => Err(format!("{other:?}")),
        },
        Step::Apply => {
            notes.extend(machine.apply(kind)?.0);
            satisfied(machine, kind)
        }
        Step::ApplyAgain => match machine.apply(kind)?.1 {
            0 => Ok(()),
            writes => Err(format!("{writes} writes")),
        },
        Step::ApplyFails(texts) => match machine.apply(kind) {
            Ok(_) => Err("it did not fail".into()),
            Err(words) => contains(&words, texts),
        },
        Step::Revert | Step::ForceRevert => match machine.revert(kind, matches!(step, Step::ForceRevert))? {
            Outcome::Reverted => Ok(()),
            other => Err(format!("{other:?}")),
        },
        Step::RevertKept(text) => match machine.revert(kind, false)? {
            Outcome::Kept(reason) if reason.contains(text) => Ok(()),
            other => Err(format!("{other:?}")),
        },
        Step::Run(argv) => machine.program(argv).map(drop),
        Step::Note(text) => contains(&notes.join("\n"), std::slice::from_ref(text)),
    }
}

fn satisfied(machine: &mut impl Machine, kind: &Kind) -> Result<(), String> {
    match machine.check(kind)? {
        Status::Satisfied => Ok(()),
        Status::Differs(what) => Err(format!("differs: {what}")),
    }
}

fn contains(all: &str, texts: &[String]) -> Result<(), String> {
    match texts.iter().find(|text| !all.contains(*text)) {
        Some(text) => Err(format!("no {text:?} in: {all}")),
        None => Ok(()),
    }
}

fn difference(before: &str, after: &str) -> String {
    let set = |text| -> BTreeSet<&str> { str::lines(text).collect() };
    let (before, after) = (set(before), set(after));
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    gone.chain(after.difference(&before).map(|line| format!("+ {line}"))).collect::<Vec<_>>().join("\n")
}
