//! A RuntimeClass for each release of Windows in the cluster. A container of Windows runs only on the build that its
//! image was made for; a pod that names the class is scheduled there and nowhere else.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{AFTER_CONNECT, Known};
use crate::{
    catalog,
    spec::{OsFamily, Spec},
};

/// What containerd calls containers that share the kernel of Windows.
const HANDLER: &str = "runhcs-wcow-process";

/// The classes; none without a Windows node.
pub(super) fn manifest(spec: &Spec, known: &Known) -> Option<String> {
    let windows = spec.nodes.iter().filter(|node| node.os == OsFamily::Windows);
    let build = |name: &String| known.facts.get(name)?.windows.as_ref().map(|windows| windows.build);
    let classes: BTreeMap<String, Value> = windows
        .map(|node| match build(&node.name) {
            Some(build) => (name(build), class(&name(build), &format!("10.0.{build}"))),
            None => (AFTER_CONNECT.to_owned(), class(AFTER_CONNECT, AFTER_CONNECT)),
        })
        .collect();
    let documents: Vec<String> = classes.values().map(Value::to_string).collect();
    (!documents.is_empty()).then(|| documents.join("\n---\n"))
}

/// `windows-2022`, as its users say; by number what the catalog does not know, and preflight refuses.
fn name(build: u32) -> String {
    let release = catalog::windows(build).ok().flatten();
    let year = release.and_then(|release| release.name.rsplit(' ').next().map(ToOwned::to_owned));
    format!("windows-{}", year.unwrap_or_else(|| build.to_string()))
}

fn class(name: &str, build: &str) -> Value {
    json!({
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": { "name": name },
        "handler": HANDLER,
        "scheduling": {
            "nodeSelector": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "windows",
                "node.kubernetes.io/windows-build": build,
            },
            // The taint that everybody gives Windows nodes, if any.
            "tolerations": [{ "key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule" }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{MIXED, load, windows};

    fn three() -> String {
        format!(
            "{MIXED}  - {{name: win2, os: windows, address: 192.168.1.12}}\n  - {{name: win3, os: windows, address: 192.168.1.13}}\n"
        )
    }

    fn known(builds: &[(&str, u32)]) -> Known {
        let facts = builds.iter().map(|(node, build)| ((*node).to_owned(), windows(*build)));
        Known { facts: facts.collect(), ..Known::default() }
    }

    #[test]
    fn one_class_for_each_build() {
        let known = known(&[("win1", 20348), ("win2", 26100), ("win3", 20348)]);
        let classes = manifest(&load(&three()), &known).unwrap();
        let pretty = classes.split("\n---\n").map(|class| {
            let value: Value = serde_json::from_str(class).unwrap();
            serde_json::to_string_pretty(&value).unwrap()
        });
        insta::assert_snapshot!("runtime-classes", pretty.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn nothing_is_made_for_linux_and_nothing_is_guessed() {
        let three = three();
        let linux: Vec<_> = three.lines().filter(|line| !line.contains("windows")).collect();
        assert_eq!(manifest(&load(&linux.join("\n")), &Known::default()), None);
        let some = manifest(&load(&three), &known(&[("win1", 17763), ("win2", 20348)])).unwrap();
        assert!(some.contains("windows-2019") && some.contains("windows-2022"), "{some}");
        assert!(some.contains(AFTER_CONNECT), "win3 is not known yet, so nothing is sent: {some}");
    }
}
