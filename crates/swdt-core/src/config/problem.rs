//! What is wrong with a file: every problem, each at its place.

use std::{collections::HashSet, fmt, slice, sync::Arc};

use super::render;
use crate::{
    error::{Entry, Error},
    id,
};

pub use super::render::{Piece, Style};

/// Bytes of the file, from `start` up to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What `swdt explain` looks up.
    pub id: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// A short remark beside the underlined text.
    pub label: Option<String>,
    /// What to write instead.
    pub hint: Option<String>,
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in the line, from 1, in characters.
    pub column: usize,
    pub(super) span: Span,
}

impl Problem {
    pub(super) fn new(entry: &Entry, span: Span, message: impl Into<String>) -> Self {
        Self { id: entry.id, message: message.into(), label: None, hint: None, line: 0, column: 0, span }
    }

    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Everything that is wrong with a file, in the order of the file; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    file: String,
    text: Arc<str>,
    /// What must not be shown, in order, and apart from each other.
    secrets: Vec<Span>,
    list: Vec<Problem>,
}

impl Problems {
    pub(super) fn new(file: &str, text: &str, mut secrets: Vec<Span>, mut list: Vec<Problem>) -> Self {
        secrets.sort();
        secrets.dedup_by(|next, kept| {
            let joined = next.start <= kept.end;
            kept.end = if joined { kept.end.max(next.end) } else { kept.end };
            joined
        });
        list.sort_by_key(|problem| problem.span);
        // What is wrong with what nodes share is found at each of them.
        let mut told = HashSet::new();
        list.retain(|problem| told.insert((problem.span, problem.id, problem.message.clone())));
        let mut at = Position { text, offset: 0, line: 1, column: 1 };
        for problem in &mut list {
            (problem.line, problem.column) = at.advance(problem.span.start);
        }
        Self { file: file.to_owned(), text: text.into(), secrets, list }
    }

    /// These problems and others of the same file.
    #[must_use]
    pub fn and(mut self, others: Option<Self>) -> Self {
        let Some(others) = others else { return self };
        self.secrets.extend(others.secrets);
        self.list.extend(others.list);
        Self::new(&self.file, &self.text, self.secrets, self.list)
    }

    /// Every problem, in the order of the file.
    pub fn iter(&self) -> slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "without a problem there are no `Problems`")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// One line: the file and how many problems it has.
    pub fn summary(&self) -> String {
        match self.list.len() {
            1 => format!("`{}` has a problem", self.file),
            several => format!("`{}` has {several} problems", self.file),
        }
    }

    /// The report as pieces of text with a role each, for a terminal that has colours.
    pub fn pieces(&self) -> Vec<Piece> {
        self.pieces_for(None)
    }

    /// The same for a terminal of so many columns: a line that wraps has nothing below its mark.
    pub fn pieces_for(&self, columns: Option<usize>) -> Vec<Piece> {
        render::pieces(&self.file, &self.text, &self.secrets, &self.list, columns)
    }

    /// The report as plain text.
    pub fn render(&self) -> String {
        self.pieces().into_iter().map(|piece| piece.text).collect()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render())
    }
}

impl std::error::Error for Problems {}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Self {
        let lines = problems.render().lines().map(ToOwned::to_owned).collect();
        Self::new(id::CONFIG_INVALID, problems.summary()).with_output(lines)
    }
}

/// A place that only moves forward, so that thousands of problems cost one pass over the text.
struct Position<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
    column: usize,
}

impl Position<'_> {
    fn advance(&mut self, to: usize) -> (usize, usize) {
        let to = to.min(self.text.len());
        for (index, character) in self.text[self.offset..].char_indices() {
            if self.offset + index >= to {
                break;
            }
            (self.line, self.column) =
                if character == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        }
        self.offset =
            (self.offset..=to).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(self.offset);
        (self.line, self.column)
    }
}
