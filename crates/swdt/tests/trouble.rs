//! What bad machines get: a clear error or a recovery, and nothing half-written.

mod common;

use common::{Swdt, existing_yaml};
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

/// Runs `create`, which must fail this way, and leave the machine as it is.
async fn create_fails(machine: &TestMachine, yaml: &str, code: i32, said: &[&str]) -> Result<()> {
    let swdt = Swdt::new();
    let config = swdt.config(yaml);
    let before = Fingerprint::take(machine).await?;
    swdt.run(&["cluster", "create", "--config", &config]).fails(code, said);
    let mut diff = before.diff(&Fingerprint::take(machine).await?);
    // The node program itself may stay until `destroy`.
    diff.0.retain(|change| !change.name.starts_with("file /var/lib/swdt"));
    assert!(diff.is_empty(), "a failed create changed the machine:\n{diff}");
    Ok(())
}

fn yaml(machine: &TestMachine) -> String {
    existing_yaml(&[machine], |machine| {
        format!("{{user: root, key: {}, hostKey: {}}}", machine.key().display(), machine.host_key())
    })
}

#[tokio::test]
async fn machines_that_do_not_let_us_in() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let good = yaml(&machine);

    // Nobody listens there.
    let closed = good.replace("connection: {", "connection: {port: 2222, ");
    create_fails(&machine, &closed, 7, &["a: ", "2222", "go on with: swdt cluster create"]).await?;

    // A key it does not know.
    let stranger = ground.dir().join("stranger");
    swdt_core::keys::ensure(&stranger)?;
    let wrong_key = good.replace(&machine.key().display().to_string(), &stranger.display().to_string());
    create_fails(&machine, &wrong_key, 7, &["a: ", "root", "stranger"]).await?;

    // A host key that is not the expected one.
    let other = swdt_core::keys::ensure(&ground.dir().join("other-host"))?;
    let changed = good.replace(machine.host_key(), &other);
    create_fails(&machine, &changed, 7, &["a: ", "host key", "SHA256:"]).await?;

    // A host key nobody told us.
    let unknown =
        existing_yaml(&[&machine], |machine| format!("{{user: root, key: {}}}", machine.key().display()));
    create_fails(&machine, &unknown, 7, &["a: ", "host key", "--accept-new-host-keys"]).await?;

    // Accepted once, it is remembered; another one is then refused.
    let swdt = Swdt::new();
    let config = swdt.config(&unknown);
    swdt.run(&["cluster", "create", "--config", &config, "--until", "connect", "--accept-new-host-keys"])
        .ok();
    swdt.run(&["cluster", "create", "--config", &config, "--until", "connect"]).ok();
    machine.must(["sh", "-c", "rm /etc/ssh/ssh_host_*; ssh-keygen -q -N '' -t ed25519 -f /etc/ssh/ssh_host_ed25519_key; systemctl restart ssh"]).await?;
    swdt.run(&["cluster", "create", "--config", &config, "--accept-new-host-keys", "--until", "prepare"])
        .fails(7, &["host key", "known_hosts"]);
    Ok(())
}

#[tokio::test]
async fn a_user_who_may_not_sudo() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    machine.must(["useradd", "--create-home", "--shell", "/bin/bash", "bob"]).await?;
    let key = machine.must(["cat", "/root/.ssh/authorized_keys"]).await?;
    machine.put("/home/bob/.ssh/authorized_keys", 0o600, key.as_bytes())?;
    machine.must(["chown", "-R", "bob:bob", "/home/bob/.ssh"]).await?;
    let bob = yaml(&machine).replace("user: root", "user: bob");
    create_fails(&machine, &bob, 4, &["a: ", "sudo", "bob", "NOPASSWD"]).await
}

#[tokio::test]
async fn disks_that_take_nothing() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let good = yaml(&machine);

    machine.must(["mkdir", "/var/lib/swdt"]).await?;
    machine.must(["mount", "-t", "tmpfs", "-o", "ro,mode=700", "swdt-test", "/var/lib/swdt"]).await?;
    create_fails(&machine, &good, 4, &["a: ", "read-only"]).await?;
    machine.must(["umount", "/var/lib/swdt"]).await?;

    // Room for the program, and for nothing else.
    machine.must(["mount", "-t", "tmpfs", "-o", "size=1M,mode=700", "swdt-test", "/var/lib/swdt"]).await?;
    create_fails(&machine, &good, 4, &["a: ", "space"]).await?;
    let left = machine.must(["find", "/var/lib/swdt", "-type", "f"]).await?;
    assert_eq!(left, "", "half a program was left");
    Ok(())
}

#[tokio::test]
async fn machines_that_cannot_be_nodes_are_told_everything_at_once() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let release = machine.must(["cat", "/usr/lib/os-release"]).await?;
    machine.must(["rm", "/etc/os-release"]).await?;
    machine.put(
        "/etc/os-release",
        0o644,
        release.replace("VERSION_ID=\"12\"", "VERSION_ID=\"10\"").as_bytes(),
    )?;
    let before = Fingerprint::take(&machine).await?;
    let swdt = Swdt::new();
    let config = swdt.config(&yaml(&machine));
    swdt.run(&["cluster", "create", "--config", &config, "--until", "prepare"])
        .fails(4, &["too old", "Debian 12"]);
    // Nothing was changed, so there is nothing to undo but the node program.
    swdt.run(&["cluster", "destroy"]).ok();
    let diff = before.diff(&Fingerprint::take(&machine).await?);
    assert!(diff.is_empty(), "{diff}");
    Ok(())
}

#[tokio::test]
async fn machines_that_others_use_already_are_told_everything_at_once() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    machine.put("/usr/bin/containerd", 0o755, b"theirs")?;
    machine.put("/etc/kubernetes/kubelet.conf", 0o600, b"theirs")?;
    let listen =
        ["systemd-run", "--quiet", "--unit=taken", "systemd-socket-activate", "-l", "6443", "/bin/cat"];
    machine.must(listen).await?;
    let route = "ip route add 10.244.3.0/24 dev $(ls /sys/class/net | grep -vx lo | head -1)";
    machine.must(["sh", "-c", route]).await?;
    let said = [
        "a: there is a container runtime or a cluster that swdt did not make: /usr/bin/containerd, /etc/kubernetes/kubelet.conf",
        "a: another program listens at port 6443",
        "a: the network of pods, 10.244.0.0/16, overlaps the machine's route to 10.244.3.0/24",
    ];
    create_fails(&machine, &yaml(&machine), 4, &said).await
}

#[tokio::test]
async fn a_machine_of_another_cluster_is_left_alone() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let first = Swdt::new();
    first.run(&["cluster", "create", "--config", &first.config(&yaml(&machine)), "--until", "prepare"]).ok();
    let other = yaml(&machine).replace("name: proof", "name: other");
    create_fails(&machine, &other, 4, &["a: ", "node of the cluster `proof`"]).await
}

#[tokio::test]
async fn too_small_a_machine_is_told_before_it_is_changed() {
    let swdt = Swdt::new();
    let config = swdt.config(
        "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {name: small}\nkubernetes: {version: 1.36.3}\n\
         nodes:\n  - {name: cp1, role: control-plane, machine: {provider: nspawn, cpus: 2, memory: 2Gi}}\n  \
         - {name: w1, machine: {provider: nspawn, cpus: 1, memory: 600Mi}}\n",
    );
    let made = swdt.run(&["cluster", "create", "--config", &config, "--until", "prepare"]);
    // Machines that swdt makes go whatever happens to the test.
    swdt.run(&["cluster", "destroy"]).ok();
    made.fails(4, &["w1: 600 MiB of memory is too little for a worker"]);
}
