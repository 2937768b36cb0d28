//! Hosts, sound and spoiled.

use super::{super::*, Case};
use crate::spec::ProviderName;

/// A host with everything: a Debian 12 that has made machines.
fn debian() -> HostFacts {
    HostFacts {
        wanted: vec![ProviderName::Nspawn, ProviderName::Qemu],
        holds_machines: true,
        kvm: Some(Kvm::Works),
        nested: Some(true),
        qemu: Some("QEMU emulator version 7.2.17 (Debian 1:7.2+dfsg-7+deb12u13)".into()),
        swtpm: Some("TPM emulator version 0.7.1, Copyright (c) 2014-2021 IBM Corp.".into()),
        places: vec![Place { what: "clusters", path: "/data".into(), free_mib: 90_000 }],
        memory_left_mib: Some(12_000),
        room: Room { memory_mib: 4096, disks: vec![("/data".into(), 8192, 90_000)] },
        forwards: Some(true),
        drops: Some("iptables has `-P FORWARD DROP`".into()),
        inotify: Some((8192, 524_288)),
        clock_set: Some(true),
        wants_windows: true,
        clusters: vec![ClusterSeen { name: "demo".into(), ..ClusterSeen::default() }],
        ..HostFacts::default()
    }
}

/// What is found on a host that is spoiled so.
pub(super) fn find(spoil: impl Fn(&mut HostFacts)) -> Vec<Finding> {
    let mut facts = debian();
    spoil(&mut facts);
    host(&facts)
}

pub(super) fn sound() -> Vec<Finding> {
    let mut findings = find(|_| ());
    // A host of which nothing is known, and one that makes no machines.
    findings.extend(host(&HostFacts::default()));
    findings.extend(find(|it| {
        it.wanted.clear();
        it.holds_machines = false;
        it.not_root = true;
        it.forwards = Some(false);
        it.inotify = Some((128, 8192));
        it.memory_left_mib = Some(700);
        it.room = Room::default();
        it.firewalld = true;
    }));
    findings
}

const LACK: Lack = Lack { program: "nft", debian: "nftables", fedora: "nftables" };

pub(super) fn cases() -> Vec<Case> {
    type Spoil = fn(&mut HostFacts);
    let cases: &[(&str, &str, Spoil)] = &[
        ("host-node-program", "for Linux cannot be used", |it| it.no_agent = Some("not there".into())),
        ("host-node-program-windows", "for Windows", |it| it.no_windows_agent = Some("not there".into())),
        ("host-directories", "/data cannot be written to", |it| {
            it.closed = vec![Closed { path: "/data".into(), why: "Permission denied".into() }];
        }),
        ("host-disk", "3000 MiB are free where clusters", |it| it.places[0].free_mib = 3000),
        ("host-disk", "new machines need 8192 MiB", |it| {
            it.room.disks = vec![("/data".into(), 8192, 5000)];
        }),
        ("host-memory", "4096 MiB of memory are needed", |it| it.memory_left_mib = Some(4300)),
        ("host-memory", "this host has 900 MiB", |it| {
            (it.memory_left_mib, it.room.memory_mib) = (Some(900), 0);
        }),
        ("host-clock", "not synchronised", |it| it.clock_set = Some(false)),
        ("host-key-permissions", "mode is 0644", |it| {
            it.open_keys = vec![OpenFile { path: "/home/ada/.ssh/id_rsa".into(), mode: 0o644 }];
        }),
        ("host-nspawn-programs", "apt-get install --yes --no-install-recommends nftables", |it| {
            it.nspawn_lacks = vec![LACK];
        }),
        ("host-root", "rights of root", |it| it.not_root = true),
        ("host-cgroups", "none are mounted", |it| it.no_cgroups = true),
        ("host-qemu-programs", "dnf install --assumeyes nftables", |it| it.qemu_lacks = vec![LACK]),
        ("host-kvm", "gets stuck", |it| it.kvm = Some(Kvm::Emulated("a machine gets stuck".into()))),
        ("host-nested", "of their own", |it| it.nested = Some(false)),
        ("host-qemu-version", "6.2", |it| it.qemu = Some("QEMU emulator version 6.2.0".into())),
        ("host-firmware", "no UEFI firmware for", |it| it.no_firmware = vec![Firmware::Uefi]),
        ("host-secure-boot", "with Secure Boot", |it| it.no_firmware = vec![Firmware::SecureBoot]),
        ("host-swtpm", "0.6.3", |it| it.swtpm = Some("TPM emulator version 0.6.3, IBM".into())),
        ("host-forwarding", "passes no packets on", |it| it.forwards = Some(false)),
        ("host-firewall", "of the cluster demo send", |it| it.shut = vec!["demo".into()]),
        ("host-firewalld", "firewalld runs", |it| it.firewalld = true),
        ("host-inotify", "max_user_instances", |it| it.inotify = Some((128, 524_288))),
        ("host-inotify", "max_user_watches", |it| it.inotify = Some((8192, 8192))),
        ("host-state-unreadable", "expected value at line 1", |it| {
            it.clusters[0].unreadable = Some("state.json cannot be read: expected value at line 1".into());
        }),
        ("host-machines-gone", "w1", |it| it.clusters[0].gone = vec!["w1".into()]),
        ("host-machines-stopped", "w1", |it| it.clusters[0].stopped = vec!["w1".into()]),
        ("host-run-failed", "`create`, failed", |it| {
            it.clusters[0].failed = Some(("create".into(), "w1: no answer".into()));
        }),
        ("host-snapshot-midway", "restoring the snapshot before", |it| {
            it.clusters[0].midway = Some("restoring the snapshot before was broken off".into());
        }),
        // Whoever works on a cluster knows how it is.
        ("host-busy", "process 7", |it| {
            it.clusters[0].busy = Some("`swdt cluster create` works since noon (process 7)".into());
            it.clusters[0].failed = Some(("create".into(), "stopped".into()));
            it.clusters[0].midway = Some("saving".into());
        }),
        ("host-dead-holder", "1a2b3c4d", |it| it.dead_holders = vec!["1a2b3c4d".into()]),
    ];
    cases.iter().map(|(id, words, spoil)| Case { id, words, findings: find(spoil) }).collect()
}

#[test]
fn what_nobody_asked_for_is_a_note() {
    let mut facts = debian();
    facts.qemu_lacks = vec![LACK];
    assert_eq!(host(&facts)[0].grade, Grade::Problem);
    facts.wanted = vec![ProviderName::Nspawn];
    assert_eq!(host(&facts)[0].grade, Grade::Note);
    require(&facts).unwrap();
}

#[test]
fn only_what_is_safe_is_mended() {
    let mendable: std::collections::BTreeSet<&str> =
        cases().iter().filter(|case| case.findings[0].remedy.is_some()).map(|case| case.id).collect();
    assert_eq!(
        mendable.into_iter().collect::<Vec<_>>(),
        [
            "host-forwarding",
            "host-inotify",
            "host-key-permissions",
            "host-machines-stopped",
            "host-nspawn-programs",
            "host-qemu-programs",
        ]
    );
    // Nobody wants packages for machines that nobody wants.
    let unwanted = find(|it| {
        it.wanted.clear();
        it.qemu_lacks = vec![LACK];
        it.nspawn_lacks = vec![LACK];
    });
    assert!(!unwanted.is_empty() && unwanted.iter().all(|finding| finding.remedy.is_none()), "{unwanted:#?}");
}

#[test]
fn what_to_do_names_the_cluster() {
    let found = find(|it| it.clusters[0].failed = Some(("destroy".into(), "a machine is not there".into())));
    let steps: Vec<&str> = found[0].fix.iter().map(|step| step.run.as_str()).collect();
    assert!(steps[0].contains("--cluster demo") && !steps.concat().contains("create"), "{steps:?}");
}
