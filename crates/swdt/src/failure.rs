//! How an error looks: what, where, the last output, the log, what to do, how to go on.

use owo_colors::OwoColorize;
use serde_json::json;
use swdt_core::Error;

use crate::{
    args::{Format, OutputFormat},
    out,
};

/// Prints an error and gives the exit code.
pub(crate) fn report(error: &Error, resume: Option<&str>, format: Option<Format>) -> u8 {
    if format.and_then(|format| format.format) == Some(OutputFormat::Json) {
        let mut document = to_json(error);
        document["resume"] = json!(resume);
        out::error_line(&json!({ "error": document }).to_string());
    } else {
        out::error_line(&text(error, resume));
    }
    error.kind.exit_code()
}

fn text(error: &Error, resume: Option<&str>) -> String {
    let mut lines = Vec::new();
    for error in std::iter::once(error).chain(&error.others) {
        lines.push(format!("{} {error}", "error:".red().bold()));
        for line in &error.output {
            lines.push(format!("  {} {line}", "|".dimmed()));
        }
        if let Some(log) = &error.log {
            lines.push(format!("  log: {}", log.display()));
        }
        for hint in &error.hints {
            lines.push(format!("  {} {hint}", "hint:".cyan()));
        }
    }
    if let Some(resume) = resume {
        lines.push(format!("go on with: {}", resume.bold()));
    }
    lines.join("\n")
}

fn to_json(error: &Error) -> serde_json::Value {
    json!({
        "kind": error.kind,
        "exitCode": error.kind.exit_code(),
        "message": error.message,
        "node": error.node,
        "resource": error.resource,
        "output": error.output,
        "log": error.log,
        "hints": error.hints,
        "others": error.others.iter().map(to_json).collect::<Vec<_>>(),
    })
}
