//! The resources: what can be made true on a machine, as data.
//!
//! A new kind is one struct and one line in [`Kind`] here, and one file in `swdt-node/src/resources`.

use serde::{Deserialize, Serialize};

use crate::{Feature, HnsNetwork, Registry, Restart, Secret, SourceVip, WindowsService};

/// One thing that shall be true on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// `phase/name`, stable, for people and for `--skip`.
    pub id: String,
    /// What shall be true.
    pub kind: Kind,
}

impl Resource {
    /// A resource of a kind.
    pub fn new(id: impl Into<String>, kind: Kind) -> Self {
        Self { id: id.into(), kind }
    }

    /// A copy that may be written to disk: secrets replaced.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut copy = self.clone();
        match &mut copy.kind {
            Kind::File(File { content: content @ Content::Secret(_), .. }) => {
                *content = Content::Secret(Secret::new(""));
            }
            Kind::KubeadmJoin(join) => join.token = None,
            Kind::ClientConfig(config) => config.token = None,
            // An object may be a secret, and the whole may be large; nothing on the machine is undone with it.
            Kind::Manifest(manifest) => manifest.yaml.clear(),
            _ => {}
        }
        copy
    }
}

/// The kinds of resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Kind {
    /// A file with these bytes.
    File(File),
    /// A directory.
    Dir(Dir),
    /// The contents of an archive, unpacked.
    Archive(Archive),
    /// A line in a file that others write to as well.
    Line(Line),
    /// The machine's name.
    Hostname(Hostname),
    /// A kernel setting, now and after a restart.
    Sysctl(Sysctl),
    /// A kernel module, now and after a restart.
    KernelModule(KernelModule),
    /// No swap, now and after a restart.
    Swap(Swap),
    /// Packages of the distribution.
    Package(Package),
    /// A system service.
    Service(Service),
    /// Ports that must be reachable.
    Firewall(Firewall),
    /// A directory in everybody's PATH.
    EnvPath(EnvPath),
    /// A container image that the runtime holds.
    Image(Image),
    /// The control plane, made by `kubeadm init`.
    KubeadmInit(KubeadmInit),
    /// Membership of the cluster, made by `kubeadm join`.
    KubeadmJoin(KubeadmJoin),
    /// Objects of the cluster, applied on the control plane.
    Manifest(Manifest),
    /// Something that becomes true by itself, and is waited for.
    Condition(Condition),
    /// A value in the registry of Windows.
    Registry(Registry),
    /// A service of Windows, made by us.
    WindowsService(WindowsService),
    /// An optional feature of Windows.
    Feature(Feature),
    /// Nothing on the machine waits for a restart.
    Restart(Restart),
    /// The address that kube-proxy sends from on Windows.
    SourceVip(SourceVip),
    /// A kubeconfig of a service account.
    ClientConfig(ClientConfig),
    /// A network of Windows that a program makes by itself.
    HnsNetwork(HnsNetwork),
    /// What programs leave on the machine by themselves, so that it can go with them.
    Traces(Traces),
}

impl Kind {
    /// What the resource is about, whatever its id: two resources with one target are the same
    /// thing on the machine, and the first receipt of a target is what revert goes back to.
    pub fn target(&self) -> String {
        match self {
            Self::File(File { path, .. }) => format!("file:{path}"),
            Self::Dir(Dir { path, .. }) => format!("dir:{path}"),
            // Several archives may share a directory, so the bytes are part of what it is about; what
            // a newer archive overwrites of an older one is put back before the older one goes.
            Self::Archive(Archive { blob, into, strip, only, .. }) => {
                format!("archive:{into}:{}:{strip}:{}", blob.sha256, only.join(","))
            }
            Self::Line(Line { path, line }) => format!("line:{path}:{line}"),
            Self::Hostname(_) => "hostname".into(),
            Self::Sysctl(Sysctl { key, .. }) => format!("sysctl:{key}"),
            Self::KernelModule(KernelModule { name }) => format!("module:{name}"),
            Self::Swap(_) => "swap".into(),
            Self::Package(Package { names }) => format!("package:{}", names.join(",")),
            Self::Service(Service { name, .. }) | Self::WindowsService(WindowsService { name, .. }) => {
                format!("service:{name}")
            }
            Self::Firewall(_) => "firewall".into(),
            Self::EnvPath(EnvPath { dir }) => format!("path:{dir}"),
            Self::Image(Image { reference, .. }) => format!("image:{reference}"),
            Self::KubeadmInit(_) | Self::KubeadmJoin(_) => "kubeadm".into(),
            Self::Manifest(Manifest { name, .. }) => format!("manifest:{name}"),
            Self::Condition(Condition { what, .. }) => format!("condition:{what}"),
            Self::Registry(Registry { key, name, .. }) => format!("registry:{key}:{name}"),
            Self::Feature(Feature { name }) => format!("feature:{name}"),
            Self::Restart(_) => "restart".into(),
            Self::SourceVip(SourceVip { path, .. }) | Self::ClientConfig(ClientConfig { path, .. }) => {
                format!("file:{path}")
            }
            Self::HnsNetwork(HnsNetwork { name }) => format!("hns-network:{name}"),
            Self::Traces(Traces { of, .. }) => format!("traces:{of}"),
        }
    }

    /// Does it hold something that must not be written down?
    pub fn is_secret(&self) -> bool {
        matches!(
            self,
            Self::File(File { content: Content::Secret(_), .. })
                | Self::KubeadmJoin(KubeadmJoin { token: Some(_), .. })
                | Self::ClientConfig(ClientConfig { token: Some(_), .. })
        )
    }

    /// Digests of the blobs the node must hold to apply this.
    pub fn blobs(&self) -> Vec<&str> {
        match self {
            Self::File(File { content: Content::Blob(blob), .. })
            | Self::Archive(Archive { blob, .. })
            | Self::Image(Image { blob, .. }) => vec![&blob.sha256],
            _ => Vec::new(),
        }
    }
}

/// A file with these bytes, this mode, owned by root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Absolute.
    pub path: String,
    /// The bytes.
    pub content: Content,
    /// Permission bits, e.g. `0o644`.
    pub mode: u32,
}

/// Bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Content {
    /// In the request itself.
    Text(String),
    /// In the node's blob store.
    Blob(Blob),
    /// In the request, and nowhere else.
    Secret(Secret),
}

/// Bytes in the node's content-addressed store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// Lower-case hex.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
}

/// A directory of this mode, owned by root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dir {
    /// Absolute.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
}

/// The contents of an archive, unpacked into a directory that others may use as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Archive {
    /// The archive.
    pub blob: Blob,
    /// Its format.
    pub format: ArchiveFormat,
    /// Absolute directory to unpack into.
    pub into: String,
    /// Leading path components to drop.
    #[serde(default)]
    pub strip: u32,
    /// Only entries under one of these paths (after `strip`); all when empty.
    #[serde(default)]
    pub only: Vec<String>,
}

/// Formats of archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ArchiveFormat {
    /// Plain tar.
    Tar,
    /// gzip-compressed tar.
    TarGz,
}

/// Exactly this line, once, in a file that others write to as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// Absolute; created when missing.
    pub path: String,
    /// Without line end.
    pub line: String,
}

/// The machine's name, now and after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hostname {
    /// The name.
    pub name: String,
}

/// A kernel setting, now and after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sysctl {
    /// `net.ipv4.ip_forward`.
    pub key: String,
    /// As the kernel prints it, fields separated by one blank.
    pub value: String,
}

/// A kernel module, loaded now and after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KernelModule {
    /// Its name.
    pub name: String,
}

/// No swap: none in use, none in fstab, no swap unit, no zram generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Swap {}

/// Packages of the distribution, any version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Package {
    /// Their names.
    pub names: Vec<String>,
}

/// A system service. Its unit file is a [`File`] of its own, earlier in the list. On Windows one that Windows
/// brings; those of ours are [`WindowsService`]s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// With suffix: `containerd.service`; on Windows without: `W32Time`.
    pub name: String,
    /// Starts at boot.
    pub enabled: bool,
    /// Runs now.
    pub running: bool,
    /// The service must have started after these files changed; otherwise it is restarted.
    #[serde(default)]
    pub newer_than: Vec<String>,
}

/// Ports that must be reachable from other machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Firewall {
    /// Which ports.
    pub ports: Vec<PortRange>,
}

/// Ports of one protocol, both ends included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortRange {
    /// Transport protocol.
    pub protocol: Protocol,
    /// First port.
    pub from: u16,
    /// Last port.
    pub to: u16,
}

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A directory in everybody's PATH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvPath {
    /// Absolute.
    pub dir: String,
}

/// A container image in the runtime's `k8s.io` namespace, imported from an OCI archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// `registry.k8s.io/pause:3.10.2`.
    pub reference: String,
    /// Digest of the image's manifest, `sha256:…`; tells an image of the same name but other bytes.
    pub digest: String,
    /// The archive.
    pub blob: Blob,
}

/// The control plane, made by `kubeadm init`. Undone by `kubeadm reset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmInit {
    /// Configuration documents (`kubeadm.k8s.io/v1beta4` and friends), YAML.
    pub config: String,
    /// Preflight errors to ignore, by name.
    pub ignore: Vec<String>,
}

/// Membership of the cluster, made by `kubeadm join`. Undone by `kubeadm reset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeadmJoin {
    /// Configuration document, YAML, with the word `TOKEN` where the token belongs.
    pub config: String,
    /// The bootstrap token; only there when a node must join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// Preflight errors to ignore, by name.
    pub ignore: Vec<String>,
}

/// A kubeconfig with a token of a service account, for a program that runs on the machine itself. True as long as the
/// token lives long enough; the token is only sent when a new one is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    /// Absolute; for administrators alone.
    pub path: String,
    /// `https://…:6443`.
    pub server: String,
    /// The cluster's authority: PEM, in base64.
    pub authority: String,
    /// Namespace of the service account.
    pub namespace: String,
    /// Its name.
    pub account: String,
    /// A new token; only there when one is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// A new one is needed when the old one lives less than so many days.
    pub renew_days: u32,
}

/// Objects of the cluster, applied server-side on the control plane as field manager `swdt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// For people and receipts.
    pub name: String,
    /// Documents, YAML.
    pub yaml: String,
}

/// Something that becomes true by itself, and is waited for. What is asked of the cluster is asked on the control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What shall be true.
    pub what: Truth,
    /// How long to wait, in seconds.
    pub patience: u64,
}

/// What programs leave on the machine by themselves. It is true when it is recorded what was there before them;
/// undone, whatever was not there is gone, and kernel settings have the values that they had. Comes before whatever
/// starts the programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Traces {
    /// Whose traces, for people and receipts.
    pub of: String,
    /// Directories, absolute.
    pub dirs: Vec<String>,
    /// Kernel settings.
    #[serde(default)]
    pub sysctls: Vec<String>,
}

/// What can be waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Truth {
    /// The API server answers `/readyz`.
    ApiReady,
    /// A file is there, which a program writes.
    FileExists {
        /// Absolute.
        path: String,
    },
    /// A program on the machine says that it is well: it answers 200.
    Healthy {
        /// `http://127.0.0.1:10256/healthz`.
        url: String,
    },
    /// A network of the Host Network Service is there and has an address of the machine.
    HnsNetwork {
        /// Its name.
        name: String,
    },
    /// A node says `Ready`.
    NodeReady {
        /// Its name.
        name: String,
    },
    /// All wanted pods of a DaemonSet are ready and up to date.
    DaemonSet {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// All wanted pods of a Deployment are available and up to date.
    Deployment {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl std::fmt::Display for Truth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ApiReady => f.write_str("the API server is ready"),
            Self::FileExists { path } => write!(f, "{path} is there"),
            Self::Healthy { url } => write!(f, "{url} says that it is well"),
            Self::HnsNetwork { name } => write!(f, "the network {name} of Windows is ready"),
            Self::NodeReady { name } => write!(f, "node {name} is ready"),
            Self::DaemonSet { namespace, name } => write!(f, "daemon set {namespace}/{name} is ready"),
            Self::Deployment { namespace, name } => write!(f, "deployment {namespace}/{name} is available"),
        }
    }
}
