use serde_json::json;
use swdt_core::{event::Event, plan::Known, report::Sources, spec::Spec, state::State};

use super::*;

/// A journal whose every word wants to be HTML.
fn nasty() -> Report {
    let spec: Spec =
        serde_json::from_str(include_str!("../../../swdt-core/tests/state/spec-v1.json")).unwrap();
    let state: State = serde_json::from_str(include_str!("../../../swdt-core/tests/state/v1.json")).unwrap();
    let tag = "</style><script>alert('x')</script>\" onload=\"y";
    let kinds = [
        (
            "",
            0,
            json!({ "started": { "run": "r", "command": tag, "cluster": "demo", "nodes": ["cp1", tag] } }),
        ),
        ("", 1, json!({ "phaseStarted": { "phase": "prepare", "title": tag } })),
        (tag, 2, json!({ "resourceStarted": { "id": tag } })),
        (tag, 4000, json!({ "resourceDone": { "id": tag, "outcome": "changed", "writes": 1 } })),
        (tag, 4001, json!({ "setback": { "what": "died", "message": tag } })),
        (tag, 4002, json!({ "nodeFailed": { "message": tag } })),
        (tag, 4003, json!({ "warning": { "message": tag } })),
        ("", 4004, json!({ "tried": { "name": tag, "ok": false, "seen": tag, "tookMs": 1 } })),
        ("", 4005, json!({ "notTried": { "name": format!("{tag}, w1"), "why": tag } })),
        ("", 4006, json!({ "finished": { "ok": false, "writes": 1, "error": tag } })),
    ];
    let events: Vec<Event> = kinds
        .into_iter()
        .map(|(node, at, kind)| {
            let node = Some(node).filter(|node| !node.is_empty());
            let event = json!({ "seq": 0, "at": "2026-11-16T12:00:00Z", "elapsedMs": at, "node": node, "kind": kind });
            serde_json::from_value(event).unwrap()
        })
        .collect();
    let (known, now) = (Known::default(), "2026-11-16T12:05:00Z".parse().unwrap());
    let (artifacts, clean) = (None, |text: &str| text.to_owned());
    let (spec, state, known) = (&spec, &state, &known);
    Report::of(&Sources { spec, state, known, artifacts, events: &events, now, clean: &clean }).unwrap()
}

#[test]
fn text_of_others_stays_text() {
    let page = page(&nasty(), "1.2.3");
    assert_eq!(page.matches("<script").count(), 0, "{page}");
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(!page.contains("onload=\"y"), "no attribute is broken out of");
    // Where it was to be shown, it is shown: as text.
    assert!(page.matches("&lt;script&gt;alert(&#39;x&#39;)").count() > 10);
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = page(&nasty(), "1.2.3");
    for way in ["src=", "@import", "url(", "<script", "<iframe", "<form"] {
        assert!(!page.contains(way), "{way}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    assert!(page.contains("Made 2026-11-16 12:05:00 UTC by swdt 1.2.3"), "when and by whom");
}

#[test]
fn every_element_that_is_opened_is_closed() {
    let page = page(&nasty(), "1.2.3");
    for tag in ["section", "ul", "ol", "li", "p", "div", "span", "svg", "title", "table", "h2", "h3", "b"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}
