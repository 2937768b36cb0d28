//! Rules about the host that swdt runs on.

mod clusters;
mod machines;
mod system;

use std::path::PathBuf;

pub(super) use clusters::RULES as CLUSTERS;
pub(super) use machines::RULES as MACHINES;
pub(super) use system::RULES as SYSTEM;

use super::Grade;
use crate::spec::ProviderName;

/// What is known of this host. Whatever nobody looked at is empty, and no rule finds anything there.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct HostFacts {
    /// Who shall make machines, by the configuration; empty where none was given.
    pub wanted: Vec<ProviderName>,
    /// Has swdt made machines here that share the kernel?
    pub holds_machines: bool,
    /// Does swdt lack the rights of root?
    pub not_root: bool,
    /// Shall virtual machines be on a bridge?
    pub bridge: bool,
    /// Is there no cgroup hierarchy for machines?
    pub no_cgroups: bool,
    /// Programs that machines by systemd-nspawn need and that are not here.
    pub nspawn_lacks: Vec<Lack>,
    /// The same for virtual machines.
    pub qemu_lacks: Vec<Lack>,
    /// Does the processor itself run virtual machines? None where nobody tried.
    pub kvm: Option<Kvm>,
    /// May machines run machines of their own? None where the kernel does not tell.
    pub nested: Option<bool>,
    /// Versions of programs that are here, as they say it.
    pub qemu: Option<String>,
    /// The same of swtpm.
    pub swtpm: Option<String>,
    /// Firmware that is not here.
    pub no_firmware: Vec<Firmware>,
    /// Room on disks.
    pub places: Vec<Place>,
    /// Memory that is left, in MiB.
    pub memory_left_mib: Option<u64>,
    /// What machines need that are to be made or started.
    pub room: Room,
    /// Does the kernel pass packets on?
    pub forwards: Option<bool>,
    /// Who drops packets that are passed on, in words: `iptables -P FORWARD DROP`.
    pub drops: Option<String>,
    /// Clusters of machines here whose bridges nothing lets through.
    pub shut: Vec<String>,
    /// Does firewalld run?
    pub firewalld: bool,
    /// `fs.inotify.max_user_instances` and `max_user_watches`.
    pub inotify: Option<(u64, u64)>,
    /// Is the clock set by somebody who knows the time? None where nobody can tell.
    pub clock_set: Option<bool>,
    /// Keys that others can read.
    pub open_keys: Vec<OpenFile>,
    /// Directories of swdt that cannot be written to, and why.
    pub closed: Vec<Closed>,
    /// Why the node program for Linux cannot be used.
    pub no_agent: Option<String>,
    /// Why the node program for Windows cannot be used.
    pub no_windows_agent: Option<String>,
    /// Does the configuration, or a cluster, have nodes of Windows?
    pub wants_windows: bool,
    /// Clusters that are gone and still hold settings of this host.
    pub dead_holders: Vec<String>,
    /// Clusters that swdt remembers.
    pub clusters: Vec<ClusterSeen>,
}

/// A program that is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lack {
    /// Its name.
    pub program: &'static str,
    /// The package it comes in.
    pub debian: &'static str,
    /// The same on Fedora.
    pub fedora: &'static str,
}

/// How virtual machines are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kvm {
    /// By the processor; tried.
    Works,
    /// They are emulated, for this reason.
    Emulated(String),
}

/// Firmware of virtual machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// UEFI.
    Uefi,
    /// UEFI that starts only what is signed.
    SecureBoot,
}

/// Room in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// What is there, for people.
    pub what: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// What is free, in MiB.
    pub free_mib: u64,
}

/// What machines take that are to be made or started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// Memory.
    pub memory_mib: u64,
    /// Disk: in which directory, how many MiB are needed there, and how many are free.
    pub disks: Vec<(PathBuf, u64, u64)>,
}

/// A file that others can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// Where.
    pub path: PathBuf,
    /// Its mode.
    pub mode: u32,
}

/// A directory that cannot be written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// Where.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// A cluster as its directory tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterSeen {
    /// Its name.
    pub name: String,
    /// Why its directory cannot be read.
    pub unreadable: Option<String>,
    /// Nodes whose machines swdt made and that are gone.
    pub gone: Vec<String>,
    /// The same that do not run.
    pub stopped: Vec<String>,
    /// Who works on it now, in words.
    pub busy: Option<String>,
    /// How the last run failed: command and error.
    pub failed: Option<(String, String)>,
    /// Work on a snapshot that was broken off.
    pub midway: Option<String>,
}

impl HostFacts {
    fn wants(&self, providers: &[ProviderName]) -> bool {
        self.wanted.iter().any(|wanted| providers.contains(wanted))
    }

    fn wants_nspawn(&self) -> bool {
        self.wants(&[ProviderName::Nspawn, ProviderName::Rehearsal])
    }

    fn wants_qemu(&self) -> bool {
        self.wants(&[ProviderName::Qemu])
    }
}

/// What stops whoever wants it, and is good to know for everybody else.
fn if_wanted(wanted: bool) -> Grade {
    if wanted { Grade::Problem } else { Grade::Note }
}
