//! The real command against machines that were there before it: create, again, destroy.

mod common;

use std::{fs, path::Path};

use common::{Swdt, existing_yaml};
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

/// Not root: a user who may sudo without a password.
async fn add_ada(machine: &TestMachine) -> Result<()> {
    machine.must(["useradd", "--create-home", "--shell", "/bin/bash", "ada"]).await?;
    let key = machine.must(["cat", "/root/.ssh/authorized_keys"]).await?;
    machine.put("/home/ada/.ssh/authorized_keys", 0o600, key.as_bytes())?;
    machine.must(["chown", "-R", "ada:ada", "/home/ada/.ssh"]).await?;
    machine.must(["chmod", "700", "/home/ada/.ssh"]).await?;
    machine.put("/etc/sudoers.d/ada", 0o440, b"ada ALL=(ALL) NOPASSWD: ALL\n")
}

fn as_ada(machine: &TestMachine) -> String {
    format!("{{user: ada, key: {}, hostKey: {}}}", machine.key().display(), machine.host_key())
}

#[tokio::test]
async fn create_again_and_destroy_leave_two_machines_as_they_were() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (a, b) = tokio::try_join!(ground.machine("a"), ground.machine("b"))?;
    let before = (Fingerprint::take(&a).await?, Fingerprint::take(&b).await?);

    let swdt = Swdt::new();
    let config = swdt.existing(&[&a, &b]);
    let create = ["cluster", "create", "--config", &config, "--format", "json", "--until", "prepare"];
    let first = swdt.run(&create).ok();
    assert!(first.event(None, "finished")["writes"].as_u64() > Some(0));
    let hosts = a.must(["cat", "/etc/hosts"]).await?;
    assert!(hosts.contains(&format!("{} b # swdt proof", b.address())), "{hosts}");

    let changed = (Fingerprint::take(&a).await?, Fingerprint::take(&b).await?);
    let second = swdt.run(&create).ok();
    assert_eq!(second.event(None, "finished")["writes"], 0);
    for node in ["a", "b"] {
        let done = second.event(Some(node), "nodeDone");
        assert_eq!((&done["writes"], &done["execs"]), (&0.into(), &1.into()), "{second:#?}");
    }
    let unchanged = (Fingerprint::take(&a).await?, Fingerprint::take(&b).await?);
    for (before, after) in [(&changed.0, &unchanged.0), (&changed.1, &unchanged.1)] {
        let diff = before.diff(after);
        assert!(diff.is_empty(), "the second run changed something:\n{diff}");
    }

    swdt.run(&["cluster", "destroy"]).ok();
    let after = (Fingerprint::take(&a).await?, Fingerprint::take(&b).await?);
    for (before, after) in [(&before.0, &after.0), (&before.1, &after.1)] {
        let diff = before.diff(after);
        assert!(diff.is_empty(), "destroy left something:\n{diff}");
    }
    assert_eq!(swdt.run(&["cluster", "list", "--format", "json"]).ok().stdout.trim(), r#"{"clusters":[]}"#);
    Ok(())
}

#[tokio::test]
async fn a_user_with_sudo_and_a_noisy_login_script_is_fine() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    add_ada(&machine).await?;
    let noise = "echo \"Welcome back!\"; printf '{\"seq\":0} not ours'; echo warning >&2\n";
    // Debian's own .bashrc ends early for shells that are not interactive; many users' do not.
    machine.put("/home/ada/.bashrc", 0o644, noise.as_bytes())?;
    let before = Fingerprint::take(&machine).await?;

    let swdt = Swdt::new();
    let config = swdt.config(&existing_yaml(&[&machine], as_ada));
    swdt.run(&["cluster", "create", "--config", &config, "--until", "prepare"]).ok();
    let again =
        swdt.run(&["cluster", "create", "--config", &config, "--format", "json", "--until", "prepare"]).ok();
    assert_eq!(again.event(Some("a"), "nodeDone")["execs"], 1);
    let log = swdt.run(&["node", "logs", "a"]).ok().stdout;
    assert!(log.contains("Welcome back!"), "the noise belongs into the log: {log}");

    swdt.run(&["cluster", "destroy"]).ok();
    let diff = before.diff(&Fingerprint::take(&machine).await?);
    assert!(diff.is_empty(), "{diff}");
    Ok(())
}

#[tokio::test]
async fn what_somebody_changed_since_is_theirs() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&machine]);
    let before = machine.must(["cat", "/etc/hosts"]).await?;
    swdt.run(&["cluster", "create", "--config", &config, "--until", "prepare"]).ok();
    machine.must(["sh", "-c", "echo 10.9.9.9 mine >> /etc/hosts"]).await?;
    swdt.run(&["cluster", "destroy"]).ok();
    assert_eq!(machine.must(["cat", "/etc/hosts"]).await?, format!("{before}10.9.9.9 mine\n"));
    Ok(())
}

#[tokio::test]
async fn commands_and_shells_reach_the_machine() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&machine]);
    swdt.run(&["cluster", "create", "--config", &config, "--until", "connect"]).ok();

    let said = swdt.run(&["node", "exec", "a", "--", "printf", "%s|", "two words", "it's", "$HOME"]).ok();
    assert_eq!(said.stdout, "two words|it's|$HOME|");
    assert_eq!(swdt.run(&["node", "exec", "a", "--", "sh", "-c", "echo no >&2; exit 7"]).code, 7);
    swdt.run(&["node", "shell", "a"]).fails(2, &["needs a terminal", "swdt node exec a"]);
    swdt.run(&["node", "exec", "z", "--", "true"]).fails(2, &["no node `z`", "it has: a"]);
    swdt.run(&["node", "stop", "a"]).fails(6, &["there before swdt"]);
    Ok(())
}

/// swdt on the machine that becomes the node: no SSH in between.
#[tokio::test]
async fn a_node_can_be_the_machine_swdt_runs_on() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let swdt = Path::new(env!("CARGO_BIN_EXE_swdt"));
    machine.put("/root/swdt", 0o755, &fs::read(swdt).expect("swdt"))?;
    let agent = swdt.with_file_name("swdt-node-linux-amd64");
    machine.put(
        "/root/swdt-node-linux-amd64",
        0o755,
        &fs::read(agent).expect("`cargo xtask agents` builds it"),
    )?;
    machine.put(
        "/root/here.yaml",
        0o644,
        existing_yaml(&[&machine], |_| "{via: local}".into()).as_bytes(),
    )?;
    let before = Fingerprint::take(&machine).await?;

    let create = [
        "/root/swdt",
        "--data-dir",
        "/run/swdt-test",
        "cluster",
        "create",
        "--config",
        "/root/here.yaml",
        "--until",
        "prepare",
    ];
    machine.must(create).await?;
    assert!(machine.must(["cat", "/etc/hosts"]).await?.contains("# swdt proof"));
    machine.must(["/root/swdt", "--data-dir", "/run/swdt-test", "cluster", "destroy"]).await?;
    let diff = before.diff(&Fingerprint::take(&machine).await?);
    assert!(diff.is_empty(), "{diff}");
    Ok(())
}
