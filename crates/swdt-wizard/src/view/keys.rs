//! The last row: the keys that do something here.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{STRONG, Style};
use crate::{
    field::{Action, Kind},
    model::Model,
    pages::Page,
};

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
        spans.push(Span::styled(key.to_owned(), STRONG));
        spans.push(Span::styled(format!(" {what}   "), style.quiet()));
    }
    Line::from(spans)
}
