//! What the host needs to make machines.

use super::{Firmware, HostFacts, Kvm, Lack, if_wanted};
use crate::doctor::{Found, Grade, Look, On, Remedy, Rule};

/// Older ones lack what swdt asks of them: `-netdev stream` and `dgram`.
const OLDEST_QEMU: (u64, u64) = (7, 2);
/// The first whose TPM starts with what Windows asks of one.
const OLDEST_SWTPM: (u64, u64) = (0, 7);
/// Older ones have older programs, and no packages of newer ones.
const NEWER_DEBIAN: &str = "upgrade the system to Debian 12 or Ubuntu 24.04, whose packages are new enough; on Ubuntu \
                            `do-release-upgrade` does it";
/// What the provider raises them to.
const INOTIFY: (u64, u64) = (8192, 524_288);

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "host-nspawn-programs",
        grade: Grade::Problem,
        title: "programs for machines by systemd-nspawn are missing",
        cause: "Provider `nspawn` makes machines of Debian in containers that boot; provider `rehearsal` is built on \
                it. Both use programs of the host.",
        fix: &[
            (On::Debian, "apt-get install --yes systemd-container mmdebstrap nftables iproute2 util-linux"),
            (On::Fedora, "dnf install --assumeyes systemd-container mmdebstrap nftables iproute util-linux"),
        ],
        look: Look::Host(|host| {
            programs("machines by systemd-nspawn", &host.nspawn_lacks, host.wants_nspawn())
        }),
    },
    Rule {
        id: "host-root",
        grade: Grade::Problem,
        title: "the rights of root are missing",
        cause: "Machines by systemd-nspawn and bridges are made by root only. Machines that you have, and virtual \
                machines on a private segment, need no rights here.",
        fix: &[
            (On::Anywhere, "run swdt as root, for example with sudo"),
            (On::Anywhere, "or write `provider: qemu` with `network: segment`, which needs no rights"),
        ],
        look: Look::Host(root),
    },
    Rule {
        id: "host-cgroups",
        grade: Grade::Problem,
        title: "no cgroups are mounted",
        cause: "systemd in a machine, its kubelet and containerd count and limit by cgroups. In some containers and \
                chroots none are mounted.",
        fix: &[(On::Linux, "mount -t cgroup2 none /sys/fs/cgroup")],
        look: Look::Host(|host| {
            Found::new("machines by systemd-nspawn need cgroups, and none are mounted on this host")
                .seen("no cgroup hierarchy in /proc/self/mountinfo")
                .graded(if_wanted(host.wants_nspawn()))
                .only_if(host.no_cgroups)
        }),
    },
    Rule {
        id: "host-qemu-programs",
        grade: Grade::Problem,
        title: "programs for virtual machines are missing",
        cause: "Provider `qemu` makes virtual machines with QEMU and a few programs of the host, without libvirt.",
        fix: &[
            (
                On::Debian,
                "apt-get install --yes --no-install-recommends qemu-system-x86 qemu-utils ovmf swtpm",
            ),
            (On::Fedora, "dnf install --assumeyes qemu-system-x86-core qemu-img edk2-ovmf swtpm"),
        ],
        look: Look::Host(|host| programs("virtual machines by QEMU", &host.qemu_lacks, host.wants_qemu())),
    },
    Rule {
        id: "host-kvm",
        grade: Grade::Warning,
        title: "virtual machines are emulated",
        cause: "KVM lets the processor itself run virtual machines. Where it is missing or broken, QEMU emulates the \
                processor: everything works, ten to twenty times slower. In a virtual machine, nested virtualisation \
                is usually off; on bare metal, the firmware may have it switched off.",
        fix: &[
            (On::Linux, "`modprobe kvm_intel || modprobe kvm_amd`; then look at `dmesg`"),
            (
                On::Linux,
                "`usermod --append --groups kvm \"$USER\"`, and log in again, if /dev/kvm may not be opened",
            ),
            (
                On::Anywhere,
                "switch on VT-x or AMD-V in the firmware; in a virtual machine, nested virtualisation on \
              its host",
            ),
        ],
        look: Look::Host(kvm),
    },
    Rule {
        id: "host-nested",
        grade: Grade::Note,
        title: "nested virtualisation is off",
        cause: "Machines on this host cannot run machines of their own: no Hyper-V isolation in a Windows guest, and \
                no KVM in a Linux guest. Kubernetes itself needs neither.",
        fix: &[(
            On::Linux,
            "`echo 'options kvm_intel nested=1' > /etc/modprobe.d/kvm.conf` (kvm_amd on AMD), then load \
              the module anew",
        )],
        look: Look::Host(|host| {
            Found::new("virtual machines on this host cannot run virtual machines of their own")
                .seen("the parameter `nested` of the kernel's module is off")
                .only_if(host.nested == Some(false) && host.kvm == Some(Kvm::Works))
        }),
    },
    Rule {
        id: "host-qemu-version",
        grade: Grade::Warning,
        title: "QEMU is too old",
        cause: "Without root, virtual machines are connected by sockets that QEMU knows since 7.2.",
        fix: &[
            (On::Debian, NEWER_DEBIAN),
            (On::Fedora, "dnf upgrade --assumeyes qemu-system-x86-core"),
            (On::Anywhere, "or run swdt as root, and write `network: bridge`, which needs no such sockets"),
        ],
        look: Look::Host(|host| older("QEMU", host.qemu.as_ref(), OLDEST_QEMU, host.wants_qemu())),
    },
    Rule {
        id: "host-firmware",
        grade: Grade::Problem,
        title: "there is no UEFI firmware for virtual machines",
        cause: "Windows machines, and others with `firmware: uefi`, start with OVMF, which distributions package by itself.",
        fix: &[(On::Debian, "apt-get install --yes ovmf"), (On::Fedora, "dnf install --assumeyes edk2-ovmf")],
        look: Look::Host(|host| firmware(host, Firmware::Uefi, "UEFI firmware")),
    },
    Rule {
        id: "host-secure-boot",
        grade: Grade::Problem,
        title: "there is no firmware with Secure Boot",
        cause: "Machines with `firmware: secure-boot` start only what is signed; that takes a variant of OVMF with \
                keys enrolled.",
        fix: &[(On::Debian, "apt-get install --yes ovmf"), (On::Fedora, "dnf install --assumeyes edk2-ovmf")],
        look: Look::Host(|host| firmware(host, Firmware::SecureBoot, "UEFI firmware with Secure Boot")),
    },
    Rule {
        id: "host-swtpm",
        grade: Grade::Warning,
        title: "swtpm is too old",
        cause: "Windows Server 2025 and machines with Secure Boot want a TPM 2.0, which swtpm plays.",
        fix: &[
            (On::Debian, NEWER_DEBIAN),
            (On::Fedora, "dnf upgrade --assumeyes swtpm"),
            (On::Anywhere, "or write `firmware: uefi`: such a machine has no TPM"),
        ],
        look: Look::Host(|host| older("swtpm", host.swtpm.as_ref(), OLDEST_SWTPM, host.wants_qemu())),
    },
    Rule {
        id: "host-forwarding",
        grade: Grade::Problem,
        title: "this host passes no packets on",
        cause: "Machines here reach everything else through this host. swdt switches forwarding on with the first \
                machine; somebody switched it off since.",
        fix: &[(On::Linux, "sysctl --write net.ipv4.ip_forward=1")],
        look: Look::Host(|host| {
            Found::new("machines on this host reach nothing outside: it passes no packets on")
                .seen("net.ipv4.ip_forward is 0")
                .remedy(Remedy::Raise("net/ipv4/ip_forward", 1))
                .only_if(host.forwards == Some(false) && host.holds_machines)
        }),
    },
    Rule {
        id: "host-firewall",
        grade: Grade::Problem,
        title: "a firewall shuts machines in",
        cause: "Docker and ufw drop whatever is passed on and not theirs. swdt puts two rules for each cluster in \
                front; reloading the firewall takes them away.",
        fix: &[
            (On::Anywhere, "`swdt node stop NODE`, then `swdt node start NODE`: that puts the rules back"),
            (On::Linux, "`ufw default allow routed`, if you trust what is on this host"),
        ],
        look: Look::Host(firewall),
    },
    Rule {
        id: "host-firewalld",
        grade: Grade::Note,
        title: "firewalld runs on this host",
        cause: "firewalld refuses what comes from interfaces it does not know. Machines on a bridge of swdt may then \
                not reach this host, or each other.",
        fix: &[(On::Linux, "`firewall-cmd --zone=trusted --add-interface=BRIDGE`; `ip link` shows it: sw…")],
        look: Look::Host(|host| {
            let here = host.holds_machines || host.wants_nspawn() || host.wants_qemu();
            Found::new("firewalld runs, and may keep machines on this host from reaching each other")
                .seen("the service firewalld is active")
                .only_if(host.firewalld && here)
        }),
    },
    Rule {
        id: "host-inotify",
        grade: Grade::Warning,
        title: "machines on this host can watch too few files",
        cause: "systemd, kubelet and containerd of all machines that share this kernel watch files, all as the same \
                user. When the limit is reached, services fail with \"too many open files\".",
        fix: &[(
            On::Linux,
            "sysctl --write fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288",
        )],
        look: Look::Host(inotify),
    },
];

fn programs(what: &str, lacks: &[Lack], wanted: bool) -> Vec<Found> {
    if lacks.is_empty() {
        return Vec::new();
    }
    let list = |of: fn(&Lack) -> &'static str| {
        let mut names: Vec<_> = lacks.iter().map(of).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let names: Vec<_> = lacks.iter().map(|lack| format!("`{}`", lack.program)).collect();
    let found = Found::new(format!("{what} need what this host lacks: {}", names.join(", ")))
        .seen("not in /usr/sbin, /usr/bin, /sbin, /bin, /usr/local/sbin, /usr/local/bin")
        .todo(format!(
            "Debian, Ubuntu: apt-get install --yes --no-install-recommends {}",
            list(|lack| lack.debian).join(" ")
        ))
        .todo(format!("Fedora: dnf install --assumeyes {}", list(|lack| lack.fedora).join(" ")))
        .graded(if_wanted(wanted));
    // Nobody wants packages for machines that nobody wants.
    vec![if wanted { found.remedy(Remedy::Install(list(|lack| lack.debian))) } else { found }]
}

fn root(host: &HostFacts) -> Vec<Found> {
    let by_nspawn = Found::new("machines by systemd-nspawn need what this host lacks: the rights of root")
        .todo("run swdt as root, for example with sudo");
    let by_bridge =
        Found::new("virtual machines by QEMU need what this host lacks: the rights of root, for a bridge")
            .todo("run swdt as root, or write `network: segment`, which needs no rights");
    let found = [(by_nspawn, host.wants_nspawn()), (by_bridge, host.wants_qemu() && host.bridge)];
    let found = found.into_iter().filter(|(_, wanted)| *wanted && host.not_root);
    found.map(|(found, _)| found.seen("the effective user is not 0")).collect()
}

fn kvm(host: &HostFacts) -> Vec<Found> {
    let Some(Kvm::Emulated(why)) = &host.kvm else { return Vec::new() };
    let grade = if host.wants_qemu() { Grade::Warning } else { Grade::Note };
    let what = "virtual machines are emulated, ten to twenty times slower than they could be";
    vec![Found::new(what).seen(why.clone()).graded(grade)]
}

/// The first number with a dot in what a program says of itself.
fn version(words: &str) -> Option<(u64, u64)> {
    let is_version = |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let word = words.split([' ', ',', '(', ')']).find(is_version)?;
    let mut parts = word.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn older(name: &str, said: Option<&String>, oldest: (u64, u64), wanted: bool) -> Vec<Found> {
    let Some(said) = said else { return Vec::new() };
    let old = version(said).is_some_and(|version| version < oldest);
    Found::new(format!("{name} is older than {}.{}, the oldest that swdt was tried with", oldest.0, oldest.1))
        .seen(format!("it says: {said}"))
        .graded(if wanted { Grade::Warning } else { Grade::Note })
        .only_if(old)
}

fn firmware(host: &HostFacts, which: Firmware, words: &str) -> Vec<Found> {
    Found::new(format!("this host has no {words} for virtual machines"))
        .seen("no descriptor in /etc/qemu/firmware or /usr/share/qemu/firmware names one that is there")
        .graded(if_wanted(host.wants_qemu()))
        .only_if(host.no_firmware.contains(&which))
}

fn firewall(host: &HostFacts) -> Vec<Found> {
    let Some(drops) = &host.drops else { return Vec::new() };
    let shut = host.shut.iter().map(|cluster| {
        Found::new(format!("the firewall of this host drops what machines of the cluster {cluster} send"))
            .seen(format!("{drops}, and no rule of swdt in front of it"))
    });
    shut.collect()
}

fn inotify(host: &HostFacts) -> Vec<Found> {
    let Some((instances, watches)) = host.inotify.filter(|_| host.holds_machines) else { return Vec::new() };
    let one = |key: &'static str, have: u64, least: u64| {
        Found::new(format!("machines on this host share {have} of {}", key.replace('/', ".")))
            .seen(format!("{have}; swdt had set it to {least}"))
            .remedy(Remedy::Raise(key, least))
            .only_if(have < least)
    };
    let mut found = one("fs/inotify/max_user_instances", instances, INOTIFY.0);
    found.extend(one("fs/inotify/max_user_watches", watches, INOTIFY.1));
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_read_as_programs_say_them() {
        assert_eq!(super::version("QEMU emulator version 7.2.17 (Debian 1:7.2+dfsg-7)"), Some((7, 2)));
        assert_eq!(super::version("TPM emulator version 0.7.1, Copyright (c) 2014"), Some((0, 7)));
        assert_eq!(super::version("nothing"), None);
    }
}
