//! YAML with the place of every value, and values as YAML.

use std::fmt::Write;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};
use serde_json::Value;

/// A value and the bytes it takes in the text.
pub(super) struct Tree {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Written with brackets, as JSON is.
    pub(super) flow: bool,
    pub(super) what: What,
}

pub(super) enum What {
    /// None for null.
    Scalar(Option<String>),
    List(Vec<Tree>),
    Map(Vec<(Tree, Tree)>),
}

impl Tree {
    /// The key and the value of an entry.
    pub(super) fn entry(&self, name: &str) -> Option<(&Self, &Self)> {
        let What::Map(entries) = &self.what else { return None };
        let found = entries.iter().find(|(key, _)| key.text() == Some(name))?;
        Some((&found.0, &found.1))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.what {
            What::Scalar(text) => text.as_deref(),
            _ => None,
        }
    }

    /// What it means. Scalars stay text: only whether something changed is asked of them.
    pub(super) fn value(&self) -> Value {
        match &self.what {
            What::Scalar(text) => text.clone().map_or(Value::Null, Value::String),
            What::List(items) => items.iter().map(Self::value).collect(),
            What::Map(entries) => entries
                .iter()
                .map(|(key, value)| (key.text().unwrap_or_default().to_owned(), value.value()))
                .collect(),
        }
    }
}

/// The only document of a text; none when it holds nothing but comments.
pub(super) fn parse(text: &str) -> Result<Option<Tree>, String> {
    let mut open: Vec<(Tree, Option<Tree>)> = Vec::new();
    let (mut root, mut documents) = (None, 0);
    for next in Parser::new_from_str(text) {
        let (event, mark) = next.map_err(|error| error.to_string())?;
        let start = mark.start.byte_offset().unwrap_or_default();
        let end = mark.end.byte_offset().unwrap_or(start);
        let collection = |style, what| {
            let flow = style == StructureStyle::Flow;
            Tree { start, end: start, flow, what }
        };
        let done = match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    return Err("it holds several documents".to_owned());
                }
                continue;
            }
            Event::Alias(_) => return Err("it uses aliases".to_owned()),
            Event::SequenceStart(style, ..) => {
                open.push((collection(style, What::List(Vec::new())), None));
                continue;
            }
            Event::MappingStart(style, ..) => {
                open.push((collection(style, What::Map(Vec::new())), None));
                continue;
            }
            Event::Scalar(said, style, ..) => {
                let null =
                    style == ScalarStyle::Plain && matches!(&*said, "" | "~" | "null" | "Null" | "NULL");
                // Of a block of lines, the empty ones at its end belong to nobody.
                let end = start + text[start..end].trim_end().len();
                let scalar = (!null).then(|| said.into_owned());
                Tree { start, end, flow: false, what: What::Scalar(scalar) }
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some((mut tree, _)) = open.pop() else { return Err("it ends too early".to_owned()) };
                if tree.flow {
                    tree.end = end;
                }
                tree
            }
            _ => continue,
        };
        put(&mut open, &mut root, done)?;
    }
    Ok(root.filter(|tree: &Tree| !matches!(tree.what, What::Scalar(None))))
}

fn put(open: &mut [(Tree, Option<Tree>)], root: &mut Option<Tree>, done: Tree) -> Result<(), String> {
    let Some((parent, key)) = open.last_mut() else {
        *root = Some(done);
        return Ok(());
    };
    // A collection in block style ends where the last thing in it does.
    parent.end = parent.end.max(done.end);
    match &mut parent.what {
        What::List(items) => items.push(done),
        What::Map(entries) => match key.take() {
            None => *key = Some(done),
            Some(key) => {
                if entries.iter().any(|(other, _)| other.text() == key.text()) {
                    return Err(format!("it says `{}` twice in one place", key.text().unwrap_or_default()));
                }
                entries.push((key, done));
            }
        },
        What::Scalar(_) => {}
    }
    Ok(())
}

/// A map in block style, as kubectl writes it; each line but the first indented, each ended.
pub(super) fn block(value: &Value, indent: usize) -> String {
    let Value::Object(entries) = value else { return format!("{}\n", scalar(value)) };
    let mut text = String::new();
    for (index, (key, value)) in entries.iter().enumerate() {
        let margin = if index == 0 { 0 } else { indent };
        let _ = write!(text, "{:margin$}{}:", "", scalar(&Value::String(key.clone())));
        match value {
            Value::Object(map) if !map.is_empty() => {
                let _ = write!(text, "\n{:inner$}{}", "", block(value, indent + 2), inner = indent + 2);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                for item in items {
                    let _ = write!(text, "{:indent$}- {}", "", block(item, indent + 2));
                }
            }
            value => {
                let _ = writeln!(text, " {}", scalar(value));
            }
        }
    }
    text
}

/// A word as it is where nobody can take it for something else; JSON otherwise, which is YAML too.
pub(super) fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:".contains(c);
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(plain)
        && !text.ends_with(':')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    if word { text.clone() } else { value.to_string() }
}
