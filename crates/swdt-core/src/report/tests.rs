use std::collections::BTreeMap;

use super::*;
use crate::event::{EventKind, Setback};

/// `(node, milliseconds, what)`; JSON as journals have it.
fn events(what: &[(&str, u64, serde_json::Value)]) -> Vec<Event> {
    let event = |(node, at, kind): &(&str, u64, serde_json::Value)| {
        let mut event =
            serde_json::json!({ "seq": 0, "at": "2026-11-16T12:00:00.5Z", "elapsedMs": at, "kind": kind });
        if !node.is_empty() {
            event["node"] = (*node).into();
        }
        serde_json::from_value(event).unwrap()
    };
    what.iter().map(event).collect()
}

fn started(command: &str) -> serde_json::Value {
    serde_json::json!({ "started": { "run": command, "command": command, "cluster": "demo", "nodes": ["cp1", "w1"] } })
}

fn report(events: &[Event]) -> Option<Report> {
    let spec: Spec = serde_json::from_str(include_str!("../../tests/state/spec-v1.json")).unwrap();
    let state: State = serde_json::from_str(include_str!("../../tests/state/v1.json")).unwrap();
    let resolved: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/state/artifacts-v1.json")).unwrap();
    let artifacts: Artifacts = serde_json::from_value(resolved["artifacts"].clone()).unwrap();
    let known = Known {
        endpoints: BTreeMap::from([("cp1".to_owned(), state.nodes["cp1"].endpoint.clone().unwrap())]),
        ..Known::default()
    };
    let now = "2026-11-16T12:05:00Z".parse().unwrap();
    let clean = |text: &str| text.replace("hunter2", "***");
    let artifacts = Some(&artifacts);
    Report::of(&Sources { spec: &spec, state: &state, known: &known, artifacts, events, now, clean: &clean })
}

fn a_run_with_a_restart() -> Vec<Event> {
    use serde_json::json;
    events(&[
        ("", 0, started("create")),
        ("", 1, json!({ "phaseStarted": { "phase": "prepare", "title": "Prepare" } })),
        ("cp1", 10, json!({ "nodePhaseStarted": { "phase": "prepare", "resources": 2 } })),
        ("w1", 20, json!({ "nodePhaseStarted": { "phase": "prepare", "resources": 1 } })),
        ("cp1", 30, json!({ "resourceStarted": { "id": "prepare/a" } })),
        ("w1", 40, json!({ "resourceStarted": { "id": "prepare/restart" } })),
        ("cp1", 2030, json!({ "resourceDone": { "id": "prepare/a", "outcome": "changed", "writes": 3 } })),
        ("cp1", 2040, json!({ "nodePhaseDone": { "phase": "prepare", "tookMs": 2030 } })),
        (
            "w1",
            5000,
            json!({ "setback": { "what": "restarted", "message": "the machine was restarted, hunter2" } }),
        ),
        ("w1", 5100, json!({ "resourceStarted": { "id": "prepare/restart" } })),
        (
            "w1",
            9000,
            json!({ "resourceDone": { "id": "prepare/restart", "outcome": "changed", "writes": 1 } }),
        ),
        ("w1", 9010, json!({ "output": { "id": "prepare/restart", "line": "hunter2 on the console" } })),
        ("w1", 9020, json!({ "nodePhaseDone": { "phase": "prepare", "tookMs": 9000 } })),
        ("", 9021, json!({ "phaseDone": { "phase": "prepare", "tookMs": 9020 } })),
        ("", 9030, json!({ "phaseStarted": { "phase": "smoke", "title": "Smoke test" } })),
        ("", 9040, json!({ "tried": { "name": "pods start", "ok": true, "seen": "ok", "tookMs": 5 } })),
        (
            "",
            9050,
            json!({ "tried": { "name": "node port, cp1 to w1", "ok": false, "seen": "hunter2", "tookMs": 5 } }),
        ),
        (
            "",
            9060,
            json!({ "tried": { "name": "service, from cp1", "ok": true, "seen": "ok", "tookMs": 5 } }),
        ),
        (
            "",
            9070,
            json!({ "tried": { "name": "scheduling, not to w1", "ok": true, "seen": "ok", "tookMs": 5 } }),
        ),
        ("", 9080, json!({ "notTried": { "name": "pods start, w1", "why": "no containers" } })),
        ("w1", 9090, json!({ "warning": { "message": "a word" } })),
        ("w1", 9091, json!({ "warning": { "message": "a word" } })),
        ("", 9100, json!({ "phaseDone": { "phase": "smoke", "tookMs": 70 } })),
        ("", 9200, json!({ "finished": { "ok": true, "writes": 4, "error": null } })),
        ("", 0, started("status")),
        ("", 50, json!({ "finished": { "ok": true, "writes": 0, "error": null } })),
    ])
}

#[test]
fn the_last_run_that_changed_something_is_told_with_real_times() {
    let report = report(&a_run_with_a_restart()).unwrap();
    assert_eq!((report.runs.len(), report.main_run), (2, 0));
    let run = report.run();
    assert_eq!((run.took_ms, run.ok, run.writes, run.changes), (9200, Some(true), 4, 2));
    let prepare = &run.phases[0];
    assert_eq!((prepare.from_ms, prepare.to_ms, prepare.done), (1, 9021, true));
    let times: Vec<_> =
        prepare.lanes.iter().map(|lane| (lane.node.as_deref(), lane.from_ms, lane.to_ms)).collect();
    assert_eq!(times, [(Some("cp1"), 10, 2040), (Some("w1"), 20, 9020)]);
    let setbacks: Vec<_> =
        run.setbacks().map(|(lane, _, pause)| (lane.node.as_deref(), pause.what)).collect();
    assert_eq!(setbacks, [(Some("w1"), Setback::Restarted)]);
    // Over the restart, it was one piece of work.
    let slowest: Vec<_> = run.slowest.iter().map(|it| (it.id.as_str(), it.took_ms)).collect();
    assert_eq!(slowest, [("prepare/restart", 8960), ("prepare/a", 2000)]);
    assert_eq!(report.warnings, [Warning { nodes: vec!["w1".into()], message: "a word".into(), times: 2 }]);
}

#[test]
fn what_was_tried_has_its_place() {
    let report = report(&a_run_with_a_restart()).unwrap();
    let trials = &report.smoke.as_ref().unwrap().trials;
    let places: Vec<_> =
        trials.iter().map(|it| (it.what.as_str(), it.node.as_deref(), it.to.as_deref())).collect();
    assert_eq!(
        places,
        [
            ("pods start", None, None),
            ("node port", Some("cp1"), Some("w1")),
            ("service", Some("cp1"), None),
            ("scheduling, not to it", Some("w1"), None),
            ("pods start", Some("w1"), None),
        ]
    );
    assert_eq!(
        report.verdicts(),
        BTreeMap::from([(Verdict::Failed, 1), (Verdict::NotTried, 1), (Verdict::Passed, 3)])
    );
}

#[test]
fn nothing_that_a_program_printed_and_no_secret_is_in_it() {
    let text = serde_json::to_string(&report(&a_run_with_a_restart()).unwrap()).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(!text.contains("console") && !text.contains("WIN_PASSWORD"), "{text}");
    assert!(text.contains("***"), "{text}");
}

#[test]
fn what_it_is_made_of_has_digests_and_sources() {
    let report = report(&a_run_with_a_restart()).unwrap();
    let programs: Vec<_> = report.programs.iter().map(|it| (it.name.as_str(), it.nodes.join(","))).collect();
    assert_eq!(
        programs,
        [("kubeadm", "cp1".to_owned()), ("kubelet", "cp1".to_owned()), ("kubelet.exe", "w1".to_owned())]
    );
    assert!(report.programs.iter().all(|it| it.sha256.len() == 64 && it.from.contains("dl.k8s.io")));
    assert_eq!(report.images[0].nodes, ["cp1"], "an image of Linux is on no Windows");
    assert_eq!(report.nodes[0].address.as_deref(), Some("127.0.0.10"));
    assert_eq!(report.nodes[1].system, None);
}

#[test]
fn a_run_without_an_end_is_as_long_as_it_is_known_to_be() {
    let mut all = a_run_with_a_restart();
    all.truncate(9);
    let report = report(&all).unwrap();
    assert_eq!((report.run().ok, report.run().took_ms), (None, 5000));
    assert_eq!((report.run().phases[0].done, report.run().phases[0].to_ms), (false, 5000));
    assert_eq!(report.smoke, None);
}

#[test]
fn journals_of_the_first_version_have_a_report_and_empty_ones_have_none() {
    let lines = include_str!("../../tests/state/events-v1.jsonl").lines();
    let first: Vec<Event> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = report(&first).unwrap();
    assert_eq!(told.run().phases.len(), 2);
    let failed = told.run().phases[1].lanes.iter().filter(|lane| lane.failed.is_some()).count();
    assert_eq!(failed, 2);
    assert!(report(&[]).is_none());
    let torn: Vec<Event> =
        first.into_iter().filter(|event| !matches!(event.kind, EventKind::Started { .. })).collect();
    assert!(report(&torn).is_none(), "events without a run");
}
