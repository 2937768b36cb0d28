//! `swdt doctor` on this host, and on a machine that is broken in one way after the other.

mod common;

use std::{fs, os::unix::fs::PermissionsExt};

use common::{Swdt, existing_yaml};
use serde_json::Value;
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir};

/// The host key of some other machine.
const OTHER_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGgoXhuJrXUvO1mmBlEZPWc2zT1dUEkyDrxW/QDlSQgd";

/// The rules that found a problem, and the exit code.
fn problems(swdt: &Swdt, arguments: &[&str]) -> (i32, Vec<String>) {
    let ran = swdt.run(&[&["doctor", "--format", "json"], arguments].concat());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    let findings = report["findings"].as_array().into_iter().flatten();
    let worst = findings.filter(|finding| finding["grade"] == "problem");
    (ran.code, worst.map(|finding| finding["id"].as_str().unwrap_or_default().to_owned()).collect())
}

/// What the doctor says of a machine that is reached so.
fn reached(swdt: &Swdt, machine: &TestMachine, connection: &str) -> (i32, Vec<String>) {
    let config = swdt.config(&existing_yaml(&[machine], |_| connection.to_owned()));
    problems(swdt, &["--config", &config])
}

#[test]
fn a_host_is_looked_at_and_mended() {
    let swdt = Swdt::new();
    assert_eq!(problems(&swdt, &[]), (0, Vec::new()));
    let text = swdt.run(&["doctor"]).ok().stdout;
    assert!(text.contains("rules, this host"), "{text}");

    // A key that others can read is a problem, and mended when asked.
    let ssh = swdt.home().join(".ssh");
    fs::create_dir(&ssh).expect("a fresh home");
    let key = ssh.join("id_ed25519");
    fs::write(&key, "-----BEGIN OPENSSH PRIVATE KEY-----\n").expect("a fresh home");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("our own file");
    assert_eq!(problems(&swdt, &[]), (4, vec!["host-key-permissions".to_owned()]));
    let said = swdt.run(&["doctor"]);
    for words in
        ["problem host-key-permissions", "mode is 0644", "docs/troubleshooting.md#host-key-permissions"]
    {
        assert!(said.stdout.contains(words), "{said:#?}");
    }
    assert!(!said.stdout.contains('\u{1b}'), "no colours without a terminal: {said:#?}");
    swdt.run(&["doctor", "--fix"]).fails(2, &["nobody to ask"]);
    let mended = swdt.run(&["doctor", "--fix", "--yes"]).ok();
    assert!(mended.stderr.contains("let nobody else read"), "{mended:#?}");
    let mode = fs::metadata(&key).expect("the key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // What cannot be read is told, and stops nothing else.
    let cluster = swdt.data().join("clusters/broken");
    fs::create_dir_all(&cluster).expect("our own directory");
    fs::write(cluster.join("state.json"), "{").expect("our own directory");
    assert_eq!(problems(&swdt, &[]), (4, vec!["host-state-unreadable".to_owned()]));

    let page = swdt.run(&["explain", "host-kvm"]).ok().stdout;
    assert!(page.starts_with("host-kvm, ") && page.contains("nested virtualisation"), "{page}");
}

/// What `create` would refuse is told before, all of it, with the same ids and in the same words; nothing is made.
#[test]
fn machines_that_cannot_be_made_are_told_as_create_tells_them() {
    let swdt = Swdt::new();
    let iso = swdt.home().join("page.iso");
    fs::write(&iso, "a page that asks for registration").expect("our own directory");
    let config = swdt.config(
        &"apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {name: large}\nkubernetes: {version: 1.36.3}\n\
          defaults: {machine: {provider: qemu, memory: 9000Gi, disk: 8Gi, network: segment}}\nnodes:\n  \
          - {name: cp1, role: control-plane, machine: {image: {file: /nowhere.qcow2}}}\n  \
          - {name: win1, os: windows, machine: {disk: 60Gi, image: {iso: ISO}}}\n"
            .replace("ISO", &iso.to_string_lossy()),
    );
    let looked = swdt.run(&["doctor", "--config", &config, "--format", "json"]);
    let report: Value = serde_json::from_str(&looked.stdout).unwrap_or_else(|_| panic!("{looked:#?}"));
    let mut told = Vec::new();
    for finding in report["findings"].as_array().into_iter().flatten() {
        if finding["grade"] == "problem" {
            told.push((finding["id"].clone(), finding["node"].clone(), finding["what"].clone()));
        }
    }
    assert!(!swdt.data().join("clusters").exists(), "looking made something");
    let made = swdt.run(&["cluster", "create", "--config", &config, "--format", "json"]);
    let error: Value = serde_json::from_str(&made.stderr).unwrap_or_else(|_| panic!("{made:#?}"));
    let error = &error["error"];
    let others = error["others"].as_array().into_iter().flatten();
    let mut refused: Vec<_> = std::iter::once(error)
        .chain(others)
        .map(|error| (error["id"].clone(), error["node"].clone(), error["message"].clone()))
        .collect();
    // What is left of the memory changes from moment to moment.
    let memory = |(id, _, _): &(Value, Value, Value)| *id == "host-memory";
    for all in [&mut told, &mut refused] {
        all.sort_by_key(|(id, _, _)| id.to_string());
        assert!(all.iter().any(memory), "{all:#?}");
        all.retain(|one| !memory(one));
    }
    assert_eq!(told, refused, "{looked:#?}");
    let ids: Vec<_> = told.iter().map(|(id, node, _)| (id.as_str(), node.as_str())).collect();
    assert_eq!(
        ids,
        [(Some("disk-image-unusable"), Some("cp1")), (Some("windows-media-invalid"), Some("win1"))]
    );
    assert_eq!(looked.code, 4, "{looked:#?}");
}

/// The errors of a real SSH lead to the right rules.
#[tokio::test]
async fn a_machine_that_is_broken_is_told_by_its_rule() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let a = ground.machine("a").await?;
    let swdt = Swdt::new();
    let (key, host_key) = (a.key().display().to_string(), a.host_key());
    let sound = format!("{{user: root, key: {key}, hostKey: {host_key}}}");
    assert_eq!(reached(&swdt, &a, &sound), (0, Vec::new()));
    let is = |code: i32, id: &str| (code, vec![id.to_owned()]);

    let other = format!("{{user: root, key: {key}, hostKey: {OTHER_KEY}}}");
    assert_eq!(reached(&swdt, &a, &other), is(7, "machine-host-key"));
    let nobody = format!("{{user: nobody, key: {key}, hostKey: {host_key}}}");
    assert_eq!(reached(&swdt, &a, &nobody), is(7, "machine-login"));
    a.must(["useradd", "--create-home", "--shell", "/bin/bash", "ada"]).await?;
    let keys = a.must(["cat", "/root/.ssh/authorized_keys"]).await?;
    a.put("/home/ada/.ssh/authorized_keys", 0o600, keys.as_bytes())?;
    a.must(["chown", "-R", "ada:ada", "/home/ada/.ssh"]).await?;
    let without_sudo = format!("{{user: ada, key: {key}, hostKey: {host_key}}}");
    assert_eq!(reached(&swdt, &a, &without_sudo), is(4, "machine-rights"));
    let closed = format!("{{port: 1, user: root, key: {key}, hostKey: {host_key}}}");
    assert_eq!(reached(&swdt, &a, &closed), is(7, "machine-reach"));

    a.put("/usr/bin/k3s", 0o755, b"#!/bin/sh\n")?;
    a.put("/usr/bin/containerd", 0o755, b"#!/bin/sh\n")?;
    a.must(["systemd-run", "--unit=squatter", "systemd-socket-activate", "--listen=10250", "/bin/true"])
        .await?;
    let (code, found) = reached(&swdt, &a, &sound);
    assert_eq!((code, found), (4, vec!["machine-ports".to_owned(), "machine-strangers".to_owned()]));
    // Looking leaves nothing.
    assert!(
        a.exec(["test", "-e", "/var/lib/swdt"]).await?.code != Some(0),
        "the node program is still there"
    );
    Ok(())
}
