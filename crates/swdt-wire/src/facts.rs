use serde::{Deserialize, Serialize};

use crate::WindowsFacts;

/// What a machine is, as far as planning needs to know. Cheap to gather: no program is started
/// where a file tells the same.
///
/// Only lasting things belong here: facts that are equal to the remembered ones let a run end after
/// one exec, so nothing that changes by itself (free memory, clock, uptime) may be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// The operating system.
    pub os: Os,
    /// `amd64` or `arm64`, in Go's words, because Kubernetes uses them.
    pub arch: String,
    /// Name the machine has now.
    pub hostname: String,
    /// Changes at every boot.
    pub boot_id: String,
    /// Stays over boots; two machines with one id are clones that kubelet would confuse.
    pub machine_id: String,
    /// Firmware's id of the machine, where one can be read.
    pub product_uuid: Option<String>,
    /// Usable processors, limits of a surrounding container included.
    pub cpus: u32,
    /// Usable memory in MiB, limits of a surrounding container included.
    pub memory_mib: u64,
    /// File systems that matter.
    pub disks: Vec<Disk>,
    /// Addresses other machines could reach (no loopback, no link-local).
    pub addresses: Vec<Address>,
    /// Under what the machine runs.
    pub virtualization: Virtualization,
    /// Is the processor a program, as QEMU's is without KVM? Everything takes ten times as long then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// 1 or 2; hybrid counts as 1. 0 where there are none.
    pub cgroup: u8,
    /// May processes lower their OOM score (CAP_SYS_RESOURCE)? runc needs to.
    pub sys_resource: bool,
    /// `systemd`, or what PID 1 calls itself.
    pub init: String,
    /// `apt`, `dnf`, or none.
    pub packages: Option<String>,
    /// Which firewall is active.
    pub firewall: Firewall,
    /// `enforcing`, `permissive`, or none where SELinux is off.
    pub selinux: Option<String>,
    /// Swap devices and files in use.
    pub swaps: Vec<String>,
    /// Is the root file system writable?
    pub writable: bool,
    /// What only Windows has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<WindowsFacts>,
    /// Networks that are routed, without those of pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// What is there of container runtimes and clusters that swdt did not make: paths, and services of Windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strangers: Vec<String>,
    /// TCP ports of Kubernetes at which somebody else listens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_ports: Vec<u16>,
}

/// The operating system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Os {
    /// `linux` or `windows`.
    pub family: String,
    /// `debian`, `ubuntu`, `fedora`, … as in os-release.
    pub id: String,
    /// `12`, `24.04`, … as in os-release; build number on Windows.
    pub version: String,
    /// For people.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
}

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// A path on it.
    pub path: String,
    /// Its size in GiB, rounded down.
    pub size_gib: u64,
    /// Fewer than 2 GiB free? (Exact free space changes by itself and would spoil comparing facts.)
    pub nearly_full: bool,
}

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// Name of the interface.
    pub interface: String,
    /// Address and prefix length, `192.168.1.10/24`.
    pub cidr: String,
}

/// A network that is routed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Which network, `10.0.0.0/8`.
    pub to: String,
    /// Over which interface.
    pub interface: String,
}

/// Under what a machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Virtualization {
    /// Its own kernel: bare metal or a VM.
    OwnKernel,
    /// A container that shares its host's kernel: swap, modules, clock and some sysctls are the host's.
    SharedKernel,
}

/// An active firewall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Firewall {
    /// Nothing filters incoming traffic.
    None,
    /// firewalld runs.
    Firewalld,
    /// ufw is enabled.
    Ufw,
    /// An nftables input chain of somebody else filters.
    Nftables,
}
