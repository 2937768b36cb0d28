//! `swdt explain`: what an error or a rule means, and what to do about it.

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use swdt_core::{
    Error, Result,
    error::{Entry, On},
    index,
};

use crate::{args::Format, out, render::wrapped};

pub(super) fn run(ids: &[String], format: Format) -> Result<()> {
    if ids.is_empty() {
        out::line(&if format.json() { as_json(index::entries()).to_string() } else { list() });
        return Ok(());
    }
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for id in ids {
        match index::find(id) {
            Ok(entry) => found.push(entry),
            Err(error) => errors.push(error),
        }
    }
    Error::all(errors).map_or(Ok(()), Err)?;
    if format.json() {
        out::line(&as_json(found.into_iter()).to_string());
    } else {
        out::line(&found.iter().map(as_text).collect::<Vec<_>>().join("\n\n"));
    }
    Ok(())
}

fn as_text(entry: &Entry) -> String {
    let width = out::width();
    let mut lines = vec![format!("{}, {}", entry.id.bold(), index::sort(entry))];
    lines.push(wrapped("  ", entry.title, width));
    lines.push(format!("  {}:", "why".cyan()));
    lines.push(wrapped("    ", entry.cause, width));
    lines.push(format!("  {}:", "what to do".cyan()));
    for (on, step) in entry.fix {
        let step = match on {
            On::Anywhere => (*step).to_owned(),
            on => format!("{}: {step}", on.words()),
        };
        lines.push(wrapped("    - ", &step, width));
    }
    lines.join("\n")
}

/// A line for each, below what sort it is.
fn list() -> String {
    let longest = index::entries().map(|entry| entry.id.len()).max().unwrap_or_default();
    let groups = index::list().into_iter().map(|(heading, entries)| {
        let lines = entries.iter().map(|entry| format!("  {:longest$}  {}", entry.id, entry.title));
        std::iter::once(heading.bold().to_string()).chain(lines).collect::<Vec<_>>().join("\n")
    });
    groups.collect::<Vec<_>>().join("\n\n")
}

fn as_json(entries: impl Iterator<Item = Entry>) -> Value {
    let step = |(on, run): &(On, &str)| json!({ "on": on, "run": run });
    let one = |entry: Entry| {
        json!({
            "id": entry.id,
            "kind": entry.kind,
            "grade": index::grade(&entry),
            "exitCode": entry.kind.exit_code(),
            "title": entry.title,
            "cause": entry.cause,
            "fix": entry.fix.iter().map(step).collect::<Vec<_>>(),
        })
    };
    entries.map(one).collect()
}
