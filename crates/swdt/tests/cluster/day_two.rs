//! What people do with a cluster once it is there.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use serde_json::{Value, json};
use swdt_core::Result;
use swdt_ground::TestMachine;

use crate::common::{Ran, Swdt};

pub(crate) async fn is_easy(swdt: &Swdt, cp1: &TestMachine) -> Result<()> {
    objects_are_listed(swdt);
    kubectl_is_passed_through(swdt);
    kubeconfigs_are_written_and_merged(swdt, cp1).await?;
    images_are_loaded(swdt, cp1).await?;
    what_is_there_is_told(swdt);
    let tried: Value = serde_json::from_str(&swdt.run(&["test", "smoke", "-o", "json"]).ok().stdout).unwrap();
    assert_eq!(tried["ok"], true, "{tried}");
    assert!(tried["checks"].as_array().unwrap().len() > 15, "{tried}");
    // Machines that are not ours are neither stopped nor drained.
    swdt.run(&["node", "stop", "w1"]).fails(6, &["there before swdt"]);
    assert!(!swdt.run(&["get", "nodes"]).ok().stdout.contains("SchedulingDisabled"));
    Ok(())
}

fn objects_are_listed(swdt: &Swdt) {
    let nodes = swdt.run(&["get", "nodes"]).ok().stdout;
    assert_eq!(nodes.matches(" Ready ").count(), 2, "{nodes}");
    let json: Value =
        serde_json::from_str(&swdt.run(&["get", "nodes", "w1", "-o", "json"]).ok().stdout).unwrap();
    assert_eq!(json["metadata"]["name"], "w1");
    assert!(swdt.run(&["get", "pods", "-A", "-o", "wide"]).ok().stdout.contains("kube-apiserver-cp1"));
    let none = swdt.run(&["get", "pods", "-n", "nothing-here"]).ok();
    assert!(none.stdout.is_empty() && none.stderr.contains("No resources found"), "{none:?}");
    swdt.run(&["get", "pods", "nobody"]).fails(9, &["could not get the pods", "\"nobody\" not found"]);
}

fn kubectl_is_passed_through(swdt: &Swdt) {
    let piped = |arguments: &[&str], input: &str| {
        let path = swdt.home().join("input");
        fs::write(&path, input).unwrap();
        Ran::of(swdt.command(arguments).stdin(Stdio::from(fs::File::open(path).unwrap())))
    };
    let map = |name: &str| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } }).to_string()
    };
    piped(&["kubectl", "--", "apply", "-f", "-"], &map("piped")).ok();
    let file = swdt.home().join("map.yaml");
    fs::write(&file, map("from-file")).unwrap();
    swdt.run(&["kubectl", "apply", "-f", &file.to_string_lossy()]).ok();
    let maps = swdt.run(&["kubectl", "--", "get", "configmaps", "-o", "name"]).ok().stdout;
    assert!(maps.contains("configmap/piped\n") && maps.contains("configmap/from-file\n"), "{maps}");
    swdt.run(&["kubectl", "--", "delete", "configmap", "piped", "from-file"]).ok();
    let refused = swdt.run(&["kubectl", "--", "get", "configmap", "it's; not $(here)"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains("it's; not $(here)"), "a word was changed on its way: {refused:?}");
    swdt.run(&["kubectl", "--", "no-such-command"]).fails(1, &["unknown command \"no-such-command\""]);
}

async fn kubeconfigs_are_written_and_merged(swdt: &Swdt, cp1: &TestMachine) -> Result<()> {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let printed = swdt.run(&["get", "kubeconfig"]).ok().stdout;
    assert!(
        printed.contains(&format!("server: https://{}:6443\n", cp1.address())),
        "the host cannot reach it"
    );
    let path = swdt.home().join("kubeconfig");
    swdt.run(&["get", "kubeconfig", "--output", &path.to_string_lossy()]).ok();
    assert_eq!((fs::read_to_string(&path).unwrap(), mode(&path)), (printed.clone(), 0o600));
    // It works, wherever it is.
    cp1.put("/root/theirs", 0o600, printed.as_bytes())?;
    let nodes =
        cp1.must(["kubectl", "--kubeconfig=/root/theirs", "--cache-dir=/dev/null", "get", "nodes"]).await?;
    assert_eq!(nodes.matches(" Ready ").count(), 2, "{nodes}");
    cp1.must(["rm", "/root/theirs"]).await?;

    let theirs = "# mine\nusers:\n- name: me\n  user: {token: abc}  # secret\ncurrent-context: work\n";
    fs::write(&path, theirs).unwrap();
    let refused = swdt.run(&["get", "kubeconfig", "--output", &path.to_string_lossy()]);
    refused.fails(2, &["is there already", "--merge FILE", "--force"]);
    swdt.run(&["get", "kubeconfig", "--merge", &path.to_string_lossy()]).ok();
    let merged = fs::read_to_string(&path).unwrap();
    assert!(theirs.lines().all(|line| merged.lines().any(|kept| kept == line)), "{merged}");
    assert!(merged.contains("- name: swdt-proof\n"), "{merged}");
    let mut command = swdt.command(&["get", "kubeconfig", "--merge", "--use"]);
    Ran::of(command.env("KUBECONFIG", format!("/nowhere:{}", path.display()))).ok();
    assert!(fs::read_to_string(&path).unwrap().contains("\ncurrent-context: swdt-proof\n"));
    swdt.run(&["get", "kubeconfig", "--merge"]).ok();
    assert_eq!(mode(&swdt.home().join(".kube/config")), 0o600);
    Ok(())
}

async fn images_are_loaded(swdt: &Swdt, cp1: &TestMachine) -> Result<()> {
    // An image that is there already, as an archive under another name.
    let pinned = fs::read_to_string(swdt.data().join("clusters/proof/artifacts.json")).unwrap();
    let pinned: Value = serde_json::from_str(&pinned).unwrap();
    let images = pinned["artifacts"]["images"].as_array().unwrap();
    let pause = images.iter().find(|image| image["reference"] == "registry.k8s.io/pause:3.10.2").unwrap();
    let blob = swdt_ground::cache_dir().join("artifacts/sha256");
    let archive = swdt.home().join("image.tar");
    fs::copy(blob.join(pause["archive"]["sha256"].as_str().unwrap()), &archive).unwrap();
    let archive = archive.to_string_lossy();
    let load = |more: &[&str]| {
        let words = [&["image", "load", &archive, "--as", "example.com/mine:1", "-o", "json"], more].concat();
        let answer: Value = serde_json::from_str(&swdt.run(&words).ok().stdout).unwrap();
        let row = |row: &Value| format!("{} {}", row["node"].as_str().unwrap(), row["how"].as_str().unwrap());
        answer["loaded"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(load(&["--node", "w1"]), ["w1 imported"]);
    assert_eq!(load(&[]), ["cp1 imported", "w1 thereAlready"]);
    let images = cp1.must(["ctr", "-n", "k8s.io", "images", "ls", "-q"]).await?;
    assert!(images.lines().any(|name| name == "example.com/mine:1"), "{images}");
    // Refused before a node hears of it.
    let rubbish = swdt.home().join("rubbish.tar");
    fs::write(&rubbish, "rubbish").unwrap();
    swdt.run(&["image", "load", &rubbish.to_string_lossy()]).fails(2, &["it is no tar"]);
    swdt.run(&["image", "load", &archive, "--node", "w7"]).fails(2, &["no node `w7`"]);
    // Port 1 of the machine itself: nobody is asked.
    swdt.run(&["image", "load", "127.0.0.1:1/nothing:1", "--node", "w1"])
        .fails(5, &["w1: ", "could not be pulled"]);
    Ok(())
}

fn what_is_there_is_told(swdt: &Swdt) {
    let status: Value =
        serde_json::from_str(&swdt.run(&["cluster", "status", "-o", "json"]).ok().stdout).unwrap();
    for node in status["nodes"].as_array().unwrap() {
        assert_eq!(node["kubernetes"]["ready"], true, "{status}");
    }
    let images = status["sources"]["images"].as_array().unwrap();
    let from = |name: &str| {
        images.iter().find(|image| image["image"] == name).map(|image| image["from"].to_string())
    };
    assert!(from("example.com/mine:1").is_some_and(|from| from.contains("archive ")), "{status}");
    assert!(from("registry.k8s.io/pause:3.10.2").is_some_and(|from| from.contains("assembled")), "{status}");
    let told = swdt.run(&["cluster", "status"]).ok().stdout;
    assert!(told.contains("w1    yours    ready "), "{told}");
    assert!(told.contains("kubeadm, kubectl, kubelet"), "{told}");
}
