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
    let mut is_list = false;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let key = step.split('[').next().unwrap_or(step);
        if at.open() {
            return Ok(taken_as_it_is(path, at));
        }
        at = at.property(key).ok_or_else(|| unknown(path, key, at))?;
        is_list = at.kind() == "array" && key == step;
        // People who ask about the nodes want to know what a node has.
        if at.kind() == "array" && (!at.items().keys().is_empty() || at.items().open()) {
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
            _ if is_list => "a list",
            "string" => "text",
            "integer" | "number" => "a number",
            "boolean" => "true or false",
            _ => "a map",
        },
        about: at.about(),
        default: at.default(),
        example: at.example(),
        words: at.words().into_iter().map(ToOwned::to_owned).collect(),
        fields: at.keys().into_iter().map(below).collect(),
    })
}

/// A field of somebody else's document.
fn taken_as_it_is(path: &str, document: Schema<'_>) -> Explained {
    Explained {
        path: path.to_owned(),
        kind: "any value",
        about: format!(
            "Handed on as it is written, and not explained here. It is a field of: {}",
            document.about()
        ),
        default: None,
        example: None,
        words: Vec::new(),
        fields: Vec::new(),
    }
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
    fn lists_are_called_so_and_their_items_what_they_are() {
        let kind = |path: &str| explain(path).unwrap().kind;
        let arguments = "kubeadm.clusterConfiguration.apiServer.extraArgs";
        assert_eq!([kind("nodes"), kind("nodes[0]"), kind("nodes.taints")], ["a list", "a map", "a list"]);
        assert_eq!(
            [kind(arguments), kind(&format!("{arguments}.name")), kind("network")],
            ["a list", "text", "a map"]
        );
    }

    #[test]
    fn sizes_are_told_for_both_systems() {
        for (path, linux, windows) in
            [("nodes.machine.memory", "`2Gi`", "`4Gi`"), ("nodes.machine.disk", "`20Gi`", "`60Gi`")]
        {
            let explained = explain(path).unwrap();
            assert_eq!(explained.default, None, "{path} has no default that holds for all");
            assert!(explained.about.contains(linux) && explained.about.contains(windows), "{explained:?}");
        }
    }

    #[test]
    fn only_what_is_taken_is_offered() {
        for path in ["nodes.machine.image.build", "nodes.machine.image.install"] {
            assert_eq!(explain(path).unwrap().words, ["debian-12", "debian-13"], "{path}");
        }
    }

    #[test]
    fn fields_of_the_documents_of_others_are_not_denied() {
        let pods = explain("kubeadm.kubeletConfiguration.maxPods").unwrap();
        assert!(pods.about.contains("kubelet.config.k8s.io/v1beta1"), "{}", pods.about);
        assert_eq!(explain("kubeadm.kubeProxyConfiguration.ipvs.scheduler").unwrap().kind, "any value");
    }

    #[test]
    fn what_is_misspelt_is_understood() {
        let hint = |path: &str| explain(path).unwrap_err().hints.join(" ");
        assert_eq!(hint("network.podCidr"), "did you mean `podCIDR`?");
        assert!(hint("podCIDR").contains("`network.podCIDR`"), "{}", hint("podCIDR"));
        assert!(hint("metadata.name.first").contains("nothing below"));
    }
}
