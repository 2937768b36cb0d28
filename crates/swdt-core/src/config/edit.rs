//! Changes a cluster file and keeps everything else of it: comments, order, the way things are written.
//!
//! The text is the document. Each change reads it anew, finds the bytes that are meant, and puts others there; then the
//! result is read again and must say what was asked for, and nothing else may say anything else. So a file is changed
//! rightly or not at all.

mod path;
mod place;
mod write;

use std::sync::Arc;

use serde_json::Value;

use self::{path::Step, place::Place};
use super::{
    problem::Span,
    tree::{self, Kind, Tree},
};

/// A cluster file that is being written.
#[derive(Debug, Clone)]
pub struct Document {
    text: String,
    /// What the text says; none where it cannot be read.
    tree: Option<Arc<Tree>>,
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The file cannot be read as it is.
    Unreadable,
    /// The item of a list is asked for that is neither there nor the next.
    Beyond {
        /// The list.
        list: String,
        /// How many items it has.
        count: usize,
    },
    /// It is written in a way that cannot be changed without loss; by hand it can.
    Unchangeable {
        /// Where.
        path: String,
    },
}

/// What a word on a command line says, read as YAML: `2` is a number, `[a, b]` a list. What cannot be read is text; none
/// if it begins like a list or a map.
pub fn value(word: &str) -> Option<Value> {
    match tree::parse(word) {
        (Some(tree), problems) if problems.is_empty() => Some(tree.to_json()),
        _ => Some(Value::from(word)).filter(|_| !word.trim_start().starts_with(['{', '['])),
    }
}

impl Document {
    /// A document with that text, whatever it is.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let tree = match tree::parse(&text) {
            (Some(tree), problems) if problems.is_empty() => Some(tree),
            // An empty file has no tree, and is a fine beginning.
            (None, problems) if problems.is_empty() => {
                Some(Tree { span: Span::new(text.len(), text.len()), kind: Kind::Null })
            }
            _ => None,
        };
        Self { text, tree: tree.map(Arc::new) }
    }

    /// The text as it is now.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Can it be read, and so be changed?
    pub fn readable(&self) -> bool {
        self.tree().is_ok()
    }

    /// What stands there, such as at `nodes[1].connection.user`.
    pub fn get(&self, path: &str) -> Option<Value> {
        let tree = self.tree().ok()?;
        path::find(&tree, &path::steps(path)).map(Tree::to_json).filter(|value| !value.is_null())
    }

    /// How long a list is; zero if there is none.
    pub fn len(&self, path: &str) -> usize {
        self.get(path).and_then(|value| value.as_array().map(Vec::len)).unwrap_or(0)
    }

    /// Is the list empty, or not there?
    pub fn is_empty(&self, path: &str) -> bool {
        self.len(path) == 0
    }

    /// The lines, from zero, on which the value stands with its key: where an eye should look.
    pub fn lines(&self, path: &str) -> Option<std::ops::Range<usize>> {
        let tree = self.tree().ok()?;
        let steps = path::steps(path);
        let place = Place::of(&self.text, &tree, &steps)?;
        let line = |at: usize| self.text[..at.min(self.text.len())].matches('\n').count();
        Some(line(place.start)..line(place.end) + 1)
    }

    /// Writes a value there. What is missing on the way is made; an item behind the last of a list is added to it.
    pub fn set(&mut self, path: &str, value: &Value) -> Result<(), Refused> {
        let steps = path::steps(path);
        let mut wanted = self.json()?;
        if let Some((list, count)) = path::beyond(&wanted, &steps) {
            return Err(Refused::Beyond { list, count });
        }
        if path::put(&mut wanted, &steps, value.clone()).is_none() {
            return Err(Refused::Unchangeable { path: path.to_owned() });
        }
        let tree = self.tree()?;
        self.change(path, wanted, |text| write::set(text, &tree, &steps, value))
    }

    /// Takes away what stands there; does nothing if nothing does.
    pub fn remove(&mut self, path: &str) -> Result<(), Refused> {
        let steps = path::steps(path);
        let tree = self.tree()?;
        if path::find(&tree, &steps).is_none() {
            return Ok(());
        }
        let mut wanted = self.json()?;
        path::cut(&mut wanted, &steps);
        self.change(path, wanted, |text| write::remove(text, &tree, &steps))
    }

    fn tree(&self) -> Result<Arc<Tree>, Refused> {
        self.tree.clone().ok_or(Refused::Unreadable)
    }

    fn json(&self) -> Result<Value, Refused> {
        self.tree().map(|tree| tree.to_json())
    }

    /// Takes over a changed text if it says exactly what was wanted.
    fn change(
        &mut self,
        path: &str,
        wanted: Value,
        edit: impl FnOnce(&str) -> Option<String>,
    ) -> Result<(), Refused> {
        let refused = || Refused::Unchangeable { path: path.to_owned() };
        let changed = Self::new(edit(&self.text).ok_or_else(refused)?);
        if path::plain(changed.json().map_err(|_| refused())?) != path::plain(wanted) {
            return Err(refused());
        }
        *self = changed;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
