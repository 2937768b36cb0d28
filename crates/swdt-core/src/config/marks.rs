//! Labels and taints: what Kubernetes takes for one, and what a kubelet may give its own node.

use super::values::{Parsed, wrong};
use crate::{
    id,
    spec::{Effect, Taint},
    words::brief,
};

const LONGEST_NAME: usize = 63;
const LONGEST_PREFIX: usize = 253;

/// What only swdt marks nodes with.
const OURS: &str = "swdt.dev";

/// Keys below `kubernetes.io` and `k8s.io` that a kubelet may set, and that say nothing it finds out itself.
/// <https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go>
const ALLOWED: [&str; 6] = [
    "beta.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
/// Whole families that it may set.
const ALLOWED_FAMILIES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// What every kubelet says of its machine.
const FOUND_OUT: [&str; 6] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/windows-build",
];

/// A label of a node.
pub(super) fn label(key: &str, value: &str) -> Parsed<(String, String)> {
    let prefix = self::key(key, "label")?;
    if FOUND_OUT.contains(&key) {
        return wrong(
            id::LABEL_INVALID,
            format!("`{key}` is what the kubelet finds out about its machine"),
            "leave it out",
        );
    }
    let within = |prefix: &str, domain: &str| {
        prefix == domain || prefix.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    };
    let kubernetes = within(prefix, "kubernetes.io") || within(prefix, "k8s.io");
    let family = ALLOWED_FAMILIES.iter().any(|family| within(prefix, family));
    if kubernetes && !family && !ALLOWED.contains(&key) {
        return wrong(
            id::LABEL_INVALID,
            format!("a kubelet may not give its own node the label `{}`: Kubernetes reserves it", brief(key)),
            format!(
                "leave it out, and say after the cluster was made: `swdt kubectl -- label node NAME {key}={value}`"
            ),
        );
    }
    self::value(value, "label")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// `key=value:Effect`, or `key:Effect`.
pub(super) fn taint(text: &str) -> Parsed<Taint> {
    let (mark, effect) = text.rsplit_once(':').unwrap_or((text, ""));
    let (key, value) = mark.split_once('=').unwrap_or((mark, ""));
    let Some(effect) = Effect::ALL.into_iter().find(|known| known.as_str() == effect) else {
        let effects: Vec<_> = Effect::ALL.iter().map(|effect| format!("`{}`", effect.as_str())).collect();
        let example = if self::key(mark, "taint").is_ok() { mark } else { "os=windows" };
        return wrong(
            id::LABEL_INVALID,
            format!("`{}` does not end with the effect of a taint", brief(text)),
            format!("effects are {}; for example `{example}:NoSchedule`", effects.join(", ")),
        );
    };
    if key.is_empty() {
        return wrong(
            id::LABEL_INVALID,
            format!("the taint `{}` has no key", brief(text)),
            "for example `os=windows:NoSchedule`",
        );
    }
    self::key(key, "taint")?;
    self::value(value, "taint")?;
    Ok(Taint { key: key.to_owned(), value: value.to_owned(), effect })
}

/// A key of this sort of mark; gives its prefix, which may be empty.
fn key<'t>(text: &'t str, what: &str) -> Parsed<&'t str> {
    let (prefix, name) = text.rsplit_once('/').unwrap_or(("", text));
    let part = |part: &str| {
        let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && part.chars().all(sound) && !part.starts_with('-') && !part.ends_with('-')
    };
    let domain = prefix.len() <= LONGEST_PREFIX && prefix.split('.').all(part);
    if !name_like(name) || (text.contains('/') && !domain) {
        return wrong(
            id::LABEL_INVALID,
            format!("`{}` is not the key of a {what}: a name, or a domain, `/` and a name", brief(text)),
            "letters, digits, `-`, `_` and `.`, at most 63; for example `disk` or `example.com/disk`",
        );
    }
    if prefix == OURS {
        return wrong(
            id::LABEL_INVALID,
            format!("`{}`: what begins with `{OURS}/` is what swdt itself marks nodes with", brief(text)),
            "choose a domain of your own",
        );
    }
    Ok(prefix)
}

fn value(text: &str, what: &str) -> Parsed<()> {
    if text.is_empty() || name_like(text) {
        return Ok(());
    }
    wrong(
        id::LABEL_INVALID,
        format!("`{}` is not the value of a {what}", brief(text)),
        "at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends; or nothing",
    )
}

fn name_like(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    let inside = |c: char| ends(c) || matches!(c, '-' | '_' | '.');
    text.starts_with(ends) && text.ends_with(ends) && text.len() <= LONGEST_NAME && text.chars().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_a_kubelet_would_refuse_are_refused_before() {
        let fine = |key: &str| label(key, "x").is_ok();
        for key in [
            "disk",
            "example.com/disk",
            "topology.kubernetes.io/zone",
            "node.kubernetes.io/pool",
            "west.node.kubernetes.io/pool",
            "notkubernetes.io/pool",
        ] {
            assert!(fine(key), "{key}");
        }
        for key in [
            "node-role.kubernetes.io/worker",
            "kubernetes.io/pool",
            "k8s.io/pool",
            "pool.k8s.io/x",
            "node-restriction.kubernetes.io/x",
            "kubernetes.io/os",
            "swdt.dev/rehearsal",
            "Example.com/disk",
            "/disk",
            "example.com/",
            "a/b/c",
            "-disk",
            "",
        ] {
            assert!(!fine(key), "{key}");
        }
        assert!(label("disk", "").is_ok());
        assert!(label("disk", "fast,other=1").is_err(), "would be two labels on a command line");
    }

    #[test]
    fn taints_are_read_as_kubectl_writes_them() {
        let taint = |text: &str| taint(text).map(|taint| taint.to_string()).ok();
        for text in ["os=windows:NoSchedule", "gpu:NoExecute", "node-role.kubernetes.io/x:PreferNoSchedule"] {
            assert_eq!(taint(text).as_deref(), Some(text));
        }
        for text in
            ["", "os=windows", "os=windows:noschedule", "=x:NoSchedule", "os=a b:NoSchedule", ":NoSchedule"]
        {
            assert_eq!(taint(text), None, "{text}");
        }
    }
}
