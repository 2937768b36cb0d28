//! YAML as a tree that remembers where everything was written.
//!
//! The only file that knows the YAML parser. What a cluster needs is a small part of YAML, so anchors, aliases,
//! tags and directives are refused: they make files that cannot be bounded and messages nobody understands.

use std::collections::{HashMap, hash_map};

use granit_parser::{Event, Parser, ScalarStyle, Span as Mark, StructureStyle};
use serde_json::{Number, Value};

use super::{
    problem::{Problem, Span},
    syntax,
};
use crate::{id, words::brief};

/// Nesting of the deepest sound file is 7; a file beyond this is an attack or an accident.
const MAX_DEPTH: usize = 32;
/// Values in a file: enough for thousands of nodes.
const MAX_VALUES: usize = 50_000;
/// Problems of reading after which the rest of the file is not worth a look.
const MAX_PROBLEMS: usize = 100;

/// What to do without anchors.
const SHARED: &str = "what several nodes share goes under `defaults`, once";

/// A value and where it is.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) span: Span,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<Entry>),
    /// Reported already: rules neither see it nor miss it.
    Bad,
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: Tree,
}

impl Tree {
    /// Is it one word, so that it can be underlined?
    pub(super) fn is_scalar(&self) -> bool {
        matches!(self.kind, Kind::Bool(_) | Kind::Number(_) | Kind::Text(_))
    }

    /// What to underline: a word itself, of a map its first entry.
    pub(super) fn heading(&self) -> Span {
        let Kind::Map(entries) = &self.kind else { return self.span };
        entries.first().map_or(self.span, |first| {
            let end = if first.value.is_scalar() { first.value.span.end } else { first.key_span.end };
            Span::new(first.key_span.start, end.max(first.key_span.end))
        })
    }

    /// The value without its places; `Bad` parts are left out of maps and are null in lists.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null | Kind::Bad => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Text(value) => Value::String(value.clone()),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(entries) => {
                let sound = entries.iter().filter(|entry| !matches!(entry.value.kind, Kind::Bad));
                sound.map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
            }
        }
    }
}

/// Reads one document. The tree is missing when the document could not be read to its end.
pub(super) fn parse(text: &str) -> (Option<Tree>, Vec<Problem>) {
    let options = granit_parser::options! {
        emit_comments: false,
        disallow_directives: true,
        emit_anchor_events: true,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder { text, ..Builder::default() };
    for next in Parser::new_from_str_with_options(text, options) {
        let go_on = match next {
            Ok((event, mark)) => builder.event(event, &mark),
            Err(error) => {
                builder.problems.push(syntax::explain(text, &error));
                builder.root = None;
                false
            }
        };
        if !go_on || builder.problems.len() >= MAX_PROBLEMS {
            break;
        }
    }
    (builder.root, builder.problems)
}

/// A list or map that is not closed yet.
struct Open {
    span: Span,
    flow: bool,
    content: Content,
}

enum Content {
    List(Vec<Tree>),
    Map { entries: Vec<Entry>, seen: HashMap<String, Span>, key: Option<Key> },
}

struct Key {
    text: Option<String>,
    span: Span,
}

#[derive(Default)]
struct Builder<'t> {
    text: &'t str,
    root: Option<Tree>,
    open: Vec<Open>,
    documents: usize,
    values: usize,
    problems: Vec<Problem>,
}

impl Builder<'_> {
    /// Takes one event; false when reading further makes no sense.
    fn event(&mut self, event: Event<'_>, mark: &Mark) -> bool {
        let span = byte_span(mark);
        if event.tag().is_some() {
            let tag = mark.tag_span().map_or(span, |tag| byte_span(&tag));
            self.refuse(tag, "tags (`!…`) are not used in this file", "write the plain value");
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let problem = Problem::new(
                        id::YAML_UNSUPPORTED,
                        span,
                        "a file describes one cluster, but a second document starts here",
                    );
                    self.problems.push(problem.hint("keep one document; put each cluster into its own file"));
                    return false;
                }
            }
            Event::Scalar(text, style, ..) => {
                let text = text.into_owned();
                let kind = if style == ScalarStyle::Plain { plain(&text) } else { Kind::Text(text.clone()) };
                return self.value(Tree { span, kind }, Some(text));
            }
            Event::SequenceStart(style, ..) => {
                return self.start(span, style, Content::List(Vec::new()));
            }
            Event::MappingStart(style, ..) => {
                let content = Content::Map { entries: Vec::new(), seen: HashMap::new(), key: None };
                return self.start(span, style, content);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.end(span),
            Event::Anchor(_, name) => {
                let message = format!("anchors (`&{}`) are not used in this file", brief(&name));
                self.refuse(span, &message, SHARED);
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(span, "aliases (`*…`) are not used in this file", SHARED);
                return self.value(Tree { span, kind: Kind::Bad }, None);
            }
            _ => {}
        }
        true
    }

    fn refuse(&mut self, span: Span, message: &str, hint: &str) {
        self.problems.push(Problem::new(id::YAML_UNSUPPORTED, span, message).hint(hint));
    }

    fn start(&mut self, span: Span, style: StructureStyle, content: Content) -> bool {
        let flow = style == StructureStyle::Flow;
        self.open.push(Open { span, flow, content });
        if self.open.len() > MAX_DEPTH {
            self.refuse(span, &syntax::too_deep(), syntax::TOO_DEEP_HINT);
            return false;
        }
        true
    }

    fn end(&mut self, mark: Span) -> bool {
        let Some(open) = self.open.pop() else { return true };
        let end = if open.flow { mark.end } else { open.span.end };
        let kind = match open.content {
            Content::List(items) => Kind::List(items),
            Content::Map { entries, .. } => Kind::Map(entries),
        };
        self.value(Tree { span: Span::new(open.span.start, end), kind }, None)
    }

    /// Puts a finished value where it belongs; `text` is what it says if it turns out to be a key.
    fn value(&mut self, tree: Tree, text: Option<String>) -> bool {
        self.values += 1;
        if self.values > MAX_VALUES {
            let message = format!("the file has more than {MAX_VALUES} values");
            self.refuse(tree.span, &message, "is this the right file?");
            return false;
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(tree),
            Some(Content::List(items)) => items.push(tree),
            Some(Content::Map { entries, seen, key }) => match key.take() {
                None => {
                    let unknown = text.is_none() && !matches!(tree.kind, Kind::Bad);
                    *key = Some(Key { span: tree.span, text });
                    if unknown {
                        self.refuse(tree.span, "a key must be plain text", "write `key: value`");
                    }
                }
                // Reported when the key was read.
                Some(Key { text: None, .. }) => {}
                Some(Key { text: Some(key), span }) => match seen.entry(key) {
                    hash_map::Entry::Vacant(free) => {
                        entries.push(Entry { key: free.key().clone(), key_span: span, value: tree });
                        free.insert(span);
                    }
                    hash_map::Entry::Occupied(first) => {
                        let line = syntax::line_of(self.text, first.get().start);
                        let problem = Problem::new(
                            id::FIELD_TWICE,
                            span,
                            format!("`{}` is written twice", brief(first.key())),
                        );
                        let hint = "keep one of the two, or join what is under them";
                        self.problems.push(problem.label(format!("first on line {line}")).hint(hint));
                    }
                },
            },
        }
        true
    }
}

fn byte_span(mark: &Mark) -> Span {
    let start = mark.start.byte_offset().unwrap_or_default();
    Span::new(start, mark.end.byte_offset().unwrap_or(start))
}

/// What an unquoted word means, by the core schema of YAML 1.2 (`yes`, `no`, `on` and `off` are text).
pub(super) fn plain(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Kind::Null,
        "true" | "True" | "TRUE" => return Kind::Bool(true),
        "false" | "False" | "FALSE" => return Kind::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Kind::Text(text.to_owned()), Kind::Number)
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok().map(Number::from);
    }
    // Rust also reads `inf`, `nan` and `infinity` as numbers; YAML does not.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return None;
    }
    if !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let whole = text.strip_prefix('+').unwrap_or(text);
    whole
        .parse::<u64>()
        .map(Number::from)
        .or_else(|_| whole.parse::<i64>().map(Number::from))
        .ok()
        .or_else(|| whole.parse::<f64>().ok().and_then(Number::from_f64))
}
