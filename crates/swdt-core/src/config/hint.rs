//! What to write instead: hints made from the schema.

use std::cmp::Reverse;

use super::{schema::Schema, tree::Kind, v1alpha1::API_VERSION};
use crate::words;

/// Fields of kubeadm's configuration that swdt decides, and where the decision is made.
const DECIDED: [(&str, &str); 20] = [
    ("apiVersion", "swdt writes it; leave it out"),
    ("kind", "swdt writes it; leave it out"),
    ("bootstrapTokens", "swdt makes a token when a node joins, and deletes it afterwards"),
    ("caCertPath", "swdt expects kubeadm's own place"),
    ("certificateKey", "swdt makes a control plane of one node so far"),
    ("certificatesDir", "swdt expects kubeadm's own place"),
    ("clusterName", "write it as `metadata.name`"),
    ("controlPlane", "say `role: control-plane` under `nodes`"),
    ("controlPlaneEndpoint", "write it as `controlPlane.endpoint`"),
    ("criSocket", "it is containerd's"),
    ("dataDir", "swdt expects kubeadm's own place"),
    ("discovery", "swdt makes a token when a node joins, and deletes it afterwards"),
    ("dns", "write version and source as `components.coredns`"),
    ("external", "the control plane keeps its data in an etcd of its own so far"),
    ("imageRepository", "write sources under `components`; nodes are given their images by swdt"),
    ("imageTag", "write version and source as `components.etcd`"),
    ("kubernetesVersion", "write it as `kubernetes.version`"),
    ("localAPIEndpoint", "it follows from the `address` of the node"),
    ("name", "a node has the name of its entry under `nodes`"),
    ("networking", "write `network.podCIDR` and `network.serviceCIDR`"),
];

/// How to write a value at a path.
fn write(path: &str, value: &str) -> String {
    let key = path.rsplit('.').next().unwrap_or_default();
    if key.ends_with(']') { format!("`- {value}`") } else { format!("`{key}: {value}`") }
}

/// An example, if the schema has one.
pub(super) fn example(schema: Schema<'_>, path: &str) -> Option<String> {
    schema.example().map(|value| format!("write, for example, {}", write(path, &value)))
}

/// Is a path wanted? Then the example is one.
fn names_file(schema: Schema<'_>) -> bool {
    schema.example().is_some_and(|example| example.starts_with("~/") || example.starts_with("./"))
}

/// For a value of the wrong type.
pub(super) fn for_type(found: &Kind, schema: Schema<'_>, path: &str) -> Option<String> {
    match (schema.kind(), found) {
        // Quotes alone would not make it right.
        ("string", Kind::Number(_) | Kind::Bool(_)) if schema.has_form() => example(schema, path),
        ("string", Kind::Number(_) | Kind::Bool(_)) if names_file(schema) => {
            example(schema, path).map(|text| format!("it is the path of a file: {text}"))
        }
        ("string", Kind::Number(number)) => {
            let example = example(schema, path).map_or(String::new(), |text| format!("{text}; "));
            Some(format!("{example}text that looks like a number needs quotes: `\"{number}\"`"))
        }
        ("string", Kind::Bool(value)) => {
            example(schema, path).or_else(|| Some(format!("put it in quotes: `\"{value}\"`")))
        }
        ("boolean", _) => Some("write `true` or `false`".to_owned()),
        ("array", _) => Some("start each item on its own line with `- `".to_owned()),
        ("object", Kind::Text(text)) if !path.is_empty() => {
            let keys = schema.keys();
            let choices = |key: &str| schema.property(key).map(Schema::words).unwrap_or_default();
            let fits =
                |key: &&&str| **key == "name" || keys.len() == 1 || choices(key).contains(&text.as_str());
            // What takes more than others is the usual one.
            let key = keys.iter().filter(fits).min_by_key(|key| Reverse(choices(key).len()));
            let better = key.map(|key| write(path, &format!("{{{key}: {}}}", words::brief(text))));
            better.map(|better| format!("write {better}")).or_else(|| for_map(schema, path))
        }
        ("object", _) => for_map(schema, path),
        _ => example(schema, path),
    }
}

/// For a map that is not there.
pub(super) fn for_map(schema: Schema<'_>, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(format!("a cluster file begins with `apiVersion: {API_VERSION}`"));
    }
    if let [only] = schema.required().as_slice() {
        let value = schema.property(only)?.example()?;
        return Some(format!("write {}", write(path, &format!("{{{only}: {value}}}"))));
    }
    let keys = schema.keys();
    (!keys.is_empty()).then(|| format!("it takes the keys {}", words::all(keys)))
}

/// For a word that is not one of those possible.
pub(super) fn for_word(word: &str, possible: &[&str]) -> String {
    match (words::nearest(word, possible.iter().copied()), possible) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, [only]) => format!("only `{only}` is supported so far"),
        (None, possible) => format!("write {}", words::either(possible.iter().copied())),
    }
}

/// For a key that does not exist, and is not an absent one misspelt.
pub(super) fn for_key(key: &str, schema: Schema<'_>, path: &str) -> String {
    let keys = schema.keys();
    if path.starts_with("kubeadm.")
        && let Some((_, instead)) = DECIDED.iter().find(|(name, _)| *name == key)
    {
        return (*instead).to_owned();
    }
    if key == "<<" {
        "what several nodes share goes under `defaults`, once".to_owned()
    } else if let Some(near) = words::nearest(key, keys.iter().copied()) {
        format!("did you mean `{near}`? It is written already")
    } else if let Some(path) = schema.find(key) {
        format!("`{key}` belongs under `{path}`")
    } else if let [only] = keys.as_slice() {
        format!("the only key here is `{only}`")
    } else {
        format!("the keys here are {}", words::all(keys))
    }
}

/// For a password or the like.
pub(super) const SECRET: &str = "secrets never stand in this file; for a password write \
                                 `passwordFrom: {env: NAME_OF_A_VARIABLE}` under `connection`";
/// For the key of a Windows.
pub(super) const PRODUCT_KEY: &str = "secrets never stand in this file; write the product key into a file of its own, and \
                                      `productKeyFile: ~/.config/swdt/windows.key` under `image`";
