//! What is lost: machines that are gone for good, and the host's own memory.

mod common;

use std::{fs, process::Command};

use common::{Ran, Swdt};
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

async fn same(before: &Fingerprint, machine: &TestMachine) -> Result<()> {
    let diff = before.diff(&Fingerprint::take(machine).await?);
    assert!(diff.is_empty(), "{} is not as it was:\n{diff}", machine.name());
    Ok(())
}

#[tokio::test]
async fn a_machine_that_is_gone_can_be_given_up_and_taken_back() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (a, mut b) = tokio::try_join!(ground.machine("a"), ground.machine("b"))?;
    let before = tokio::try_join!(Fingerprint::take(&a), Fingerprint::take(&b))?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&a, &b]);
    swdt.run(&["cluster", "create", "--config", &config, "--until", "prepare"]).ok();
    b.stop().await?;

    // Everybody else is undone first; then it is said, as often as it is asked.
    let destroy = ["cluster", "destroy"];
    swdt.run(&destroy).fails(7, &["b: ", "`swdt cluster destroy --force-forget b`"]);
    same(&before.0, &a).await?;
    let forget = |node| swdt.run(&["cluster", "destroy", "--force-forget", node, "--format", "json"]);
    forget("z").fails(2, &["has no node `z`", "it has: a, b"]);
    // A name is a permission for that machine alone.
    forget("a").fails(7, &["--force-forget b"]);
    let given_up = forget("b").ok().event(Some("b"), "forgotten");
    let left: Vec<_> =
        given_up["left"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert!(left.contains(&"prepare/hosts/a") && left.contains(&"prepare/packages"), "{left:?}");
    assert!(left.iter().all(|id| id.starts_with("prepare/")), "it never came further: {left:?}");
    none_is_remembered(&swdt);
    swdt.run(&destroy).ok();

    // It is there again, and so is what was left on it.
    b.start().await?;
    let adopt = ["cluster", "adopt", "--config", &config];
    swdt.run(&adopt).fails(4, &["a: this machine is no node of a cluster", "why: ", "`--without a`"]);
    none_is_remembered(&swdt);
    same(&before.0, &a).await?;
    let without = [&adopt[..], &["--without", "a"]].concat();
    let adopted = swdt.run(&without).ok().stdout;
    assert!(adopted.contains("b: ") && adopted.contains("is remembered again"), "{adopted}");
    let remembered = fs::read(swdt.data().join("clusters/proof/state.json")).unwrap();
    swdt.run(&without).fails(2, &["the cluster proof is remembered on this host already"]);
    assert_eq!(fs::read(swdt.data().join("clusters/proof/state.json")).unwrap(), remembered);
    swdt.run(&destroy).ok();
    same(&before.1, &b).await
}

#[tokio::test]
async fn the_hosts_memory_is_rebuilt_from_the_machines() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (a, b) = tokio::try_join!(ground.machine("a"), ground.machine("b"))?;
    let before = tokio::try_join!(Fingerprint::take(&a), Fingerprint::take(&b))?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&a]);
    let create = ["cluster", "create", "--config", &config, "--until", "prepare", "--format", "json"];
    swdt.run(&create).ok();

    // Everything that is wrong with the wish, at once; and whoever was only asked is as before.
    fs::remove_dir_all(swdt.data()).unwrap();
    let other = swdt.existing(&[&a, &b]);
    let text = fs::read_to_string(&other).unwrap();
    fs::write(&other, text.replace("name: proof", "name: other")).unwrap();
    let adopt = ["cluster", "adopt", "--config", &config];
    let said =
        ["a: this machine is a node of the cluster `proof`", "b: this machine is no node of a cluster"];
    swdt.run(&adopt).fails(4, &said);
    same(&before.1, &b).await?;
    none_is_remembered(&swdt);

    swdt.existing(&[&a]);
    swdt.run(&adopt).ok();
    assert_eq!(swdt.run(&create).ok().event(None, "finished")["writes"], 0);
    swdt.run(&["cluster", "destroy"]).ok();
    same(&before.0, &a).await
}

/// Machines that swdt makes live in the directory that can be lost.
#[tokio::test]
async fn machines_of_swdt_are_found_again_or_cleared_away() {
    let swdt = Swdt::new();
    let name = format!("lost-{}", std::process::id());
    let config = swdt.config(&format!(
        "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}}}\nkubernetes: {{version: 1.36.3}}\n\
         nodes:\n  - {{name: cp1, role: control-plane, machine: {{provider: nspawn, cpus: 2, memory: 2Gi}}}}\n"
    ));
    let dir = swdt.data().join("clusters").join(&name);
    let create = ["cluster", "create", "--config", &config, "--until", "connect"];
    let adopt = ["cluster", "adopt", "--config", &config];
    let made = swdt.run(&create);
    if made.code != 0 {
        swdt.run(&["cluster", "destroy"]);
        panic!("{made:#?}");
    }

    // The books are gone, the machine is not.
    for file in ["state.json", "spec.json", "cluster.yaml", "events.jsonl"] {
        let _ = fs::remove_file(dir.join(file));
    }
    let found = swdt.run(&adopt);
    let reached = swdt.run(&["node", "exec", "cp1", "--", "hostname"]);

    // All is gone but what the host itself keeps.
    let stopped = swdt.run(&["node", "stop", "cp1"]);
    let _ = fs::remove_dir_all(&dir);
    let bridge = || {
        let links = Command::new("ip").args(["-d", "link"]).output().unwrap().stdout;
        String::from_utf8(links).unwrap().contains(&format!("swdt {name}"))
    };
    let there = bridge();
    let lost = swdt.run(&adopt);
    // Machines that swdt makes go whatever happens to the test.
    let destroyed = swdt.run(&["cluster", "destroy"]);
    for ran in [found, stopped, destroyed] {
        ran.ok();
    }
    assert_eq!(reached.ok().stdout.trim(), "cp1");
    assert!(lost.ok().stdout.contains("went with it"));
    assert!(there && !bridge(), "the network of the machines was there ({there}) and is not gone");
}

fn none_is_remembered(swdt: &Swdt) {
    let list: Ran = swdt.run(&["cluster", "list", "--format", "json"]).ok();
    assert_eq!(list.stdout.trim(), r#"{"clusters":[]}"#);
    let dirs = fs::read_dir(swdt.data().join("clusters")).map(Iterator::count).unwrap_or_default();
    assert_eq!(dirs, 0, "a refusal left something");
}
