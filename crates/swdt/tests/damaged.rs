//! What swdt remembers of a cluster, damaged or lost: told by every command, and never taken for "there is none".
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

mod common;

use std::fs;

use common::{OUT_OF_REACH, Swdt};

/// A cluster that got as far as the first connection.
fn begun() -> Swdt {
    let swdt = Swdt::new();
    swdt.run(&["cluster", "create", "--config", &swdt.config(OUT_OF_REACH)])
        .fails(7, &["refused the connection"]);
    swdt
}

#[test]
fn logs_tell_all_that_a_run_failed_of() {
    let swdt = begun();
    let told = swdt.run(&["cluster", "logs"]).ok().stdout;
    let last = told.lines().last().unwrap();
    for words in ["error: ", "cp1: ", "w1: ", "refused the connection"] {
        assert!(last.contains(words), "{told}");
    }
    let status = swdt.run(&["cluster", "status"]).ok().stdout;
    assert!(status.contains("cp1: ") && status.contains("w1: "), "{status}");
}

#[test]
fn a_damaged_state_hides_no_cluster_and_stops_only_who_needs_it() {
    let swdt = begun();
    let state = swdt.data().join("clusters/demo/state.json");
    for (damage, why) in [(Some("{\"schema\": 1, \"clu"), "EOF"), (None, "it is gone")] {
        match damage {
            Some(text) => fs::write(&state, text).unwrap(),
            None => fs::remove_file(&state).unwrap(),
        }
        let list = swdt.run(&["cluster", "list"]).ok().stdout;
        assert!(list.contains("demo") && list.contains("cannot be read"), "{list}");
        let list = swdt.run(&["cluster", "list", "--format", "json"]).ok().stdout;
        assert!(list.contains(r#""error":"#) && list.contains(why), "{list}");
        for arguments in [&["doctor"][..], &["doctor", "--cluster", "demo"]] {
            let found = swdt.run(arguments);
            assert_eq!(found.code, 4, "{found:#?}");
            assert!(
                found.stdout.contains("host-state-unreadable") && found.stdout.contains(why),
                "{found:#?}"
            );
        }
        swdt.run(&["cluster", "status"]).fails(4, &["error[record-unreadable]", why, "swdt cluster destroy"]);
        swdt.run(&["cluster", "create", "--config", &swdt.config(OUT_OF_REACH)])
            .fails(4, &["record-unreadable"]);
    }
    // Who takes everything away does without it, and still asks every machine.
    let destroyed = swdt.run(&["cluster", "destroy"]).fails(7, &["refused the connection"]);
    assert!(destroyed.stdout.contains("it is gone"), "{destroyed:#?}");
    swdt.run(&["cluster", "destroy", "--force-forget", "cp1", "--force-forget", "w1"]).ok();
    let list = swdt.run(&["cluster", "list"]).ok();
    assert!(list.stderr.contains("there is no cluster yet"), "{list:#?}");
}

#[test]
fn a_plan_leaves_nothing_behind() {
    let swdt = Swdt::new();
    swdt.run(&["cluster", "plan", "--config", &swdt.config(OUT_OF_REACH), "--check"]);
    let left: Vec<_> = fs::read_dir(swdt.data().join("clusters")).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}
