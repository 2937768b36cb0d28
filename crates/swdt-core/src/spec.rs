//! The resolved cluster: nothing left to decide, nothing optional that has a default.

mod component;
mod vm;
mod windows_image;

use std::{collections::BTreeMap, fmt, net::IpAddr, path::PathBuf};

use ipnet::Ipv4Net;
use schemars::JsonSchema;
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use component::{Component, ComponentName, Download, Platform, Source};
pub use vm::{Firmware, Image, LinuxRelease, VmSpec, Way, Wiring};
pub use windows_image::{OpenSsh, WindowsImage, WindowsSource};

/// A cluster with nothing left to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Name of the cluster.
    pub name: String,
    /// Kubernetes version.
    pub kubernetes: Version,
    /// Host name of the control plane; always a name, because kubeadm cannot add one later.
    pub endpoint: String,
    /// Container runtime.
    pub runtime: Runtime,
    /// Networks.
    pub network: Network,
    /// What the user adds to kubeadm's configuration.
    #[serde(default, skip_serializing_if = "Kubeadm::is_empty")]
    pub kubeadm: Kubeadm,
    /// Machines, in the order of the file.
    pub nodes: Vec<Node>,
}

/// Container runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Runtime {
    /// containerd.
    Containerd,
}

/// Networks of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Which CNI.
    pub cni: Cni,
    /// Addresses of pods.
    pub pod_cidr: Ipv4Net,
    /// Addresses of services.
    pub service_cidr: Ipv4Net,
}

/// CNIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Cni {
    /// Flannel.
    Flannel,
}

/// What the user adds to kubeadm's configuration, by document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Kubeadm {
    /// `ClusterConfiguration`.
    pub cluster: Map<String, Value>,
    /// `InitConfiguration`.
    pub init: Map<String, Value>,
    /// `JoinConfiguration`.
    pub join: Map<String, Value>,
    /// `KubeletConfiguration`.
    pub kubelet: Map<String, Value>,
    /// `KubeProxyConfiguration`.
    pub kube_proxy: Map<String, Value>,
}

impl Kubeadm {
    /// Nothing added?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A node and where its machine comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name in the cluster.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// What it runs.
    pub os: OsFamily,
    /// Rename the machine to `name`? Existing machines keep their name unless asked.
    pub set_hostname: bool,
    /// Where the machine comes from.
    pub place: Place,
    /// How to log in.
    pub connection: Connection,
    /// Labels from its first moment on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Taints from its first moment on; none said means what kubeadm does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// What the user decided about the components of this node; the catalog decides the rest.
    pub components: BTreeMap<ComponentName, Component>,
}

impl Node {
    /// Is it a Windows node without Windows?
    pub fn is_rehearsal(&self) -> bool {
        matches!(self.place, Place::Machine(MachineSpec { provider: ProviderName::Rehearsal, .. }))
    }
}

/// Keeps pods away from a node, unless they tolerate it. Written as Kubernetes writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// What it is about.
    pub key: String,
    /// A word about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// How far away.
    pub effect: Effect,
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{}", self.key, self.value, self.effect.as_str())
    }
}

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// None comes.
    NoSchedule,
    /// One comes only if there is no other node.
    PreferNoSchedule,
    /// None comes, and those that run must go.
    NoExecute,
}

impl Effect {
    /// Every effect.
    pub const ALL: [Self; 3] = [Self::NoSchedule, Self::PreferNoSchedule, Self::NoExecute];

    /// Its name in Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Runs the control plane.
    ControlPlane,
    /// Runs pods.
    Worker,
}

/// Operating system family of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OsFamily {
    /// Linux.
    Linux,
    /// Windows Server.
    Windows,
}

/// Where a machine comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// It exists; this is its address (IP or name) and SSH port.
    Existing {
        /// IP address or host name.
        address: String,
        /// SSH port; what `ssh -G` says when the file is silent.
        port: Option<u16>,
    },
    /// swdt makes it.
    Machine(MachineSpec),
}

/// A machine that swdt makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSpec {
    /// Who makes it.
    pub provider: ProviderName,
    /// Processors.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// What else a virtual machine is; none for machines of another kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<VmSpec>,
}

/// Who makes machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProviderName {
    /// systemd-nspawn containers on a Linux host.
    Nspawn,
    /// Virtual machines on a Linux host.
    Qemu,
    /// A Windows node without Windows, to learn and to test with: Wine in such a container. It joins as a node of
    /// Windows Server 2022 does; pods do not run on it.
    Rehearsal,
}

impl ProviderName {
    /// Its name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nspawn => "nspawn",
            Self::Qemu => "qemu",
            Self::Rehearsal => REHEARSAL,
        }
    }

    /// Who logs in to the machines it makes.
    pub fn user(self, os: OsFamily) -> &'static str {
        match (self, os) {
            (_, OsFamily::Windows) => "Administrator",
            (Self::Qemu, OsFamily::Linux) => "swdt",
            (_, OsFamily::Linux) => "root",
        }
    }
}

/// The mark of what is made for rehearsals, in the version of a kubelet.
pub const REHEARSAL: &str = "rehearsal";

/// The label of a node that is a rehearsal, and the key of its taint (`NoSchedule`); both have the value `true`.
pub const REHEARSAL_KEY: &str = "swdt.dev/rehearsal";

/// How to log in to a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Which way.
    #[serde(default)]
    pub via: Via,
    /// Login name; for existing machines what `ssh -G` says when the file is silent.
    pub user: Option<String>,
    /// Private key file; agent and `ssh -G` when absent.
    pub key: Option<PathBuf>,
    /// The host key to expect, `ssh-ed25519 AAAA…`; known_hosts decides when absent.
    pub host_key: Option<String>,
    /// `[user@]host[:port]` to go through.
    pub jump: Option<String>,
    /// Where the password (or key passphrase) comes from.
    pub password_from: Option<PasswordFrom>,
}

/// Ways to a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// SSH.
    #[default]
    Ssh,
    /// None: the node is the machine that swdt runs on.
    Local,
}

/// Where a password comes from; never from the file itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PasswordFrom {
    /// An environment variable of this name.
    Env(String),
    /// A file (mode 0600) with the password on its first line.
    File(PathBuf),
}

impl Spec {
    /// Nodes of the control plane.
    pub fn control_planes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.role == Role::ControlPlane)
    }

    /// Variables of the environment that passwords are read from.
    pub fn secret_variables(&self) -> Vec<String> {
        let sources = self.nodes.iter().filter_map(|node| node.connection.password_from.as_ref());
        let names = sources.filter_map(|from| match from {
            PasswordFrom::Env(name) => Some(name.clone()),
            PasswordFrom::File(_) => None,
        });
        names.collect()
    }

    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }
}

/// Where a machine is reached, once it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// IP address or host name.
    pub address: String,
    /// SSH port.
    pub port: u16,
    /// Its IP address in the cluster's network, if known before the first contact.
    pub ip: Option<IpAddr>,
    /// The port of this host's loopback that leads to its API server, where its own address cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<u16>,
}
