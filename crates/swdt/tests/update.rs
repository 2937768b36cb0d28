//! Nodes come to a cluster that is there, and leave it; what cannot be changed is refused; and it is undone, also when
//! the control plane is not there.

mod common;

use std::fs;

use common::Swdt;
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

/// The kubelet that can run on Wine; everything else is as it is released.
const KUBELET: &str = "components: {kubelet: {version: 1.36.3+rehearsal}}";

/// Where a cluster that lives writes by itself.
const ALIVE: &[&str] = &[
    "/var/lib/etcd/",
    "/var/lib/kubelet/",
    "/var/lib/containerd/",
    "/var/log/",
    "/srv/windows/drive_c/var/log/",
    "/srv/windows/drive_c/var/lib/kubelet/",
];

#[tokio::test]
async fn nodes_come_and_leave_and_nothing_else_changes() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (mut cp1, mut w1, mut win1) =
        tokio::try_join!(ground.machine("cp1"), ground.machine("w1"), ground.windows_machine("win1"))?;
    let before = fingerprints(&[&cp1, &w1, &win1]).await?;
    let swdt = Swdt::new();
    let config = named(&swdt, &[&cp1]);
    let update = ["cluster", "update", "--config", &config];
    let plan = ["cluster", "plan", "--config", &config];
    swdt.run(&update).fails(2, &["there is no cluster proof yet", "swdt cluster create"]);
    swdt.run(&["cluster", "plan", "--config", &config, "--prune", "w1"])
        .fails(2, &["there is no cluster proof"]);
    swdt.run(&["cluster", "create", "--config", &config, "--until", "verify"]).ok();
    let nothing = swdt.run(&plan).ok().stdout;
    assert!(nothing.ends_with("nothing: everything is true already\n"), "{nothing}");

    // Two come. What is told beforehand is true, and whoever was only asked is as before.
    named(&swdt, &[&cp1, &w1, &win1]);
    let told = swdt.run(&plan).ok().stdout;
    let of_cp1 = told.split("\n\n").find(|part| part.starts_with("cp1")).unwrap_or_default();
    let ids: Vec<_> = of_cp1.lines().filter_map(|line| line.strip_prefix("  ~ ")).collect();
    let expected = [
        "prepare/hosts/w1",
        "prepare/hosts/win1",
        "init/runtime-classes",
        "verify/node/w1",
        "verify/node/win1",
    ];
    assert_eq!(ids, expected, "{told}");
    assert!(
        !of_cp1.contains("  ? ") && told.contains("\nw1  comes\n") && told.contains("\nwin1  comes\n"),
        "{told}"
    );
    same(&before[1], &w1, &[]).await?;
    swdt.run(&update).ok();
    assert_eq!(ready(&swdt), ["cp1", "w1", "win1"]);

    refusals_touch_nothing(&swdt, &config, &[&cp1, &w1, &win1]).await?;

    // One whose machine is gone leaves only if it is given up.
    named(&swdt, &[&cp1, &win1]);
    let prune = [&update[..], &["--prune", "w1"]].concat();
    let give_up = [&prune[..], &["--force-forget", "w1", "--format", "json"]].concat();
    swdt.run(&[&update[..], &["--force-forget", "w1"]].concat())
        .fails(3, &["w1: is to be given up, but not to leave", "add `--prune w1`"]);
    w1.stop().await?;
    swdt.run(&prune).fails(7, &["w1: ", "--prune w1 --force-forget w1` gives it up"]);
    let left = swdt.run(&give_up).ok().event(Some("w1"), "forgotten")["left"].to_string();
    assert!(left.contains("\"join/kubeadm\""), "{left}");
    assert_eq!(ready(&swdt), ["cp1", "win1"]);
    // It is there again, with all that was left on it, and is taken back.
    w1.start().await?;
    named(&swdt, &[&cp1, &w1, &win1]);
    swdt.run(&update).ok();
    assert_eq!(ready(&swdt), ["cp1", "w1", "win1"]);

    // One leaves: its machine is as it was, and nobody else knows its name any more.
    named(&swdt, &[&cp1, &win1]);
    let told = swdt.run(&[&plan[..], &["--prune", "w1"]].concat()).ok().stdout;
    assert!(
        told.contains("w1  leaves: drained, deleted, ") && told.contains("  - prepare/hosts/w1"),
        "{told}"
    );
    assert_eq!(ready(&swdt), ["cp1", "w1", "win1"], "it was only asked");
    swdt.run(&prune).ok();
    assert_eq!(ready(&swdt), ["cp1", "win1"]);
    same(&before[1], &w1, &[]).await?;
    let hosts = [cp1.must(["cat", "/etc/hosts"]).await?, win1.must(["cat", WINDOWS_HOSTS]).await?];
    for hosts in hosts {
        assert!(hosts.contains(" cp1 # swdt proof") && !hosts.contains(" w1 # swdt"), "{hosts}");
    }
    let again = swdt.run(&["cluster", "create", "--config", &config, "--format", "json"]).ok();
    assert_eq!(again.event(None, "finished")["writes"], 0);

    // The control plane is gone: everybody else is undone all the same, and it is told.
    cp1.stop().await?;
    let lost = swdt.run(&["cluster", "destroy"]);
    lost.fails(7, &["cp1: ", "--force-forget cp1", "go on with: swdt cluster destroy"]);
    windows_forgets(&mut win1).await?;
    same(&before[2], &win1, &[]).await?;
    // It is back, and nobody else needs to be.
    win1.stop().await?;
    cp1.start().await?;
    swdt.run(&["cluster", "destroy"]).ok();
    same(&before[0], &cp1, &[]).await?;
    swdt.run(&["cluster", "destroy"]).ok();
    Ok(())
}

/// What is fixed, who is not named, and who still is: refused with what, why and what instead, and no machine changes.
async fn refusals_touch_nothing(swdt: &Swdt, config: &str, machines: &[&TestMachine]) -> Result<()> {
    let before = fingerprints(machines).await?;
    let good = fs::read_to_string(config).expect("the file");
    let other = good
        .replace(
            "version: 1.36.3}\n",
            "version: 1.36.3}\nnetwork: {podCIDR: 10.200.0.0/16, serviceCIDR: 10.97.0.0/16}\n",
        )
        .replace("{name: w1,", "{name: w1, components: {kubelet: {version: 1.36.2}},");
    let said = [
        "`network.podCIDR` was 10.244.0.0/16 when the cluster was made and is 10.200.0.0/16 now",
        "`network.serviceCIDR` was 10.96.0.0/16",
        "why: every node has a part of that range",
        "hint: write 10.244.0.0/16 again, or destroy the cluster and create it anew",
        "w1: `components.kubelet` was changed",
    ];
    for command in ["plan", "update"] {
        fs::write(config, &other).expect("the file");
        swdt.run(&["cluster", command, "--config", config]).fails(3, &said);
        let mut without: Vec<&str> = good.lines().collect();
        without.retain(|line| !line.contains("name: w1,"));
        fs::write(config, without.join("\n")).expect("the file");
        swdt.run(&["cluster", command, "--config", config])
            .fails(3, &["w1: is part of the cluster", "--prune w1"]);
        fs::write(config, &good).expect("the file");
        swdt.run(&["cluster", command, "--config", config, "--prune", "w1"])
            .fails(3, &["w1: is to leave, but the file still names it"]);
    }
    for (before, machine) in before.iter().zip(machines) {
        same(before, machine, ALIVE).await?;
    }
    assert_eq!(ready(swdt), ["cp1", "w1", "win1"]);
    Ok(())
}

const WINDOWS_HOSTS: &str = "/srv/windows/drive_c/windows/system32/drivers/etc/hosts";

/// A program that runs cannot remove itself, so it goes a moment later; and Windows does what waits for a restart.
async fn windows_forgets(win1: &mut TestMachine) -> Result<()> {
    let gone = "for look in $(seq 100); do test -e '/C:/ProgramData/swdt' || exit 0; sleep 1; done; exit 1";
    win1.must(["sh", "-c", gone]).await?;
    win1.stop().await?;
    win1.start().await
}

/// A cluster of these machines, in the only file there is.
fn named(swdt: &Swdt, machines: &[&TestMachine]) -> String {
    let config = swdt.existing(machines);
    let text = fs::read_to_string(&config).expect("the file");
    fs::write(&config, text.replace("{name: win1,", &format!("{{name: win1, {KUBELET},"))).expect("the file");
    config
}

async fn fingerprints(machines: &[&TestMachine]) -> Result<Vec<Fingerprint>> {
    let mut all = Vec::new();
    for machine in machines {
        all.push(Fingerprint::take(machine).await?);
    }
    Ok(all)
}

/// The machine is as it was, but for what is below these paths.
async fn same(before: &Fingerprint, machine: &TestMachine, but: &[&str]) -> Result<()> {
    let mut diff = before.diff(&Fingerprint::take(machine).await?);
    diff.0.retain(|change| {
        let path = change.name.strip_prefix("file ").unwrap_or_default();
        !but.iter().any(|top| path.starts_with(top))
    });
    assert!(diff.is_empty(), "{} is not as it was:\n{diff}", machine.name());
    Ok(())
}

/// The nodes that are ready.
fn ready(swdt: &Swdt) -> Vec<String> {
    let nodes = swdt.run(&["get", "nodes"]).ok().stdout;
    let ready = nodes.lines().filter(|line| line.contains(" Ready "));
    ready.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}
