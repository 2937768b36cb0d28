//! `swdt config explain`: the page of a field, in the words of the schema.

use owo_colors::OwoColorize;
use serde_json::json;
use swdt_core::{
    Result,
    config::{self, Explained},
};

use crate::{args::Format, out, render::wrapped};

pub(in super::super) fn run(path: &str, format: Format) -> Result<()> {
    let explained = config::explain(path)?;
    if format.json() {
        out::line(&as_json(&explained).to_string());
    } else {
        out::line(&as_text(&explained));
    }
    Ok(())
}

fn as_text(explained: &Explained) -> String {
    let width = out::width();
    let name = if explained.path.is_empty() { "the file" } else { explained.path.as_str() };
    let mut lines =
        vec![format!("{}, {}", name.bold(), explained.kind), wrapped("  ", &explained.about, width)];
    let possible = (!explained.words.is_empty()).then(|| explained.words.join(", "));
    let facts = [("one of", &possible), ("default", &explained.default), ("example", &explained.example)];
    for (what, value) in facts {
        lines.extend(value.as_ref().map(|value| format!("  {}: {value}", what.cyan())));
    }
    if !explained.fields.is_empty() {
        lines.push(String::new());
    }
    for below in &explained.fields {
        let required = if below.required { ", required" } else { "" };
        lines.push(format!("  {}{}", below.key.cyan(), required.dimmed()));
        lines.push(wrapped("      ", &below.about, width));
    }
    lines.join("\n")
}

fn as_json(explained: &Explained) -> serde_json::Value {
    let below = |it: &config::Below| json!({ "key": it.key, "required": it.required, "about": it.about });
    json!({
        "path": explained.path,
        "kind": explained.kind,
        "about": explained.about,
        "default": explained.default,
        "example": explained.example,
        "words": explained.words,
        "fields": explained.fields.iter().map(below).collect::<Vec<_>>(),
    })
}
