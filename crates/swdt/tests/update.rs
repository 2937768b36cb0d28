//! Nodes come to a cluster that is there, and leave it.

mod common;

use std::fs;

use common::Swdt;
use swdt_core::Result;
use swdt_ground::{Ground, cache_dir, fingerprint::Fingerprint};

#[tokio::test]
async fn nodes_come_and_leave_and_nothing_else_changes() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (cp1, w1, w2) = tokio::try_join!(ground.machine("cp1"), ground.machine("w1"), ground.machine("w2"))?;
    let before = Fingerprint::take(&w1).await?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&cp1, &w1]);
    let update = ["cluster", "update", "--config", &config];
    swdt.run(&update).fails(2, &["there is no cluster proof yet", "swdt cluster create"]);
    swdt.run(&["cluster", "create", "--config", &config, "--until", "verify"]).ok();

    // One comes.
    swdt.existing(&[&cp1, &w1, &w2]);
    swdt.run(&update).ok();
    assert_eq!(ready(&swdt), ["cp1", "w1", "w2"]);

    // What is fixed, who is not named, and who still is: refused, and w1 is not touched.
    let all = fs::read_to_string(&config).unwrap();
    swdt.existing(&[&cp1, &w2]);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("1.36.3}", "1.36.3}\nnetwork: {podCIDR: 10.200.0.0/16}")).unwrap();
    let prune = ["cluster", "update", "--config", &config, "--prune", "w1"];
    swdt.run(&prune).fails(3, &["`network.podCIDR` was 10.244.0.0/16", "create it anew"]);
    fs::write(&config, &text).unwrap();
    swdt.run(&update).fails(3, &["w1: is part of the cluster", "--prune w1"]);
    fs::write(&config, &all).unwrap();
    swdt.run(&prune).fails(3, &["w1: is to leave, but the file still names it"]);
    assert_eq!(ready(&swdt), ["cp1", "w1", "w2"]);

    // One leaves, and its machine is as it was.
    fs::write(&config, &text).unwrap();
    swdt.run(&prune).ok();
    assert_eq!(ready(&swdt), ["cp1", "w2"]);
    let diff = before.diff(&Fingerprint::take(&w1).await?);
    assert!(diff.is_empty(), "something is left of the cluster:\n{diff}");
    let again = swdt.run(&["cluster", "create", "--config", &config, "--format", "json"]).ok();
    assert_eq!(again.event(None, "finished")["writes"], 0);
    swdt.run(&["cluster", "destroy"]).ok();
    Ok(())
}

/// The nodes that are ready.
fn ready(swdt: &Swdt) -> Vec<String> {
    let nodes = swdt.run(&["get", "nodes"]).ok().stdout;
    let ready = nodes.lines().filter(|line| line.contains(" Ready "));
    ready.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}
