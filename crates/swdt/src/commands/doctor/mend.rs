//! `--fix`: says what, asks, does it.

use std::io::{self, IsTerminal};

use owo_colors::OwoColorize;
use swdt_core::{
    Error, ErrorKind, Result,
    doctor::{Remedy, Report},
    id, run,
};

use super::super::{block_on, resumable};
use crate::{
    args::{Doctor, Global},
    failure::Failed,
    host, out, render,
};

/// Mends what can be mended, each after asking; gives how much was.
pub(super) fn all(
    global: &Global,
    wish: &Doctor,
    host: &Result<run::Host>,
    report: &Report,
) -> Result<usize, Failed> {
    let mut remedies: Vec<(&Remedy, Vec<&str>)> = Vec::new();
    for finding in &report.findings {
        let Some(remedy) = &finding.remedy else { continue };
        match remedies.iter_mut().find(|(other, _)| *other == remedy) {
            Some((_, ids)) => ids.push(&finding.id),
            None => remedies.push((remedy, vec![&finding.id])),
        }
    }
    // A program reads what is left from the report.
    let tell = |text: &str| {
        if !wish.format.json() {
            out::error_line(text);
        }
    };
    if remedies.is_empty() {
        tell("there is nothing that --fix mends");
        return Ok(0);
    }
    let host = match host {
        Ok(host) => host,
        Err(error) => {
            tell(&format!("nothing can be mended: {error}"));
            return Ok(0);
        }
    };
    if !wish.yes && !io::stdin().is_terminal() {
        let error = Error::new(id::TERMINAL_MISSING, "there is nobody to ask before mending");
        return Err(error.hinted(format!("{} --yes mends without asking", host::command_line())).into());
    }
    let (mut mended, mut errors) = (0, Vec::new());
    for (remedy, mut ids) in remedies {
        ids.dedup();
        let about = format!("{} {remedy} ({})", "fix:".cyan().bold(), ids.join(", "));
        if wish.yes {
            tell(&about);
        } else if !agreed(&about)? {
            continue;
        }
        let sink: run::Sink = if wish.format.json() {
            Box::new(|_| ())
        } else {
            render::renderer(wish.format, global.volume())
        };
        let done = block_on(async {
            host::stop_on_ctrl_c(host.interrupt.clone());
            run::mend(host, remedy, sink).await
        });
        out::end_live();
        match done {
            Ok(()) => mended += 1,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(resumable(error)),
            // The others have nothing to do with it.
            Err(error) => errors.push(error),
        }
    }
    Error::all(errors).map_or(Ok(mended), |error| Err(resumable(error)))
}

fn agreed(about: &str) -> Result<bool> {
    out::error_line(&format!("{about}\ndo it? [y/N]"));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|error| Error::new(id::TERMINAL_LOST, format!("cannot read your answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
