//! The walk and an independent JSON Schema validator must agree about every file we have.

use std::{fs, path::Path};

use serde_json::Value;

use crate::config::{schema, shape, tree};

/// Keywords that the walk obeys.
const OBEYED: &[&str] = &[
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "enum",
    "items",
    "maxProperties",
    "maximum",
    "minItems",
    "minProperties",
    "minimum",
    "oneOf",
    "properties",
    "required",
    "type",
];

/// Keywords that only explain; patterns and formats are obeyed by the rules, in words.
const EXPLAIN: &[&str] =
    &["$defs", "$id", "$schema", "default", "description", "examples", "format", "pattern", "title"];

fn visit(schema: &mut Value, see: &mut impl FnMut(&mut serde_json::Map<String, Value>)) {
    let Some(map) = schema.as_object_mut() else { return };
    see(map);
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(map)) => {
                map.values_mut().for_each(|value| visit(value, see));
            }
            ("anyOf" | "oneOf", Value::Array(list)) => list.iter_mut().for_each(|value| visit(value, see)),
            ("items", value) => visit(value, see),
            _ => {}
        }
    }
}

fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["tests/config", "../../examples"]
        .iter()
        .flat_map(|directory| fs::read_dir(root.join(directory)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap()))
        .collect()
}

#[test]
fn every_keyword_is_obeyed_or_explains() {
    visit(&mut schema().clone(), &mut |map| {
        for (keyword, value) in map {
            assert!(OBEYED.contains(&keyword.as_str()) || EXPLAIN.contains(&keyword.as_str()), "{keyword}");
            assert!(keyword != "additionalProperties" || value.is_boolean() || value["type"].is_array());
        }
    });
}

#[test]
fn every_field_is_described() {
    visit(&mut schema().clone(), &mut |map| {
        let Some(Value::Object(properties)) = map.get("properties") else { return };
        for (name, property) in properties {
            let component = property["$ref"] == "#/$defs/Component";
            let platform = name.contains('/');
            assert!(component || platform || property["description"].is_string(), "{name}");
        }
    });
}

#[test]
fn the_walk_agrees_with_a_validator() {
    let mut without_patterns = schema().clone();
    visit(&mut without_patterns, &mut |map| {
        map.remove("pattern");
    });
    let validator = jsonschema::validator_for(&without_patterns).unwrap();
    let mut seen = [0, 0];
    for (name, text) in files() {
        let (Some(mut tree), problems) = tree::parse(&text) else { continue };
        if !problems.is_empty() {
            continue;
        }
        let json = tree.to_json();
        let ours = shape::check(&mut tree, schema()).problems.is_empty();
        let theirs = validator.validate(&json);
        assert_eq!(ours, theirs.is_ok(), "{name}: {theirs:?}");
        seen[usize::from(ours)] += 1;
    }
    assert!(seen[0] > 10 && seen[1] > 10, "{seen:?}");
}

/// Editors use the patterns too: they must never refuse what we accept.
#[test]
fn the_whole_schema_accepts_what_is_valid() {
    let validator = jsonschema::validator_for(schema()).unwrap();
    for (name, text) in files().into_iter().filter(|(name, _)| !name.contains("invalid-")) {
        let json = tree::parse(&text).0.unwrap().to_json();
        let answer = validator.validate(&json);
        assert!(answer.is_ok(), "{name}: {answer:?}");
    }
}
