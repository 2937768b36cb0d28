//! The laws of resources that need a real cluster: the node program is killed in the middle of images, of kubeadm and
//! of undoing them, on Linux and where Wine plays Windows; the same command goes on by itself, and nothing is left in
//! the end. Resources that need no cluster are swept ([`docs/reliability.md`](../../../docs/reliability.md)).

mod common;

use common::{Ran, Swdt, die_at, undone};
use swdt_core::Result;
use swdt_ground::{Ground, cache_dir, fingerprint::Fingerprint};

/// Each death was survived, and none of them was skipped.
fn died(ran: &Ran, deaths: &[(&str, usize)]) {
    let events = ran.events();
    for (node, times) in deaths {
        let again = |event: &&serde_json::Value| {
            event["node"] == *node && event.to_string().contains("ended unexpectedly")
        };
        assert_eq!(events.iter().filter(again).count(), *times, "{node}: {ran:#?}");
    }
}

#[tokio::test]
async fn a_cluster_is_made_and_undone_whoever_dies_meanwhile() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (cp1, w1, win1) =
        tokio::try_join!(ground.machine("cp1"), ground.machine("w1"), ground.windows_machine("win1"))?;
    let machines = [&cp1, &w1, &win1];
    let mut before = Vec::new();
    for machine in machines {
        before.push(Fingerprint::take(machine).await?);
    }
    let swdt = Swdt::mortal();
    let config = swdt.rehearsing(&machines);
    let until = |phase: &'static str| {
        swdt.run(&["cluster", "create", "--config", &config, "--format", "json", "--until", phase]).ok()
    };

    // After everything was said of it, and nothing was done.
    die_at(&cp1, "runtime/traces", "after-receipt", 1)?;
    // Before the program that imports it.
    die_at(&w1, &format!("runtime/image/{PAUSE}"), "mid-apply", 1)?;
    died(&until("runtime"), &[("cp1", 1), ("w1", 1), ("win1", 0)]);

    // kubeadm is told what to do, and not started.
    die_at(&cp1, "init/kubeadm", "mid-apply", 3)?;
    died(&until("init"), &[("cp1", 1)]);

    die_at(&cp1, "network/objects", "mid-apply", 1)?;
    // A member of the cluster, and nobody has noted so.
    die_at(&w1, "join/kubeadm", "after-kubeadm", 1)?;
    die_at(&win1, "join/kubeadm", "mid-apply", 3)?;
    die_at(&win1, "join/kubeadm", "after-kubeadm", 1)?;
    died(&until("join"), &[("cp1", 1), ("w1", 1), ("win1", 2)]);
    // The network of Windows is made by a daemon that was just started.
    die_at(&win1, "node-net/flanneld/service", "mid-apply", 2)?;
    die_at(&win1, "node-net/source-vip", "after-receipt", 1)?;
    died(&until("verify"), &[("win1", 2)]);
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
    assert_eq!(swdt.run(&["get", "nodes"]).ok().stdout.matches(" Ready ").count(), machines.len());
    assert_eq!(until("verify").event(None, "finished")["writes"], 0);
    assert_eq!(until("verify").event(Some("w1"), "nodeDone")["execs"], 1);

    // In the middle of taking the machine out of the cluster.
    die_at(&cp1, "init/kubeadm", "mid-revert", 4)?;
    die_at(&w1, "runtime/traces", "mid-revert", 2)?;
    die_at(&win1, "join/kubeadm", "mid-revert", 2)?;
    die_at(&win1, "node-net/hns-network", "after-revert", 1)?;
    let destroyed = swdt.run(&["cluster", "destroy", "--format", "json"]).ok();
    died(&destroyed, &[("cp1", 1), ("w1", 1), ("win1", 2)]);
    for (machine, before) in machines.into_iter().zip(before) {
        let diff = before.diff(&undone(machine).await?);
        assert!(diff.is_empty(), "destroy left something on {}:\n{diff}", machine.name());
    }
    Ok(())
}

/// An image that every node has.
const PAUSE: &str = "registry.k8s.io/pause:3.10.2";
