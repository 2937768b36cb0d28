//! What a field of the file means, in the words of the schema.

use super::schema::{Schema, schema};
use crate::{Error, Result, id, words};

/// A field, explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// Its path, as asked.
    pub path: String,
    /// What it must be: text, a number, a list, …
    pub kind: &'static str,
    /// What it means.
    pub about: String,
    /// What holds if nothing is said.
    pub default: Option<String>,
    /// As a user could write it.
    pub example: Option<String>,
    /// The words it may be; none means any.
    pub words: Vec<String>,
    /// The fields below it.
    pub fields: Vec<Below>,
}

/// A field below another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    /// Its key.
    pub key: String,
    /// Must it be there?
    pub required: bool,
    /// What it means.
    pub about: String,
}

/// Explains a field by its path, such as `network.podCIDR` or `nodes.address`; the whole file if there is none.
pub fn explain(path: &str) -> Result<Explained> {
    let mut at = Schema::root(schema());
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let key = step.split('[').next().unwrap_or(step);
        at = at.property(key).ok_or_else(|| unknown(path, key, at))?;
        // People who ask about the nodes want to know what a node has.
        if at.kind() == "array" && !at.items().keys().is_empty() {
            at = at.of_items();
        }
    }
    let required = at.required();
    let below = |key: &str| {
        let about = at.property(key).map(Schema::about).unwrap_or_default();
        Below { key: key.to_owned(), required: required.contains(&key), about }
    };
    Ok(Explained {
        path: path.to_owned(),
        kind: match at.kind() {
            "string" => "text",
            "integer" | "number" => "a number",
            "boolean" => "true or false",
            "array" => "a list",
            _ => "a map",
        },
        about: at.about(),
        default: at.default(),
        example: at.example(),
        words: at.words().into_iter().map(ToOwned::to_owned).collect(),
        fields: at.keys().into_iter().map(below).collect(),
    })
}

fn unknown(path: &str, key: &str, at: Schema<'_>) -> Error {
    let keys = at.keys();
    let hint = match (words::nearest(key, keys.iter().copied()), at.find(key)) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, Some(place)) => format!("there is `{place}.{key}`"),
        (None, None) if keys.is_empty() => "there is nothing below it".to_owned(),
        (None, None) => format!("the keys there are {}", words::all(keys)),
    };
    Error::new(id::NAME_UNKNOWN, format!("there is no field `{path}`: `{key}` is not known")).hinted(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_can_be_explained() {
        fn walk(path: &str, seen: &mut Vec<String>) {
            let explained = explain(path).unwrap();
            assert!(path.is_empty() || !explained.about.is_empty(), "`{path}` has no description");
            // Documents of kubeadm are its own to explain, and components are all alike.
            for below in explained.fields {
                let next = if path.is_empty() { below.key } else { format!("{path}.{}", below.key) };
                if !next.starts_with("kubeadm.") && !next.contains("components.") {
                    walk(&next, seen);
                }
            }
            seen.push(path.to_owned());
        }
        let mut seen = Vec::new();
        walk("", &mut seen);
        for path in ["network.podCIDR", "nodes.connection.passwordFrom.env", "metadata.name"] {
            assert!(seen.iter().any(|it| it == path), "{path}: {seen:?}");
        }
    }

    #[test]
    fn a_field_tells_what_it_may_be() {
        let pods = explain("network.podCIDR").unwrap();
        assert_eq!((pods.kind, pods.default.as_deref()), ("text", Some("10.244.0.0/16")));
        let role = explain("nodes[0].role").unwrap();
        assert_eq!(role.words, ["control-plane", "worker"]);
        assert!(explain("nodes").unwrap().fields.iter().any(|below| below.key == "name" && below.required));
    }

    #[test]
    fn what_is_misspelt_is_understood() {
        let hint = |path: &str| explain(path).unwrap_err().hints.join(" ");
        assert_eq!(hint("network.podCidr"), "did you mean `podCIDR`?");
        assert!(hint("podCIDR").contains("`network.podCIDR`"), "{}", hint("podCIDR"));
        assert!(hint("metadata.name.first").contains("nothing below"));
    }
}
