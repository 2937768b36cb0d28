//! Holds a tree against the JSON Schema: keys, types, words and ranges.
//!
//! It knows exactly the keywords that our own schema uses (a test sees to that), and leaves patterns to the rules,
//! whose messages are better. What is wrong becomes `Bad`, so that what is left fits the types of
//! [`super::v1alpha1`].

use std::collections::HashSet;

use serde_json::Value;

use super::{
    hint,
    problem::{Problem, Span},
    schema::Schema,
    tree::{Entry, Kind, Tree},
    values,
};
use crate::{error, id, words};

/// Nobody reads more hints than this, and a file of rubbish must not take long.
const HINTS: usize = 100;

/// What a look at the file found.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) problems: Vec<Problem>,
    /// Values that look like secrets: a report must not show them.
    pub(super) secrets: Vec<Span>,
    /// The file is of another program or version, so nothing more can be said about it.
    pub(super) foreign: bool,
}

/// Checks the whole tree and marks what is wrong in it as `Bad`.
pub(super) fn check(tree: &mut Tree, schema: &Value) -> Findings {
    let schema = Schema::root(schema);
    let mut findings = Findings::default();
    findings.hide_logins(tree);
    let top = Place { path: String::new(), span: tree.heading() };
    if let Kind::Map(entries) = &mut tree.kind {
        findings.foreign = findings.other_version(entries, schema, &top);
    }
    if !findings.foreign {
        findings.value(tree, schema, &top);
    }
    findings
}

/// Where the walk is: the path for messages, and what to underline when the value itself has no text.
struct Place {
    path: String,
    span: Span,
}

impl Place {
    fn name(&self) -> String {
        if self.path.is_empty() { "the file".to_owned() } else { format!("`{}`", self.path) }
    }

    fn within(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.path) }
    }

    fn entry(&self, key: &str, span: Span) -> Self {
        Self {
            path: if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) },
            span,
        }
    }

    fn item(&self, index: usize, item: &Tree) -> Self {
        Self { path: format!("{}[{index}]", self.path), span: item.heading() }
    }
}

impl Findings {
    fn report(&mut self, entry: &error::Entry, span: Span, message: String, hint: impl Into<Option<String>>) {
        let mut problem = Problem::new(entry, span, message);
        problem.hint = hint.into();
        self.problems.push(problem);
    }

    /// A login in an address is hidden also where something else is wrong with its line.
    fn hide_logins(&mut self, tree: &Tree) {
        match &tree.kind {
            Kind::Text(text) if values::holds_login(text) => self.secrets.push(tree.span),
            Kind::List(items) => items.iter().for_each(|item| self.hide_logins(item)),
            Kind::Map(entries) => entries.iter().for_each(|entry| self.hide_logins(&entry.value)),
            _ => {}
        }
    }

    /// The keys of a file of another program or version would only make noise.
    fn other_version(&mut self, entries: &mut [Entry], schema: Schema<'_>, top: &Place) -> bool {
        for entry in entries.iter_mut().filter(|entry| entry.key == "apiVersion") {
            if let (Kind::Text(_), Some(property)) = (&entry.value.kind, schema.property(&entry.key)) {
                self.value(&mut entry.value, property, &top.entry(&entry.key, entry.key_span));
            }
        }
        !self.problems.is_empty()
    }

    fn value(&mut self, tree: &mut Tree, schema: Schema<'_>, place: &Place) {
        match (&mut tree.kind, schema.kind()) {
            (Kind::Bad, _) | (Kind::Bool(_), "boolean") => return,
            (Kind::Null, _) if schema.nullable => return,
            (Kind::Map(_), "object") if schema.open() => return,
            (Kind::Map(entries), "object") => return self.map(entries, schema, place),
            (Kind::List(items), "array") => return self.list(items, schema, place),
            (Kind::Text(word), "string") => {
                let possible = schema.words();
                if possible.is_empty() || possible.contains(&word.as_str()) {
                    return;
                }
                let message = format!("{} cannot be `{}`", place.name(), words::brief(word));
                self.report(id::VALUE_UNKNOWN, tree.span, message, hint::for_word(word, &possible));
            }
            (Kind::Number(number), _) if schema.takes_numbers() && !number.is_f64() => return,
            // Whole numbers too large to be held are read as fractions.
            (Kind::Number(number), "integer") if !number.is_f64() || schema.exceeded_by(number) => {
                let Some((least, most)) = schema.range().filter(|_| schema.exceeded_by(number)) else {
                    return;
                };
                let message = format!("{} must be between {least} and {most}", place.name());
                self.report(id::VALUE_INVALID, tree.span, message, hint::example(schema, &place.path));
            }
            (Kind::Null, _) => {
                let hint = hint::for_type(&tree.kind, schema, &place.path);
                self.report(id::FIELD_MISSING, place.span, format!("{} is empty", place.name()), hint);
            }
            (found, kind) => {
                // Probably the password itself.
                if place.path.ends_with("passwordFrom") {
                    self.secrets.push(tree.span);
                }
                let hint = hint::for_type(found, schema, &place.path);
                let message = format!("{} must be {}, not {}", place.name(), expected(kind), describe(found));
                self.report(id::VALUE_TYPE, tree.heading(), message, hint);
            }
        }
        tree.kind = Kind::Bad;
    }

    fn list(&mut self, items: &mut [Tree], schema: Schema<'_>, place: &Place) {
        if items.len() < schema.limit("minItems").unwrap_or_default() {
            self.report(
                id::FIELD_MISSING,
                place.span,
                format!("{} has no items", place.name()),
                "add at least one".to_owned(),
            );
        }
        for (index, item) in items.iter_mut().enumerate() {
            let place = place.item(index, item);
            self.value(item, schema.items(), &place);
        }
    }

    fn map(&mut self, entries: &mut [Entry], schema: Schema<'_>, place: &Place) {
        let mut absent = schema.keys();
        let written: HashSet<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        absent.retain(|key| !written.contains(key));
        for entry in entries.iter_mut() {
            if let Some(property) = schema.property(&entry.key) {
                self.value(&mut entry.value, property, &place.entry(&entry.key, entry.key_span));
            } else {
                self.unknown(entry, schema, &absent, place);
                absent.retain(|key| *key != entry.key);
            }
        }
        for key in schema.required().into_iter().filter(|key| absent.contains(key)) {
            let hint = schema
                .property(key)
                .and_then(|property| hint::example(property, key).or_else(|| hint::for_map(property, key)));
            self.report(id::FIELD_MISSING, place.span, format!("`{key}` is missing{}", place.within()), hint);
        }
        self.count(entries, schema, place);
    }

    /// "Exactly one of these" and "at least one".
    fn count(&mut self, entries: &[Entry], schema: Schema<'_>, place: &Place) {
        let keys = schema.keys();
        let known: Vec<_> = entries.iter().filter(|entry| keys.contains(&entry.key.as_str())).collect();
        if let Some(extra) = schema.limit("maxProperties").and_then(|most| known.get(most)) {
            let given = words::all(known.iter().map(|entry| entry.key.as_str()));
            let message = format!("{} has {given}, but takes only one", place.name());
            self.report(
                id::CHOICE_UNCLEAR,
                extra.key_span,
                message,
                format!("keep one: {}", words::either(keys)),
            );
        } else if entries.len() < schema.limit("minProperties").unwrap_or_default() {
            let hint = format!("write one of {}", words::either(keys));
            self.report(id::FIELD_MISSING, place.span, format!("{} is empty", place.name()), hint);
        }
    }

    /// Reports a key that does not exist. If it is another one misspelt, that one is no longer missing.
    fn unknown(&mut self, entry: &mut Entry, schema: Schema<'_>, absent: &[&str], place: &Place) {
        let secret = secret(entry);
        entry.value.kind = Kind::Bad;
        let message = format!("unknown key `{}`{}", words::brief(&entry.key), place.within());
        if let Some(hint) = secret {
            self.secrets.push(entry.value.span);
            return self.report(id::SECRET_IN_FILE, entry.key_span, message, hint.to_owned());
        }
        if self.problems.len() > HINTS {
            return self.report(id::FIELD_UNKNOWN, entry.key_span, message, None);
        }
        let hint = hint::for_key(&entry.key, schema, &place.path);
        if let Some(meant) = words::nearest(&entry.key, absent.iter().copied()) {
            self.report(id::FIELD_UNKNOWN, entry.key_span, message, format!("did you mean `{meant}`?"));
            meant.clone_into(&mut entry.key);
        } else {
            self.report(id::FIELD_UNKNOWN, entry.key_span, message, hint);
        }
    }
}

/// Keys of secrets have one of these in them, in lower case.
const SECRETS: [&str; 4] = ["password", "passphrase", "secret", "token"];
const PRODUCT_KEY: &str = "productkey";

/// Where a secret belongs instead, if this entry looks like one.
fn secret(entry: &Entry) -> Option<&'static str> {
    let key = entry.key.to_lowercase();
    let is_product_key = matches!(&entry.value.kind, Kind::Text(text) if values::is_product_key(text));
    if is_product_key || key.contains(PRODUCT_KEY) {
        return Some(hint::PRODUCT_KEY);
    }
    SECRETS.iter().any(|word| key.contains(word)).then_some(hint::SECRET)
}

/// What stands behind such words, line by line, where the file cannot be read.
pub(super) fn secrets_in_lines(text: &str) -> Vec<Span> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let small = line.to_ascii_lowercase();
        let words = SECRETS.iter().chain(&[PRODUCT_KEY]);
        let behind = words.filter_map(|word| Some(small.find(word)? + word.len())).min();
        if let Some(behind) = behind {
            let value = line[behind..].find(':').map_or(behind, |colon| behind + colon + 1);
            let blanks = line[value..].len() - line[value..].trim_start().len();
            found.push(Span::new(start + value + blanks, start + line.trim_end().len()));
        }
        start += line.len();
    }
    found
}

fn expected(kind: &str) -> &'static str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "boolean" => "`true` or `false`",
        "array" => "a list",
        _ => "a map (`key: value`)",
    }
}

fn describe(found: &Kind) -> &'static str {
    match found {
        Kind::Null | Kind::Bad => "nothing",
        Kind::Bool(_) => "`true` or `false`",
        Kind::Number(number) if number.is_f64() => "a number with a fraction",
        Kind::Number(_) => "a number",
        Kind::Text(_) => "text",
        Kind::List(_) => "a list",
        Kind::Map(_) => "a map",
    }
}

#[cfg(test)]
mod tests;
