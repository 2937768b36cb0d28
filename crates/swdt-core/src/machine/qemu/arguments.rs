//! A virtual machine as a value, and QEMU's command line for it. Pure: what is here can be printed and compared.

use std::path::{Path, PathBuf};

/// A whole machine, with nothing left to decide.
#[derive(Debug, Clone)]
pub(super) struct Vm {
    /// What its process is called.
    pub(super) name: String,
    /// What it will run; Windows wants other clocks than Linux.
    pub(super) guest: Guest,
    /// What executes its instructions.
    pub(super) accelerator: Accelerator,
    /// What it starts with.
    pub(super) firmware: Firmware,
    /// The socket of its TPM.
    pub(super) tpm: Option<PathBuf>,
    /// Processors.
    pub(super) cpus: u32,
    /// Memory in MiB.
    pub(super) memory_mib: u64,
    /// What its disk and its network card look like.
    pub(super) devices: Devices,
    /// Its disk, in the format qcow2.
    pub(super) disk: PathBuf,
    /// Discs in its drives, in their order. The disk goes first when it can be booted from.
    pub(super) discs: Vec<PathBuf>,
    /// A kernel to start in place of what is on the disk.
    pub(super) kernel: Option<Kernel>,
    /// Its network card.
    pub(super) card: Card,
    /// Where its process is found again.
    pub(super) runtime: Runtime,
    /// Where everything it says on its serial line is kept.
    pub(super) console_log: PathBuf,
    /// When its process ends by itself.
    pub(super) ends: Ends,
}

/// When a machine's process ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// When the machine switches itself off.
    WhenOff,
    /// Also when it starts anew, which an installation does when it is done.
    AtRestart,
    /// Never: a machine that switched itself off can be told from one that somebody ended.
    WhenTold,
}

/// What a machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guest {
    Linux,
    Windows,
}

/// What executes a machine's instructions.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Accelerator {
    /// The processor itself.
    Kvm {
        /// The processor as it is shown to the machine; some hosts must hide a feature.
        cpu: String,
    },
    /// A translator: slow, but everywhere.
    Tcg,
}

/// What a machine starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Firmware {
    /// The old way, by the first sector of the disk.
    Bios,
    /// UEFI.
    Uefi {
        /// The program.
        code: PathBuf,
        /// This machine's own variables.
        vars: PathBuf,
        /// Starts only what is signed.
        secure_boot: bool,
    },
}

/// What disk and network card look like to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Devices {
    /// virtio: fast; Windows needs drivers that are not on its disc.
    Virtio,
    /// SATA and an Intel card, which every system knows.
    Inbox,
}

/// A kernel that QEMU starts by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kernel {
    pub(super) image: PathBuf,
    pub(super) initrd: PathBuf,
    pub(super) line: String,
}

/// A network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Card {
    /// `52:54:00:…`
    pub(super) mac: String,
    /// What it is plugged into.
    pub(super) wire: Wire,
}

/// What a network card is plugged into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wire {
    /// A tap interface of the host.
    Tap(String),
    /// A way out of its own, and nobody else.
    Alone,
    /// Nothing.
    Nothing,
    /// The cluster's own switch.
    Segment {
        /// The machine's socket.
        port: PathBuf,
        /// The switch's.
        switch: PathBuf,
    },
}

/// Sockets and the file by which a process is found again. They are gone after a reboot of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Runtime {
    /// Holds the process's id; its path on the command line is what the process is known by.
    pub(super) pid: PathBuf,
    /// QMP.
    pub(super) qmp: PathBuf,
    /// The serial line, to talk on.
    pub(super) console: PathBuf,
}

/// What Windows is told of its host. With UEFI all that this host can do for it: a list of our own would keep the machine
/// from starting where one thing is missing. With BIOS that freezes Windows as it starts (canonical/lxd#18536), so there
/// it is what virt-install has given it for years.
const HYPERV_UEFI: &str = "hv-passthrough=on,hv-evmcs=off";
const HYPERV_BIOS: &str = "hv-relaxed=on,hv-vapic=on,hv-spinlocks=0x1fff,hv-time=on";
/// A node runs no machines of its own, and Windows that sees it could starts a hypervisor below itself.
const NOT_NESTED: &str = "vmx=off,svm=off";
/// For the translator: a processor that exists, without what it cannot do. Windows is particular, and has been seen to
/// run on this one by others (qemus/qemu); `max` has whatever a version of QEMU adds. Its name is that of `max`, by which
/// the node program knows that everything takes longer.
const TRANSLATED_WINDOWS: &str = "Skylake-Client-v4,model-id=QEMU TCG CPU,vmx=off,pcid=off,tsc-deadline=off,invpcid=off,\
     spec-ctrl=off,xsavec=off,xsaves=off,x2apic=off,rdseed=off,3dnowprefetch=off";

impl Vm {
    /// QEMU's arguments.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut line = Line::default();
        line.flag("-nodefaults").flag("-no-user-config");
        line.option("-name", &[("", &self.name), ("process", &self.name)]);
        self.board(&mut line);
        self.storage(&mut line);
        self.start(&mut line);
        self.network(&mut line);
        self.people(&mut line);
        line.words
    }

    fn board(&self, line: &mut Line) {
        let mut machine = vec![("", "q35"), ("vmport", "off")];
        if self.guest == Guest::Windows {
            machine.push(("hpet", "off"));
        }
        let secure = matches!(self.firmware, Firmware::Uefi { secure_boot: true, .. });
        machine.push(("smm", if secure { "on" } else { "off" }));
        if let Firmware::Uefi { code, vars, .. } = &self.firmware {
            machine.extend([("pflash0", "code"), ("pflash1", "vars")]);
            line.file("code", code, "raw", READ);
            line.file("vars", vars, "raw", WRITTEN);
        }
        line.option("-machine", &machine);
        match &self.accelerator {
            Accelerator::Kvm { .. } => line.option("-accel", &[("", "kvm")]),
            Accelerator::Tcg => line.option("-accel", &[("", "tcg"), ("thread", "multi")]),
        };
        line.word("-cpu").word(&self.processor());
        line.word("-smp").word(&self.cpus.to_string()).word("-m").word(&format!("{}M", self.memory_mib));
        let global = |line: &mut Line, driver: &str, property: &str, value: &str| {
            line.option("-global", &[("driver", driver), ("property", property), ("value", value)]);
        };
        if secure {
            global(line, "cfi.pflash01", "secure", "on");
        }
        // A machine that sleeps is a node that is lost.
        global(line, "ICH9-LPC", "disable_s3", "1");
        global(line, "ICH9-LPC", "disable_s4", "1");
        // Windows takes its hardware's clock for the time where it is, and our machines are where it is UTC.
        match self.guest {
            Guest::Linux => line.option("-rtc", &[("base", "utc")]),
            Guest::Windows => line.option("-rtc", &[("base", "utc"), ("driftfix", "slew")]),
        };
        if self.guest == Guest::Windows && self.accelerator != Accelerator::Tcg {
            global(line, "kvm-pit", "lost_tick_policy", "discard");
        }
        if let Some(socket) = &self.tpm {
            line.option("-chardev", &[("", "socket"), ("id", "tpm"), ("path", &text(socket))]);
            line.option("-tpmdev", &[("", "emulator"), ("id", "tpm0"), ("chardev", "tpm")]);
            line.option("-device", &[("", "tpm-crb"), ("tpmdev", "tpm0")]);
        }
    }

    /// The processor as the machine sees it. Windows runs better when it knows that it is not alone.
    fn processor(&self) -> String {
        match (&self.accelerator, self.guest) {
            (Accelerator::Tcg, Guest::Linux) => "max".to_owned(),
            (Accelerator::Tcg, Guest::Windows) => TRANSLATED_WINDOWS.to_owned(),
            (Accelerator::Kvm { cpu }, Guest::Linux) => cpu.clone(),
            (Accelerator::Kvm { cpu }, Guest::Windows) => {
                let knows = if self.firmware == Firmware::Bios { HYPERV_BIOS } else { HYPERV_UEFI };
                format!("{cpu},{knows},{NOT_NESTED}")
            }
        }
    }

    fn storage(&self, line: &mut Line) {
        let access = if self.ends == Ends::AtRestart { PASSING } else { WRITTEN };
        line.file("disk0", &self.disk, "qcow2", access);
        let mut ports = 0..6;
        let mut port = || format!("ide.{}", ports.next().unwrap_or(5));
        let disk = [("drive", "disk0"), ("id", "disk0"), ("bootindex", "1")];
        match self.devices {
            Devices::Virtio => line.option("-device", &[&[("", "virtio-blk-pci")], &disk[..]].concat()),
            Devices::Inbox => {
                line.option("-device", &[&[("", "ide-hd"), ("bus", &port())], &disk[..]].concat())
            }
        };
        // Debian's kernel for clouds knows no SATA; Windows Setup knows nothing but.
        let scsi = self.guest == Guest::Linux && self.devices == Devices::Virtio;
        if scsi && !self.discs.is_empty() {
            line.option("-device", &[("", "virtio-scsi-pci"), ("id", "scsi0")]);
        }
        for (index, disc) in self.discs.iter().enumerate() {
            let (name, order) = (format!("disc{index}"), (index + 2).to_string());
            line.file(&name, disc, "raw", READ);
            let (drive, bus) = if scsi { ("scsi-cd", "scsi0.0".to_owned()) } else { ("ide-cd", port()) };
            line.option(
                "-device",
                &[("", drive), ("bus", &bus), ("drive", &name), ("id", &name), ("bootindex", &order)],
            );
        }
    }

    fn start(&self, line: &mut Line) {
        if let Some(kernel) = &self.kernel {
            line.word("-kernel").word(&text(&kernel.image)).word("-initrd").word(&text(&kernel.initrd));
            line.word("-append").word(&kernel.line);
        }
        let flag = match self.ends {
            Ends::WhenOff => None,
            Ends::AtRestart => Some("-no-reboot"),
            Ends::WhenTold => Some("-no-shutdown"),
        };
        if let Some(flag) = flag {
            line.flag(flag);
        }
    }

    fn network(&self, line: &mut Line) {
        match &self.card.wire {
            Wire::Tap(name) => line.option(
                "-netdev",
                &[("", "tap"), ("id", "net0"), ("ifname", name), ("script", "no"), ("downscript", "no")],
            ),
            Wire::Alone => line.option("-netdev", &[("", "user"), ("id", "net0")]),
            Wire::Nothing => line.option("-netdev", &[("", "hubport"), ("id", "net0"), ("hubid", "0")]),
            Wire::Segment { port, switch } => line.option(
                "-netdev",
                &[
                    ("", "dgram"),
                    ("id", "net0"),
                    ("local.type", "unix"),
                    ("local.path", &text(port)),
                    ("remote.type", "unix"),
                    ("remote.path", &text(switch)),
                ],
            ),
        };
        let card = match self.devices {
            Devices::Virtio => "virtio-net-pci",
            Devices::Inbox => "e1000e",
        };
        // No boot from the network: its menu would only cost time.
        line.option("-device", &[("", card), ("netdev", "net0"), ("mac", &self.card.mac), ("romfile", "")]);
        if self.devices == Devices::Virtio {
            line.option("-device", &[("", "virtio-rng-pci")]);
        }
    }

    /// What a person may look at or talk to, and how the process is found again.
    fn people(&self, line: &mut Line) {
        line.option("-device", &[("", "VGA")]).option("-display", &[("", "none")]);
        line.option(
            "-chardev",
            &[
                ("", "socket"),
                ("id", "serial0"),
                ("path", &text(&self.runtime.console)),
                ("server", "on"),
                ("wait", "off"),
                ("logfile", &text(&self.console_log)),
                ("logappend", "on"),
            ],
        );
        line.word("-serial").word("chardev:serial0");
        line.option(
            "-chardev",
            &[
                ("", "socket"),
                ("id", "qmp"),
                ("path", &text(&self.runtime.qmp)),
                ("server", "on"),
                ("wait", "off"),
            ],
        );
        line.option("-mon", &[("chardev", "qmp"), ("mode", "control")]);
        line.flag("-daemonize").word("-pidfile").word(&text(&self.runtime.pid));
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A command line that grows.
#[derive(Default)]
pub(super) struct Line {
    pub(super) words: Vec<String>,
}

impl Line {
    pub(super) fn word(&mut self, word: &str) -> &mut Self {
        self.words.push(word.to_owned());
        self
    }

    pub(super) fn flag(&mut self, name: &str) -> &mut Self {
        self.word(name)
    }

    /// An option with a list of keys and values; a value without a key stands for itself. Commas in values are doubled:
    /// that is how QEMU tells them from its own.
    pub(super) fn option(&mut self, name: &str, pairs: &[(&str, &str)]) -> &mut Self {
        let pairs = pairs.iter().map(|(key, value)| {
            let value = value.replace(',', ",,");
            if key.is_empty() { value } else { format!("{key}={value}") }
        });
        let value = pairs.collect::<Vec<_>>().join(",");
        self.word(name).word(&value)
    }

    /// A file that a device is made of.
    fn file(&mut self, node: &str, path: &Path, format: &str, access: &[(&str, &str)]) {
        let (file, path) = (format!("{node}-file"), text(path));
        let place = [("driver", "file"), ("node-name", file.as_str()), ("filename", path.as_str())];
        self.option("-blockdev", &[&place, access].concat());
        let image = [("driver", format), ("node-name", node), ("file", file.as_str())];
        self.option("-blockdev", &[&image, access].concat());
    }
}

/// How a file may be used.
const READ: &[(&str, &str)] = &[("read-only", "on")];
const WRITTEN: &[(&str, &str)] = &[("discard", "unmap")];
/// What is thrown away when it is broken off need not be on the host's disk before its end.
const PASSING: &[(&str, &str)] = &[("discard", "unmap"), ("cache.no-flush", "on")];

#[cfg(test)]
mod tests;
