//! Files of the first version of swdt are still understood; files of a later one are left alone.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{fs, path::Path};

use swdt_core::{
    event::EventKind,
    journal,
    run::{artifacts, used_artifacts},
    source::lock::Lock,
    spec::OsFamily,
    state::{Dirs, Holder, SPEC_SCHEMA},
};

const STATE: &str = include_str!("state/v1.json");
const SPEC: &str = include_str!("state/spec-v1.json");
const ARTIFACTS: &str = include_str!("state/artifacts-v1.json");
const LOCK: &str = include_str!("state/lock-v1.json");
const EVENTS: &str = include_str!("state/events-v1.jsonl");
const FILES: [(&str, &str); 5] = [
    ("state.json", STATE),
    ("spec.json", SPEC),
    ("artifacts.json", ARTIFACTS),
    ("lock.json", LOCK),
    ("events.jsonl", EVENTS),
];

fn first_version(data: &Path) -> Dirs {
    let dirs = Dirs { data: data.to_owned(), cache: data.to_owned() };
    let cluster = dirs.cluster("demo");
    cluster.make().unwrap();
    for (name, text) in FILES {
        fs::write(cluster.root().join(name), text).unwrap();
    }
    dirs
}

fn holder() -> Holder {
    Holder { command: "cluster create".into(), who: "ada@example".into(), pid: 7, since: "12:00".into() }
}

#[test]
fn a_cluster_of_the_first_version_is_understood() {
    let temp = tempfile::tempdir().unwrap();
    let dirs = first_version(temp.path());
    let cluster = dirs.cluster("demo");
    assert!(cluster.load("demo").unwrap().nodes["cp1"].made);
    let spec = cluster.load_spec().unwrap();
    assert_eq!(spec.node("w1").unwrap().os, OsFamily::Windows);
    let found = artifacts(&dirs, &spec).unwrap().expect("resolved for the same wishes");
    assert_eq!(found.programs["w1"].keys().collect::<Vec<_>>(), ["kubelet.exe"]);
    assert!(used_artifacts(&dirs).unwrap().contains(&found.images[0].archive.sha256));
    assert!(!Lock::load(cluster.root()).unwrap().pins().is_empty());
    cluster.lock(&holder()).unwrap();

    // Written again, it has the schema and means the same.
    cluster.save_spec(&spec, b"").unwrap();
    let text = fs::read_to_string(cluster.root().join("spec.json")).unwrap();
    assert!(text.contains(&format!("\"schema\": {SPEC_SCHEMA}")), "{text}");
    assert_eq!(cluster.load_spec().unwrap(), spec);
}

#[test]
fn every_event_of_the_first_version_is_read() {
    let temp = tempfile::tempdir().unwrap();
    let events = journal::read(&first_version(temp.path()).cluster("demo").events()).unwrap();
    assert_eq!(events.len(), EVENTS.lines().count());
    let name = |kind: &EventKind| match kind {
        EventKind::Started { .. } => "started",
        EventKind::PhaseStarted { .. } => "phase-started",
        EventKind::PhaseDone { .. } => "phase-done",
        // Of later versions.
        EventKind::Ahead { .. }
        | EventKind::NodePhaseStarted { .. }
        | EventKind::NodePhaseDone { .. }
        | EventKind::Setback { .. } => unreachable!("{kind:?}"),
        EventKind::Doing { .. } => "doing",
        EventKind::Connected { .. } => "connected",
        EventKind::ResourceStarted { .. } => "resource-started",
        EventKind::ResourceDone { .. } => "resource-done",
        EventKind::Output { .. } => "output",
        EventKind::Warning { .. } => "warning",
        EventKind::Tried { .. } => "tried",
        EventKind::NotTried { .. } => "not-tried",
        EventKind::NodeDone { .. } => "node-done",
        EventKind::Forgotten { .. } => "forgotten",
        EventKind::NodeFailed { .. } => "node-failed",
        EventKind::Finished { .. } => "finished",
    };
    let mut seen: Vec<&str> = events.iter().map(|event| name(&event.kind)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 15, "{seen:?}");
}

/// Whatever a later version adds, it is refused by the schema and not by what cannot be read, and before a byte
/// is written.
#[test]
fn nothing_of_a_later_version_is_touched() {
    for (name, _) in &FILES[..4] {
        let temp = tempfile::tempdir().unwrap();
        let dirs = first_version(temp.path());
        let cluster = dirs.cluster("demo");
        let path = cluster.root().join(name);
        let later = r#"{"schema": 2, "cluster": {"now": "an object"}, "nodes": 7}"#;
        fs::write(&path, later).unwrap();
        let spec = serde_json::from_str(SPEC).unwrap();
        let mut refused = vec![cluster.lock(&holder()).map(drop)];
        match *name {
            "state.json" => refused.push(cluster.load("demo").map(drop)),
            "spec.json" => refused.push(cluster.load_spec().map(drop)),
            "artifacts.json" => {
                refused.push(artifacts(&dirs, &spec).map(drop));
                refused.push(used_artifacts(&dirs).map(drop));
            }
            _ => refused.push(Lock::load(cluster.root()).map(drop)),
        }
        for refused in refused {
            let error = refused.expect_err(name);
            assert!(
                error.message.contains("was written by a newer swdt (schema 2, this one knows 1)"),
                "{error}"
            );
            assert!(error.hints.iter().any(|hint| hint.contains("use that version of swdt")), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), later);
        assert!(!cluster.root().join("lock").exists(), "not even the lock was taken");
    }
}
