//! What every command needs of its host.

use super::{HostFacts, if_wanted};
use crate::doctor::{Found, Grade, Look, On, Remedy, Rule};

/// With less, a cluster's artifacts do not fit.
const DISK_MIB: u64 = 4096;
/// With less, even one small node gets into trouble.
const MEMORY_MIB: u64 = 1024;
/// What the host keeps for itself.
const RESERVE_MIB: u64 = 256;

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "host-node-program",
        grade: Grade::Problem,
        title: "the node program is not there",
        cause: "swdt brings a small program to each machine, and carries it along or has it beside itself. Without it \
                no machine can be worked on.",
        fix: &[(On::Anywhere, "install swdt anew; in a clone of its sources: cargo xtask agents")],
        look: Look::Host(|host| missing("Linux", host.no_agent.as_ref(), true)),
    },
    Rule {
        id: "host-node-program-windows",
        grade: Grade::Problem,
        title: "the node program for Windows is not there",
        cause: "Windows nodes need a node program of their own, which is not where swdt looks for it.",
        fix: &[(On::Anywhere, "install swdt anew; in a clone of its sources: cargo xtask agents")],
        look: Look::Host(|host| missing("Windows", host.no_windows_agent.as_ref(), host.wants_windows)),
    },
    Rule {
        id: "host-directories",
        grade: Grade::Problem,
        title: "a directory of swdt cannot be written to",
        cause: "Clusters are remembered in one directory, roots and downloads are kept in another. Both often belong \
                to root after a command was run with sudo.",
        fix: &[
            (On::Linux, "run swdt as the user whom it belongs to: `stat --format=%U DIRECTORY` tells whom"),
            (On::Anywhere, "or keep them elsewhere, with --data-dir and --cache-dir"),
        ],
        look: Look::Host(|host| {
            let one = |it: &super::Closed| {
                Found::new(format!("{} cannot be written to", it.path.display())).seen(it.why.clone())
            };
            host.closed.iter().map(one).collect()
        }),
    },
    Rule {
        id: "host-disk",
        grade: Grade::Warning,
        title: "little room on the disk of this host",
        cause: "The programs and images of one version of Kubernetes take about 1 GiB, a machine begins with 1 to 4 \
                GiB, a build from source takes 8 GiB more.",
        fix: &[
            (
                On::Anywhere,
                "`swdt source prune` shows what can go from the cache, `swdt source prune --yes` removes it",
            ),
            (On::Anywhere, "or keep things elsewhere, with --data-dir and --cache-dir"),
        ],
        look: Look::Room(disk),
    },
    Rule {
        id: "host-memory",
        grade: Grade::Warning,
        title: "little memory is left on this host",
        cause: "Machines that swdt makes take their memory of this host: a control plane 2 GiB, a worker 1 GiB, a \
                Windows node 4 GiB or more.",
        fix: &[(On::Anywhere, "stop other machines, or write a smaller `memory` in the configuration")],
        look: Look::Room(memory),
    },
    Rule {
        id: "host-clock",
        grade: Grade::Warning,
        title: "nobody sets the clock of this host",
        cause: "Certificates are valid from the moment they are made, by the clock of who made them. Where a clock \
                drifts more than five minutes, nodes refuse what they are given.",
        fix: &[
            (On::Debian, "apt-get install --yes systemd-timesyncd && timedatectl set-ntp true"),
            (On::Fedora, "dnf install --assumeyes chrony && systemctl enable --now chronyd"),
        ],
        look: Look::Host(|host| {
            Found::new("the clock of this host is not synchronised")
                .seen("the kernel says that nobody disciplines its clock")
                .only_if(host.clock_set == Some(false))
        }),
    },
    Rule {
        id: "host-key-permissions",
        grade: Grade::Problem,
        title: "others can read a private SSH key",
        cause: "A private key that others can read is no secret any more; ssh refuses to use it.",
        fix: &[(On::Linux, "chmod 600 FILE")],
        look: Look::Host(|host| {
            let one = |key: &super::OpenFile| {
                Found::new(format!("others can read the SSH key {}", key.path.display()))
                    .seen(format!("its mode is {:04o}", key.mode))
                    .remedy(Remedy::Private(key.path.clone()))
            };
            host.open_keys.iter().map(one).collect()
        }),
    },
];

fn missing(system: &str, why: Option<&String>, wanted: bool) -> Vec<Found> {
    let Some(why) = why else { return Vec::new() };
    vec![
        Found::new(format!("the node program for {system} cannot be used"))
            .seen(why.clone())
            .graded(if_wanted(wanted)),
    ]
}

fn disk(host: &HostFacts) -> Vec<Found> {
    let lacking = host.room.disks.iter().filter(|(_, needed, free)| free < needed);
    let lacking = lacking.map(|(dir, needed, free)| {
        let at = dir.display();
        Found::new(format!(
            "new machines need {needed} MiB of disk to begin with, and {free} MiB are free at {at}"
        ))
        .seen(format!("{free} MiB free at {at}"))
        .todo("free some space there, or keep things elsewhere with `--data-dir` and `--cache-dir`")
        .graded(Grade::Problem)
    });
    let mut found: Vec<Found> = lacking.collect();
    found.extend(host.places.iter().filter(|place| place.free_mib < DISK_MIB).map(|place| {
        let path = place.path.display();
        Found::new(format!("{} MiB are free where {} are kept", place.free_mib, place.what)).seen(format!(
            "{} MiB free at {path}; {DISK_MIB} MiB are the least to make a cluster",
            place.free_mib
        ))
    }));
    found
}

fn memory(host: &HostFacts) -> Vec<Found> {
    let Some(left) = host.memory_left_mib else { return Vec::new() };
    let needed = host.room.memory_mib;
    let seen = format!("MemAvailable in /proc/meminfo: {left} MiB");
    if needed > 0 && left < needed.saturating_add(RESERVE_MIB) {
        let what =
            format!("{needed} MiB of memory are needed to start machines, and this host has {left} MiB left");
        let todo = "stop other machines, or write a smaller `memory`";
        return vec![Found::new(what).seen(seen).todo(todo).graded(Grade::Problem)];
    }
    // Who makes no machines here needs no memory for them.
    let here = host.holds_machines || !host.wanted.is_empty();
    Found::new(format!("this host has {left} MiB of memory left"))
        .seen(seen)
        .only_if(here && left < MEMORY_MIB)
}
