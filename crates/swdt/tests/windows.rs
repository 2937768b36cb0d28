//! A cluster with a Windows node: real kubeadm.exe, containerd.exe, flanneld.exe and kube-proxy.exe, over SSH, where
//! Wine plays Windows. `docs/ground.md` tells what is played.

mod common;
#[path = "cluster/doctor.rs"]
mod doctor;
#[path = "cluster/replace.rs"]
mod replace;
#[path = "cluster/support.rs"]
mod support;

use std::fs;

use common::{
    Ran, Swdt,
    pages::{self, Scene},
    scene,
    secrets::{self, Secrets, Watcher},
    undone,
};
use serde_json::Value;
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

#[tokio::test]
async fn a_windows_node_joins_is_found_true_and_leaves() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (cp1, w1, win1) =
        tokio::try_join!(ground.machine("cp1"), ground.machine("w1"), ground.windows_machine("win1"))?;
    let before = Fingerprint::take(&win1).await?;
    let swdt = Swdt::new();
    let config = swdt.rehearsing(&[&cp1, &w1, &win1]);
    let create = ["cluster", "create", "--config", &config, "--format", "json"];

    sftp_is_asked_for(&swdt, &win1, &create).await?;
    let watcher = Watcher::start(swdt.home(), &[&cp1, &w1, &win1])?;
    let made = swdt.run(&create).ok();
    secrets_stay_hidden(&swdt, watcher, &made, &win1).await?;
    assert!(made.stdout.contains("the machine is restarted for"), "{made:#?}");
    three_are_ready(&swdt);
    is_at_work(&swdt, &win1).await.unwrap_or_else(|why| panic!("{why}"));
    nobody_can_do_more_than_they_must(&cp1, &win1).await?;

    let again = swdt.run(&create).ok();
    assert_eq!(again.event(None, "finished")["writes"], 0, "{again:#?}");
    for node in ["cp1", "w1", "win1"] {
        let done = again.event(Some(node), "nodeDone");
        assert_eq!((&done["writes"], &done["execs"]), (&0.into(), &1.into()), "{again:#?}");
    }

    // Wine has no page file, and Linux swaps for it.
    doctor::is_sound(&swdt, &[("windows-page-file", "win1")]);
    support::holds_logs_of_windows(&swdt);
    pages_are_true(&swdt, &config);
    replace::Contributor { swdt: &swdt, machine: &win1, config: &config }.replaces_the_kubelet().await?;
    is_at_work(&swdt, &win1).await.unwrap_or_else(|why| panic!("{why}"));

    // Without the service that networks hang on, the node is not at work, and that is seen.
    win1.wine(&["net", "stop", "hns"]).await?;
    let why = is_at_work(&swdt, &win1).await.expect_err("HNS does not run");
    assert!(why.contains("flannel.4096"), "{why}");
    let (code, report) = doctor::asked(&swdt, &[]);
    let hns = ("windows-hns-network".to_owned(), "win1".to_owned());
    assert!(doctor::found(&report, &["problem"]).contains(&hns) && code == 9, "{report:#}");
    win1.wine(&["net", "start", "hns"]).await?;

    let destroyed = swdt.run(&["cluster", "destroy", "--format", "json"]).ok();
    assert!(!destroyed.stdout.contains("--force"), "{destroyed:#?}");
    assert!(destroyed.stdout.contains("restart the machine"), "{destroyed:#?}");
    let diff = before.diff(&undone(&win1).await?);
    assert!(diff.is_empty(), "destroy left something:\n{diff}");
    Ok(())
}

/// What [`docs/windows.md`](../../../docs/windows.md) tells to type, with its own pod. It waits, for no container starts on
/// Wine.
fn pages_are_true(swdt: &Swdt, config: &str) {
    let page = fs::read_to_string(pages::root().join("docs/windows.md")).expect("the page");
    let blocks = pages::blocks(&page, "yaml");
    let pod = blocks.iter().find(|block| block.contains("kind: Pod")).expect("a pod on the page");
    fs::write(swdt.home().join("hello-windows.yaml"), pod).expect("the pod");
    fs::copy(config, swdt.home().join("mixed.yaml")).expect("the file");
    scene::play(Scene::Windows, swdt);
    swdt.run(&["kubectl", "--", "delete", "pod", "hello-windows"]).ok();
}

/// The node program cannot come without it.
async fn sftp_is_asked_for(swdt: &Swdt, win1: &TestMachine, create: &[&str]) -> Result<()> {
    let config = "/etc/ssh/sshd_config.d/windows.conf";
    let switch = async |from: &str, to: &str| {
        win1.must(["sed", "-i", &format!("s/^{from}Subsystem/{to}Subsystem/"), config]).await?;
        win1.must(["systemctl", "restart", "ssh.service"]).await
    };
    switch("", "#").await?;
    swdt.run(create).fails(4, &["has no SFTP", "Subsystem sftp sftp-server.exe", "win1"]);
    switch("#", "").await.map(drop)
}

fn nodes(swdt: &Swdt) -> Vec<Value> {
    let list = swdt.run(&["kubectl", "--", "get", "nodes", "-o", "json"]).ok().stdout;
    serde_json::from_str::<Value>(&list).expect("JSON")["items"].as_array().cloned().unwrap_or_default()
}

fn three_are_ready(swdt: &Swdt) {
    let wide = swdt.run(&["get", "nodes", "-o", "wide"]).ok().stdout;
    assert_eq!(wide.matches(" Ready ").count(), 3, "{wide}");
    let windows = wide.lines().find(|line| line.starts_with("win1 ")).unwrap_or_default();
    assert!(windows.contains("Windows Server 2022 Datacenter"), "{wide}");
    assert!(windows.contains("10.0.20348") && windows.contains("containerd://2.4.2"), "{wide}");
}

/// Ready is what a kubelet says; this is what makes it true: the network's daemon and kube-proxy run, the daemon has
/// its lease and its network, and kube-proxy is well and has services in that network.
async fn is_at_work(swdt: &Swdt, win1: &TestMachine) -> std::result::Result<(), String> {
    let programs = win1.must(["ps", "-e", "-o", "args"]).await.map_err(|error| error.to_string())?;
    for name in ["containerd.exe", "kubelet.exe", "flanneld.exe", "kube-proxy.exe"] {
        if !programs.contains(name) {
            return Err(format!("{name} does not run:\n{programs}"));
        }
    }
    let nodes = nodes(swdt);
    let node = nodes.iter().find(|node| node["metadata"]["name"] == "win1").ok_or("no node win1")?;
    let lease = &node["metadata"]["annotations"]["flannel.alpha.coreos.com/public-ip"];
    if *lease != win1.address() {
        return Err(format!("the lease of flanneld says {lease}"));
    }
    let ask = ["hnsdiag", "list", "networks"];
    let networks = win1.wine(&ask).await.map_err(|error| error.to_string())?.stdout;
    if !networks.contains("flannel.4096") {
        return Err(format!("HNS has no network flannel.4096: {networks}"));
    }
    let healthz = win1.exec(["bash", "-c", HEALTHZ]).await.map_err(|error| error.to_string())?;
    if !healthz.stdout.contains("200 OK") {
        return Err(format!("kube-proxy is not well: {}", healthz.stdout));
    }
    Ok(())
}

/// Tokens of the node's programs, its keys, and the token it joined with, show themselves nowhere.
async fn secrets_stay_hidden(swdt: &Swdt, watcher: Watcher, made: &Ran, win1: &TestMachine) -> Result<()> {
    let seen = watcher.end();
    let mut hidden: Secrets = secrets::secrets_of(win1).await?;
    assert!(hidden.keys().any(|name| name.contains("kube-proxy")), "{:?}", hidden.keys());
    assert!(!seen.tokens.is_empty(), "the bootstrap token was never seen where it is meant to be");
    hidden.extend(seen.tokens);
    let mut wrong = secrets::wrong_on(win1, &hidden).await?;
    for told in &seen.told {
        let program = told.split('\0').next().unwrap_or_default();
        wrong.extend(secrets::seen(told, &hidden).iter().map(|name| format!("{program} was told {name}")));
    }
    wrong.extend(secrets::seen(&made.stdout, &hidden));
    wrong.extend(secrets::seen(&made.stderr, &hidden));
    wrong.extend(secrets::grep(&[swdt.home().to_owned()], &hidden, &|_| false));
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// There is no curl on the machine.
const HEALTHZ: &str =
    r"exec 3<>/dev/tcp/127.0.0.1/10256; printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3; cat <&3";

/// The programs outside pods have rights of their own, which are few.
async fn nobody_can_do_more_than_they_must(cp1: &TestMachine, win1: &TestMachine) -> Result<()> {
    let administrators = win1.must(["find", "/srv/windows/drive_c", "-name", "admin.conf"]).await?;
    assert_eq!(administrators, "", "the administrator's credentials left the control plane");
    let c = "/srv/windows/drive_c";
    let kubeconfigs =
        [format!("{c}/etc/kube-flannel/kubeconfig"), format!("{c}/var/lib/kube-proxy/kubeconfig")];
    for path in kubeconfigs {
        let open = win1.must(["stat", "-c", "%a", &path]).await?;
        assert!(open.trim().ends_with('0'), "{path} has mode {open}");
        let here = "/root/kubeconfig";
        cp1.put(here, 0o600, win1.must(["cat", &path]).await?.as_bytes())?;
        let can = async |verb: &str, what: &str| -> Result<bool> {
            let words =
                ["kubectl", "--kubeconfig", here, "--cache-dir=/dev/null", "auth", "can-i", verb, what, "-A"];
            Ok(cp1.exec(words).await?.stdout.trim() == "yes")
        };
        assert!(can("list", "nodes").await?, "{path} is of no use");
        for (verb, what) in [("get", "secrets"), ("list", "secrets"), ("create", "pods"), ("delete", "nodes")]
        {
            assert!(!can(verb, what).await?, "{path} may {verb} {what}");
        }
    }
    Ok(())
}
