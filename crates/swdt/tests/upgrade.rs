//! A cluster that a newer swdt worked on: no command of this one changes a byte of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

mod common;

use std::{collections::BTreeMap, fs, path::Path};

use common::{OUT_OF_REACH, Swdt};

const FILES: [&str; 4] = ["state.json", "spec.json", "artifacts.json", "lock.json"];

fn bytes_below(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(bytes_below(&path));
        } else {
            found.insert(path.to_string_lossy().into_owned(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn no_command_changes_a_byte_of_a_newer_cluster() {
    let swdt = Swdt::new();
    let config = swdt.config(OUT_OF_REACH);
    // It gets as far as the first connection, and so has written everything but artifacts.
    swdt.run(&["cluster", "create", "--config", &config]).fails(7, &["refused the connection"]);
    let cluster = swdt.data().join("clusters/demo");
    fs::write(
        cluster.join("artifacts.json"),
        r#"{"schema": 1, "wishes": "", "artifacts": {"programs": {}, "images": []}}"#,
    )
    .unwrap();
    fs::write(cluster.join("lock.json"), r#"{"schema": 1, "pieces": {}}"#).unwrap();

    let commands: &[&[&str]] = &[
        &["cluster", "create", "--config", &config],
        &["cluster", "update", "--config", &config],
        &["cluster", "destroy", "demo"],
        &["node", "stop", "w1"],
        &["node", "start", "w1"],
        &["image", "load", "registry.k8s.io/pause:3.10"],
        &["test", "smoke"],
    ];
    for name in FILES {
        let path = cluster.join(name);
        let before = fs::read_to_string(&path).unwrap();
        let mut newer: serde_json::Value = serde_json::from_str(&before).unwrap();
        assert_eq!(newer["schema"], 1, "{name} says its schema");
        newer["schema"] = 2.into();
        fs::write(&path, newer.to_string()).unwrap();
        let all = bytes_below(&cluster);
        for command in commands {
            let ran = swdt.run(command);
            assert_ne!(ran.code, 0, "{command:?}");
            assert!(
                ran.stderr.contains(name) && ran.stderr.contains("was written by a newer swdt"),
                "{name} {command:?}: {ran:#?}"
            );
            assert_eq!(bytes_below(&cluster), all, "{name} {command:?}");
        }
        fs::write(&path, before).unwrap();
    }
}
