//! What nodes get, by digest. Made by the sources, used by the plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use swdt_wire::Blob;

use crate::spec::OsFamily;

/// Everything the nodes of a cluster get.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifacts {
    /// Programs: node, then name of the file on it. Nodes may differ: the user can give each its own.
    pub programs: BTreeMap<String, BTreeMap<String, Artifact>>,
    /// Container images.
    pub images: Vec<ImageArtifact>,
}

impl Artifacts {
    /// The same, but with programs on one node that the user replaced, by the names of their files.
    pub fn replace(&mut self, node: &str, replaced: &BTreeMap<String, Artifact>) {
        let Some(programs) = self.programs.get_mut(node) else { return };
        for (file, artifact) in replaced {
            let from = format!("{}, by `swdt node replace`", artifact.from);
            programs.insert(file.clone(), Artifact { from, ..artifact.clone() });
        }
    }
}

/// Bytes with a digest, and where they came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Lower-case hex.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
    /// For people: `built from k8s.io/kubernetes v1.36.3`.
    pub from: String,
}

/// A container image as an OCI archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageArtifact {
    /// `registry.k8s.io/pause:3.10.2`.
    pub reference: String,
    /// Digest of its manifest, `sha256:…`.
    pub digest: String,
    /// Which nodes need it.
    pub on: ImageUse,
    /// Its system.
    pub os: OsFamily,
    /// The archive.
    pub archive: Artifact,
}

/// Which nodes need an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageUse {
    /// Nodes of the control plane.
    ControlPlane,
    /// Every node.
    EveryNode,
}

impl Artifact {
    /// As the wire names it.
    pub fn blob(&self) -> Blob {
        Blob { sha256: self.sha256.clone(), size: self.size }
    }
}
