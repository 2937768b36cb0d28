//! The last row: the keys that do something here. F1 shows all there are.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::Style;
use crate::{
    field::{Action, Kind},
    model::Model,
    pages::Page,
};

/// Every key, and what it does.
const ALL: &[(&str, &str)] = &[
    ("Enter", "take the answer, or do what the line says"),
    ("↑ ↓  Tab", "another question"),
    ("← →  Space", "another answer, where there are several"),
    ("PgUp PgDn", "another page"),
    ("Esc", "back"),
    ("^U", "empty the line; ^A and ^E: its ends"),
    ("d", "on a node of the list: remove it"),
    ("^T", "trust the host key that is shown"),
    ("^Z", "undo"),
    ("^Y", "the file or the questions, where one is shown"),
    ("^S", "to the last page"),
    ("^C", "leave"),
];

/// The keys that are of use now, as many as there is room for.
pub(super) fn line(model: &Model, style: Style, width: u16, wide: bool) -> Line<'static> {
    let field = model.field();
    let kind = field.as_ref().map(|field| &field.kind);
    let mut keys: Vec<(&str, &str)> = Vec::new();
    if let Some(Kind::Choice(_)) = kind {
        keys.push(("←→", "choose"));
    }
    match kind {
        Some(Kind::Action(Action::EditNode(_))) => keys.extend([("Enter", "open"), ("d", "remove")]),
        Some(Kind::Action(Action::Visit(_))) => keys.push(("Enter", "go there")),
        Some(Kind::Action(_)) => keys.push(("Enter", "do it")),
        _ => keys.push(("Enter", "next")),
    }
    if model.unknown_host_key().is_some() {
        keys.push(("^T", "trust host key"));
    }
    if !wide {
        keys.push(("^Y", if model.shows_file { "questions" } else { "file" }));
    }
    keys.push(("↑↓", "move"));
    if model.page != Page::Cluster {
        keys.push(("Esc", "back"));
    }
    keys.push(("F1", "keys"));
    if model.page != Page::Finish {
        keys.push(("^S", "finish"));
    }
    keys.extend([("^Z", "undo"), ("^C", "leave")]);
    let mut spans = vec![Span::raw(" ")];
    let mut room = usize::from(width).saturating_sub(1);
    for (key, what) in keys {
        let needed = key.width() + what.width() + 4;
        // The most useful come first; what has no room is left out whole.
        if needed > room + 3 {
            break;
        }
        room = room.saturating_sub(needed);
        spans.push(Span::styled(key.to_owned(), style.press()));
        spans.push(Span::styled(format!(" {what}   "), style.quiet()));
    }
    Line::from(spans)
}

/// All of them, one a line.
pub(super) fn all(style: Style) -> Vec<Line<'static>> {
    let widest = ALL.iter().map(|(key, _)| key.width()).max().unwrap_or(0);
    let line = |&(key, what): &(&str, &'static str)| {
        let space = " ".repeat(widest - key.width() + 2);
        Line::from(vec![Span::styled(format!("{key}{space}"), style.press()), Span::raw(what)])
    };
    ALL.iter().map(line).collect()
}
