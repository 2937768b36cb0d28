//! Holds a tree against the JSON Schema: keys, types, words and ranges.
//!
//! It knows exactly the keywords that our own schema uses (a test sees to that), and leaves patterns to the rules,
//! whose messages are better. What is wrong becomes `Bad`, so that what is left fits the types of [`super::v1alpha1`].

use std::collections::HashSet;

use serde_json::Value;

use super::{
    problem::{Problem, Span},
    suggest,
    tree::{Entry, Kind, Tree},
    v1alpha1::API_VERSION,
};

/// What the walk found.
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
    let mut walk = Walk { root: schema, findings: Findings::default() };
    let top = Place { path: String::new(), span: first_line(tree) };
    if let Kind::Map(entries) = &mut tree.kind {
        walk.identity(entries);
        if !walk.findings.problems.is_empty() {
            walk.findings.foreign = true;
            return walk.findings;
        }
    }
    walk.value(tree, schema, &top);
    walk.findings
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

    fn key(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// How to write a value here.
    fn write(&self, value: &str) -> String {
        if self.path.ends_with(']') { format!("`- {value}`") } else { format!("`{}: {value}`", self.key()) }
    }

    fn entry(&self, entry: &Entry) -> Self {
        let path =
            if self.path.is_empty() { entry.key.clone() } else { format!("{}.{}", self.path, entry.key) };
        Self { path, span: entry.key_span }
    }

    fn item(&self, index: usize, item: &Tree) -> Self {
        Self { path: format!("{}[{index}]", self.path), span: first_line(item) }
    }
}

/// What to underline for a whole map: its first entry.
pub(super) fn first_line(tree: &Tree) -> Span {
    match &tree.kind {
        Kind::Map(entries) => entries.first().map_or(tree.span, |entry| {
            let end = if is_scalar(&entry.value) { entry.value.span.end } else { entry.key_span.end };
            Span::new(entry.key_span.start, end.max(entry.key_span.end))
        }),
        _ => tree.span,
    }
}

fn is_scalar(tree: &Tree) -> bool {
    matches!(tree.kind, Kind::Bool(_) | Kind::Number(_) | Kind::Text(_))
}

struct Walk<'s> {
    root: &'s Value,
    findings: Findings,
}

impl<'s> Walk<'s> {
    /// A file of another program or version: its keys would only make noise.
    fn identity(&mut self, entries: &mut [Entry]) {
        let top = Place { path: String::new(), span: Span::new(0, 0) };
        for entry in entries.iter_mut().filter(|entry| matches!(entry.key.as_str(), "apiVersion" | "kind")) {
            if let Kind::Text(_) = entry.value.kind {
                let place = top.entry(entry);
                self.value(&mut entry.value, &self.root["properties"][entry.key.as_str()], &place);
            }
        }
    }

    fn report(&mut self, span: Span, message: String, hint: Option<String>) {
        let problem = Problem::new(span, message);
        self.findings.problems.push(match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }

    /// The schema behind `$ref` and "or null".
    fn resolve(&self, schema: &'s Value) -> (&'s Value, bool) {
        if let Some(name) = schema["$ref"].as_str() {
            let pointer = name.trim_start_matches('#');
            return self.resolve(self.root.pointer(pointer).unwrap_or(&Value::Null));
        }
        if let Some(options) = schema["anyOf"].as_array() {
            let sound = options.iter().find(|option| option["type"] != "null");
            return (sound.map_or(schema, |option| self.resolve(option).0), true);
        }
        let null = schema["type"].as_array().is_some_and(|types| types.iter().any(|name| name == "null"));
        (schema, null)
    }

    fn value(&mut self, tree: &mut Tree, outer: &'s Value, place: &Place) {
        let (schema, nullable) = self.resolve(outer);
        let kind = type_of(schema);
        match (&mut tree.kind, kind) {
            (Kind::Bad, _) | (Kind::Bool(_), "boolean") => return,
            (Kind::Null, _) if nullable => return,
            (Kind::Map(entries), "object") => return self.map(entries, schema, place),
            (Kind::List(items), "array") => return self.list(items, schema, place),
            (Kind::Text(word), "string") => {
                let words = words(schema);
                if words.is_empty() || words.contains(&word.as_str()) {
                    return;
                }
                let message = format!("{} cannot be `{}`", place.name(), brief(word));
                let hint = one_of(word, &words);
                self.report(tree.span, message, Some(hint));
            }
            (Kind::Number(number), "integer") if number.is_u64() || number.is_i64() => {
                let Some(message) = out_of_range(number.as_f64().unwrap_or(f64::MAX), schema) else { return };
                let hint = example(outer, place);
                self.report(tree.span, format!("{} must be {message}", place.name()), hint);
            }
            (Kind::Null, _) => {
                let hint = self.hint_for_type(tree, kind, outer, schema, place);
                self.report(place.span, format!("{} is empty", place.name()), hint);
            }
            _ => {
                let hint = self.hint_for_type(tree, kind, outer, schema, place);
                let message =
                    format!("{} must be {}, not {}", place.name(), expected(kind), found(&tree.kind));
                let span = if is_scalar(tree) { tree.span } else { first_line(tree) };
                // Probably the password itself.
                if place.key() == "passwordFrom" {
                    self.findings.secrets.push(tree.span);
                }
                self.report(span, message, hint);
            }
        }
        tree.kind = Kind::Bad;
    }

    fn list(&mut self, items: &mut [Tree], schema: &'s Value, place: &Place) {
        if (items.len() as u64) < schema["minItems"].as_u64().unwrap_or_default() {
            self.report(
                place.span,
                format!("{} has no items", place.name()),
                Some("add at least one".to_owned()),
            );
        }
        for (index, item) in items.iter_mut().enumerate() {
            let place = place.item(index, item);
            self.value(item, &schema["items"], &place);
        }
    }

    fn map(&mut self, entries: &mut [Entry], schema: &'s Value, place: &Place) {
        let keys: Vec<&str> = properties(schema).map(|(key, _)| key).collect();
        let written: HashSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        let mut absent = keys.clone();
        absent.retain(|key| !written.contains(*key));
        for entry in entries.iter_mut() {
            if let Some(property) = schema["properties"].get(&entry.key) {
                let place = place.entry(entry);
                self.value(&mut entry.value, property, &place);
            } else {
                self.unknown(entry, schema, &absent, place);
                absent.retain(|key| *key != entry.key);
            }
        }
        let has = |key: &str| entries.iter().any(|entry| entry.key == key);
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !has(key) {
                let property = &schema["properties"][key];
                let inner = Place { path: key.to_owned(), span: place.span };
                let hint = example(property, &inner).or_else(|| self.hint_for_keys(property, &inner));
                self.report(place.span, format!("`{key}` is missing{}", place.within()), hint);
            }
        }
        self.count(entries, schema, &keys, place);
    }

    /// "Exactly one of these" and "at least one".
    fn count(&mut self, entries: &[Entry], schema: &Value, keys: &[&str], place: &Place) {
        let known: Vec<_> = entries.iter().filter(|entry| keys.contains(&entry.key.as_str())).collect();
        let all = suggest::list(keys.iter().copied());
        if let (Some(most), Some(extra)) = (schema["maxProperties"].as_u64(), known.get(1))
            && known.len() as u64 > most
        {
            let given = suggest::list(known.iter().map(|entry| entry.key.as_str())).replace(" or ", " and ");
            let message = format!("{} has {given}, but takes only one", place.name());
            self.report(extra.key_span, message, Some(format!("keep one: {all}")));
        }
        // An unknown key has been reported; it was probably meant to be the one that is missing.
        if (entries.len() as u64) < schema["minProperties"].as_u64().unwrap_or_default() {
            self.report(
                place.span,
                format!("{} is empty", place.name()),
                Some(format!("write one of {all}")),
            );
        }
    }

    /// Reports a key that does not exist. If it is another one misspelt, that one is no longer missing.
    fn unknown(&mut self, entry: &mut Entry, schema: &'s Value, absent: &[&'s str], place: &Place) {
        entry.value.kind = Kind::Bad;
        let message = format!("unknown key `{}`{}", brief(&entry.key), place.within());
        // Nobody reads the hundredth hint, and a file of rubbish must not take long.
        if self.findings.problems.len() > 100 {
            return self.report(entry.key_span, message, None);
        }
        if is_secret(&entry.key) {
            self.findings.secrets.push(entry.value.span);
        }
        let meant = suggest::nearest(&entry.key, absent.iter().copied()).filter(|_| !is_secret(&entry.key));
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => self.hint_for_unknown(&entry.key, schema),
        };
        self.report(entry.key_span, message, Some(hint));
        if let Some(meant) = meant {
            meant.clone_into(&mut entry.key);
        }
    }

    fn hint_for_unknown(&self, key: &str, schema: &'s Value) -> String {
        let keys: Vec<_> = properties(schema).map(|(key, _)| key).collect();
        if key == "<<" {
            "what several nodes share goes under `defaults`, once".to_owned()
        } else if is_secret(key) {
            "secrets never stand in this file; for a password write `passwordFrom: {env: NAME_OF_A_VARIABLE}` under \
             `connection`"
                .to_owned()
        } else if let Some(near) = suggest::nearest(key, keys.iter().copied()) {
            format!("did you mean `{near}`? It is written already")
        } else if let Some(path) = self.elsewhere(key, schema) {
            format!("`{key}` belongs under `{path}`")
        } else if let [only] = keys.as_slice() {
            format!("the only key here is `{only}`")
        } else {
            format!("the keys here are {}", suggest::list(keys).replace(" or ", " and "))
        }
    }

    /// Where a key is known: below this map first, then anywhere; the shortest path wins.
    fn elsewhere(&self, key: &str, schema: &'s Value) -> Option<String> {
        self.search(key, schema).or_else(|| self.search(key, self.root))
    }

    fn search(&self, key: &str, schema: &'s Value) -> Option<String> {
        let mut level = vec![(String::new(), schema)];
        while !level.is_empty() {
            let mut next = Vec::new();
            for (path, schema) in level {
                if !path.is_empty() && schema["properties"].get(key).is_some() {
                    return Some(path);
                }
                // Below `components` every component would match; the first of fifteen helps nobody.
                for (name, property) in properties(schema).filter(|(name, _)| *name != "components") {
                    let mut path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                    let (mut inner, _) = self.resolve(property);
                    if type_of(inner) == "array" {
                        path.push_str("[]");
                        inner = self.resolve(&inner["items"]).0;
                    }
                    next.push((path, inner));
                }
            }
            level = next;
        }
        None
    }

    fn hint_for_type(
        &self,
        tree: &Tree,
        kind: &str,
        outer: &Value,
        schema: &'s Value,
        place: &Place,
    ) -> Option<String> {
        let example = example(outer, place);
        match (kind, &tree.kind) {
            ("string", Kind::Number(number)) => {
                let example = example.map_or(String::new(), |text| format!("{text}; "));
                Some(format!("{example}text that looks like a number needs quotes: `\"{number}\"`"))
            }
            ("string", Kind::Bool(value)) => Some(format!("put it in quotes: `\"{value}\"`")),
            ("boolean", _) => Some("write `true` or `false`".to_owned()),
            ("array", _) => Some("start each item on its own line with `- `".to_owned()),
            ("object", Kind::Text(text)) => {
                let mut keys = properties(schema).map(|(key, _)| key);
                let only = schema["properties"].as_object().is_some_and(|map| map.len() == 1);
                match keys.find(|key| *key == "name" || only) {
                    Some(key) => {
                        Some(format!("write {}", place.write(&format!("{{{key}: {}}}", brief(text)))))
                    }
                    None => self.hint_for_keys(outer, place),
                }
            }
            ("object", _) => self.hint_for_keys(outer, place),
            _ => example,
        }
    }

    fn hint_for_keys(&self, outer: &'_ Value, place: &Place) -> Option<String> {
        let name = outer["$ref"].as_str().or_else(|| outer["anyOf"][0]["$ref"].as_str());
        let schema = name.and_then(|name| self.root.pointer(name.trim_start_matches('#'))).unwrap_or(outer);
        let keys = suggest::list(properties(schema).map(|(key, _)| key)).replace(" or ", " and ");
        match schema["required"].as_array().map(Vec::as_slice) {
            Some([only]) => {
                let key = only.as_str()?;
                let value = &schema["properties"][key]["examples"][0];
                Some(format!("write {}", place.write(&format!("{{{key}: {}}}", plain(value)))))
            }
            _ if place.path.is_empty() => {
                Some(format!("a cluster file begins with `apiVersion: {API_VERSION}`"))
            }
            _ if keys.is_empty() => None,
            _ => Some(format!("it takes the keys {keys}")),
        }
    }
}

/// Does the value of such a key look like a secret?
fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    ["password", "passphrase", "secret", "token"].iter().any(|word| key.contains(word))
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["properties"].as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(types) => {
            types.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or_default()
        }
        // Documented variants are a `oneOf` of constants, which are all text.
        _ if schema["oneOf"].is_array() => "string",
        other => other.as_str().unwrap_or_default(),
    }
}

/// The words a value may be; none means any.
fn words(schema: &Value) -> Vec<&str> {
    let plain = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let documented = schema["oneOf"].as_array().into_iter().flatten();
    plain.chain(documented.filter_map(|option| option["const"].as_str())).collect()
}

fn one_of(word: &str, words: &[&str]) -> String {
    match (suggest::nearest(word, words.iter().copied()), words) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, [only]) => format!("only `{only}` is supported so far"),
        (None, words) => format!("write {}", suggest::list(words.iter().copied())),
    }
}

fn out_of_range(number: f64, schema: &Value) -> Option<String> {
    let (least, most) = (schema["minimum"].as_f64()?, schema["maximum"].as_f64()?);
    (number < least || number > most).then(|| format!("between {least} and {most}"))
}

fn example(schema: &Value, place: &Place) -> Option<String> {
    let value = schema["examples"].get(0)?;
    Some(format!("write, for example, {}", place.write(&plain(value))))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
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

fn found(kind: &Kind) -> &'static str {
    match kind {
        Kind::Null | Kind::Bad => "nothing",
        Kind::Bool(_) => "true or false",
        Kind::Number(number) if number.is_f64() => "a number with a fraction",
        Kind::Number(_) => "a number",
        Kind::Text(_) => "text",
        Kind::List(_) => "a list",
        Kind::Map(_) => "a map",
    }
}

/// At most forty characters of what the user wrote, on one line.
pub(super) fn brief(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(40).collect();
    if text.chars().nth(40).is_some() { line + "…" } else { line }
}

#[cfg(test)]
mod tests;
