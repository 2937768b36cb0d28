//! The file as the user writes it: `swdt.dev/v1alpha1`, kind `Cluster`.
//!
//! These types are the one source of field names. The JSON Schema is made from them, so the doc comments here
//! are what editors show. Every field is an `Option`, also the required ones (`schemars(required)` says so in the
//! schema): a part with a mistake is left out, and the rules still look at the rest.

mod image;
mod kubeadm;

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::spec::{self, ComponentName, Platform};
pub(super) use image::{Edition, Image, ImageDownload};
use kubeadm::Kubeadm;

/// The only version of the format so far.
pub(super) const API_VERSION: &str = "swdt.dev/v1alpha1";

const SHA256_EXAMPLE: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// A Kubernetes cluster with Linux and Windows nodes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Cluster {
    /// Version of this file format.
    #[schemars(required, example = API_VERSION)]
    #[expect(dead_code, reason = "its type says it all: there is one value so far")]
    pub(super) api_version: Option<ApiVersion>,
    /// What this file describes.
    #[schemars(required, example = &"Cluster")]
    #[expect(dead_code, reason = "its type says it all: there is one value so far")]
    pub(super) kind: Option<ClusterKind>,
    /// How the cluster is called.
    #[schemars(required)]
    pub(super) metadata: Option<Metadata>,
    /// Which Kubernetes.
    #[schemars(required)]
    pub(super) kubernetes: Option<Kubernetes>,
    /// Own versions and builds of single components, for all nodes. Whatever is not named here has the version that
    /// goes with the Kubernetes version.
    pub(super) components: Option<BTreeMap<ComponentName, Component>>,
    /// The container runtime.
    pub(super) runtime: Option<Runtime>,
    /// The networks of the cluster.
    pub(super) network: Option<Network>,
    /// The control plane as a whole.
    pub(super) control_plane: Option<ControlPlane>,
    /// Additions to kubeadm's configuration, in kubeadm's own words.
    pub(super) kubeadm: Option<Kubeadm>,
    /// What the nodes share; what a node says itself goes first.
    pub(super) defaults: Option<Defaults>,
    /// The machines of the cluster.
    #[schemars(required, with = "Vec<Node>", length(min = 1))]
    pub(super) nodes: Option<Vec<Option<Node>>>,
}

/// Versions of the file format.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(super) enum ApiVersion {
    #[serde(rename = "swdt.dev/v1alpha1")]
    V1alpha1,
}

/// Kinds of files.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(super) enum ClusterKind {
    Cluster,
}

/// How the cluster is called.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Metadata {
    /// Name of the cluster: lower-case letters, digits and `-`, at most 40 characters.
    #[schemars(required, example = &"my-awesome-cluster", regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub(super) name: Option<String>,
}

/// Which Kubernetes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Kubernetes {
    /// The whole version, with or without a leading `v`. Kubernetes 1.34 to 1.37 are supported.
    #[schemars(required, example = &"1.36.3", regex(pattern = r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+].+)?$"))]
    pub(super) version: Option<String>,
}

/// The container runtime.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Runtime {
    /// Which one.
    #[schemars(extend("default" = "containerd"))]
    pub(super) name: Option<spec::Runtime>,
}

/// The networks of the cluster.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Network {
    /// The pod network.
    pub(super) cni: Option<Cni>,
    /// Addresses for pods. Each node takes a /24 of it; no machine may have an address in it.
    #[serde(rename = "podCIDR")]
    #[schemars(example = &"10.244.0.0/16", extend("default" = "10.244.0.0/16"))]
    pub(super) pod_cidr: Option<String>,
    /// Addresses for services; no machine may have an address in it.
    #[serde(rename = "serviceCIDR")]
    #[schemars(example = &"10.96.0.0/16", extend("default" = "10.96.0.0/16"))]
    pub(super) service_cidr: Option<String>,
}

/// The pod network.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Cni {
    /// Which one.
    #[schemars(extend("default" = "flannel"))]
    pub(super) name: Option<spec::Cni>,
}

/// The control plane as a whole.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ControlPlane {
    /// DNS name under which nodes reach the API, by default `<cluster>-control-plane`. Always a name: kubeadm
    /// cannot change an address into a name later, and more control planes need one. swdt writes it into the
    /// hosts file of each node, so no DNS server is needed.
    #[schemars(example = &"k8s-api.example.com")]
    pub(super) endpoint: Option<String>,
}

/// What the nodes share; what a node says itself goes first.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Defaults {
    /// How to log in to machines that exist already.
    pub(super) connection: Option<Connection>,
    /// The host names of machines that exist already.
    pub(super) hostname: Option<Hostname>,
    /// What machines made by swdt are like.
    pub(super) machine: Option<Machine>,
}

/// A node of the cluster. It has either an `address`, if the machine exists, or a `machine` that swdt makes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Node {
    /// Name of the node: lower-case letters, digits and `-`; on Windows at most 15 characters.
    #[schemars(required, example = &"win1", regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub(super) name: Option<String>,
    /// What the node does. One node must be the control plane.
    #[schemars(extend("default" = "worker"))]
    pub(super) role: Option<spec::Role>,
    /// What the machine runs.
    #[schemars(extend("default" = "linux"))]
    pub(super) os: Option<spec::OsFamily>,
    /// IP address or host name of a machine that exists already.
    #[schemars(example = &"192.168.1.10")]
    pub(super) address: Option<String>,
    /// A machine that swdt makes, and removes with the cluster.
    pub(super) machine: Option<Machine>,
    /// How to log in to the machine at `address`.
    pub(super) connection: Option<Connection>,
    /// The machine's own host name.
    pub(super) hostname: Option<Hostname>,
    /// Labels that the node has from its first moment on.
    #[schemars(example = serde_json::json!({"disk": "fast"}))]
    pub(super) labels: Option<BTreeMap<String, Option<String>>>,
    /// Taints that the node has from its first moment on, as kubectl writes them: `key=value:Effect`, with the effect
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`. What kubeadm gives a control plane stays unless something is
    /// said here; `[]` is none at all.
    #[schemars(with = "Option<Vec<String>>", example = ["os=windows:NoSchedule"])]
    pub(super) taints: Option<Vec<Option<String>>>,
    /// Own versions and builds of single components, for this node.
    pub(super) components: Option<BTreeMap<ComponentName, Component>>,
}

/// A machine that swdt makes, and removes with the cluster.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Machine {
    /// Who makes it: `nspawn` for Linux on the host's kernel, `qemu` for virtual machines, `rehearsal` for a Windows node
    /// without Windows, on which no pods run.
    #[schemars(example = &"nspawn")]
    pub(super) provider: Option<spec::ProviderName>,
    /// Processors.
    #[schemars(example = 2, range(min = 1, max = 512), extend("default" = 2))]
    pub(super) cpus: Option<u32>,
    /// Memory, in `Mi` or `Gi`; when nothing is said `2Gi`, and `4Gi` for a virtual machine of Windows.
    #[schemars(example = &"4Gi", regex(pattern = r"^[0-9]+(Mi|Gi)$"))]
    pub(super) memory: Option<String>,
    /// How large the disk of a virtual machine is, in `Gi`; when nothing is said `20Gi`, and `60Gi` for Windows. It takes
    /// what is written.
    #[schemars(example = &"60Gi", regex(pattern = r"^[0-9]+(Mi|Gi)$"))]
    pub(super) disk: Option<String>,
    /// What the disk of a virtual machine begins as; for Linux `cloud: debian-12` when nothing is said. That of a node takes
    /// the place of the shared one as a whole, `mirror` included.
    pub(super) image: Option<Image>,
    /// What a virtual machine starts with: `bios` for Linux and `uefi` for Windows when nothing is said.
    #[schemars(example = &"uefi")]
    pub(super) firmware: Option<spec::Firmware>,
    /// What virtual machines are plugged into: `bridge` if swdt runs as root, else `segment`.
    pub(super) network: Option<spec::Wiring>,
}

/// How to log in. What is not said here comes from your SSH configuration and agent.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Connection {
    /// The way in: `ssh`, or `local` for a node that is the machine swdt runs on.
    #[schemars(extend("default" = "ssh"))]
    pub(super) via: Option<spec::Via>,
    /// Login name.
    #[schemars(example = &"root")]
    pub(super) user: Option<String>,
    /// Private key file. Relative to this file; `~/` is your home directory.
    #[schemars(example = &"~/.ssh/id_ed25519")]
    pub(super) key: Option<String>,
    /// SSH port; what your ssh configuration says when absent, else 22.
    #[schemars(example = 22, range(min = 1, max = 65535), extend("default" = 22))]
    pub(super) port: Option<u16>,
    /// The host key to expect, as in known_hosts without the host. Your known_hosts decides when it is absent.
    #[schemars(example = &"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI…")]
    pub(super) host_key: Option<String>,
    /// A machine to go through.
    #[schemars(example = &"admin@bastion.example.com:22")]
    pub(super) jump: Option<String>,
    /// Where the password, or the passphrase of the key, comes from. It never stands in this file.
    pub(super) password_from: Option<PasswordFrom>,
}

/// Where a password comes from: exactly one of these.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub(super) struct PasswordFrom {
    /// Name of an environment variable.
    #[schemars(example = &"WIN1_PASSWORD")]
    pub(super) env: Option<String>,
    /// A file, readable by you alone, with the password on its first line.
    #[schemars(example = &"~/.config/swdt/win1.password")]
    pub(super) file: Option<String>,
}

/// The machine's own host name.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Hostname {
    /// Rename the machine to the name of its node? A machine that exists keeps its name otherwise.
    #[schemars(extend("default" = false))]
    pub(super) set: Option<bool>,
}

/// Own version and source of a component.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Component {
    /// Its version, if it is not the one that goes with the Kubernetes version.
    #[schemars(example = &"1.36.3", regex(pattern = r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+].+)?$"))]
    pub(super) version: Option<String>,
    /// Where it comes from. What is named here is used or fails. Without it the first that can serve does: a
    /// bundle, the official release, a build from source; the run says which.
    pub(super) source: Option<Source>,
}

/// Where a component comes from: exactly one of these.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub(super) struct Source {
    /// Files on this host, by platform. Nodes of an operating system without a file are served as if nothing
    /// was named.
    #[schemars(extend("minProperties" = 1))]
    pub(super) files: Option<BTreeMap<Platform, String>>,
    /// A source tree on this host that is built first.
    pub(super) checkout: Option<Checkout>,
    /// Downloads, by platform. Nodes of an operating system without one are served as if nothing was named.
    #[schemars(extend("minProperties" = 1))]
    pub(super) url: Option<BTreeMap<Platform, Download>>,
    /// The official release.
    pub(super) release: Option<Release>,
    /// A tag, branch or commit that is fetched and built first.
    pub(super) build: Option<Build>,
    /// A bundle made by swdt earlier, for use without a network.
    pub(super) bundle: Option<Bundle>,
}

/// A source tree on this host.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Checkout {
    /// Its directory. Relative to this file; `~/` is your home directory.
    #[schemars(required, example = &"~/src/kubernetes")]
    pub(super) path: Option<String>,
}

/// A file to download.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Download {
    /// Where it is.
    #[schemars(required, example = &"https://example.com/kubelet.exe")]
    pub(super) url: Option<String>,
    /// The SHA-256 that it must have: 64 hexadecimal digits.
    #[schemars(required, example = &SHA256_EXAMPLE, regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    pub(super) sha256: Option<String>,
}

/// The official release.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Release {
    /// Base URL of a mirror with the same layout.
    #[schemars(example = &"https://mirror.example.com/kubernetes")]
    pub(super) mirror: Option<String>,
}

/// A tag, branch or commit that is fetched and built first.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Build {
    /// Tag, branch or commit.
    #[schemars(required, example = &"v1.37.0-alpha.1")]
    pub(super) r#ref: Option<String>,
    /// Git repository, if it is not the component's own.
    #[schemars(example = &"https://github.com/kubernetes/kubernetes")]
    pub(super) repository: Option<String>,
}

/// A bundle made by swdt earlier.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Bundle {
    /// Its file. Relative to this file; `~/` is your home directory.
    #[schemars(required, example = &"./swdt-bundle.tar")]
    pub(super) path: Option<String>,
}

// Keys of a map want a plain `enum`, which is what makes editors offer them.

impl JsonSchema for ComponentName {
    fn schema_name() -> Cow<'static, str> {
        "ComponentName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::ALL.iter().map(|name| name.as_str()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

impl JsonSchema for Platform {
    fn schema_name() -> Cow<'static, str> {
        "Platform".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::ALL.iter().map(|name| name.as_str()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
