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
