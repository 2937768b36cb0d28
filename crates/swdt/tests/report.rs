//! `swdt cluster report`: what it refuses, and its page in a real browser.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

#[path = "common/browser.rs"]
mod browser;
mod common;

use std::{fmt::Write, fs, os::unix::fs::PermissionsExt};

use browser::{Browser, Look};
use common::Swdt;
use serde_json::{Value, json};

/// Loopback addresses: nobody is asked, and if somebody were, nobody would answer.
const STATE: [(&str, &str); 5] = [
    ("state.json", include_str!("../../swdt-core/tests/state/v1.json")),
    ("spec.json", include_str!("../../swdt-core/tests/state/spec-v1.json")),
    ("artifacts.json", include_str!("../../swdt-core/tests/state/artifacts-v1.json")),
    ("lock.json", include_str!("../../swdt-core/tests/state/lock-v1.json")),
    ("events.jsonl", include_str!("../../swdt-core/tests/state/events-v1.jsonl")),
];

/// A cluster that an earlier swdt recorded.
fn recorded() -> Swdt {
    let swdt = Swdt::new();
    let cluster = swdt.data().join("clusters/demo");
    fs::create_dir_all(&cluster).unwrap();
    for (name, text) in STATE {
        fs::write(cluster.join(name), text).unwrap();
    }
    swdt
}

#[test]
fn a_record_that_cannot_be_read_is_no_mistake_in_swdt() {
    let swdt = recorded();
    fs::write(swdt.data().join("clusters/demo/spec.json"), "{").unwrap();
    swdt.run(&["cluster", "report"]).fails(4, &["error[record-unreadable]", "spec.json cannot be read"]);
}

#[test]
fn a_report_is_written_whole_or_not_at_all() {
    let swdt = recorded();
    let home = swdt.home();
    let path = home.join("report.html");
    let write = |path: &str, force: bool| {
        let mut words = vec!["cluster", "report", "--output", path];
        words.extend(force.then_some("--force"));
        swdt.run(&words)
    };
    let name = path.to_str().unwrap();
    write(name, false).ok();
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "for its owner only");

    fs::write(&path, "mine").unwrap();
    write(name, false).fails(2, &["is there already", "--force"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    write(name, true).ok();
    assert_ne!(fs::read_to_string(&path).unwrap(), "mine");

    write(home.join("nowhere/report.html").to_str().unwrap(), false).fails(2, &["cannot write", "--output"]);
    fs::create_dir(home.join("a-directory")).unwrap();
    write(home.join("a-directory").to_str().unwrap(), true).fails(2, &["is a directory"]);
    let left: Vec<String> =
        fs::read_dir(home).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.contains(".tmp")), "{left:?}");
}

#[test]
fn what_there_is_no_report_of_is_said() {
    let swdt = recorded();
    swdt.run(&["--cluster", "other", "cluster", "report"]).fails(2, &["no cluster `other`", "demo"]);
    fs::write(swdt.data().join("clusters/demo/events.jsonl"), "").unwrap();
    swdt.run(&["cluster", "report"]).fails(2, &["nothing was recorded", "swdt cluster create"]);
    let told = swdt.run(&["cluster", "report", "--format", "json"]);
    let error: Value = serde_json::from_str(told.fails(2, &[]).stderr.trim()).unwrap();
    assert_eq!(error["error"]["kind"], "usage");
    Swdt::new().run(&["cluster", "report"]).fails(2, &["there is no cluster yet"]);
}

#[test]
fn the_same_facts_are_there_as_data() {
    let swdt = recorded();
    let told: Value =
        serde_json::from_str(&swdt.run(&["cluster", "report", "--format", "json"]).ok().stdout).unwrap();
    assert_eq!((&told["schema"], &told["cluster"]), (&json!(1), &json!("demo")));
    assert_eq!(
        told["runs"][0]["phases"][1]["lanes"][0]["failed"],
        "root@127.0.0.10:22 refused the connection"
    );
    assert_eq!(told["images"][0]["from"], "release https://dl.k8s.io/v1.36.3/bin/linux/amd64/kubelet");
    let path = swdt.home().join("facts.json");
    swdt.run(&["cluster", "report", "--format", "json", "--output", path.to_str().unwrap()]).ok();
    let mut written: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    written["made"] = told["made"].clone();
    assert_eq!(written, told);
}

/// More nodes, and longer words, than anybody has.
fn crowded(swdt: &Swdt) {
    let names: Vec<String> =
        (1..=30).map(|index| format!("a-worker-with-quite-a-long-name-{index:02}")).collect();
    let path = swdt.data().join("clusters/demo/spec.json");
    let mut spec: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let nodes = spec["nodes"].as_array_mut().unwrap();
    for name in &names {
        let mut node = nodes[0].clone();
        (node["name"], node["role"]) = (name.as_str().into(), "worker".into());
        nodes.push(node);
    }
    fs::write(&path, spec.to_string()).unwrap();
    let long = "x".repeat(300);
    let mut events = String::new();
    let mut say = |node: Option<&str>, at: u64, kind: Value| {
        let event =
            json!({ "seq": 0, "at": "2026-11-16T12:00:00Z", "elapsedMs": at, "node": node, "kind": kind });
        writeln!(events, "{event}").unwrap();
    };
    say(
        None,
        0,
        json!({ "started": { "run": "r", "command": "create", "cluster": "demo", "nodes": names } }),
    );
    say(None, 1, json!({ "phaseStarted": { "phase": "prepare", "title": "Prepare" } }));
    for (at, name) in (10_u64..).step_by(997).zip(&names) {
        say(Some(name), at, json!({ "resourceStarted": { "id": long } }));
        say(Some(name), at + 3000, json!({ "setback": { "what": "restarted", "message": long } }));
        say(
            Some(name),
            at + 9000,
            json!({ "resourceDone": { "id": long, "outcome": "changed", "writes": 1 } }),
        );
        say(Some(name), at + 9001, json!({ "warning": { "message": long } }));
        say(
            None,
            at,
            json!({ "tried": { "name": format!("pod to pod, cp1 to {name}"), "ok": false, "seen": long, "tookMs": 1 } }),
        );
        say(
            None,
            at,
            json!({ "tried": { "name": format!("service, from {name}"), "ok": true, "seen": "ok", "tookMs": 1 } }),
        );
    }
    say(None, 60_000, json!({ "finished": { "ok": false, "writes": 30, "error": long } }));
    let journal = swdt.data().join("clusters/demo/events.jsonl");
    fs::write(journal, events).unwrap();
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test` installs it, and runs this"]
fn a_real_browser_shows_it() {
    let mut browser = Browser::start().expect("Chromium");
    for crowd in [false, true] {
        let swdt = recorded();
        if crowd {
            crowded(&swdt);
        }
        let page = swdt.home().join("report.html");
        swdt.run(&["cluster", "report", "--output", page.to_str().unwrap()]).ok();
        let mut grounds = Vec::new();
        for look in [
            Look { width: 1280, scheme: "light" },
            Look { width: 1280, scheme: "dark" },
            Look { width: 360, scheme: "light" },
            Look { width: 360, scheme: "dark" },
        ] {
            let said = browser.open(&page, &look);
            assert!(said.is_empty(), "{look:?}: {said:#?}");
            let wide = browser.value("document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= look.width, "{look:?}, crowded {crowd}: {wide} wide");
            // Nothing that is read sticks out, but what scrolls by itself.
            let out = browser.value(
                "[...document.querySelectorAll('main *')].filter(it => !it.closest('.scroll') && !it.matches('.unseen') \
                 && it.getBoundingClientRect().right > innerWidth + 1).map(it => it.outerHTML.slice(0, 80))",
            );
            assert_eq!(out, json!([]), "{look:?}, crowded {crowd}");
            assert!(
                browser.value("document.querySelectorAll('svg.timeline .bar').length").as_u64().unwrap() > 1
            );
            let small = browser.value(
                "Math.min(...[...document.querySelectorAll('main *')].filter(it => it.childNodes.length && it.textContent.trim() \
                 && getComputedStyle(it).display !== 'none').map(it => parseFloat(getComputedStyle(it).fontSize)))",
            );
            assert!(small.as_f64().unwrap() >= 11.0, "{look:?}: letters of {small} px");
            grounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
        }
        assert_eq!((&grounds[0], &grounds[1]), (&grounds[2], &grounds[3]));
        assert_ne!(grounds[0], grounds[1], "dark is dark");
    }
}
