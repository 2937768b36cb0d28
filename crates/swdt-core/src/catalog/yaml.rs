//! Reads the catalog's own YAML. Every scalar is text: a version such as `1.10` must not become a number.

use granit_parser::{Event, Parser};
use serde_json::{Map, Value};

/// A list or map that is not closed yet.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

/// The document as a value; what is wrong with it otherwise.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let (mut open, mut root) = (Vec::new(), None);
    for next in Parser::new_from_str(text) {
        let (event, _) = next.map_err(|error| error.to_string())?;
        let value = match event {
            Event::Scalar(text, ..) => Value::String(text.into_owned()),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Map(entries, _)) => Value::Object(entries),
                None => return Err("an end without a start".to_owned()),
            },
            Event::Alias(_) => return Err("aliases are not used in the catalog".to_owned()),
            _ => continue,
        };
        put(&mut open, &mut root, value)?;
    }
    root.ok_or_else(|| "it is empty".to_owned())
}

fn put(open: &mut [Open], root: &mut Option<Value>, value: Value) -> Result<(), String> {
    match open.last_mut() {
        None => *root = Some(value),
        Some(Open::List(items)) => items.push(value),
        Some(Open::Map(entries, key)) => match (key.take(), value) {
            (None, Value::String(text)) => *key = Some(text),
            (None, _) => return Err("a key must be plain text".to_owned()),
            (Some(key), value) => {
                if entries.insert(key.clone(), value).is_some() {
                    return Err(format!("`{key}` is written twice"));
                }
            }
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_text() {
        let value = parse("a: 1.10\nb: [true, {c: \"x\"}]\n").unwrap();
        assert_eq!(value, serde_json::json!({"a": "1.10", "b": ["true", {"c": "x"}]}));
    }

    #[test]
    fn a_key_twice_is_refused() {
        assert!(parse("a: 1\na: 2\n").unwrap_err().contains("twice"));
    }
}
