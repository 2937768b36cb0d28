//! What is wrong with the file, by the rules that `swdt cluster create` has, and which question that is about.

use std::collections::BTreeMap;

use swdt_core::{
    catalog::{self, Verdict as Grade},
    config::{self, edit::Document},
    doctor::{self, Clocks, Fleet},
    spec::{Node, Spec},
};
use swdt_wire::Facts;

use crate::{Host, field::Field, nodes};

/// Something that keeps the file from being a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Wrong {
    pub(crate) message: String,
    pub(crate) hint: String,
    /// Its line in the file, from zero; none where the whole does not go together.
    pub(crate) line: Option<usize>,
    /// It is only that nobody has answered yet.
    pub(crate) open: bool,
    /// The node it is about, if it is about one.
    pub(crate) node: Option<usize>,
}

/// What was found by reading the file.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) wrong: Vec<Wrong>,
    /// The cluster, if nothing is wrong with its file.
    pub(crate) spec: Option<Spec>,
    /// The nodes that nothing is wrong with.
    pub(crate) nodes: Vec<Option<Node>>,
}

/// What a machine has that a node should not, or lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// The node.
    pub(crate) node: String,
    /// `create` would stop there.
    pub(crate) stops: bool,
    pub(crate) text: String,
}

impl Wrong {
    /// Finds the node it is about, and whether that was asked for an answer it did not get yet.
    fn placed(mut self, document: &Document, host: &Host) -> Self {
        let within = |at: &usize| {
            let lines = document.lines(&format!("nodes[{at}]"));
            lines.is_some_and(|lines| self.line.is_some_and(|line| lines.contains(&line)))
        };
        self.node = (0..document.len("nodes")).find(within);
        if let Some(number) = self.node {
            let fields = nodes::one(document, host, number);
            let field = owner(&self, document, &fields).map(|at| &fields[at]);
            self.open = field.is_some_and(|field| field.unanswered(document));
        }
        self
    }
}

impl Verdict {
    /// Reads the file as `swdt cluster create` would.
    pub(crate) fn of(document: &Document, host: &Host) -> Self {
        let bytes = document.text().as_bytes();
        let nodes = config::nodes(bytes, host.home.as_deref(), &host.directory);
        match config::load(&host.file, bytes, host.home.as_deref(), &host.directory) {
            Ok(spec) => Self { wrong: apart(&spec), spec: Some(spec), nodes },
            Err(problems) => {
                let wrong = problems.iter().map(|problem| {
                    let line = problem.line.saturating_sub(1);
                    let hint = problem.hint.clone().unwrap_or_default();
                    Wrong {
                        message: problem.message.clone(),
                        hint,
                        line: Some(line),
                        open: false,
                        node: None,
                    }
                    .placed(document, host)
                });
                Self { wrong: wrong.collect(), spec: None, nodes }
            }
        }
    }

    /// What the rules of `swdt doctor` say of the machines, as far as they are known. What a run sees to by itself is
    /// no answer to a question.
    pub(crate) fn notes(&self, facts: &BTreeMap<String, Facts>) -> Vec<Note> {
        let Some(spec) = &self.spec else { return Vec::new() };
        let found = doctor::machines(&Fleet { spec, facts, clocks: &Clocks::new() });
        let worth = found.into_iter().filter(|finding| finding.grade != doctor::Grade::Note);
        let note = |finding: doctor::Finding| {
            let (stops, text) = (finding.grade == doctor::Grade::Problem, finding.told());
            Some(Note { node: finding.node?, stops, text })
        };
        worth.filter_map(note).collect()
    }

    /// What is wrong with the answer to one of these questions.
    pub(crate) fn about<'a>(
        &'a self,
        document: &'a Document,
        fields: &'a [Field],
        at: usize,
    ) -> impl Iterator<Item = &'a Wrong> {
        self.wrong.iter().filter(move |wrong| owner(wrong, document, fields) == Some(at))
    }
}

/// Versions that do not go together.
fn apart(spec: &Spec) -> Vec<Wrong> {
    let wrong = |message: String, hint: String| Wrong { message, hint, line: None, open: false, node: None };
    match catalog::check(spec, &BTreeMap::new()) {
        Err(error) => vec![wrong(error.to_string(), error.hints.join("; "))],
        Ok(found) => found
            .into_iter()
            .filter(|finding| finding.verdict == Grade::Refuse)
            .map(|finding| wrong(format!("{} ({})", finding.message, finding.reason), finding.todo))
            .collect(),
    }
}

/// The question that something wrong is about: one that it names, else the one whose answer stands there.
pub(crate) fn owner(wrong: &Wrong, document: &Document, fields: &[Field]) -> Option<usize> {
    let line = wrong.line?;
    let within = |path: &str| document.lines(path).filter(|lines| lines.contains(&line));
    // What is named first is what to mend first.
    let named = fields.iter().enumerate().filter_map(|(at, field)| {
        let (holder, key) = field.path.rsplit_once('.')?;
        let holder = ancestor(document, holder);
        let in_hint = || Some(wrong.message.len() + wrong.hint.find(&format!("{key}:"))?);
        let told = wrong.message.find(&format!("`{key}`")).or_else(in_hint)?;
        (!holder.is_empty() && within(holder).is_some()).then_some((told, at))
    });
    let own = || {
        let there = fields.iter().enumerate().filter(|(_, field)| field.path.contains(['.', '[']));
        there.filter_map(|(at, field)| Some((within(&field.path)?.len(), at))).min().map(|(_, at)| at)
    };
    named.min().map(|(_, at)| at).or_else(own)
}

/// As much of a path as stands in the file.
pub(crate) fn ancestor<'a>(document: &Document, path: &'a str) -> &'a str {
    let mut path = path;
    while !path.is_empty() && document.lines(path).is_none() {
        path = path.rsplit_once('.').map_or("", |(holder, _)| holder);
    }
    path
}
