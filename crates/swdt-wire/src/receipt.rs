//! Receipts: what was there before, written and fsynced before each act.

use serde::{Deserialize, Serialize};

use crate::{RegistryWas, Resource};

/// One line of the receipt file of a machine; the file only grows until the machine is reverted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// [`crate::RECEIPT_VERSION`] of the writer.
    pub schema: u32,
    /// Seconds since the epoch, by the node's clock.
    pub at: u64,
    /// The run that wrote it.
    pub run: String,
    /// What it says.
    pub entry: Entry,
}

/// What a receipt says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Entry {
    /// First line: the machine belongs to this cluster from now on.
    Opened {
        /// The cluster.
        cluster: String,
    },
    /// Before the act: this resource is about to be made true; before, the machine was like that.
    Intent {
        /// Redacted.
        resource: Resource,
        /// What was there.
        prior: Box<Prior>,
    },
    /// After the act.
    Done {
        /// The resource's target ([`crate::Kind::target`]).
        target: String,
    },
    /// The resource was to be undone and was left as it is, because somebody changed it after us. How to undo it
    /// stays known, for whoever insists.
    Kept {
        /// The resource's target.
        target: String,
    },
    /// The resource was undone, or kept for good: there is nothing left to do for it.
    Reverted {
        /// The resource's target.
        target: String,
    },
}

/// What was there before, kind by kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Prior {
    /// Of a [`crate::File`].
    File(PathPrior),
    /// Of a [`crate::Dir`].
    Dir(PathPrior),
    /// Of an [`crate::Archive`]: every path it would write.
    Archive {
        /// Paths in the order of the archive.
        paths: Vec<PathPrior>,
    },
    /// Of a [`crate::Line`].
    Line {
        /// The whole file.
        file: PathPrior,
        /// The line was there already.
        present: bool,
    },
    /// Of a [`crate::Hostname`].
    Hostname {
        /// `/etc/hostname`.
        file: PathPrior,
        /// The kernel's idea.
        live: String,
    },
    /// Of a [`crate::Sysctl`].
    Sysctl {
        /// The file that keeps the value over restarts.
        file: PathPrior,
        /// The kernel's value.
        live: String,
    },
    /// Of a [`crate::KernelModule`].
    KernelModule {
        /// The file that loads it at boot.
        file: PathPrior,
        /// It was loaded (or built in).
        loaded: bool,
    },
    /// Of [`crate::Swap`].
    Swap {
        /// `/etc/fstab`.
        fstab: PathPrior,
        /// The file that switches the zram generator off.
        zram: PathPrior,
        /// What was in use: path and priority.
        active: Vec<(String, i32)>,
        /// Swap units that we mask and that were not masked.
        units: Vec<String>,
        /// What was at the places of their masks.
        #[serde(default)]
        masks: Vec<PathPrior>,
    },
    /// Of a [`crate::Package`].
    Package {
        /// `apt` or `dnf`.
        manager: String,
        /// Packages that this act adds, dependencies included; revert removes exactly these.
        adds: Vec<String>,
        /// Packages among them that had left configuration files behind before us.
        #[serde(default)]
        config_files: Vec<String>,
    },
    /// Of a [`crate::Service`].
    Service {
        /// `enabled`, `disabled`, `static`, `masked`, … in systemd's words; `automatic`, `manual`, `disabled` on
        /// Windows. None when there was no such unit.
        enabled: Option<String>,
        /// It ran.
        running: bool,
    },
    /// Of a [`crate::Firewall`].
    Firewall {
        /// The firewall that was active.
        backend: String,
        /// What we add, in that firewall's own words; revert removes exactly these.
        adds: Vec<String>,
        /// Files that the firewall writes when it is told to, as they were.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<PathPrior>,
    },
    /// Of an [`crate::EnvPath`].
    EnvPath(PathPrior),
    /// Of an [`crate::Image`].
    Image {
        /// Digest of an image of this name that was there.
        digest: Option<String>,
    },
    /// Of a [`crate::KubeadmInit`] or [`crate::KubeadmJoin`].
    Kubeadm {
        /// What was not there, so that revert removes it whole: directories and files, links of the network
        /// (`/sys/class/net/…`), tables (`nft:ip kube-proxy`) and chains (`iptables:KUBE-`) of the packet filter.
        absent: Vec<String>,
        /// Directories that were there with nothing in them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        empty: Vec<PathPrior>,
    },
    /// Of a [`crate::Registry`], and of everything on Windows that is a value there.
    Registry {
        /// What it was; none when there was no such value.
        was: Option<RegistryWas>,
        /// Keys that did not exist, outermost first; removed again when empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
    },
    /// Of a [`crate::Hostname`] on Windows.
    ComputerName {
        /// The name after the next restart.
        was: String,
    },
    /// Of a [`crate::WindowsService`]: there was none of that name, for one of somebody else is refused.
    WindowsService,
    /// Of a [`crate::Feature`].
    Feature {
        /// Features that this act enables, those it needs included; revert disables exactly these.
        adds: Vec<String>,
    },
    /// Of a [`crate::HnsNetwork`].
    HnsNetwork {
        /// There was one of that name.
        there: bool,
    },
    /// Of [`crate::Traces`].
    Traces {
        /// The directories.
        dirs: Vec<DirPrior>,
        /// Kernel settings and their values; none where the kernel did not have it.
        sysctls: Vec<(String, Option<String>)>,
    },
    /// Of a [`crate::Manifest`] or [`crate::Condition`]: nothing on this machine changes, and the
    /// cluster's objects go with the cluster.
    Nothing,
}

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathPrior {
    /// Absolute.
    pub path: String,
    /// What was there; none when nothing was.
    pub was: Option<Inode>,
    /// Parent directories that did not exist, outermost first; removed again when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
}

/// What was in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DirPrior {
    /// The directory itself.
    pub dir: PathPrior,
    /// Names of what was in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// A file, directory or link as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inode {
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// What it was.
    pub what: InodeKind,
}

/// What an inode was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum InodeKind {
    /// A regular file; its bytes are kept in the node's store of prior bytes.
    File {
        /// Names the kept bytes.
        sha256: String,
        /// Modification time, seconds and nanoseconds.
        mtime: (i64, i64),
    },
    /// A directory (its contents are not ours).
    Dir,
    /// A symbolic link.
    Symlink {
        /// Where it pointed.
        to: String,
    },
}
