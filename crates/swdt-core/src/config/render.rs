//! Draws problems: message, place, the line, an underline, a hint.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::problem::{Problem, Span};
use crate::words::wrapped;

/// Columns of a line that are shown where no terminal says otherwise; longer lines are cropped around the underlined text.
const WIDTH: usize = 100;
/// The least and the most that is shown for a terminal.
const WIDTHS: (usize, usize) = (20, 400);
/// Bytes looked at before and after the start of the underlined text; more than any width has.
const NEAR: usize = 2048;
/// Problems drawn; more would scroll away the first, which is the one to mend first.
const SHOWN: usize = 25;

/// A piece of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it is, for colours.
    pub style: Style,
    /// The text; joined together, all pieces are the plain report.
    pub text: String,
}

/// What a piece of a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The word `error`.
    Error,
    /// What `swdt explain` looks up.
    Id,
    /// The sentence that says what is wrong.
    Message,
    /// Line numbers and rules.
    Gutter,
    /// `file:line:column`.
    Place,
    /// The line as the user wrote it.
    Source,
    /// The underline and its remark.
    Caret,
    /// The word `help`.
    Help,
    /// Everything else.
    Plain,
}

/// The report, piece by piece.
pub(super) fn pieces(
    file: &str,
    text: &str,
    secrets: &[Span],
    problems: &[Problem],
    columns: Option<usize>,
) -> Vec<Piece> {
    let shown = &problems[..problems.len().min(SHOWN)];
    let widest = shown.iter().map(|problem| problem.line).max().unwrap_or(1);
    let margin = widest.to_string().len();
    // The rule, blanks around it, and a mark at both ends of what is cropped.
    let room = |columns: usize| columns.saturating_sub(margin + 5).clamp(WIDTHS.0, WIDTHS.1);
    let mut page = Page { pieces: Vec::new(), margin, width: columns.map_or(WIDTH, room), columns };
    for (index, problem) in shown.iter().enumerate() {
        if index > 0 {
            page.push(Style::Plain, "\n");
        }
        page.problem(file, text, secrets, problem);
    }
    if problems.len() > shown.len() {
        page.push(Style::Plain, format!("\n… and {} more problems\n", problems.len() - shown.len()));
    }
    page.pieces
}

struct Page {
    pieces: Vec<Piece>,
    margin: usize,
    /// Columns of a line that are shown.
    width: usize,
    /// Columns of the terminal, if there is one.
    columns: Option<usize>,
}

impl Page {
    fn push(&mut self, style: Style, text: impl Into<String>) {
        self.pieces.push(Piece { style, text: text.into() });
    }

    fn gutter(&mut self, mark: &str) {
        self.push(Style::Gutter, format!("{mark:>width$} ", width = self.margin));
    }

    fn problem(&mut self, file: &str, text: &str, secrets: &[Span], problem: &Problem) {
        self.push(Style::Error, "error");
        self.push(Style::Id, format!("[{}]", problem.id));
        self.push(Style::Message, format!(": {}\n", problem.message));
        self.push(Style::Gutter, format!("{:width$}--> ", "", width = self.margin));
        if text.is_empty() {
            self.push(Style::Place, format!("{file}\n"));
        } else {
            self.push(Style::Place, format!("{file}:{}:{}\n", problem.line, problem.column));
            self.excerpt(&Excerpt::new(text, secrets, problem.span, self.width), problem);
        }
        if let Some(hint) = &problem.hint {
            self.gutter("");
            self.push(Style::Gutter, "= ");
            self.push(Style::Help, "help");
            let head = " ".repeat(self.margin + " = help: ".len());
            let hint = wrapped(&head, hint, self.columns);
            self.push(Style::Plain, format!(": {}\n", hint.trim_start()));
        }
    }

    fn excerpt(&mut self, excerpt: &Excerpt, problem: &Problem) {
        self.gutter("");
        self.push(Style::Gutter, "|\n");
        self.gutter(&problem.line.to_string());
        self.push(Style::Gutter, "|");
        self.push(Style::Source, format!(" {}", excerpt.line).trim_end().to_owned() + "\n");
        self.gutter("");
        self.push(Style::Gutter, "|");
        let carets = "^".repeat(excerpt.caret.len().max(1));
        let label = problem.label.as_ref().map_or(String::new(), |label| format!(" {label}"));
        self.push(Style::Caret, format!(" {:start$}{carets}{label}\n", "", start = excerpt.caret.start));
    }
}

/// A line ready for a terminal, and the columns to underline.
struct Excerpt {
    line: String,
    caret: Range<usize>,
}

impl Excerpt {
    fn new(text: &str, secrets: &[Span], span: Span, width: usize) -> Self {
        let at = span.start.min(text.len());
        let start =
            text.as_bytes()[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
        let end = text.as_bytes()[at..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(text.len(), |found| at + found);

        // A line may be as long as the file; what is near the underlined text is enough to draw it.
        let boundary = |place: &usize| text.is_char_boundary(*place);
        let start = (start.max(at.saturating_sub(NEAR))..=at).find(boundary).unwrap_or(at);
        let end = (at..=end.min(at + NEAR)).rev().find(boundary).unwrap_or(end);

        let mut cells: Vec<Cell> = Vec::new();
        let mut caret: Option<Range<usize>> = None;
        let mut column = 0;
        for (index, character) in text[start..end].char_indices() {
            let offset = start + index;
            let cell = Cell::new(character, column, hidden(secrets, offset));
            if (span.start..span.end.max(span.start + 1)).contains(&offset) && character != '\r' {
                let from = caret.as_ref().map_or(column, |range| range.start);
                caret = Some(from..column + cell.width);
            }
            column += cell.width;
            cells.push(cell);
        }
        crop(&cells, caret.unwrap_or(column..column), column, width)
    }
}

fn hidden(secrets: &[Span], offset: usize) -> bool {
    let after = secrets.partition_point(|secret| secret.start <= offset);
    after.checked_sub(1).is_some_and(|last| offset < secrets[last].end)
}

/// One character as it is shown.
struct Cell {
    shown: char,
    width: usize,
    column: usize,
}

impl Cell {
    /// Control characters and marks that turn the direction of text must not reach a terminal.
    fn new(character: char, column: usize, secret: bool) -> Self {
        let (shown, width) = match character {
            _ if secret => ('*', 1),
            '\t' => ('\t', 4 - column % 4),
            '\r' => (' ', 0),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => ('\u{fffd}', 1),
            _ => character.width().map_or(('\u{fffd}', 1), |width| (character, width)),
        };
        Self { shown, width, column }
    }
}

fn crop(cells: &[Cell], caret: Range<usize>, total: usize, width: usize) -> Excerpt {
    // A part of it stays before the underlined text.
    let from = if total <= width { 0 } else { caret.start.saturating_sub(width * 2 / 5) };
    let to = if total <= width { total } else { from + width };
    let mut line = String::new();
    let mut indent = 0;
    if from > 0 {
        line.push('…');
        indent = 1;
    }
    let seen = cells.iter().filter(|cell| cell.column >= from && cell.column + cell.width <= to);
    let mut first = None;
    for cell in seen {
        first.get_or_insert(cell.column);
        match cell.shown {
            '\t' => line.extend(std::iter::repeat_n(' ', cell.width)),
            _ if cell.width == 0 && cell.shown == ' ' => {}
            shown => line.push(shown),
        }
    }
    if to < total {
        line.push('…');
    }
    let base = first.unwrap_or(from);
    let start = caret.start.saturating_sub(base) + indent;
    let end = caret.end.min(to.max(caret.start)).saturating_sub(base) + indent;
    Excerpt { line, caret: start..end.max(start) }
}
