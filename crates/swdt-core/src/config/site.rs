//! A place in the tree, for rules that say where something is wrong.

use super::{
    problem::Span,
    tree::{Kind, Tree},
};

/// A value that may be there, and what to underline about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'t> {
    tree: Option<&'t Tree>,
    span: Span,
}

impl<'t> Site<'t> {
    /// The whole file.
    pub(super) fn root(tree: &'t Tree) -> Self {
        Self { tree: Some(tree), span: tree.heading() }
    }

    /// No place at all, for looking at a value whose problems are told elsewhere.
    pub(super) fn nowhere() -> Self {
        Self { tree: None, span: Span::new(0, 0) }
    }

    /// The value of a key; when it is absent, what to underline is what holds it.
    pub(super) fn key(self, name: &str) -> Self {
        let Some(Kind::Map(entries)) = self.tree.map(|tree| &tree.kind) else {
            return Self { tree: None, ..self };
        };
        match entries.iter().find(|entry| entry.key == name) {
            None => Self { tree: None, ..self },
            Some(entry) => Self {
                tree: Some(&entry.value),
                span: if entry.value.is_scalar() { entry.value.span } else { entry.key_span },
            },
        }
    }

    /// An item of a list.
    pub(super) fn item(self, index: usize) -> Self {
        match self.tree.map(|tree| &tree.kind) {
            Some(Kind::List(items)) => items.get(index).map_or(self, Self::root),
            _ => self,
        }
    }

    /// Did the user write something here, right or wrong?
    pub(super) fn written(self) -> bool {
        self.tree.is_some_and(|tree| !matches!(tree.kind, Kind::Null))
    }

    /// Was it written wrongly? Then it has been reported, and nothing may be concluded from it.
    pub(super) fn bad(self) -> bool {
        self.tree.is_some_and(|tree| match &tree.kind {
            Kind::Bad => true,
            Kind::List(items) => items.iter().any(|item| matches!(item.kind, Kind::Bad)),
            _ => false,
        })
    }

    /// Is everything here and below written rightly?
    pub(super) fn sound(self) -> bool {
        fn sound(tree: &Tree) -> bool {
            match &tree.kind {
                Kind::Bad => false,
                Kind::List(items) => items.iter().all(sound),
                Kind::Map(entries) => entries.iter().all(|entry| sound(&entry.value)),
                _ => true,
            }
        }
        self.tree.is_none_or(sound)
    }

    /// What to underline.
    pub(super) fn span(self) -> Span {
        self.span
    }
}
