//! The first row: which pages there are, which are done, and where we are.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::Style;
use crate::{judge, model::Model, pages::Page};

pub(super) fn line(model: &Model, style: Style, width: u16) -> Line<'static> {
    let here = model.page.step();
    let mut spans = vec![Span::raw(" "), Span::styled(" swdt ", style.chosen()), Span::raw("  ")];
    let pages = Page::ALL.iter().enumerate().map(|(at, &page)| {
        if at == here {
            return (format!("● {}", page.title()), style.chosen_word());
        }
        match state(model, page) {
            State::Wrong => (format!("✗ {}", page.title()), style.bad()),
            State::Fine => (format!("✓ {}", page.title()), style.good()),
            State::Open => (format!("○ {}", page.title()), style.quiet()),
        }
    });
    let pages: Vec<_> = pages.collect();
    let needed: usize = pages.iter().map(|(text, _)| text.width() + 2).sum::<usize>() + 9;
    // Where there is no room for all names: this page's, and how many there are.
    if needed > usize::from(width) {
        let text = format!("● {} · {} of {}", model.page.title(), here + 1, Page::ALL.len());
        spans.push(Span::styled(text, style.chosen_word()));
        return Line::from(spans);
    }
    for (text, face) in pages {
        spans.push(Span::styled(text, face));
        spans.push(Span::raw("  "));
    }
    Line::from(spans)
}

enum State {
    Fine,
    Wrong,
    Open,
}

/// How a page stands; what was never looked at is open, unless something is wrong there by then.
fn state(model: &Model, page: Page) -> State {
    if page == Page::Finish {
        return State::Open;
    }
    let fields = page.fields(&model.document, &model.host, 0);
    // Of the nodes also what is about all of them together.
    let nodes = model.document.lines("nodes").filter(|_| page == Page::Nodes);
    let mut wrong = model.verdict.wrong.iter().filter(|wrong| {
        let among = wrong.line.is_some_and(|line| nodes.as_ref().is_some_and(|nodes| nodes.contains(&line)));
        among || judge::owner(wrong, &model.document, &fields).is_some()
    });
    if !model.visited[page.step()] {
        return State::Open;
    }
    match wrong.next() {
        None => State::Fine,
        Some(first) if first.open && wrong.all(|wrong| wrong.open) => State::Open,
        Some(_) => State::Wrong,
    }
}
