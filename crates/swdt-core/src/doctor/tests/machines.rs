//! Machines, sound and spoiled.

use std::path::Path;

use swdt_wire::{Disk, Facts, FirewallFact, Route, WindowsFacts};

use super::{super::*, Case};
use crate::{
    error::Entry,
    id,
    plan::tests::{self, MIXED, debian, load},
};

const TWO: &str = "
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: two}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 192.168.1.10}
  - {name: w1, address: 192.168.1.11}
";

const NOW: u64 = 1_700_000_000;

/// A second Debian.
fn worker() -> Facts {
    Facts { machine_id: "another".into(), hostname: "w1".into(), ..debian() }
}

/// A Windows Server 2022 that lacks nothing.
fn windows_2022() -> Facts {
    let mut facts = tests::windows(20348);
    windows(&mut facts).features = vec!["Containers".into()];
    facts
}

/// What is found when cp1 and w1 are spoiled so.
fn find(spoil: impl Fn(&mut Facts, &mut Facts)) -> Vec<Finding> {
    let (mut cp1, mut w1) = (debian(), worker());
    spoil(&mut cp1, &mut w1);
    judge(TWO, [("cp1", cp1), ("w1", w1)], &Clocks::new())
}

/// The same with a Windows machine beside a sound control plane.
fn find_windows(spoil: impl Fn(&mut Facts)) -> Vec<Finding> {
    let mut win1 = windows_2022();
    spoil(&mut win1);
    judge(MIXED, [("cp1", debian()), ("win1", win1)], &Clocks::new())
}

fn judge(config: &str, facts: [(&str, Facts); 2], clocks: &Clocks) -> Vec<Finding> {
    let facts = facts.map(|(name, facts)| (name.to_owned(), facts)).into();
    machines(&Fleet { spec: &load(config), facts: &facts, clocks })
}

/// The clock of w1 says this when ours says [`NOW`].
fn clock(theirs: u64) -> Vec<Finding> {
    let clocks = [("w1".to_owned(), (theirs, NOW))].into();
    judge(TWO, [("cp1", debian()), ("w1", worker())], &clocks)
}

fn windows(facts: &mut Facts) -> &mut WindowsFacts {
    facts.windows.as_mut().unwrap()
}

fn build(facts: &mut Facts, build: u32) {
    windows(facts).build = build;
    facts.os.version = build.to_string();
}

fn route(to: &str) -> Route {
    Route { to: to.into(), interface: "tun0".into() }
}

pub(super) fn sound() -> Vec<Finding> {
    let mut findings = find(|_, _| ());
    // A rolling release counts as new.
    findings.extend(find(|_, w1| w1.os.version = String::new()));
    findings.extend(find_windows(|_| ()));
    findings.extend(find_windows(|win1| {
        windows(win1).ssh_shell = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe".into();
    }));
    for bearable in [0, NOW, NOW + 300, NOW - 300] {
        findings.extend(clock(bearable));
    }
    findings
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = linux_cases();
    cases.extend(windows_cases());
    cases.extend(reach_cases());
    let clocks = [
        ("5 minutes ahead of the clock here", NOW + 301),
        ("7 hours behind the clock here", NOW - 7 * 3600),
        ("19675 days behind", 1),
    ];
    cases.extend(clocks.map(|(words, theirs)| Case { id: "machine-clock", words, findings: clock(theirs) }));
    cases
}

fn linux_cases() -> Vec<Case> {
    type Spoil = fn(&mut Facts, &mut Facts);
    let cases: &[(&str, &str, Spoil)] = &[
        ("machine-family", "the configuration says `os: linux`", |_, w1| w1.os.family = "windows".into()),
        ("machine-release", "Gentoo is not a system", |_, w1| {
            (w1.os.id, w1.os.name) = ("gentoo".into(), "Gentoo".into());
        }),
        ("machine-release", "is too old; the oldest that works is Debian 12", |_, w1| {
            w1.os.version = "11".into();
        }),
        ("machine-memory", "1024 MiB of memory is too little for a control plane", |cp1, _| {
            cp1.memory_mib = 1024;
        }),
        ("machine-memory", "512 MiB of memory is too little for a worker", |_, w1| w1.memory_mib = 512),
        ("machine-processors", "1 processor is too few", |cp1, _| cp1.cpus = 1),
        ("machine-disk", "fewer than 2 GiB are free", |_, w1| w1.disks[0].nearly_full = true),
        ("machine-read-only", "root file system is read-only", |_, w1| w1.writable = false),
        ("machine-init", "started by `init`", |_, w1| w1.init = "init".into()),
        ("machine-packages", "neither apt nor dnf", |_, w1| w1.packages = None),
        ("machine-selinux", "setenforce 0", |_, w1| w1.selinux = Some("enforcing".into())),
        ("machine-swap", "/dev/sda2", |_, w1| w1.swaps = vec!["/dev/sda2".into()]),
        ("machine-oom-score", "not protected", |_, w1| w1.sys_resource = false),
        ("machine-firewall", "ufw filters", |_, w1| w1.firewall = FirewallFact::Ufw),
        ("machine-strangers", "that swdt did not make: /usr/bin/containerd", |_, w1| {
            w1.strangers = vec!["/usr/bin/containerd".into()];
        }),
        ("machine-ports", "another program listens at port 6443", |cp1, w1| {
            (cp1.taken_ports, w1.taken_ports) = (vec![6443], vec![6443]);
        }),
        ("machine-ports", "another program listens at port 10250", |_, w1| w1.taken_ports = vec![10250]),
        (
            "machine-routes",
            "the network of pods, 10.244.0.0/16, overlaps the machine's route to 10.244.7.0/24 over tun0",
            |_, w1| w1.routes = vec![route("10.244.7.0/24"), route("192.168.1.0/24")],
        ),
        (
            "machine-routes",
            "the network of services, 10.96.0.0/16, overlaps the machine's route to 10.0.0.0/9 over tun0",
            |_, w1| w1.routes = vec![route("10.0.0.0/9")],
        ),
        ("machine-twins", "has the same machine id as cp1", |cp1, w1| w1.machine_id = cp1.machine_id.clone()),
        ("machine-firmware-twins", "the same id as that of cp1", |cp1, w1| {
            cp1.product_uuid = Some("4c4c".into());
            w1.product_uuid = Some("4c4c".into());
        }),
        ("machine-name-twins", "is called cp1", |cp1, w1| w1.hostname = cp1.hostname.clone()),
        ("machine-versions", "rule `cgroup-v1`", |_, w1| w1.cgroup = 1),
        ("machine-versions", "rule `kernel-too-old`", |_, w1| w1.os.kernel = "4.19.0".into()),
    ];
    cases.iter().map(|(id, words, spoil)| Case { id, words, findings: find(spoil) }).collect()
}

fn windows_cases() -> Vec<Case> {
    type Spoil = fn(&mut Facts);
    let cases: &[(&str, &str, Spoil)] = &[
        ("machine-family", "but this machine runs Debian", |it| *it = worker()),
        ("windows-edition", "Windows 11 Pro is no Windows Server", |it| {
            it.os.name = "Windows 11 Pro".into();
            windows(it).installation = "Client".into();
            build(it, 22631);
        }),
        ("windows-administrator", "the user jörg has no administrator's rights", |it| {
            windows(it).login.user = "jörg".into();
            windows(it).login.admin = false;
        }),
        ("windows-memory", "1024 MiB of memory is too little", |it| it.memory_mib = 1024),
        ("windows-memory", "3072 MiB of memory is little", |it| it.memory_mib = 3072),
        ("windows-page-file", "there is no page file", |it| windows(it).page_files = Some(Vec::new())),
        ("windows-disk", "cleanmgr", |it| it.disks[0].nearly_full = true),
        ("windows-disk", r"C:\ has 24 GiB", |it| {
            it.disks = vec![Disk { size_gib: 24, ..it.disks[0].clone() }];
        }),
        ("windows-restart", "a new name of the machine waits for a restart", |it| {
            windows(it).pending_reboot = vec!["a new name of the machine".into()];
        }),
        ("windows-firewall-policy", "a policy keeps the firewall rules", |it| {
            windows(it).firewall_by_policy = true;
        }),
        ("windows-shell", r"C:\Program Files\Git\bin\bash.exe", |it| {
            windows(it).ssh_shell = r"C:\Program Files\Git\bin\bash.exe".into();
        }),
        ("windows-features", "Containers is off", |it| windows(it).features.clear()),
        ("machine-strangers", "sc.exe delete", |it| {
            it.strangers = vec![r"service docker (C:\Program Files\Docker\dockerd.exe)".into()];
        }),
        ("machine-ports", r"C:\other\agent.exe listens at port 10250", |it| {
            it.taken_ports = vec![10250];
            windows(it).port_owners.insert(10250, r"C:\other\agent.exe".into());
        }),
        ("machine-ports", "another program listens at port 10256", |it| it.taken_ports = vec![10256]),
        ("machine-routes", "overlaps the machine's route", |it| it.routes.push(route("10.244.3.0/24"))),
        ("machine-twins", "as cp1", |it| it.machine_id = debian().machine_id),
        ("machine-versions", "is no release that can be a node", |it| build(it, 14393)),
        ("machine-versions", "Kubernetes has no programs for Windows nodes on Arm", |it| {
            it.arch = "arm64".into();
        }),
        ("machine-versions", "pods lose their network on this update level", |it| windows(it).ubr = 2600),
        ("machine-versions", "pod networks on Windows Server 2025 are less proven", |it| build(it, 26100)),
        ("machine-versions", "Windows Server 2019 is not among", |it| {
            build(it, 17763);
            windows(it).ubr = 9000;
        }),
    ];
    cases.iter().map(|(id, words, spoil)| Case { id, words, findings: find_windows(spoil) }).collect()
}

/// Errors as `remote` makes them; that it does is seen with a real machine, in the test `doctor` of the command.
fn reach_cases() -> Vec<Case> {
    let cases = [
        ("machine-reach", id::MACHINE_UNREACHABLE, "192.168.1.11:22 does not answer: connection refused"),
        ("machine-host-key", id::HOST_KEY_UNKNOWN, "the host key of 192.168.1.11 is not known: ssh-ed25519"),
        ("machine-login", id::LOGIN_REFUSED, "192.168.1.11 does not let us in as root; tried: keys"),
        ("machine-login", id::SSH_KEY_UNUSABLE, "the SSH key /home/ada/.ssh/none does not exist"),
        ("machine-rights", id::MACHINE_UNUSABLE, "the node program must be run as root"),
        (
            "machine-other-cluster",
            id::MACHINE_OF_OTHER_CLUSTER,
            "this machine is a node of the cluster `other`",
        ),
        ("machine-other-cluster", id::MACHINE_BUSY, "ada@desk works on this machine"),
    ];
    let one = |(id, entry, words): (&'static str, &Entry, &'static str)| {
        let error = Error::new(entry, words);
        let findings = unreached(&load(TWO), &[("w1".to_owned(), error)].into());
        Case { id, words, findings }
    };
    cases.into_iter().map(one).collect()
}

#[test]
fn preflight_stops_for_problems_tells_warnings_and_sees_to_the_rest_by_itself() {
    let spec = crate::config::load("two.yaml", TWO.as_bytes(), None, Path::new("/")).unwrap();
    let (mut cp1, mut w1) = (debian(), worker());
    (cp1.memory_mib, cp1.cpus) = (100, 1);
    w1.os.version = "9".into();
    w1.selinux = Some("enforcing".into());
    w1.swaps = vec!["/dev/sda2".into()];
    let facts = [("cp1".to_owned(), cp1), ("w1".to_owned(), w1)].into();
    let known = crate::plan::Known { facts, ..crate::plan::Known::default() };
    let found = crate::preflight::preflight(&spec, &known, &[("w1".to_owned(), (1, NOW))].into());
    let errors: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 4, "{errors:#?}");
    assert!(errors[0].starts_with("cp1: 100 MiB of memory is too little"), "{errors:#?}");
    assert_eq!(found.errors[0].hints, ["give the machine more memory"]);
    let (node, told) = &found.warnings[0];
    assert_eq!((found.warnings.len(), node.as_str()), (1, "w1"));
    assert!(told.starts_with("SELinux is enforcing; if pods"), "{told}");
}

#[test]
fn windows_where_linux_is_asked_for_is_told_once() {
    let facts = [("cp1".to_owned(), windows_2022())].into();
    let found = machines(&Fleet { spec: &load(MIXED), facts: &facts, clocks: &Clocks::new() });
    let words = "the configuration says `os: linux`, but this machine runs Windows Server 2022 Datacenter";
    assert_eq!(found.iter().map(|it| it.what.as_str()).collect::<Vec<_>>(), [words]);
}
