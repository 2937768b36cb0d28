//! The catalog's data, typed. Unknown words are refused: a misspelt rule would never apply.

use std::collections::BTreeMap;

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use crate::spec::OsFamily;

/// Everything that is known about versions.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Catalog {
    /// The Kubernetes that is taken where nothing is said.
    pub default: Version,
    /// The toolchain that builds from source.
    pub go: Toolchain,
    /// Minors that are supported, oldest first.
    pub kubernetes: Vec<Minor>,
    /// Releases of Windows Server that can be nodes.
    pub windows: Vec<WindowsRelease>,
    /// What does not go together.
    pub rules: Vec<Rule>,
    /// SHA-256 of downloads, by address.
    pub digests: BTreeMap<String, String>,
}

/// The Go toolchain.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toolchain {
    /// Its version.
    pub version: Version,
    /// Checksums of its module zip as in `go.sum`, by host (`linux-amd64`).
    pub sums: BTreeMap<String, String>,
    /// Where they were seen.
    pub seen: String,
}

/// A minor of Kubernetes and what goes with it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Minor {
    /// `1.36`.
    pub minor: String,
    /// The newest release of it that was seen.
    pub newest: Version,
    /// Versions of what is not released with Kubernetes itself, by piece.
    pub versions: BTreeMap<String, Version>,
    /// Image tags that are not just the version.
    pub tags: BTreeMap<String, String>,
    /// Versions of containerd that its project lists for this minor; one of them must match.
    pub containerd: Vec<VersionReq>,
    /// What else must be known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where the versions were seen.
    pub seen: String,
}

/// A release of Windows Server.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowsRelease {
    /// For people.
    pub name: String,
    /// Its build number.
    pub build: String,
    /// Tag of base images of that build.
    pub image: String,
    /// The oldest pause image with a manifest for it.
    pub pause: Version,
    /// Where that was seen.
    pub seen: String,
}

/// Something that does not go together.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Its name.
    pub id: String,
    /// How bad it is.
    pub verdict: Verdict,
    /// When it applies.
    pub when: When,
    /// One sentence about the node.
    pub says: String,
    /// Why.
    pub reason: String,
    /// What to do.
    pub todo: String,
    /// Where the reason was read.
    pub source: String,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The run stops before a machine is touched.
    Refuse,
    /// The user is told, and the run goes on.
    Warn,
}

/// When a rule applies: all that is said must hold; of a list, one is enough.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct When {
    /// Operating system of the node.
    pub os: Option<OsFamily>,
    /// Processor, in Go's words.
    pub arch: Option<String>,
    /// Version of Kubernetes.
    pub kubernetes: Vec<VersionReq>,
    /// Versions of components on the node.
    pub components: BTreeMap<String, Vec<VersionReq>>,
    /// Version of the kernel.
    pub kernel: Vec<VersionReq>,
    /// Version of cgroups.
    pub cgroup: Option<String>,
    /// Build of Windows.
    pub build: Option<String>,
    /// Update level of Windows (the number after the build), from this one on.
    pub update_from: Option<String>,
    /// Update level of Windows, older than this one.
    pub update_below: Option<String>,
    /// The pod network, by its name.
    pub cni: Option<String>,
}
