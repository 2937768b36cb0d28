//! The laws of resources that need a real cluster: the node program is killed in the middle of images, of kubeadm and
//! of undoing them; the same command goes on by itself, and nothing is left in the end.

mod common;

use common::{Ran, Swdt, die_at};
use swdt_core::Result;
use swdt_ground::{Ground, cache_dir, fingerprint::Fingerprint};

/// Each death was survived, and none of them was skipped.
fn died(ran: &Ran, nodes: &[&str]) {
    let events = ran.events();
    for node in nodes {
        let again = |event: &&serde_json::Value| {
            event["node"] == *node && event.to_string().contains("ended unexpectedly")
        };
        assert_eq!(events.iter().filter(again).count(), 1, "{node}: {ran:#?}");
    }
}

#[tokio::test]
async fn a_cluster_is_made_and_undone_whoever_dies_meanwhile() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (cp1, w1) = tokio::try_join!(ground.machine("cp1"), ground.machine("w1"))?;
    let before = tokio::try_join!(Fingerprint::take(&cp1), Fingerprint::take(&w1))?;
    let swdt = Swdt::mortal();
    let config = swdt.existing(&[&cp1, &w1]);
    let until = |phase: &'static str| {
        swdt.run(&["cluster", "create", "--config", &config, "--format", "json", "--until", phase]).ok()
    };

    // Brings the node program, and with it the directory that tells it to die.
    until("connect");
    // After everything was said of it, and nothing was done.
    die_at(&cp1, "runtime/traces", "after-receipt", 1)?;
    // Before the program that imports it.
    die_at(&w1, &format!("runtime/image/{PAUSE}"), "mid-apply", 1)?;
    died(&until("runtime"), &["cp1", "w1"]);

    // kubeadm is told what to do, and not started.
    die_at(&cp1, "init/kubeadm", "mid-apply", 3)?;
    died(&until("init"), &["cp1"]);

    die_at(&cp1, "network/objects", "mid-apply", 1)?;
    // A member of the cluster, and nobody has noted so.
    die_at(&w1, "join/kubeadm", "after-kubeadm", 1)?;
    died(&until("join"), &["cp1", "w1"]);
    until("verify");
    assert_eq!(until("verify").event(None, "finished")["writes"], 0);

    // The host forgets; the machines do not.
    std::fs::remove_dir_all(swdt.data()).unwrap();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("1.36.3}", "1.36.3}\nnetwork: {podCIDR: 10.200.0.0/16}")).unwrap();
    let adopt = ["cluster", "adopt", "--config", &config];
    swdt.run(&adopt).fails(3, &["`network.podCIDR` was 10.244.0.0/16 when the cluster was made"]);
    let swapped = text.replace("name: w1,", "name: one,").replace("name: cp1,", "name: w1,");
    let swapped = swapped.replace("name: one,", "name: cp1,");
    std::fs::write(&config, swapped).unwrap();
    swdt.run(&adopt).fails(3, &["cp1: this machine is the node `w1`", "w1: this machine is the node `cp1`"]);
    std::fs::write(&config, text).unwrap();
    swdt.run(&adopt).ok();
    assert_eq!(swdt.run(&["get", "nodes"]).ok().stdout.matches(" Ready ").count(), 2);
    assert_eq!(until("verify").event(None, "finished")["writes"], 0);
    assert_eq!(until("verify").event(Some("w1"), "nodeDone")["execs"], 1);

    // In the middle of taking the machine out of the cluster.
    die_at(&cp1, "init/kubeadm", "mid-revert", 4)?;
    die_at(&w1, "runtime/traces", "mid-revert", 2)?;
    died(&swdt.run(&["cluster", "destroy", "--format", "json"]).ok(), &["cp1", "w1"]);
    let after = tokio::try_join!(Fingerprint::take(&cp1), Fingerprint::take(&w1))?;
    for (before, after) in [(&before.0, &after.0), (&before.1, &after.1)] {
        let diff = before.diff(after);
        assert!(diff.is_empty(), "destroy left something:\n{diff}");
    }
    Ok(())
}

/// An image that every node has.
const PAUSE: &str = "registry.k8s.io/pause:3.10.2";
