//! The kinds that only Windows has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A value in the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registry {
    /// Below `HKEY_LOCAL_MACHINE`: `SYSTEM\CurrentControlSet\…`; made when missing.
    pub key: String,
    /// Name of the value.
    pub name: String,
    /// What it shall be.
    pub value: RegistryValue,
}

/// What a value of the registry is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RegistryValue {
    /// Text (`REG_SZ`).
    Text(String),
    /// Text in which `%NAME%` means something (`REG_EXPAND_SZ`).
    Expanded(String),
    /// A number (`REG_DWORD`).
    Number(u32),
    /// Several texts (`REG_MULTI_SZ`).
    List(Vec<String>),
}

/// A service of Windows, made by us. One of the same name that somebody else made is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowsService {
    /// `kubelet`.
    pub name: String,
    /// For people.
    pub display_name: String,
    /// For people, with the cluster's name; `(swdt)` at its end says whose it is.
    pub description: String,
    /// Absolute.
    pub program: String,
    /// Of the program.
    pub arguments: Vec<String>,
    /// When it starts.
    pub start: ServiceStart,
    /// Services that must run before.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Runs now, or does not; either is right where nothing is said.
    pub running: Option<bool>,
    /// The service must have started after these files changed; otherwise it is restarted.
    #[serde(default)]
    pub newer_than: Vec<String>,
}

/// When a service of Windows starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServiceStart {
    /// At boot.
    Automatic,
    /// A while after boot, when the machine has come to rest.
    Delayed,
    /// When somebody asks.
    Manual,
}

/// An optional feature of Windows, enabled with all it needs. May need a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feature {
    /// `Containers`.
    pub name: String,
}

/// A network of the Host Network Service that a program makes by itself, as flanneld does. It is true when it is
/// recorded whether it was there before; undone, it is gone with all that hangs on it, unless it was. Comes before
/// whatever starts the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HnsNetwork {
    /// `flannel.4096`.
    pub name: String,
}

/// What a program is that the node program runs as a service: `swdt-node.exe service NAME` reads
/// `services\NAME.json` of the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceHost {
    /// Absolute.
    pub program: String,
    /// Of the program.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Further arguments that another program writes down; none while its file is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_from: Option<ArgumentsFrom>,
    /// A file without which the program cannot start: it is waited for, and written by somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Further environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Where it is started.
    #[serde(default = "drive")]
    pub directory: String,
    /// Where what it says goes; absolute.
    pub log: String,
    /// The log is put aside when it is larger, in MiB.
    #[serde(default = "log_mib")]
    pub log_mib: u64,
    /// So many logs are put aside.
    #[serde(default = "logs")]
    pub logs: u32,
    /// How long it may take to stop when asked, in seconds; then it is ended.
    #[serde(default = "stop_seconds")]
    pub stop_seconds: u64,
}

/// Arguments in a file of `NAME="…"` lines, separated by blanks, as kubeadm writes them for the kubelet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArgumentsFrom {
    /// Absolute.
    pub file: String,
    /// `KUBELET_KUBEADM_ARGS`.
    pub variable: String,
}

/// Nothing on the machine waits for a restart any more. Made true by restarting it, which ends the run; the next
/// one finds it true and goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restart {}

/// The address that kube-proxy sends from on an overlay network: the second of the node's own range, which only the
/// network's daemon knows. It is taken out of what pods can get, and written into a file made from a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceVip {
    /// Where the daemon writes `FLANNEL_SUBNET=10.244.2.1/24`.
    pub range_from: String,
    /// The directory in which the plugin `host-local` keeps the addresses that are taken.
    pub reserved_in: String,
    /// The file to write.
    pub path: String,
    /// Its text, with the word `SOURCE_VIP` where the address belongs.
    pub template: String,
}

fn drive() -> String {
    r"C:\".into()
}

fn log_mib() -> u64 {
    10
}

fn logs() -> u32 {
    3
}

fn stop_seconds() -> u64 {
    20
}

/// A value of the registry as it was: its type by Windows' own number, its bytes in hex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryWas {
    /// `1` is text, `4` a number, …
    pub kind: u32,
    /// Lower-case hex.
    pub data: String,
}

/// What a Windows machine is, beyond what every machine is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowsFacts {
    /// `20348`.
    pub build: u32,
    /// The update level: `20348.UBR`.
    pub ubr: u32,
    /// `ServerDatacenter`, `ServerStandard`, `Professional`, …
    pub edition: String,
    /// `Server Core`, `Server`, or `Client`.
    pub installation: String,
    /// Features that are enabled, of those that matter: `Containers`, `Microsoft-Hyper-V`.
    pub features: Vec<String>,
    /// Why the machine must be restarted; empty when it need not.
    pub pending_reboot: Vec<String>,
    /// The program sshd gives commands to: `cmd`, `powershell`, or its path.
    pub ssh_shell: String,
    /// Is its firewall on, for any kind of network?
    pub firewall: bool,
    /// Can it run virtual machines of its own? None where nobody can tell.
    pub virtualization: Option<bool>,
    /// Adapters that are up: name, description, MAC address.
    pub adapters: Vec<Adapter>,
    /// Who is logged in.
    #[serde(default)]
    pub login: Login,
    /// Services of Windows that are there, of those that matter: `W32Time`, `WinDefend`.
    #[serde(default)]
    pub services: Vec<String>,
    /// Page files, in Windows' words: `?:\pagefile.sys`, or a path and its sizes. None where nobody can tell.
    #[serde(default)]
    pub page_files: Option<Vec<String>>,
    /// Does a policy keep the machine's own firewall rules from working?
    #[serde(default)]
    pub firewall_by_policy: bool,
    /// Programs that listen at [`crate::Facts::taken_ports`], where they can be told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub port_owners: BTreeMap<u16, String>,
    /// Names of the networks that the Host Network Service has; none where it is not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hns_networks: Vec<String>,
}

/// Who is logged in to a Windows machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The user's own directory.
    pub home: String,
    /// Has the session an administrator's full rights?
    pub admin: bool,
}

/// A network adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Adapter {
    /// As people know it.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Lower-case hex with colons.
    pub mac: String,
}
