//! The bytes of a change.

use serde_json::Value;

use super::{
    Step,
    path::{child, find},
    place::{self, Place, column, is_flow, line_start, next_line},
};
use crate::config::tree::{Kind, Tree};

/// The text with that value there.
pub(super) fn set(text: &str, root: &Tree, steps: &[Step], value: &Value) -> Option<String> {
    // As far as the document goes.
    let known = (0..=steps.len()).rev().find(|&length| {
        find(root, &steps[..length]).is_some_and(|tree| !matches!(tree.kind, Kind::Null) || length == 0)
    })?;
    let holder = find(root, &steps[..known])?;
    if known == steps.len() {
        return Some(splice(text, holder.span.start, place::end(text, holder), &flow(value)))
            .filter(|_| holder.is_scalar() || is_flow(text, holder));
    }
    let (step, rest) = (&steps[known], &steps[known + 1..]);
    let value = rest.iter().rev().fold(value.clone(), |inner, step| match step {
        Step::Key(key) => Value::Object([(key.clone(), inner)].into_iter().collect()),
        Step::Item(_) => Value::Array(vec![inner]),
    });
    // `key:` with nothing behind it, or an empty document.
    if matches!(holder.kind, Kind::Null) {
        return Some(append(text, text.len(), &block(&entry(step, &value), 0)));
    }
    if child(holder, step).is_some() {
        return fill(text, root, &steps[..=known], &value);
    }
    if is_flow(text, holder) {
        return Some(into_flow(text, holder, &flow_entry(step, &value)));
    }
    if let Some(next) = follower(text, holder, &steps[..known], step) {
        let lines = block(&entry(step, &value), column(text, next));
        let at = above_comments(text, line_start(text, next));
        return Some(splice(text, at, at, &lines));
    }
    let last = match &holder.kind {
        Kind::Map(entries) => Step::Key(entries.last()?.key.clone()),
        Kind::List(items) => Step::Item(items.len() - 1),
        _ => return None,
    };
    let mut way = steps[..known].to_vec();
    way.push(last);
    let last = Place::of(text, root, &way)?;
    let lines = block(&entry(step, &value), column(text, last.start));
    Some(append(text, next_line(text, last.end), &lines))
}

/// In which order people read a cluster.
const CLUSTER: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "kubernetes",
    "components",
    "runtime",
    "network",
    "controlPlane",
    "kubeadm",
    "defaults",
    "nodes",
];
/// And a node.
const NODE: &[&str] = &["name", "role", "os", "address", "machine", "connection"];

/// Where the entry stands before which people would look for a new one, if there is one on a line of its own.
fn follower(text: &str, holder: &Tree, way: &[Step], step: &Step) -> Option<usize> {
    let order = match way {
        [] => CLUSTER,
        [Step::Key(list), Step::Item(_)] if list == "nodes" => NODE,
        _ => return None,
    };
    let (Kind::Map(entries), Step::Key(key)) = (&holder.kind, step) else { return None };
    let rank = |key: &str| order.iter().position(|other| *other == key);
    let own = rank(key)?;
    let later = entries.iter().find(|entry| rank(&entry.key).is_some_and(|rank| rank > own))?;
    Some(later.key_span.start).filter(|&start| !shares_line(text, start))
}

/// Above the lines of comment that stand right above a line: they belong to it.
fn above_comments(text: &str, mut line: usize) -> usize {
    while line > 0 {
        let above = line_start(text, line - 1);
        if !text[above..line].trim_start().starts_with('#') {
            break;
        }
        line = above;
    }
    line
}

/// Puts a value behind `key:`.
fn fill(text: &str, root: &Tree, steps: &[Step], value: &Value) -> Option<String> {
    let place = Place::of(text, root, steps)?;
    let colon = place.end + text[place.end..].find(':')? + 1;
    let below = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if below && text[colon..].lines().next()?.trim().is_empty() {
        let lines = block(value, column(text, place.start) + 2);
        return Some(append(text, next_line(text, colon), &lines));
    }
    Some(splice(text, colon, colon, &format!(" {}", flow(value))))
}

/// The text without what stands there.
pub(super) fn remove(text: &str, root: &Tree, steps: &[Step]) -> Option<String> {
    let (last, way) = steps.split_last()?;
    let holder = find(root, way)?;
    let place = Place::of(text, root, steps)?;
    let count = match &holder.kind {
        Kind::Map(entries) => entries.len(),
        Kind::List(items) => items.len(),
        _ => return None,
    };
    // An item of a list that would be empty goes as a whole.
    if count == 1 && matches!((last, way.last()), (Step::Key(_), Some(Step::Item(_)))) {
        return remove(text, root, way);
    }
    if is_flow(text, holder) {
        return Some(out_of_flow(text, holder, place, count));
    }
    if count == 1 {
        // A key without a value is nothing; so is a list without items. The root may be empty.
        let end = next_line(text, place.end);
        if way.is_empty() || !shares_line(text, place.start) {
            return Some(splice(text, line_start(text, place.start), end, ""));
        }
        return remove(text, root, way);
    }
    if shares_line(text, place.start) {
        // The first key behind a dash: the next one takes its place.
        let Kind::Map(entries) = &holder.kind else { return None };
        let Step::Key(key) = last else { return None };
        let at = entries.iter().position(|entry| entry.key == *key)?;
        let next = entries.get(at + 1)?;
        return Some(splice(text, place.start, next.key_span.start, ""));
    }
    Some(splice(text, line_start(text, place.start), next_line(text, place.end), ""))
}

/// Stands something before it on its line?
fn shares_line(text: &str, at: usize) -> bool {
    !text[line_start(text, at)..at].trim().is_empty()
}

fn out_of_flow(text: &str, holder: &Tree, place: Place, count: usize) -> String {
    let after = &text[place.end..];
    let comma = after.find(|c: char| !c.is_whitespace()).filter(|&at| after[at..].starts_with(','));
    if let Some(comma) = comma {
        let begin = place.end + comma + 1;
        let blanks = text[begin..].len() - text[begin..].trim_start().len();
        return splice(text, place.start, begin + blanks, "");
    }
    // The last: the comma before it goes instead.
    let before = text[holder.span.start..place.start].trim_end();
    let start = if count > 1 { holder.span.start + before.trim_end_matches(',').len() } else { place.start };
    splice(text, start, place.end, "")
}

fn into_flow(text: &str, holder: &Tree, entry: &str) -> String {
    let close = holder.span.end - 1;
    let inside = text[holder.span.start + 1..close].trim_end();
    let at = holder.span.start + 1 + inside.len();
    let comma = if inside.trim().is_empty() { "" } else { ", " };
    splice(text, at, at, &format!("{comma}{entry}"))
}

fn splice(text: &str, start: usize, end: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..start], &text[end..])
}

/// Puts whole lines there; the line before them is ended first.
fn append(text: &str, at: usize, lines: &str) -> String {
    let newline = if at > 0 && !text[..at].ends_with('\n') { "\n" } else { "" };
    splice(text, at, at, &format!("{newline}{lines}"))
}

fn entry(step: &Step, value: &Value) -> Value {
    match step {
        Step::Key(key) => Value::Object([(key.clone(), value.clone())].into_iter().collect()),
        Step::Item(_) => Value::Array(vec![value.clone()]),
    }
}

fn flow_entry(step: &Step, value: &Value) -> String {
    match step {
        Step::Key(key) => format!("{}: {}", scalar(key), flow(value)),
        Step::Item(_) => flow(value),
    }
}

/// Lines of a block, indented.
fn block(value: &Value, indent: usize) -> String {
    let space = " ".repeat(indent);
    match value {
        Value::Object(map) => {
            let lines =
                map.iter().map(|(key, value)| format!("{space}{}:{}", scalar(key), below(value, indent)));
            lines.collect::<Vec<_>>().concat()
        }
        Value::Array(items) => {
            let lines = items.iter().map(|item| format!("{space}- {}", block(item, indent + 2).trim_start()));
            lines.collect::<Vec<_>>().concat()
        }
        value => format!("{space}{}\n", flow(value)),
    }
}

/// What comes behind a colon.
fn below(value: &Value, indent: usize) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => format!("\n{}", block(value, indent + 2)),
        Value::Array(items) if !items.is_empty() => format!("\n{}", block(value, indent + 2)),
        value => format!(" {}\n", flow(value)),
    }
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Object(map) => {
            let entries: Vec<_> =
                map.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        value => value.to_string(),
    }
}

/// A word, quoted where YAML would read it as something else. JSON's quotes are YAML's.
fn scalar(text: &str) -> String {
    let safe = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '~' | '-' | '+' | '@' | ':' | '=' | ' ')
    };
    let harmless = text.chars().all(safe)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '~'))
        && !text.ends_with([':', ' '])
        && !text.contains(": ")
        && text.len() > usize::from(text.starts_with('~'));
    let plain = matches!(crate::config::tree::plain(text), Kind::Text(_));
    if harmless && plain { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}
