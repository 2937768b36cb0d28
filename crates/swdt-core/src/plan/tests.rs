//! Whole plans as snapshots: every example, with every sort of machine we know.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use swdt_wire::{Facts, Virtualization};

use super::*;

/// A Debian machine with a kernel of its own.
pub(crate) fn debian() -> Facts {
    let state: crate::state::State = serde_json::from_str(include_str!("../../tests/state/v1.json")).unwrap();
    let mut facts = state.nodes["cp1"].facts.clone().unwrap();
    facts.virtualization = Virtualization::OwnKernel;
    facts
}

/// A Windows Server of this build: as the machine that plays Windows told, with what real Windows has besides.
pub(crate) fn windows(build: u32) -> Facts {
    let mut facts: Facts = serde_json::from_str(include_str!("../../tests/facts/windows-2022.json")).unwrap();
    facts.windows.as_mut().unwrap().build = build;
    facts
}

/// A control plane and a Windows node.
pub(crate) const MIXED: &str = "
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: mixed}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 192.168.1.10}
  - {name: win1, os: windows, address: 192.168.1.11}
";

fn shared_kernel() -> Facts {
    Facts { virtualization: Virtualization::SharedKernel, ..debian() }
}

fn fedora() -> Facts {
    let mut facts = debian();
    facts.os.id = "fedora".into();
    facts.packages = Some("dnf".into());
    facts
}

pub(crate) fn load(text: &str) -> Spec {
    crate::config::load("test.yaml", text.as_bytes(), Some(Path::new("/home/ada")), Path::new("/home/ada"))
        .unwrap_or_else(|problems| panic!("{}", crate::Error::from(problems)))
}

fn text(spec: &Spec, known: &Known) -> String {
    let mut text = String::new();
    for node in &spec.nodes {
        let _ = writeln!(text, "{}", node.name);
        for resource in plan_node(spec, node, known, None).resources() {
            let _ =
                writeln!(text, "  {:<44} {}", resource.id, serde_json::to_string(&resource.kind).unwrap());
        }
    }
    text
}

const TWO: &str = "
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: two}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 192.168.1.10}
  - {name: w1, address: worker.example}
";

#[test]
fn plans_by_sort_of_machine() {
    let spec = load(TWO);
    for (name, facts) in [("debian", debian()), ("shared-kernel", shared_kernel()), ("fedora", fedora())] {
        let facts: BTreeMap<_, _> =
            spec.nodes.iter().map(|node| (node.name.clone(), facts.clone())).collect();
        let known = Known { facts, ..Known::default() };
        insta::assert_snapshot!(name, text(&spec, &known));
    }
}

/// What differs from one file to the next is left out of the picture: it has tests of its own.
#[test]
fn the_plan_of_a_windows_machine() {
    let spec = load(&format!("{TWO}  - {{name: win1, os: windows, address: 192.168.1.12}}\n"));
    let facts = [("cp1", debian()), ("w1", debian()), ("win1", windows(20348))];
    let facts = facts.map(|(name, facts)| (name.to_owned(), facts)).into();
    let known = Known { facts, ..Known::default() };
    let plan = text(&spec, &known);
    insta::assert_snapshot!("windows", plan.split_once("win1\n").unwrap().1);
}

#[test]
fn what_is_not_known_yet_is_a_visible_placeholder() {
    let plan = text(&load(TWO), &Known::default());
    assert!(plan.contains("<after connect> w1"), "{plan}");
    assert!(plan.contains("192.168.1.10 cp1"), "{plan}");
}

#[test]
fn until_stops_after_the_phase() {
    let spec = load(TWO);
    let known = Known::default();
    assert_eq!(plan_node(&spec, &spec.nodes[0], &known, Some("connect")).resources().count(), 0);
    assert!(plan_node(&spec, &spec.nodes[0], &known, Some("prepare")).resources().count() > 0);
}

#[test]
fn ids_are_unique_and_begin_with_their_phase() {
    let spec = load(&format!("{TWO}  - {{name: win1, os: windows, address: 192.168.1.12}}\n"));
    for node in &spec.nodes {
        let plan = plan_node(&spec, node, &Known::default(), None);
        let mut ids: Vec<&str> = plan.resources().map(|resource| resource.id.as_str()).collect();
        for (phase, resources) in &plan.phases {
            assert!(resources.iter().all(|resource| resource.id.starts_with(&format!("{phase}/"))));
        }
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}

/// kubeadm and whoever waits for it give an emulated machine ten times as long, and nobody else.
#[test]
fn emulated_machines_are_given_time() {
    let spec = load(MIXED);
    let plan = |emulated: bool| {
        let facts = Facts { emulated, ..debian() };
        let known = Known { facts: BTreeMap::from([("cp1".to_owned(), facts)]), ..Known::default() };
        text(&spec, &known)
    };
    let (usual, slow) = (plan(false), plan(true));
    assert!(usual.contains(r#""patience":180"#) && !usual.contains("kubernetesAPICall"), "{usual}");
    assert!(slow.contains(r#""patience":1800"#) && !slow.contains(r#""patience":180}"#), "{slow}");
    // Once for `kubeadm init`, once for the node that joins.
    assert_eq!(slow.matches("kubernetesAPICall").count(), 2, "{slow}");
    // The controller manager and the scheduler.
    assert_eq!(
        (usual.matches("leader-elect").count(), slow.matches("leader-elect").count()),
        (0, 2),
        "{slow}"
    );
    for word in ["etcd-healthcheck-timeout", "election-timeout"] {
        assert_eq!((usual.contains(word), slow.contains(word)), (false, true), "{word}: {slow}");
    }
}
