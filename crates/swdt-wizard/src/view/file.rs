//! The file, growing: the field that is being answered is marked.

use std::ops::Range;

use ratatui::{
    style::Style as Face,
    text::{Line, Span},
};
use unicode_width::UnicodeWidthStr;

use super::{STRONG, Style, questions::shortened};
use crate::{
    field::{Action, Field},
    judge,
    model::Model,
    pages::Page,
};

/// All lines of the file, and those to look at.
pub(super) fn lines(model: &Model, style: Style, width: usize) -> (Vec<Line<'static>>, Range<usize>) {
    let answers = |field: &Field| matches!(field.act(), None | Some(Action::EditNode(_)));
    let marked = model.field().filter(answers).map_or(0..0, |field| {
        let path = judge::ancestor(&model.document, &field.path);
        model.document.lines(path).filter(|_| !path.is_empty()).unwrap_or(0..0)
    });
    let nodes = model.document.lines("nodes").unwrap_or(0..0);
    let lines = model.text().lines().enumerate().map(|(number, text)| {
        let mut wrongs = model.verdict.wrong.iter().filter(|wrong| wrong.line == Some(number)).peekable();
        let wrong = wrongs.peek().is_some();
        // What is missing where nobody has answered yet is no mistake.
        let asked =
            !nodes.contains(&number) || (model.visited[Page::Nodes.step()] && !wrongs.all(|it| it.open));
        let here = marked.contains(&number);
        let mark = match (here, wrong) {
            (true, true) if asked => Span::styled("▌ ", style.bad()),
            (false, true) if asked => Span::styled("✗ ", style.bad()),
            (false, true) => Span::styled("○ ", style.doubt()),
            (true, _) => Span::styled("▌ ", style.title()),
            (false, false) => Span::raw("  "),
        };
        let mut spans = vec![mark];
        spans.extend(coloured(text, width.saturating_sub(2), here, style));
        Line::from(spans)
    });
    (lines.collect(), marked)
}

/// A line of YAML, its parts in their colours, cut where it does not fit.
fn coloured(text: &str, width: usize, here: bool, style: Style) -> Vec<Span<'static>> {
    let text = shortened(text, width);
    let (code, comment) = match text.find('#') {
        Some(at) if at == 0 || text[..at].ends_with(' ') => text.split_at(at),
        _ => (text.as_str(), ""),
    };
    let face = |face: Face| if here { face.patch(STRONG) } else { face };
    let mut spans = Vec::new();
    match code.split_once(':') {
        Some((key, value)) if value.is_empty() || value.starts_with(' ') => {
            spans.push(Span::styled(key.to_owned(), face(style.key())));
            spans.push(Span::styled(":", style.quiet()));
            spans.push(Span::styled(value.to_owned(), face(style.value())));
        }
        _ => spans.push(Span::styled(code.to_owned(), face(style.value()))),
    }
    spans.push(Span::styled(comment.to_owned(), style.quiet()));
    debug_assert!(spans.iter().map(|span| span.content.width()).sum::<usize>() <= width);
    spans
}
