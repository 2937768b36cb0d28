//! Changes that leave JSON well formed: only so do they get past the parser.

use serde_json::{Map, Value, json};

use super::{NUMBERS, WORDS};
use crate::random::Random;

/// Changes a value somewhere in the document, or in one of its lines.
pub(super) fn change(random: &mut Random, bytes: &mut Vec<u8>) {
    if let Ok(mut document) = serde_json::from_slice::<Value>(bytes) {
        at_random(random, &mut document);
        *bytes = document.to_string().into_bytes();
        return;
    }
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let at = random.below(lines.len());
    if let Ok(mut document) = serde_json::from_slice::<Value>(&lines[at]) {
        at_random(random, &mut document);
        lines[at] = document.to_string().into_bytes();
        *bytes = lines.join(&b'\n');
    }
}

fn at_random(random: &mut Random, root: &mut Value) {
    let other = {
        let steps = random.below(8);
        descend(random, root, steps).clone()
    };
    let steps = random.below(12);
    let place = descend(random, root, steps);
    match (random.below(8), place) {
        (0 | 1, Value::Array(items)) if !items.is_empty() => {
            let at = random.below(items.len());
            if random.once_in(2) {
                items.remove(at);
            } else {
                items.insert(at, other);
            }
        }
        (0 | 1, Value::Object(entries)) => in_object(random, entries, other),
        (2 | 3, place) => *place = other,
        (_, place) => *place = fresh(random, place),
    }
}

fn in_object(random: &mut Random, entries: &mut Map<String, Value>, other: Value) {
    let keys: Vec<String> = entries.keys().cloned().collect();
    let key = if keys.is_empty() || random.once_in(4) {
        (*random.pick(WORDS)).to_owned()
    } else {
        random.pick(&keys).clone()
    };
    if random.once_in(2) {
        entries.remove(&key);
    } else {
        entries.insert(key, other);
    }
}

/// So many steps into a document, or as many as there are.
fn descend<'a>(random: &mut Random, value: &'a mut Value, steps: usize) -> &'a mut Value {
    if steps == 0
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(Map::is_empty)
    {
        return value;
    }
    match value {
        Value::Array(items) => {
            let at = random.below(items.len());
            descend(random, &mut items[at], steps - 1)
        }
        Value::Object(entries) => {
            let at = random.below(entries.len());
            let inner = entries.values_mut().nth(at).expect("less than its length");
            descend(random, inner, steps - 1)
        }
        value => value,
    }
}

fn fresh(random: &mut Random, old: &Value) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1 => json!(random.once_in(2)),
        2 => json!({}),
        3 => json!([]),
        4 => json!(random.next()),
        5 => json!(i64::from_le_bytes(random.next().to_le_bytes())),
        6 => {
            let number = *random.pick::<&str>(NUMBERS);
            serde_json::from_str(number).unwrap_or(json!(0.5))
        }
        7 => json!(*random.pick(WORDS)),
        8 => json!(format!("{}{}", old.as_str().unwrap_or_default(), random.pick(WORDS))),
        _ => {
            let text = old.as_str().unwrap_or("x");
            json!(text.repeat(random.below(300).min((1 << 16) / text.len().max(1))))
        }
    }
}
