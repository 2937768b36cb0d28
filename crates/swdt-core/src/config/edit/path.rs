//! Ways through a document: `nodes[1].connection.user`.

use serde_json::{Map, Value};

use crate::config::tree::{Kind, Tree};

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Item(usize),
}

pub(super) fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let mut pieces = part.split('[');
        steps.extend(pieces.next().filter(|key| !key.is_empty()).map(|key| Step::Key(key.to_owned())));
        let number = |piece: &str| piece.trim_end_matches(']').parse().ok().map(Step::Item);
        steps.extend(pieces.filter_map(number));
    }
    steps
}

pub(super) fn find<'t>(tree: &'t Tree, steps: &[Step]) -> Option<&'t Tree> {
    steps.iter().try_fold(tree, |tree, step| child(tree, step))
}

pub(super) fn child<'t>(tree: &'t Tree, step: &Step) -> Option<&'t Tree> {
    match (&tree.kind, step) {
        (Kind::Map(entries), Step::Key(key)) => {
            entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.value)
        }
        (Kind::List(items), Step::Item(index)) => items.get(*index),
        _ => None,
    }
}

/// Puts a value into plain data; nothing if a step leads into a word.
pub(super) fn put(data: &mut Value, steps: &[Step], value: Value) -> Option<()> {
    let Some((step, rest)) = steps.split_first() else {
        *data = value;
        return Some(());
    };
    match step {
        Step::Key(key) => {
            if data.is_null() {
                *data = Value::Object(Map::new());
            }
            let inner = data.as_object_mut()?.entry(key.clone()).or_insert(Value::Null);
            put(inner, rest, value)
        }
        Step::Item(index) => {
            if data.is_null() {
                *data = Value::Array(Vec::new());
            }
            let items = data.as_array_mut()?;
            if *index == items.len() {
                items.push(Value::Null);
            }
            put(items.get_mut(*index)?, rest, value)
        }
    }
}

/// The list that a step leads behind the end of, and how many items it has; one more can be added.
pub(super) fn beyond(data: &Value, steps: &[Step]) -> Option<(String, usize)> {
    let mut at = Some(data);
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) => {
                at = at.and_then(|data| data.get(key));
                path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            }
            Step::Item(index) => {
                let count = at.and_then(Value::as_array).map_or(0, Vec::len);
                if *index > count {
                    return Some((path, count));
                }
                at = at.and_then(|data| data.get(index));
                path = format!("{path}[{index}]");
            }
        }
    }
    None
}

/// Takes a value out of plain data; an item of a list that is empty then goes as well.
pub(super) fn cut(data: &mut Value, steps: &[Step]) {
    let Some((last, way)) = steps.split_last() else { return };
    let holder = way.iter().try_fold(&mut *data, |data, step| match step {
        Step::Key(key) => data.get_mut(key),
        Step::Item(index) => data.get_mut(index),
    });
    match (holder, last) {
        (Some(Value::Object(map)), Step::Key(key)) => {
            map.remove(key);
            if map.is_empty() && matches!(way.last(), Some(Step::Item(_))) {
                cut(data, way);
            }
        }
        (Some(Value::Array(items)), Step::Item(index)) if *index < items.len() => drop(items.remove(*index)),
        _ => {}
    }
}

/// Data in which nothing, `{}` and a missing key are the same: the file says the same with each of them.
pub(super) fn plain(data: Value) -> Value {
    match data {
        Value::Object(map) => {
            let map: Map<String, Value> = map
                .into_iter()
                .map(|(key, value)| (key, plain(value)))
                .filter(|(_, value)| !value.is_null())
                .collect();
            if map.is_empty() { Value::Null } else { Value::Object(map) }
        }
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => items.into_iter().map(plain).collect(),
        value => value,
    }
}
