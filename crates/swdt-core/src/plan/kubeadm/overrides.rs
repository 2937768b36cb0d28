//! What the user adds to a document of ours.

use serde_json::{Map, Value};

/// Ours with the user's over it. Maps are merged; of a list of named things (arguments, variables) the user's
/// goes first where the names are the same; other lists are joined; of anything else the user's counts.
pub(super) fn merged(mut ours: Value, theirs: &Map<String, Value>) -> Value {
    if let Value::Object(map) = &mut ours {
        merge_maps(map, theirs);
    }
    ours
}

fn merge_maps(ours: &mut Map<String, Value>, theirs: &Map<String, Value>) {
    for (key, value) in theirs {
        match (ours.get_mut(key), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => merge_maps(ours, theirs),
            (Some(Value::Array(ours)), Value::Array(theirs)) => merge_lists(ours, theirs),
            _ => {
                ours.insert(key.clone(), value.clone());
            }
        }
    }
}

fn merge_lists(ours: &mut Vec<Value>, theirs: &[Value]) {
    // An argument may be given several times (`--oidc-…`): all of the user's stay.
    ours.retain(|own| own.get("name").is_none() || !theirs.iter().any(|item| item["name"] == own["name"]));
    for item in theirs {
        if !ours.contains(item) {
            ours.push(item.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merge(ours: Value, theirs: &Value) -> Value {
        merged(ours, theirs.as_object().expect("a map"))
    }

    #[test]
    fn maps_are_merged_at_every_depth() {
        let ours = json!({ "a": { "b": 1, "c": 2 }, "d": 3 });
        let theirs = json!({ "a": { "c": 4, "e": {} }, "f": null });
        assert_eq!(merge(ours, &theirs), json!({ "a": { "b": 1, "c": 4, "e": {} }, "d": 3, "f": null }));
    }

    #[test]
    fn named_things_replace_their_namesakes_and_nothing_else() {
        let ours =
            json!({ "args": [{ "name": "node-ip", "value": "10.0.0.1" }, { "name": "v", "value": "2" }] });
        let theirs = json!({ "args": [{ "name": "v", "value": "4" }, { "name": "x", "value": "1" }, { "name": "x", "value": "2" }] });
        let both = json!({ "args": [{ "name": "node-ip", "value": "10.0.0.1" }, { "name": "v", "value": "4" },
            { "name": "x", "value": "1" }, { "name": "x", "value": "2" }] });
        assert_eq!(merge(ours, &theirs), both);
    }

    #[test]
    fn plain_lists_are_joined_without_doubles() {
        let ours = json!({ "certSANs": ["api", "10.0.0.1"] });
        assert_eq!(
            merge(ours, &json!({ "certSANs": ["10.0.0.1", "k8s.example.com"] })),
            json!({ "certSANs": ["api", "10.0.0.1", "k8s.example.com"] })
        );
    }

    #[test]
    fn an_empty_list_is_said_too() {
        assert_eq!(merge(json!({}), &json!({ "taints": [] })), json!({ "taints": [] }));
    }
}
