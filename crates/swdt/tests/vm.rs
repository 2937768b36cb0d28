//! Virtual machines made from nothing: Debian's packages become a disk, the disk boots, SSH answers. Emulated where the host
//! cannot do better.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures are for whoever runs this")]

mod common;

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use common::Swdt;
use swdt_core::{
    machine::{MachineState, Machines, qemu},
    spec::{
        Connection, Firmware, Image, LinuxRelease, MachineSpec, Node, OsFamily, Place, ProviderName, Role,
        VmSpec, Wiring,
    },
};
use swdt_ground::{Ground, cache_dir};

const ONE: &str = "\
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: vm}
kubernetes: {version: 1.36.3}
nodes:
  - name: cp1
    role: control-plane
    machine: {provider: qemu, memory: 1700Mi, disk: 8Gi, image: {build: debian-12}, network: segment}
";

/// Machines go, however the test ends.
struct Made<'a>(&'a Swdt, &'static str);

impl Drop for Made<'_> {
    fn drop(&mut self) {
        let _ = self.0.command(&["cluster", "destroy", self.1, "--force"]).output();
    }
}

/// Processes on this host with the words on their command line.
fn processes(words: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
    })
    .collect()
}

/// On the private segment, as somebody without rights has it; by the command, as users do.
#[test]
fn a_machine_lives_through_stop_start_snapshot_and_kill() {
    let swdt = Swdt::new();
    let made = Made(&swdt, "vm");
    let config = swdt.config(ONE);
    let exec = |command: &[&str]| swdt.run(&[&["node", "exec", "cp1", "--"], command].concat());
    swdt.run(&["cluster", "create", "--config", &config, "--until", "connect"]).ok();
    // The root grew with the disk, the name is the node's, and the world is there.
    assert_eq!(exec(&["hostname"]).ok().stdout.trim(), "cp1");
    let size = exec(&["df", "--output=size", "--block-size=M", "/"]).ok().stdout;
    let size: u64 = size.lines().last().unwrap().trim().trim_end_matches('M').parse().unwrap();
    assert!(size > 7000, "the root has {size} MiB of a disk of 8 GiB");
    exec(&["getent", "hosts", "deb.debian.org"]).ok();

    let picture = swdt.home().join("screen.png");
    swdt.run(&["node", "screenshot", "cp1", "--output", &picture.to_string_lossy()]).ok();
    assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    swdt.run(&["node", "console", "cp1"]).fails(2, &["a terminal"]);

    exec(&["sudo", "sh", "-c", "echo before > /root/note; sync"]).ok();
    let begun = Instant::now();
    swdt.run(&["node", "stop", "cp1"]).ok();
    assert!(begun.elapsed() < Duration::from_mins(2), "it was switched off, not shut down");
    let console = fs::read_to_string(swdt.data().join("clusters/vm/machines/cp1/console.log")).unwrap();
    assert!(console.contains("Power down") || console.contains("Powering Off"), "{console}");
    swdt.run(&["node", "screenshot", "cp1"]).fails(6, &["does not run", "swdt node start cp1"]);

    swdt.run(&["cluster", "snapshot", "save", "first"]).ok();
    swdt.run(&["node", "start", "cp1"]).ok();
    exec(&["sudo", "sh", "-c", "echo after > /root/note; sync"]).ok();
    swdt.run(&["cluster", "snapshot", "restore", "first"]).ok();
    swdt.run(&["node", "start", "cp1"]).ok();
    assert_eq!(exec(&["sudo", "cat", "/root/note"]).ok().stdout.trim(), "before");

    // Killed from outside: seen, and started again as if the power had failed.
    let [process] = processes("swdt-vm-cp1")[..] else { panic!("not one process") };
    assert!(Command::new("kill").args(["-s", "KILL", &process.to_string()]).status().unwrap().success());
    std::thread::sleep(Duration::from_secs(1));
    let status = swdt.run(&["cluster", "status", "--format", "json"]).ok().stdout;
    assert!(status.contains("\"stopped\""), "{status}");

    swdt.run(&["cluster", "destroy", "vm"]).ok();
    assert_eq!(processes("swdt-vm-"), Vec::<i32>::new(), "processes are left");
    assert!(!swdt.data().join("clusters/vm").exists());
    drop(made);
}

fn node(ground: &Ground, name: &str, firmware: Firmware) -> Node {
    let vm = VmSpec {
        image: Image::Build(LinuxRelease::Debian12),
        disk_gib: 8,
        firmware,
        wiring: Some(Wiring::Bridge),
    };
    Node {
        name: name.to_owned(),
        role: Role::Worker,
        os: OsFamily::Linux,
        set_hostname: true,
        place: Place::Machine(MachineSpec {
            provider: ProviderName::Qemu,
            cpus: 1,
            memory_mib: 1024,
            vm: Some(vm),
        }),
        connection: Connection::default(),
        ..ground.node(name)
    }
}

/// On the host's bridge, with UEFI; found again by somebody who did not start it.
#[tokio::test]
async fn a_machine_on_the_bridge_starts_by_uefi_and_leaves_nothing() {
    let ground = Ground::open(&cache_dir()).await.unwrap();
    let node = node(&ground, "efi1", Firmware::Uefi);
    let reached = ground.machines().ensure(&node).await.unwrap();
    assert_eq!((reached.endpoint.port, reached.endpoint.api), (22, None));
    assert_eq!(
        reached.endpoint.ip.map(|ip| ip.to_string()).as_deref(),
        Some(reached.endpoint.address.as_str())
    );
    let known = ground.dir().join("known_hosts");
    let host_key = reached.host_key.clone().unwrap();
    fs::write(&known, format!("{} {host_key}\n", reached.endpoint.address)).unwrap();
    let efi = Command::new("ssh")
        .args(["-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes", "-i"])
        .arg(ground.dir().join("id_ed25519"))
        .arg("-o")
        .arg(format!("UserKnownHostsFile={}", known.display()))
        .arg(format!("swdt@{}", reached.endpoint.address))
        .args(["test -d /sys/firmware/efi && sudo id -u"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&efi.stdout).trim(), "0", "{efi:?}");

    // Another process, or the same after a crash, knows no more than the directories.
    let other = Machines::new(ground.context().clone());
    assert_eq!(other.status(&node).await.unwrap(), MachineState::Running);
    let again = other.ensure(&node).await.unwrap();
    assert_eq!(again, reached, "the same machine at the same place");
    assert!(!qemu::traces(ground.context(), &["efi1"]).is_empty());
    other.destroy_cluster().await.unwrap();
    assert_eq!(qemu::traces(ground.context(), &["efi1"]), Vec::<String>::new());
}

/// Too much is refused before anything is made.
#[tokio::test]
async fn a_machine_larger_than_the_host_is_refused() {
    let ground = Ground::open(&cache_dir()).await.unwrap();
    let mut node = node(&ground, "big", Firmware::Bios);
    if let Place::Machine(machine) = &mut node.place {
        machine.memory_mib = 1 << 30;
    }
    let error = ground.machines().ensure(&node).await.unwrap_err();
    assert!(error.message.contains("of memory"), "{error}");
    assert_eq!(qemu::traces(ground.context(), &["big"]), Vec::<String>::new());
}

/// How long it takes from now until SSH says its name.
fn until_ssh(address: &str) -> Duration {
    let begun = Instant::now();
    let says = || -> std::io::Result<bool> {
        use std::io::Read;
        let address = format!("{address}:22").parse().unwrap();
        let mut stream = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(500))?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        let mut banner = [0; 4];
        stream.read_exact(&mut banner)?;
        Ok(&banner == b"SSH-")
    };
    while !says().unwrap_or(false) {
        assert!(begun.elapsed() < Duration::from_mins(20), "no SSH at {address}");
        std::thread::sleep(Duration::from_millis(50));
    }
    begun.elapsed()
}

/// The same image, the same arguments, once through swdt and once by hand. Prints the ratio; a busy host would make
/// any bound a lie.
#[tokio::test]
#[ignore = "slow: boots twice, for a figure"]
async fn a_machine_costs_little_more_than_qemu_alone() {
    let ground = Ground::open(&cache_dir()).await.unwrap();
    let node = node(&ground, "raw1", Firmware::Bios);
    // So that the base is there.
    ground.machines().ensure(&node).await.unwrap();
    ground.machines().destroy(&node).await.unwrap();
    let begun = Instant::now();
    let reached = ground.machines().ensure(&node).await.unwrap();
    let ours = begun.elapsed();

    let [process] = processes("-raw1,process=")[..] else { panic!("not one process") };
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap();
    let words: Vec<String> = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into())
        .collect();
    ground.machines().stop(&node).await.unwrap();
    let disk = ground.context().cluster_dir.join("machines/raw1/disk.qcow2");
    let info = Command::new("qemu-img").args(["info", "--output=json"]).arg(&disk).output().unwrap().stdout;
    let info: serde_json::Value = serde_json::from_slice(&info).unwrap();
    let base = info["full-backing-filename"].as_str().unwrap().to_owned();
    fs::remove_file(&disk).unwrap();
    let begun = Instant::now();
    let made = Command::new("qemu-img")
        .args(["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", &base])
        .arg(&disk)
        .arg("8G")
        .status();
    assert!(made.unwrap().success());
    assert!(Command::new(&words[0]).args(&words[1..]).status().unwrap().success());
    until_ssh(&reached.endpoint.address);
    let raw = begun.elapsed();
    let ratio = ours.as_secs_f64() / raw.as_secs_f64();
    println!(
        "create to SSH: {:.1} s; QEMU alone: {:.1} s; ratio {ratio:.2}",
        ours.as_secs_f64(),
        raw.as_secs_f64()
    );
    ground.machines().destroy_cluster().await.unwrap();
    assert_eq!(qemu::traces(ground.context(), &["raw1"]), Vec::<String>::new());
}

const TWO: &str = "\
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: vms}
kubernetes: {version: 1.36.3}
defaults: {machine: {provider: qemu, cpus: 2, memory: 2Gi, disk: 10Gi, image: {build: debian-12}}}
nodes:
  - {name: cp1, role: control-plane, machine: {}}
  - {name: w1, machine: {firmware: uefi}}
";

#[test]
#[ignore = "slow: a whole cluster on emulated machines"]
fn a_cluster_of_virtual_machines() {
    let swdt = Swdt::new();
    let made = Made(&swdt, "vms");
    let begun = Instant::now();
    swdt.run(&["cluster", "create", "--config", &swdt.config(TWO)]).ok();
    println!("two virtual machines, from nothing to a smoke test: {:.0} s", begun.elapsed().as_secs_f64());
    let nodes = swdt.run(&["get", "nodes"]).ok().stdout;
    assert_eq!(nodes.matches(" Ready ").count(), 2, "{nodes}");
    let again = swdt.run(&["cluster", "create", "--config", &swdt.config(TWO), "--format", "json"]).ok();
    assert_eq!(again.event(None, "finished")["writes"], 0, "nothing was left to do");
    swdt.run(&["cluster", "destroy", "vms"]).ok();
    assert_eq!(processes("swdt-vms-"), Vec::<i32>::new(), "processes are left");
    drop(made);
}
