//! Where something stands in the text: from its key or dash to its last word.

use super::{
    Step,
    path::{self, child},
};
use crate::config::tree::{Kind, Tree};

/// The bytes of an entry of a map or an item of a list, with its key or dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Place {
    pub(super) fn of(text: &str, root: &Tree, steps: &[Step]) -> Option<Self> {
        let Some((last, way)) = steps.split_last() else {
            return Some(Self { start: root.span.start, end: end(text, root) });
        };
        let holder = path::find(root, way)?;
        let value = child(holder, last)?;
        let start = match (&holder.kind, last) {
            (Kind::Map(entries), Step::Key(key)) => {
                entries.iter().find(|entry| entry.key == *key)?.key_span.start
            }
            _ if is_flow(text, holder) => value.span.start,
            _ => dash(text, value)?,
        };
        let end = end(text, value).max(key_end(holder, last));
        Some(Self { start, end })
    }
}

/// Where the key ends: an entry without a value is its key.
fn key_end(holder: &Tree, step: &Step) -> usize {
    match (&holder.kind, step) {
        (Kind::Map(entries), Step::Key(key)) => {
            entries.iter().find(|entry| entry.key == *key).map_or(0, |entry| entry.key_span.end)
        }
        _ => 0,
    }
}

/// The dash of an item: the last one before it on its line.
fn dash(text: &str, item: &Tree) -> Option<usize> {
    let start = first(item);
    let line = line_start(text, start);
    text[line..start].rfind('-').map(|at| line + at)
}

/// Where a value begins to be written.
fn first(tree: &Tree) -> usize {
    match &tree.kind {
        Kind::Map(entries) => {
            entries.first().map_or(tree.span.start, |entry| entry.key_span.start.min(tree.span.start))
        }
        _ => tree.span.start,
    }
}

/// Where a value ends: behind the last word in it.
pub(super) fn end(text: &str, tree: &Tree) -> usize {
    let own = tree.span.end;
    let inner = match &tree.kind {
        Kind::Map(entries) => {
            entries.iter().map(|entry| end(text, &entry.value).max(entry.key_span.end)).max().unwrap_or(0)
        }
        Kind::List(items) => items.iter().map(|item| end(text, item)).max().unwrap_or(0),
        _ => 0,
    };
    let end = own.max(inner).min(text.len());
    // Block scalars end behind their last line.
    tree.span.start.max(text[..end].trim_end().len())
}

/// Is it written in `{}` or `[]`?
pub(super) fn is_flow(text: &str, tree: &Tree) -> bool {
    matches!(text.as_bytes().get(tree.span.start), Some(b'{' | b'['))
        && matches!(tree.kind, Kind::Map(_) | Kind::List(_))
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// Behind the end of the line, with its newline.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found + 1)
}

pub(super) fn column(text: &str, at: usize) -> usize {
    text[line_start(text, at)..at].chars().count()
}
