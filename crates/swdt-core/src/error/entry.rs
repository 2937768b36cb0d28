//! What is said about an error wherever it is met: the index of errors is made from this.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ErrorKind;

/// How long lines of a page may be.
const WIDTH: usize = 120;

/// One thing that can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Never changes: pages, scripts and people refer to it.
    pub id: &'static str,
    /// Decides the exit code.
    pub kind: ErrorKind,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Why it is so, usually.
    pub cause: &'static str,
    /// What to do about it, the likeliest first.
    pub fix: &'static [(On, &'static str)],
}

/// Where a command is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum On {
    /// No command, or one for every system.
    Anywhere,
    /// Debian and Ubuntu.
    Debian,
    /// Fedora.
    Fedora,
    /// Any Linux.
    Linux,
    /// Windows.
    Windows,
}

impl On {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Anywhere => "everywhere",
            Self::Debian => "Debian, Ubuntu",
            Self::Fedora => "Fedora",
            Self::Linux => "Linux",
            Self::Windows => "Windows",
        }
    }
}

impl Entry {
    /// All that is said about it, for pages and terminals; `sort` is what sort of thing it is.
    pub(crate) fn text(&self, sort: &str) -> String {
        let mut text = wrapped("", &format!("{} ({sort}). {}", upper(self.title), self.cause));
        text.push('\n');
        for (on, run) in self.fix {
            let line = match on {
                On::Anywhere => (*run).to_owned(),
                // What is a command as a whole has no marks of its own.
                on if run.contains('`') => format!("{}: {run}", on.words()),
                on => format!("{}: `{run}`", on.words()),
            };
            text.push_str(&wrapped("- ", &line));
        }
        text
    }
}

/// Lines as long as those of other pages; what follows the first begins below the text.
fn wrapped(head: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut line = head.to_owned();
    for word in text.split(' ') {
        if line.chars().count() + word.chars().count() >= WIDTH {
            let _ = writeln!(lines, "{}", line.trim_end());
            line = " ".repeat(head.len());
        }
        line.push_str(word);
        line.push(' ');
    }
    let _ = writeln!(lines, "{}", line.trim_end());
    lines
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
