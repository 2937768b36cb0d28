//! One question: what it is called, why it is asked, where its answer stands in the file.

use serde_json::{Value, json};
use swdt_core::{config::edit::Document, spec::OsFamily};

/// A question.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) label: &'static str,
    /// One line: why it matters.
    pub(crate) why: String,
    /// Where the answer stands.
    pub(crate) path: String,
    pub(crate) kind: Kind,
    /// What is allowed but may be regretted.
    pub(crate) doubt: Option<String>,
}

/// How a question is answered.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// By typing.
    Text(Text),
    /// By choosing.
    Choice(Vec<Choice>),
    /// By pressing Enter.
    Action(Action),
}

/// A question that is answered by typing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    /// What holds if nothing is typed.
    pub(crate) default: Option<String>,
    /// Digits stand in the file as a number.
    pub(crate) number: bool,
    /// The key stays in the file when nothing is typed, so that the rules speak of it there.
    pub(crate) required: bool,
}

/// What Enter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Opens a node.
    EditNode(usize),
    /// Adds one.
    AddNode(OsFamily),
    /// Takes the node away that is open.
    RemoveNode(usize),
    /// Closes the node that is open.
    CloseNode,
    /// Goes to the next page.
    GoOn,
    /// Goes where something is wrong.
    Visit(usize),
    /// Writes the file and ends.
    Write,
    /// Writes the file, ends, and creates the cluster.
    WriteAndCreate,
}

/// One of several answers.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// What is written; nothing for the default. An empty map stands for any map.
    pub(crate) value: Option<Value>,
    pub(crate) label: String,
    pub(crate) about: String,
}

impl Choice {
    pub(crate) fn new(value: Option<&str>, label: impl Into<String>, about: impl Into<String>) -> Self {
        Self { value: value.map(Value::from), label: label.into(), about: about.into() }
    }
}

impl Field {
    fn new(label: &'static str, path: impl Into<String>, why: impl Into<String>, kind: Kind) -> Self {
        Self { label, why: why.into(), path: path.into(), kind, doubt: None }
    }

    pub(crate) fn text(label: &'static str, path: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(label, path, why, Kind::Text(Text::default()))
    }

    /// The same, and what holds if nothing is said.
    pub(crate) fn or(mut self, holds: impl Into<String>) -> Self {
        self.kind = Kind::Text(Text { default: Some(holds.into()), ..Text::default() });
        self
    }

    /// A number, and the one that holds if nothing is said.
    pub(crate) fn or_number(mut self, holds: u64) -> Self {
        self.kind = Kind::Text(Text { default: Some(holds.to_string()), number: true, required: false });
        self
    }

    /// It must be answered.
    pub(crate) fn required(mut self) -> Self {
        self.kind = Kind::Text(Text { required: true, ..Text::default() });
        self
    }

    /// What may be regretted, if there is something.
    pub(crate) fn doubted(mut self, doubt: Option<String>) -> Self {
        self.doubt = doubt;
        self
    }

    pub(crate) fn choice(
        label: &'static str,
        path: impl Into<String>,
        why: impl Into<String>,
        choices: Vec<Choice>,
    ) -> Self {
        Self::new(label, path, why, Kind::Choice(choices))
    }

    pub(crate) fn action(
        label: &'static str,
        path: impl Into<String>,
        why: impl Into<String>,
        action: Action,
    ) -> Self {
        Self::new(label, path, why, Kind::Action(action))
    }

    /// What Enter does, if it is more than going on.
    pub(crate) fn act(&self) -> Option<Action> {
        if let Kind::Action(action) = self.kind { Some(action) } else { None }
    }

    /// The answer as it stands in the file, as text.
    pub(crate) fn answer(&self, document: &Document) -> String {
        match document.get(&self.path) {
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }

    /// Was nothing typed where something may be? What must be in the file is there from the beginning, if empty.
    pub(crate) fn unanswered(&self, document: &Document) -> bool {
        matches!(&self.kind, Kind::Text(text) if !text.required) && self.answer(document).is_empty()
    }

    /// Which of the choices stands in the file; one that is not offered is none of them.
    pub(crate) fn chosen(&self, document: &Document) -> Option<usize> {
        let Kind::Choice(choices) = &self.kind else { return None };
        let value = document.get(&self.path);
        let any_map = value.as_ref().is_some_and(Value::is_object);
        choices
            .iter()
            .position(|choice| choice.value == value || (any_map && choice.value == Some(json!({}))))
    }

    /// The answer in a few words: what was chosen, typed, or holds without an answer.
    pub(crate) fn told(&self, document: &Document) -> Told {
        let answer = self.answer(document);
        match &self.kind {
            Kind::Choice(choices) => {
                let chosen = self.chosen(document).map(|at| choices[at].label.clone());
                Told { text: chosen.unwrap_or(answer), said: true }
            }
            Kind::Text(Text { default: Some(default), .. }) if answer.is_empty() => {
                Told { text: default.clone(), said: false }
            }
            _ => Told { text: answer, said: true },
        }
    }
}

/// An answer in a few words.
pub(crate) struct Told {
    pub(crate) text: String,
    /// Said by the user, not by a default.
    pub(crate) said: bool,
}

/// What was typed, as it stands in the file.
pub(crate) fn typed(text: &str, number: bool) -> Value {
    match text.parse::<u32>() {
        Ok(value) if number && value.to_string() == text => Value::from(value),
        _ => Value::from(text),
    }
}
