//! The resolved cluster: nothing left to decide, nothing optional that has a default.

use std::{net::IpAddr, path::PathBuf};

use ipnet::Ipv4Net;
use semver::Version;
use serde::{Deserialize, Serialize};

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
    /// Machines, in the order of the file.
    pub nodes: Vec<Node>,
}

/// Container runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cni {
    /// Flannel.
    Flannel,
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
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Runs the control plane.
    ControlPlane,
    /// Runs pods.
    Worker,
}

/// Operating system family of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// Who makes machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProviderName {
    /// systemd-nspawn containers on a Linux host.
    Nspawn,
}

/// How to log in to a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
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
}
