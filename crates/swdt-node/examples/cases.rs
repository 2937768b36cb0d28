//! Runs cases from `tests/cases/*.json` on the machine it is started on, as root. A case changes that
//! machine: use one that may break. Prints one line a case; exits with 1 when one failed.
//!
//! `cases FILE... [--only NAME]`

#![allow(clippy::print_stdout, reason = "a program for people who try things by hand")]

use std::{
    collections::BTreeSet,
    process::{Command, ExitCode},
};

use serde::Deserialize;
use swdt_node::{
    Ctx, Error,
    resources::{Reverted, behaviour},
};
use swdt_wire::{Kind, Prior, Status};

/// One thing to try, as data, so that it can also be sent to a machine over SSH.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
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

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
enum Step {
    /// `check` says satisfied.
    Satisfied,
    /// `check` says that something differs, in words that contain this.
    Differs(String),
    /// Made true; satisfied after; a second time writes nothing.
    Apply,
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

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = arguments.iter().position(|word| word == "--only").map(|at| {
        let name = arguments.remove(at + 1);
        arguments.remove(at);
        name
    });
    let mut failed = 0;
    for file in &arguments {
        let text = std::fs::read_to_string(file).expect("a readable file");
        let cases: Vec<Case> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        for case in cases.iter().filter(|case| only.as_ref().is_none_or(|only| case.name.contains(only))) {
            let begin = std::time::Instant::now();
            let outcome = run(case);
            for argv in &case.cleanup {
                let _ = program(argv);
            }
            let took = begin.elapsed().as_secs_f32();
            match outcome {
                Ok(()) => println!("ok   {} ({took:.1} s)", case.name),
                Err(problem) => {
                    failed += 1;
                    println!("FAIL {} ({took:.1} s)\n     {}", case.name, problem.replace('\n', "\n     "));
                }
            }
        }
    }
    ExitCode::from(u8::from(failed > 0))
}

fn run(case: &Case) -> Result<(), String> {
    for argv in &case.setup {
        program(argv)?;
    }
    let look = || case.unchanged.iter().map(|argv| program(argv)).collect::<Result<Vec<_>, _>>();
    let before = look()?;
    let ctx = Ctx::new("/");
    let mut prior = None;
    let mut notes = Vec::new();
    for (number, step) in case.steps.iter().enumerate() {
        let outcome = take(&ctx, &case.resource, &mut prior, step, &notes);
        notes.extend(ctx.take_notes());
        outcome.map_err(|problem| format!("step {} ({step:?}): {problem}", number + 1))?;
    }
    for (argv, (before, after)) in case.unchanged.iter().zip(before.iter().zip(look()?)) {
        if *before != after {
            return Err(format!("`{}` changed\n{}", argv.join(" "), difference(before, &after)));
        }
    }
    Ok(())
}

fn take(
    ctx: &Ctx,
    kind: &Kind,
    prior: &mut Option<Prior>,
    step: &Step,
    notes: &[String],
) -> Result<(), String> {
    let it = behaviour(kind);
    let check = || it.check(ctx).map_err(|error| words(&error));
    let mut apply = || {
        if let Status::Differs(_) = it.check(ctx)? {
            let now = it.prior(ctx)?;
            let prior = prior.get_or_insert(now);
            it.apply(ctx, prior)?;
        }
        Ok(())
    };
    match step {
        Step::Satisfied => match check()? {
            Status::Satisfied => Ok(()),
            Status::Differs(what) => Err(format!("differs: {what}")),
        },
        Step::Differs(text) => match check()? {
            Status::Differs(what) if what.contains(text) => Ok(()),
            other => Err(format!("{other:?}")),
        },
        Step::Apply => {
            apply().map_err(|error| words(&error))?;
            let writes = ctx.writes();
            if let Status::Differs(what) = check()? {
                return Err(format!("still differs: {what}"));
            }
            (ctx.writes() == writes).then_some(()).ok_or_else(|| "check writes".to_owned())
        }
        Step::ApplyFails(texts) => match apply() {
            Ok(()) => Err("it did not fail".into()),
            Err(error) => contains(&words(&error), texts),
        },
        Step::Revert | Step::ForceRevert | Step::RevertKept(_) => {
            let prior = prior.as_ref().ok_or("nothing was applied")?;
            let force = matches!(step, Step::ForceRevert);
            match (it.revert(ctx, prior, force).map_err(|error| words(&error))?, step) {
                (Reverted::Kept(reason), Step::RevertKept(text)) if reason.contains(text) => Ok(()),
                (Reverted::Yes, Step::Revert | Step::ForceRevert) => Ok(()),
                (other, _) => Err(format!("{other:?}")),
            }
        }
        Step::Run(argv) => program(argv).map(drop),
        Step::Note(text) => contains(&notes.join("\n"), std::slice::from_ref(text)),
    }
}

fn contains(all: &str, texts: &[String]) -> Result<(), String> {
    match texts.iter().find(|text| !all.contains(*text)) {
        Some(text) => Err(format!("no {text:?} in: {all}")),
        None => Ok(()),
    }
}

fn words(error: &Error) -> String {
    format!(
        "{}\n{}\nhint: {}",
        error.message,
        error.output.join("\n"),
        error.hint.as_deref().unwrap_or("none")
    )
}

fn program(argv: &[String]) -> Result<String, String> {
    let output =
        Command::new(&argv[0]).args(&argv[1..]).output().map_err(|error| format!("{}: {error}", argv[0]))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("`{}`: {}\n{text}{}", argv.join(" "), output.status, String::from_utf8_lossy(&output.stderr)))
}

fn difference(before: &str, after: &str) -> String {
    let set = |text| -> BTreeSet<&str> { str::lines(text).collect() };
    let (before, after) = (set(before), set(after));
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    gone.chain(after.difference(&before).map(|line| format!("+ {line}"))).collect::<Vec<_>>().join("\n")
}
