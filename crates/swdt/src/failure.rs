//! How a failure looks: what, where, the last output, the log, what to do, how to go on.

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use swdt_core::{
    Error, ErrorKind,
    config::{Piece, Problems, Style},
    id,
    words::printable,
};

use crate::{out, render::wrapped};

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// What went wrong, and the command that goes on after it was mended.
    Error(Error, Option<String>),
    /// The configuration file has problems.
    Config(Problems),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Error(error, None)
    }
}

impl From<Problems> for Failed {
    fn from(problems: Problems) -> Self {
        Self::Config(problems)
    }
}

/// Prints why a command failed and gives the exit code.
pub(crate) fn report(failed: &Failed, json: bool) -> u8 {
    let (kind, text) = match failed {
        Failed::Error(error, resume) if json => {
            let mut document = to_json(error);
            document["resume"] = json!(resume);
            (error.kind(), json!({ "error": document }).to_string())
        }
        Failed::Error(error, resume) => (error.kind(), text(error, resume.as_deref())),
        Failed::Config(problems) if json => {
            let mut document = to_json(&Error::new(id::CONFIG_INVALID, problems.summary()));
            document["problems"] = list(problems);
            (id::CONFIG_INVALID.kind, json!({ "error": document }).to_string())
        }
        Failed::Config(problems) => (id::CONFIG_INVALID.kind, drawn(problems)),
    };
    out::error_line(&text);
    kind.exit_code()
}

/// The problems of a configuration, for programs.
pub(crate) fn list(problems: &Problems) -> Value {
    let problem = |problem: &swdt_core::config::Problem| {
        json!({
            "id": problem.id,
            "message": problem.message,
            "line": problem.line,
            "column": problem.column,
            "hint": problem.hint,
        })
    };
    problems.iter().map(problem).collect()
}

/// The problems of a configuration, each at its place. One needs no summary.
fn drawn(problems: &Problems) -> String {
    let report: String = problems.pieces_for(out::error_width()).iter().map(coloured).collect();
    let more = more(problems.iter().map(|problem| problem.id));
    if problems.len() == 1 {
        return format!("{report}{more}");
    }
    format!("{report}\n{}: {}\n{more}", head(id::CONFIG_INVALID.id), problems.summary().bold())
}

fn coloured(Piece { style, text }: &Piece) -> String {
    match style {
        Style::Error => text.red().bold().to_string(),
        Style::Message => text.bold().to_string(),
        // Blue cannot be read on black everywhere.
        Style::Gutter => text.dimmed().to_string(),
        Style::Id | Style::Caret => text.red().to_string(),
        Style::Help => text.cyan().bold().to_string(),
        Style::Place | Style::Source | Style::Plain => text.clone(),
    }
}

fn text(error: &Error, resume: Option<&str>) -> String {
    let mut lines = Vec::new();
    let width = out::error_width();
    for error in std::iter::once(error).chain(&error.others) {
        lines.push(format!("{}: {}", head(error.id()), printable(&error.to_string())));
        if let Some(why) = &error.why {
            lines.push(headed("why", &printable(why), width));
        }
        for line in &error.output {
            lines.push(format!("  {} {}", "|".dimmed(), printable(line)));
        }
        if let Some(log) = &error.log {
            lines.push(format!("  {}: {}", "log".cyan(), log.display()));
        }
        for hint in &error.hints {
            lines.push(headed("hint", hint, width));
        }
    }
    // A wrong command line, or the wish to stop, is told whole.
    let whole = |error: &&Error| matches!(error.kind(), ErrorKind::Usage | ErrorKind::Interrupted);
    let all = std::iter::once(error).chain(&error.others);
    let ids: Vec<&str> = all.filter(|error| !whole(error)).map(Error::id).collect();
    if !ids.is_empty() {
        lines.push(more(ids));
    }
    if let Some(resume) = resume {
        lines.push(format!("go on with: {}", resume.bold()));
    }
    lines.join("\n")
}

/// A word, and text beside it, as wide as the terminal. What has lines of its own keeps them.
fn headed(word: &str, text: &str, width: Option<usize>) -> String {
    let head = " ".repeat(word.len() + 4);
    let text = wrapped(&head, text, width.filter(|_| !text.contains('\n')));
    format!("  {}: {}", word.cyan(), text.trim_start())
}

/// The word that begins an error, and its id.
fn head(id: &str) -> String {
    format!("{}{}", "error".red().bold(), format_args!("[{id}]").red())
}

/// The command that tells more about these.
fn more<'a>(ids: impl IntoIterator<Item = &'a str>) -> String {
    let mut once: Vec<&str> = Vec::new();
    for id in ids {
        if !once.contains(&id) {
            once.push(id);
        }
    }
    format!("{}: swdt explain {}", "more".cyan(), once.join(" "))
}

/// Prints what is wrong with the command line, and ends; so it does after help that was asked for.
pub(crate) fn command_line(error: &clap::Error) -> ! {
    let text = error.render().ansi().to_string();
    // Help where something is missing is no complaint.
    if !text.contains("error:") || error.kind() == clap::error::ErrorKind::DisplayHelp {
        error.exit();
    }
    out::error_line(text.replacen("error:", &format!("error[{}]:", id::COMMAND_LINE.id), 1).trim_end());
    std::process::exit(id::COMMAND_LINE.kind.exit_code().into())
}

fn to_json(error: &Error) -> Value {
    json!({
        "id": error.id(),
        "kind": error.kind(),
        "exitCode": error.kind().exit_code(),
        "message": error.message,
        "why": error.why,
        "node": error.node,
        "resource": error.resource,
        "output": error.output,
        "log": error.log,
        "hints": error.hints,
        "others": error.others.iter().map(to_json).collect::<Vec<_>>(),
    })
}
