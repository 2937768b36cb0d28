//! Rules for Linux machines.

use swdt_wire::{FirewallFact, Virtualization};

use super::Machine;
use crate::{
    doctor::{Found, Grade, Look, On, Rule},
    spec::Role,
};

/// Distributions we know, with the oldest release that works.
const SYSTEMS: &[(&str, u32, &str)] =
    &[("debian", 12, "Debian 12"), ("ubuntu", 22, "Ubuntu 22.04"), ("fedora", 41, "Fedora 41")];

/// kubeadm refuses less than 1700 MiB on a control plane.
const CONTROL_PLANE_MEMORY_MIB: u64 = 1700;
/// A worker with less cannot run kubelet, containerd and a pod together.
const WORKER_MEMORY_MIB: u64 = 900;
/// kubeadm refuses fewer on a control plane.
const CONTROL_PLANE_CPUS: u32 = 2;

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "machine-release",
        grade: Grade::Problem,
        title: "the system of the machine is not supported",
        cause: "swdt knows the package managers, paths and firewalls of Debian, Ubuntu and Fedora, from the releases \
                on that it was tried with.",
        fix: &[(On::Anywhere, "use Debian 12, Ubuntu 22.04, Fedora 41 or newer")],
        look: Look::Linux(release),
    },
    Rule {
        id: "machine-memory",
        grade: Grade::Problem,
        title: "too little memory",
        cause: "kubeadm refuses a control plane with less than 1700 MiB; a worker with less than 900 MiB cannot run \
                kubelet, containerd and a pod together.",
        fix: &[(On::Anywhere, "give the machine more memory")],
        look: Look::Linux(memory),
    },
    Rule {
        id: "machine-processors",
        grade: Grade::Problem,
        title: "too few processors",
        cause: "kubeadm refuses a control plane with fewer than two processors.",
        fix: &[(On::Anywhere, "give the machine more processors")],
        look: Look::Linux(processors),
    },
    Rule {
        id: "machine-disk",
        grade: Grade::Problem,
        title: "a disk of the machine is nearly full",
        cause: "Programs and images of a node take about 1 GiB. A kubelet whose disk is nearly full removes images \
                and evicts pods.",
        fix: &[
            (On::Linux, "df -h; journalctl --vacuum-size=100M; ctr -n k8s.io images prune --all"),
            (On::Debian, "apt-get clean"),
            (On::Fedora, "dnf clean all"),
        ],
        look: Look::Linux(|it| {
            let full = it.facts.disks.iter().filter(|disk| disk.nearly_full);
            let one = |disk: &swdt_wire::Disk| {
                Found::new(format!("fewer than 2 GiB are free on the file system of {}", disk.path))
                    .seen(format!("{} has {} GiB, fewer than 2 of them free", disk.path, disk.size_gib))
                    .todo("free some space there")
            };
            full.map(one).collect()
        }),
    },
    Rule {
        id: "machine-read-only",
        grade: Grade::Problem,
        title: "the root file system is read-only",
        cause: "Nothing can be installed. A file system turns read-only by itself when its disk has errors.",
        fix: &[(On::Linux, "dmesg | grep -i 'remount\\|i/o error'; mount -o remount,rw /")],
        look: Look::Linux(|it| {
            Found::new("the root file system is read-only")
                .seen("/ is mounted ro")
                .todo(
                    "remount it read-write; if it turned read-only by itself, look at `dmesg` on the machine",
                )
                .only_if(!it.facts.writable)
        }),
    },
    Rule {
        id: "machine-init",
        grade: Grade::Problem,
        title: "the machine does not boot with systemd",
        cause: "kubelet and containerd are run by systemd. Containers and some small systems start with something \
                else.",
        fix: &[(On::Anywhere, "use a system that boots with systemd")],
        look: Look::Linux(|it| {
            let init = &it.facts.init;
            Found::new(format!(
                "the machine was started by `{init}`; kubelet and containerd are run by systemd"
            ))
            .seen(format!("process 1 is `{init}`"))
            .todo("use a system that boots with systemd")
            .only_if(init != "systemd")
        }),
    },
    Rule {
        id: "machine-packages",
        grade: Grade::Problem,
        title: "the machine has no package manager that swdt knows",
        cause: "A few packages of the system are needed: conntrack, socat, nftables and the like.",
        fix: &[(On::Anywhere, "use Debian, Ubuntu or Fedora")],
        look: Look::Linux(|it| {
            Found::new("the machine has neither apt nor dnf")
                .seen("no apt-get and no dnf in its path")
                .todo("use Debian, Ubuntu or Fedora")
                .only_if(it.facts.packages.is_none())
        }),
    },
    Rule {
        id: "machine-selinux",
        grade: Grade::Warning,
        title: "SELinux is enforcing",
        cause: "Pods may be denied access to volumes where their labels do not fit.",
        fix: &[(
            On::Fedora,
            "`setenforce 0` tells whether that is why; `ausearch -m avc` shows what was denied",
        )],
        look: Look::Linux(|it| {
            Found::new("SELinux is enforcing")
                .seen("/sys/fs/selinux/enforce is 1")
                .todo("if pods are denied access to volumes, `setenforce 0` tells whether that is why")
                .only_if(it.facts.selinux.as_deref() == Some("enforcing"))
        }),
    },
    Rule {
        id: "machine-swap",
        grade: Grade::Note,
        title: "swap is on",
        cause: "By default a kubelet does not start where there is swap. swdt switches it off, and on again when the \
                cluster is destroyed. A machine that shares its host's kernel cannot: there the kubelet is told to \
                bear it.",
        fix: &[(On::Linux, "nothing has to be done; `swapoff --all` does it now")],
        look: Look::Linux(|it| {
            let own = it.facts.virtualization == Virtualization::OwnKernel;
            Found::new("swap is on, and will be switched off")
                .seen(it.facts.swaps.join(", "))
                .only_if(own && !it.facts.swaps.is_empty())
        }),
    },
    Rule {
        id: "machine-oom-score",
        grade: Grade::Note,
        title: "the machine may not lower OOM scores",
        cause: "In a container without CAP_SYS_RESOURCE, runc cannot protect the pods of the system from the \
                kernel's OOM killer. swdt lets containers start without it there.",
        fix: &[(On::Anywhere, "give the container CAP_SYS_RESOURCE, if that matters to you")],
        look: Look::Linux(|it| {
            Found::new("pods of the system are not protected when memory runs out")
                .seen("process 1 lacks CAP_SYS_RESOURCE in the first user namespace")
                .only_if(!it.facts.sys_resource)
        }),
    },
    Rule {
        id: "machine-firewall",
        grade: Grade::Note,
        title: "a firewall filters on the machine",
        cause: "swdt opens the ports that a node needs, whichever firewall it is, and closes them again with destroy. \
                Whoever sets the firewall anew by a tool of their own shuts them.",
        fix: &[(
            On::Anywhere,
            "nothing has to be done; a node needs TCP 10250, UDP 4789 (pods), TCP and UDP 30000-32767, a control \
             plane TCP 6443 as well",
        )],
        look: Look::Linux(|it| {
            let name = match it.facts.firewall {
                FirewallFact::None => return Vec::new(),
                FirewallFact::Firewalld => "firewalld",
                FirewallFact::Ufw => "ufw",
                FirewallFact::Nftables => "nftables",
            };
            let what = format!("{name} filters what comes in; swdt opens there what a node needs");
            vec![Found::new(what).seen(format!("{name} is active"))]
        }),
    },
];

fn release(it: &Machine<'_>) -> Vec<Found> {
    let os = &it.facts.os;
    let known: Vec<&str> = SYSTEMS.iter().map(|(_, _, name)| *name).collect();
    let found = |what: String| {
        Found::new(what)
            .seen(format!("os-release: ID={} VERSION_ID={}", os.id, os.version))
            .todo(format!("use {} or newer", known.join(", ")))
    };
    let Some((_, oldest, name)) = SYSTEMS.iter().find(|(id, _, _)| *id == os.id) else {
        return vec![found(format!("{} is not a system that swdt knows", os.name))];
    };
    let major = os.version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    // No version at all is a rolling release (Debian testing): newer than any.
    let old = major.is_some_and(|major| major < *oldest);
    found(format!("{} is too old; the oldest that works is {name}", os.name)).only_if(old)
}

fn memory(it: &Machine<'_>) -> Vec<Found> {
    let (role, needed) = match it.node.role {
        Role::ControlPlane => ("a control plane", CONTROL_PLANE_MEMORY_MIB),
        Role::Worker => ("a worker", WORKER_MEMORY_MIB),
    };
    let have = it.facts.memory_mib;
    Found::new(format!("{have} MiB of memory is too little for {role}, which needs {needed} MiB"))
        .seen(format!("{have} MiB, limits of a surrounding container included"))
        .todo("give the machine more memory")
        .only_if(have < needed)
}

fn processors(it: &Machine<'_>) -> Vec<Found> {
    let cpus = it.facts.cpus;
    let what = format!("{cpus} processor is too few for a control plane, which needs {CONTROL_PLANE_CPUS}");
    Found::new(what)
        .seen(format!("{cpus}, limits of a surrounding container included"))
        .todo("give the machine more processors")
        .only_if(it.node.role == Role::ControlPlane && cpus < CONTROL_PLANE_CPUS)
}
