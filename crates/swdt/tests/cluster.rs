//! A real cluster: kubeadm, containerd and Flannel on two machines, from bytes that swdt built itself.

mod common;
#[path = "cluster/day_two.rs"]
mod day_two;
#[path = "cluster/doctor.rs"]
mod doctor;
#[path = "cluster/hidden.rs"]
mod hidden;
#[path = "cluster/pages.rs"]
mod pages;
#[path = "cluster/replace.rs"]
mod replace;
#[path = "cluster/report.rs"]
mod report;
#[path = "cluster/support.rs"]
mod support;

use std::fs;

use common::Swdt;
use swdt_core::Result;
use swdt_ground::{Ground, cache_dir, fingerprint::Fingerprint};

#[tokio::test]
async fn a_cluster_is_made_tried_found_true_and_undone() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (cp1, w1) = tokio::try_join!(ground.machine("cp1"), ground.machine("w1"))?;
    let before = tokio::try_join!(Fingerprint::take(&cp1), Fingerprint::take(&w1))?;
    let mut swdt = Swdt::new();
    let mut hidden = hidden::Hidden::plant(&mut swdt, &cp1, &w1)?;
    let config = swdt.config(&hidden.config);
    let create = ["cluster", "create", "--config", &config, "--format", "json"];

    let made = swdt.run(&create).ok();
    hidden.said(&made);
    let events = made.events();
    let tried: Vec<_> =
        events.iter().map(|event| &event["kind"]["tried"]).filter(|tried| tried.is_object()).collect();
    assert!(tried.len() > 15, "{tried:#?}");
    assert!(tried.iter().all(|tried| tried["ok"] == true), "{tried:#?}");

    let kubectl = |words: &'static [&'static str]| {
        cp1.must(
            ["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "--cache-dir", "/dev/null"]
                .into_iter()
                .chain(words.iter().copied()),
        )
    };
    let nodes = kubectl(&["get", "nodes", "--no-headers"]).await?;
    assert_eq!(nodes.matches(" Ready ").count(), 2, "{nodes}");
    let secrets = kubectl(&["get", "secrets", "-n", "kube-system", "-o", "name"]).await?;
    assert!(!secrets.contains("bootstrap-token"), "a token outlived the join: {secrets}");
    let administrators = w1.must(["find", "/etc/kubernetes", "-name", "admin.conf"]).await?;
    assert_eq!(administrators, "", "the administrator's credentials left the control plane");

    let again = swdt.run(&create).ok();
    assert_eq!(again.event(None, "finished")["writes"], 0);
    for node in ["cp1", "w1"] {
        let done = again.event(Some(node), "nodeDone");
        assert_eq!((&done["writes"], &done["execs"]), (&0.into(), &1.into()), "{again:#?}");
    }

    hidden.said(&again);
    hidden.said(&report::tells_how_it_was_made(&swdt));
    hidden.stays_hidden(&mut swdt, &create, &[&cp1, &w1]).await?;
    day_two::is_easy(&swdt, &cp1).await?;
    doctor::Patient { swdt: &swdt, w1: &w1 }.is_sound_broken_found_and_mended().await?;
    support::holds_what_helps_and_no_secret(&swdt, &cp1, &w1).await?;
    support::is_made_of_what_is_left(&swdt, &w1).await?;
    pages::are_true(&swdt, &config);
    replace::Contributor { swdt: &swdt, machine: &w1, config: &config }.replaces_the_kubelet().await?;

    // What was decided for good when the cluster was made.
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("1.36.3}", "1.36.2}\nnetwork: {podCIDR: 10.200.0.0/16}")).unwrap();
    let said = ["`kubernetes.version` was 1.36.3", "`network.podCIDR` was 10.244.0.0/16", "create it anew"];
    swdt.run(&create).fails(3, &said);
    swdt.run(&create).fails(3, &said);

    // What somebody changed is kept and told, and can still be undone.
    w1.must(["sh", "-c", "echo '# mine' >> /etc/containerd/config.toml"]).await?;
    let destroyed = swdt.run(&["cluster", "destroy", "--format", "json"]).ok();
    assert!(destroyed.stdout.contains("cluster destroy --force"), "{destroyed:#?}");
    assert!(w1.must(["cat", "/etc/containerd/config.toml"]).await?.contains("# mine"));
    swdt.run(&["cluster", "destroy", "--force"]).ok();
    assert_eq!(swdt.run(&["cluster", "list", "--format", "json"]).ok().stdout.trim(), r#"{"clusters":[]}"#);
    for machine in [&cp1, &w1] {
        let links = machine.must(["ip", "-br", "link"]).await?;
        assert!(!links.contains("cni0") && !links.contains("flannel"), "{links}");
        let processes = machine.must(["ps", "-e", "-o", "comm"]).await?;
        for name in ["kubelet", "containerd", "etcd", "kube-apiserver", "flanneld"] {
            assert!(!processes.lines().any(|line| line == name), "{name} still runs: {processes}");
        }
    }
    let after = tokio::try_join!(Fingerprint::take(&cp1), Fingerprint::take(&w1))?;
    for (before, after) in [(&before.0, &after.0), (&before.1, &after.1)] {
        let diff = before.diff(after);
        assert!(diff.is_empty(), "destroy left something:\n{diff}");
    }
    Ok(())
}
