//! What programs of the machine said: the journal of systemd, the logs of the service host, our own runs.

use std::fs;

use swdt_wire::{Log, NodeEventKind};

#[cfg(windows)]
use crate::host;
use crate::{
    Ctx, Error, Events, Result,
    state::{self, State},
};

/// A longer line is cut: somebody reads this, or sends it.
const LONGEST: usize = 4 << 10;

/// Tells the last lines of each log.
pub fn tell(ctx: &Ctx, of: &[Log], lines: usize, events: &Events) {
    for log in of {
        let id = log.name().to_owned();
        let told = match log {
            Log::Service(name) => service(ctx, name, lines),
            Log::Runs => runs(ctx, lines),
        };
        match told {
            Ok(told) => told.into_iter().for_each(|line| {
                events.send(NodeEventKind::Output { id: id.clone(), line: cut(line) });
            }),
            Err(error) => events.send(NodeEventKind::Note { id: Some(id), message: error.to_string() }),
        }
    }
}

fn cut(mut line: String) -> String {
    if line.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(unix)]
fn service(ctx: &Ctx, name: &str, lines: usize) -> Result<Vec<String>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(plain) {
        return Err(Error::new(format!("{name:?} is no name of a service")));
    }
    if !ctx.live() {
        return Err(Error::new("there is no journal in a scratch root"));
    }
    let count = lines.to_string();
    let said = ctx.query(&["journalctl", "-u", name, "-n", &count, "--no-pager", "-q", "-o", "short-iso"])?;
    if !said.ok() {
        return Err(Error::new(format!("journalctl cannot tell what {name} said: {}", said.stderr.trim())));
    }
    Ok(said.stdout.lines().map(ToOwned::to_owned).collect())
}

#[cfg(windows)]
fn service(ctx: &Ctx, name: &str, lines: usize) -> Result<Vec<String>> {
    host::last_lines(ctx, name, lines)
}

/// The events of the last runs, oldest first.
fn runs(ctx: &Ctx, lines: usize) -> Result<Vec<String>> {
    let dir = State::of(ctx).dir().join("runs");
    let mut runs = state::entries(&dir);
    runs.sort_by_key(|(_, modified)| *modified);
    let mut told = Vec::new();
    for (run, _) in runs {
        let events = run.join("events.jsonl");
        match fs::read(&events) {
            Ok(text) => told.extend(String::from_utf8_lossy(&text).lines().map(ToOwned::to_owned)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("read", &events, &error)),
        }
    }
    Ok(told.split_off(told.len().saturating_sub(lines)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_characters() {
        assert_eq!(cut("short".into()), "short");
        let long = cut("ü".repeat(LONGEST));
        assert!(long.ends_with("ü…") && long.len() <= LONGEST + 3, "{}", long.len());
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_options_are_refused() {
        for bad in ["-b", "", "a b", "--file=/etc/shadow", "a/b"] {
            let error = service(&Ctx::new("/"), bad, 1).unwrap_err();
            assert!(error.message.contains("no name of a service"), "{bad:?}: {error}");
        }
    }
}
