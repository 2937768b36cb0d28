//! The software of a node: which pieces there are, and where each comes from.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use semver::Version;
use serde::{Deserialize, Serialize};

use super::{OsFamily, Role};

/// A piece of software whose version and source can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComponentName {
    /// Makes and joins the control plane and the nodes.
    Kubeadm,
    /// Runs the pods of a node.
    Kubelet,
    /// Talks to the cluster.
    Kubectl,
    /// Makes services reachable on a node.
    KubeProxy,
    /// The API.
    KubeApiserver,
    /// The controllers.
    KubeControllerManager,
    /// Chooses a node for each pod.
    KubeScheduler,
    /// The store of the control plane.
    Etcd,
    /// Names of services and pods.
    Coredns,
    /// Holds the namespaces of a pod.
    Pause,
    /// The container runtime.
    Containerd,
    /// Starts Linux containers.
    Runc,
    /// Starts Windows containers.
    Hcsshim,
    /// Talks to the container runtime.
    Crictl,
    /// The plain network plugins.
    CniPlugins,
    /// The pod network.
    Flannel,
}

impl ComponentName {
    /// Every component.
    pub const ALL: &[Self] = &[
        Self::Kubeadm,
        Self::Kubelet,
        Self::Kubectl,
        Self::KubeProxy,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Etcd,
        Self::Coredns,
        Self::Pause,
        Self::Containerd,
        Self::Runc,
        Self::Hcsshim,
        Self::Crictl,
        Self::CniPlugins,
        Self::Flannel,
    ];

    /// Its name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kubeadm => "kubeadm",
            Self::Kubelet => "kubelet",
            Self::Kubectl => "kubectl",
            Self::KubeProxy => "kube-proxy",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Etcd => "etcd",
            Self::Coredns => "coredns",
            Self::Pause => "pause",
            Self::Containerd => "containerd",
            Self::Runc => "runc",
            Self::Hcsshim => "hcsshim",
            Self::Crictl => "crictl",
            Self::CniPlugins => "cni-plugins",
            Self::Flannel => "flannel",
        }
    }

    /// Does a node of this role and system run it?
    pub fn runs_on(self, role: Role, os: OsFamily) -> bool {
        match self {
            Self::KubeApiserver | Self::KubeControllerManager | Self::KubeScheduler | Self::Etcd => {
                role == Role::ControlPlane
            }
            Self::Coredns | Self::Runc => os == OsFamily::Linux,
            Self::Hcsshim => os == OsFamily::Windows,
            _ => true,
        }
    }
}

impl fmt::Display for ComponentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the user decided about a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// Its version; when absent, the one that goes with the cluster's Kubernetes version.
    pub version: Option<Version>,
    /// Where its bytes come from; when absent, the first of bundle, release and build that can serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// Where the bytes of a component come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The official release.
    Release {
        /// Base URL of a mirror.
        mirror: Option<String>,
    },
    /// Files on this host.
    Files(BTreeMap<Platform, PathBuf>),
    /// A source tree on this host, built before use.
    Checkout {
        /// Its directory.
        path: PathBuf,
    },
    /// Downloads with known checksums.
    Url(BTreeMap<Platform, Download>),
    /// A tag, branch or commit, fetched and built before use.
    Build {
        /// Git repository; the component's own when absent.
        repository: Option<String>,
        /// Tag, branch or commit.
        reference: String,
    },
    /// A bundle made earlier, for use without a network.
    Bundle {
        /// Its file.
        path: PathBuf,
    },
}

/// A file to download and the checksum it must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Download {
    /// Where it is.
    pub url: String,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
}

/// Operating system and processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Platform {
    /// Linux on x86-64.
    #[serde(rename = "linux/amd64")]
    LinuxAmd64,
    /// Linux on 64-bit Arm.
    #[serde(rename = "linux/arm64")]
    LinuxArm64,
    /// Windows on x86-64.
    #[serde(rename = "windows/amd64")]
    WindowsAmd64,
}

impl Platform {
    /// Every platform.
    pub const ALL: &[Self] = &[Self::LinuxAmd64, Self::LinuxArm64, Self::WindowsAmd64];

    /// Its name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LinuxAmd64 => "linux/amd64",
            Self::LinuxArm64 => "linux/arm64",
            Self::WindowsAmd64 => "windows/amd64",
        }
    }

    /// The usual one of an operating system.
    pub fn usual(os: OsFamily) -> Self {
        match os {
            OsFamily::Linux => Self::LinuxAmd64,
            OsFamily::Windows => Self::WindowsAmd64,
        }
    }

    /// Its operating system.
    pub fn os(self) -> OsFamily {
        match self {
            Self::LinuxAmd64 | Self::LinuxArm64 => OsFamily::Linux,
            Self::WindowsAmd64 => OsFamily::Windows,
        }
    }
}
