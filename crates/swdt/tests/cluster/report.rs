//! The report of a cluster that was just made.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::fs;

use serde_json::Value;

use crate::common::{Ran, Swdt};

/// Both stay where secrets are looked for: the page in the home, the facts with whoever called.
pub(crate) fn tells_how_it_was_made(swdt: &Swdt) -> Ran {
    let path = swdt.home().join("report.html");
    swdt.run(&["cluster", "report", "--output", path.to_str().unwrap()]).ok();
    let page = fs::read_to_string(&path).unwrap();
    let told = swdt.run(&["cluster", "report", "--format", "json"]).ok();
    let report: Value = serde_json::from_str(&told.stdout).unwrap();

    assert_eq!(report["mainRun"], 0, "the second changed nothing");
    let run = &report["runs"][0];
    assert_eq!((&run["command"], &run["ok"]), (&"create".into(), &true.into()));
    let phases = run["phases"].as_array().unwrap();
    let init = phases.iter().find(|phase| phase["phase"] == "init").unwrap();
    let lanes: Vec<&Value> = init["lanes"].as_array().unwrap().iter().map(|lane| &lane["node"]).collect();
    assert_eq!(lanes, ["cp1"], "only the control plane is at work there: {init}");
    let runtime = phases.iter().find(|phase| phase["phase"] == "runtime").unwrap();
    for lane in runtime["lanes"].as_array().unwrap() {
        let within = |field: &str| lane[field].as_u64().unwrap();
        assert!(runtime["fromMs"].as_u64().unwrap() <= within("fromMs"), "{runtime}");
        assert!(
            within("fromMs") < within("toMs") && within("toMs") <= runtime["toMs"].as_u64().unwrap() + 1,
            "{runtime}"
        );
        assert!(within("changes") > 5, "{runtime}");
    }
    assert!(report["smoke"]["trials"].as_array().unwrap().iter().all(|trial| trial["verdict"] == "passed"));
    for words in [
        "Kubernetes 1.36.3",
        "10.244.0.0/16",
        "Debian GNU/Linux 12",
        "pod to pod → w1",
        "k8s.io/kubernetes v1.36.3",
        "create went well",
    ] {
        assert!(page.contains(words), "`{words}` is not in the report");
    }
    for program in report["programs"].as_array().unwrap() {
        assert!(page.contains(program["sha256"].as_str().unwrap()), "{program}");
    }
    told
}
