//! How the wizard looks.
//!
//! Three rows: where we are; the questions with the file beside them; the keys that do something here. Where there is
//! no room for both halves, Ctrl-Y shows the other one.

mod file;
mod keys;
mod questions;
mod steps;
mod style;

use std::ops::Range;

use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Block, BorderType, Clear, Padding, Paragraph, Wrap},
};

use crate::{
    model::{Asking, Model},
    pages::Page,
};
use style::{CURSOR, STRONG, Style};

/// Less than this, and the file does not fit beside the questions.
const WIDE: u16 = 76;
/// The questions need no more.
const QUESTIONS: u16 = 64;
/// Less than this, and nothing can be read.
const LEAST: (u16, u16) = (30, 10);

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &Model) {
    let style = Style::new(model.host.plain);
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("too small:\n{} × {} will do", LEAST.0, LEAST.1);
        return frame.render_widget(Paragraph::new(text), area);
    }
    let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [top, middle, bottom] = Layout::vertical(rows).areas(area);
    frame.render_widget(steps::line(model, style, top.width), top);
    let wide = middle.width >= WIDE;
    if wide {
        let left = (middle.width * 56 / 100).min(QUESTIONS);
        let columns = [Constraint::Length(left), Constraint::Min(1)];
        let [left, right] = Layout::horizontal(columns).areas(middle);
        questions(frame, model, style, left);
        file(frame, model, style, right);
    } else if model.shows_file {
        file(frame, model, style, middle);
    } else {
        questions(frame, model, style, middle);
    }
    frame.render_widget(keys::line(model, style, bottom.width, wide), bottom);
    if let Some(asking) = model.asking {
        ask(frame, model, asking, style, middle);
    } else if model.shows_keys {
        show_keys(frame, style, middle);
    }
}

fn block<'a>(title: String, face: ratatui::style::Style, style: Style) -> Block<'a> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(face)
        .title(Span::styled(title, style.title()))
        .padding(Padding::horizontal(1))
}

fn questions(frame: &mut Frame<'_>, model: &Model, style: Style, area: Rect) {
    let title = match model.page {
        Page::Node(number) => format!(" Node {} of {} ", number + 1, model.document.len("nodes")),
        page => format!(" {} ", page.title()),
    };
    let block = block(title, style.frame(), style);
    let inner = block.inner(area);
    let (lines, focus) = questions::lines(model, style, inner.width.into(), inner.height.into());
    scrolled(frame, area, block, lines, focus, style);
}

fn file(frame: &mut Frame<'_>, model: &Model, style: Style, area: Rect) {
    let wrong = &model.verdict.wrong;
    let (state, face) = match wrong.iter().filter(|wrong| !wrong.open).count() {
        0 if wrong.is_empty() => (" ✓ ready ".to_owned(), style.good()),
        0 => (format!(" ○ {} to be said ", wrong.len()), style.quiet()),
        bad => (format!(" ✗ {bad} wrong "), style.bad()),
    };
    let block = block(format!(" {} ", model.host.file), style.quiet(), style)
        .title(Line::styled(state, face).alignment(Alignment::Right));
    let (lines, focus) = file::lines(model, style, usize::from(block.inner(area).width));
    scrolled(frame, area, block, lines, focus, style);
}

/// Shows as many lines as there is room for, those that matter among them; says so when there are more.
fn scrolled(
    frame: &mut Frame<'_>,
    area: Rect,
    mut block: Block<'_>,
    lines: Vec<Line<'static>>,
    focus: Range<usize>,
    style: Style,
) {
    let height = usize::from(block.inner(area).height);
    let count = lines.len();
    // A line more above and below, so that one sees that it goes on.
    let end = (focus.end + 1).min(focus.start + height).min(count);
    let from = end.saturating_sub(height).min(focus.start.saturating_sub(1));
    if count > height {
        let more = format!(" {}–{} of {count} ", from + 1, (from + height).min(count));
        block = block.title_bottom(Line::styled(more, style.quiet()).alignment(Alignment::Right));
    }
    let from = u16::try_from(from).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(lines).block(block).scroll((from, 0)), area);
}

/// A question that stands before everything else.
fn ask(frame: &mut Frame<'_>, model: &Model, asking: Asking, style: Style, area: Rect) {
    let (title, text) = match asking {
        Asking::Leave => (" Leave? ", "Nothing is written, and your answers are gone.".to_owned()),
        Asking::Replace(_) => {
            (" Replace? ", format!("{} is there already. It will be replaced.", model.host.file))
        }
    };
    let answers = Line::from(vec![
        Span::styled("y", style.press()),
        Span::styled(" yes    ", style.quiet()),
        Span::styled("any other key", style.press()),
        Span::styled(" no", style.quiet()),
    ]);
    let lines = vec![Line::default(), Line::from(text), Line::default(), answers];
    before_everything(frame, area, (54, 7), lines, block(title.to_owned(), style.doubt(), style));
}

/// All keys there are.
fn show_keys(frame: &mut Frame<'_>, style: Style, area: Rect) {
    let lines = keys::all(style);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    before_everything(frame, area, (62, height), lines, block(" Keys ".to_owned(), style.frame(), style));
}

/// In the middle, over what is there.
fn before_everything(
    frame: &mut Frame<'_>,
    area: Rect,
    (width, height): (u16, u16),
    lines: Vec<Line<'static>>,
    block: Block<'_>,
) {
    let (width, height) = (area.width.min(width), area.height.min(height));
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), place);
}

#[cfg(test)]
mod tests;
