//! Virtual machines made from nothing: Debian's packages become a disk, the disk boots, SSH answers. Emulated where the host
//! cannot do better.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "figures are for whoever runs this")]

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use common::{Swdt, eventually, pty::Terminal};
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
    machine: {provider: qemu, memory: 1800Mi, disk: 8Gi, image: {build: debian-12}, firmware: secure-boot, network: segment}
  - name: w1
    machine: {provider: qemu, memory: 1Gi, cpus: 1, disk: 8Gi, image: {build: debian-12}, network: segment}
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

/// Where a machine has its sockets, by the command line of its process.
fn sockets_of(process: i32) -> PathBuf {
    let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap();
    let pid_file = line.split('\0').skip_while(|word| *word != "-pidfile").nth(1).unwrap();
    Path::new(pid_file).parent().unwrap().to_owned()
}

/// Ends a process without a word, as the kernel does when memory is short.
fn kill(process: i32) {
    assert!(Command::new("kill").args(["-s", "KILL", &process.to_string()]).status().unwrap().success());
    while !fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// By the command, as users do; with Secure Boot and a TPM, and on the private segment, as somebody without rights has it.
#[test]
fn a_machine_lives_through_stop_start_snapshot_and_kill() {
    let swdt = Swdt::new();
    let made = Made(&swdt, "vm");
    let config = swdt.config(ONE);
    let exec = |command: &[&str]| swdt.run(&[&["node", "exec", "cp1", "--"], command].concat());
    let switch = concat!(env!("CARGO_BIN_EXE_swdt"), " machine-switch");
    let machine = swdt.data().join("clusters/vm/machines/cp1");
    let console = || fs::read_to_string(machine.join("console.log")).unwrap();
    let firmware = || ["vars.fd", "tpm/tpm2-00.permall"].map(|file| fs::read(machine.join(file)).unwrap());
    swdt.run(&["cluster", "create", "--config", &config, "--until", "connect"]).ok();
    // The name is the node's, the host key was planted, the root grew with the disk, and the world is there.
    assert_eq!(exec(&["hostname"]).ok().stdout.trim(), "cp1");
    let own = exec(&["sudo", "cat", "/etc/ssh/ssh_host_ed25519_key.pub"]).ok().stdout;
    let planted = swdt_core::keys::ensure(&machine.join("ssh_host_ed25519_key"));
    assert_eq!(own.split(' ').take(2).collect::<Vec<_>>().join(" ").trim(), planted.unwrap().trim());
    let size = exec(&["df", "--output=size", "--block-size=M", "/"]).ok().stdout;
    let size: u64 = size.lines().last().unwrap().trim().trim_end_matches('M').parse().unwrap();
    assert!(size > 7000, "the root has {size} MiB of a disk of 8 GiB");
    // The firmware checks signatures, and the firmware's tables have a TPM. Four bytes come before the variable's own.
    let secure = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    assert_eq!(exec(&["od", "-An", "-tu1", secure]).ok().stdout.split_whitespace().last(), Some("1"));
    exec(&["sudo", "test", "-s", "/sys/firmware/acpi/tables/TPM2"]).ok();
    exec(&["getent", "hosts", "deb.debian.org"]).ok();
    // The other machine of the segment is there, too.
    let addresses = swdt.run(&["node", "exec", "w1", "--", "hostname", "-I"]).ok().stdout;
    let ask =
        format!("exec 3<> /dev/tcp/{}/22 && head -c 4 <&3", addresses.split_whitespace().next().unwrap());
    assert_eq!(exec(&["bash", "-c", &ask]).ok().stdout, "SSH-");
    swdt.run(&["node", "stop", "w1"]).ok();

    let picture = swdt.home().join("screen.png");
    swdt.run(&["node", "screenshot", "cp1", "--output", &picture.to_string_lossy()]).ok();
    assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    the_serial_line_asks_who_is_there(&swdt);

    exec(&["sudo", "sh", "-c", "echo before > /root/note"]).ok();
    let stopped = swdt.run(&["node", "stop", "cp1"]).ok();
    assert!(!stopped.stderr.contains("switched off"), "{stopped:#?}");
    assert!(console().contains("Power down") || console().contains("Powering Off"), "{}", console());
    swdt.run(&["node", "screenshot", "cp1"]).fails(6, &["does not run", "swdt node start cp1"]);
    swdt.run(&["cluster", "snapshot", "save", "first"]).ok();
    let saved = firmware();

    swdt.run(&["node", "start", "cp1"]).ok();
    exec(&["sudo", "sh", "-c", "echo after > /root/note; sync"]).ok();
    // All that a restart of the host takes, without a word: seen, and started again as if the power had failed.
    let [process] = processes("swdt-vm-cp1")[..] else { panic!("not one process") };
    let [gateway] = processes("swdt-vm-gateway")[..] else { panic!("not one gateway") };
    let [switch_process] = processes(switch)[..] else { panic!("not one switch") };
    let sockets = sockets_of(process);
    [process, gateway, switch_process].into_iter().for_each(kill);
    fs::remove_dir_all(sockets).unwrap();
    let status = swdt.run(&["cluster", "status", "--format", "json"]).ok().stdout;
    assert!(status.contains("\"stopped\""), "{status}");
    assert_ne!(firmware()[1], saved[1], "a TPM counts its starts");
    swdt.run(&["cluster", "snapshot", "restore", "first"]).ok();
    assert!(firmware() == saved, "the firmware's variables and the TPM are as they were");
    swdt.run(&["node", "start", "cp1"]).ok();
    assert_eq!(exec(&["sudo", "cat", "/root/note"]).ok().stdout.trim(), "before");

    swdt.run(&["cluster", "destroy", "vm"]).ok();
    assert_eq!(processes("swdt-vm-"), Vec::<i32>::new(), "processes are left");
    assert_eq!(processes(switch), Vec::<i32>::new(), "the switch is left");
    assert!(!swdt.data().join("clusters/vm").exists());
    drop(made);
}

fn the_serial_line_asks_who_is_there(swdt: &Swdt) {
    let console = ["node", "console", "cp1"];
    swdt.run(&console).fails(2, &["a terminal"]);
    let mut screen = Terminal::start(&swdt.command(&console), 80, 24);
    screen.until("Ctrl-] leaves");
    screen.keys("\r");
    screen.until("cp1 login:");
    screen.keys("\x1d");
    assert_eq!(screen.end(), 0, "{}", screen.screen());
}

const INSTALLED: &str = "\
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: installed}
kubernetes: {version: 1.36.3}
defaults: {machine: {provider: qemu, memory: 1800Mi, disk: 12Gi, image: {install: debian-13MIRROR}}}
nodes:
  - {name: cp1, role: control-plane, machine: {firmware: FIRMWARE}}
";

/// Where Debian's own server is not to be reached, or not whole, another one can be named.
const MIRROR: &str = "SWDT_TEST_DEBIAN_MIRROR";

/// Debian's own installer, answered by nobody: what it leaves starts, is reached with the planted key, and has grown.
fn a_disk_by_debians_own_installer(firmware: &str) {
    let swdt = Swdt::new();
    let made = Made(&swdt, "installed");
    let begun = Instant::now();
    let mirror = std::env::var(MIRROR).map_or(String::new(), |url| format!(", mirror: \"{url}\""));
    let config = swdt.config(&INSTALLED.replace("MIRROR", &mirror).replace("FIRMWARE", firmware));
    swdt.run(&["cluster", "create", "--config", &config, "--until", "connect"]).ok();
    println!("Debian's installer with {firmware}, until SSH: {:.0} s", begun.elapsed().as_secs_f64());
    let exec = |command: &[&str]| swdt.run(&[&["node", "exec", "cp1", "--"], command].concat()).ok().stdout;
    assert_eq!(exec(&["hostname"]).trim(), "cp1");
    // The kernel of the installed system, not that of the installer; and the firmware that was asked for.
    assert!(exec(&["cat", "/proc/cmdline"]).contains("root=UUID="));
    let firmware_of = exec(&["sh", "-c", "test -d /sys/firmware/efi && echo uefi || echo bios"]);
    assert_eq!(firmware_of.trim() == "bios", firmware == "bios", "{firmware_of}");
    let size = exec(&["df", "--output=size", "--block-size=M", "/"]);
    let size: u64 = size.lines().last().unwrap().trim().trim_end_matches('M').parse().unwrap();
    assert!(size > 10_000, "the root has {size} MiB of a disk of 12 GiB");
    drop(made);
}

#[test]
#[ignore = "slow: an hour where machines are emulated, unless the disk is there already"]
fn debians_own_installer_with_bios() {
    a_disk_by_debians_own_installer("bios");
}

#[test]
#[ignore = "slow: an hour where machines are emulated, unless the disk is there already"]
fn debians_own_installer_with_uefi() {
    a_disk_by_debians_own_installer("secure-boot");
}

const SILENT: &str = "\
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: silent}
kubernetes: {version: 1.36.3}
defaults: {machine: {provider: qemu, memory: 1800Mi, disk: 8Gi, network: segment, image: {file: EMPTY}}}
nodes:
  - {name: cp1, role: control-plane, machine: {}}
  - {name: w1, machine: {}}
";

/// Starts two machines that never answer, wants to stop, and destroys them.
fn start_stop_destroy(swdt: &Swdt, name: &'static str) {
    let made = Made(swdt, name);
    let empty = swdt.home().join("empty.raw");
    // Nothing but the mark of a disk that starts.
    let mut disk = vec![0; 1 << 20];
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    fs::write(&empty, disk).unwrap();
    let text = SILENT
        .replace("EMPTY", &empty.to_string_lossy())
        .replace("{name: silent}", &format!("{{name: {name}}}"));
    let config = swdt.config(&text);
    let of_node = |node: &str| processes(&format!("swdt-{name}-{node}")).len();
    let machines = || of_node("cp1") + of_node("w1");
    let create = swdt.spawn(&["cluster", "create", "--config", &config, "--format", "json"]);
    assert!(eventually(|| machines() == 2), "no machines");
    create.signal("INT");
    let ended = create.wait().fails(130, &["stopped at your request", r#""resume":"swdt cluster create"#]);
    assert_eq!(ended.stderr.matches("stopped at your request").count(), 1, "told for each: {ended:#?}");
    assert_eq!(machines(), 2, "machines go on");
    swdt.run(&["cluster", "destroy", name]).ok();
    assert_eq!(processes(&format!("swdt-{name}-")), Vec::<i32>::new(), "processes are left");
    drop(made);
}

/// Whoever wants to stop does not wait until nobody answers any more. Machines go on, and are found again.
#[test]
fn ctrl_c_while_machines_start_acts_at_once() {
    let mut swdt = Swdt::new();
    // What is made of its empty disk goes with it.
    let cache = swdt.home().join("cache");
    swdt.set("SWDT_CACHE_DIR", &cache.to_string_lossy());
    start_stop_destroy(&swdt, "silent");
}

/// Nothing of that needs any rights.
#[test]
fn a_user_without_rights_has_machines_on_a_segment() {
    start_stop_destroy(&Swdt::of_nobody(), "nobodys");
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

/// Too much is refused before anything is made: each of the two would fit, both together do not.
#[tokio::test]
async fn machines_larger_than_the_host_are_refused_together() {
    let ground = Ground::open(&cache_dir()).await.unwrap();
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    let mib = available.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024;
    let half = |name| {
        let mut node = node(&ground, name, Firmware::Bios);
        if let Place::Machine(machine) = &mut node.place {
            machine.memory_mib = mib * 2 / 3;
        }
        node
    };
    let (one, two) = (half("one"), half("two"));
    ground.machines().require(std::slice::from_ref(&one)).await.unwrap();
    let error = ground.machines().require(&[one, two]).await.unwrap_err();
    assert!(error.message.contains("MiB of memory are needed to start machines"), "{error}");
    assert_eq!(qemu::traces(ground.context(), &["one", "two"]), Vec::<String>::new());
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

/// On the host's bridge, with BIOS: the same image and the same arguments, once through swdt and once by hand. Prints the
/// ratio; a busy host would make any bound a lie. Then found again by somebody who did not start it.
#[tokio::test]
#[ignore = "slow: boots twice, for a figure"]
async fn a_machine_costs_little_more_than_qemu_alone() {
    let ground = Ground::open(&cache_dir()).await.unwrap();
    let node = node(&ground, "raw1", Firmware::Bios);
    // So that the base is there: one that does not fit its disk is refused, and made for that.
    let mut small = node.clone();
    if let Place::Machine(MachineSpec { vm: Some(vm), .. }) = &mut small.place {
        vm.disk_gib = 0;
    }
    let error = ground.machines().ensure(&small).await.unwrap_err();
    assert!(error.message.contains("too small for the image"), "{error}");
    let begun = Instant::now();
    let reached = ground.machines().ensure(&node).await.unwrap();
    let ours = begun.elapsed();
    assert_eq!((reached.endpoint.port, reached.endpoint.api), (22, None));
    let ip = reached.endpoint.ip.map(|ip| ip.to_string());
    assert_eq!(ip.as_deref(), Some(reached.endpoint.address.as_str()));

    // Another process, or the same after a crash, knows no more than the directories.
    let other = Machines::new(ground.context().clone());
    assert_eq!(other.status(&node).await.unwrap(), MachineState::Running);
    assert_eq!(other.ensure(&node).await.unwrap(), reached, "the same machine at the same place");

    let [process] = processes("-raw1,process=")[..] else { panic!("not one process") };
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap();
    let words: Vec<String> = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into())
        .collect();
    kill(process);
    let disk = ground.context().cluster_dir.join("machines/raw1/disk.qcow2");
    // The kernel lets go of a file a moment after its process has gone: asked without its lock.
    let info = Command::new("qemu-img").args(["info", "--force-share", "--output=json"]).arg(&disk).output();
    let info = info.unwrap().stdout;
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
    other.destroy_cluster(&[]).await.unwrap();
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
