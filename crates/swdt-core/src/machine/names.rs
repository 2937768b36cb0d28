//! What the machines of a cluster share, and what it is called.
//!
//! Names in the kernel carry a hash of the cluster's directory, so two clusters of the same name under different data
//! directories never meet, and are made anew from the directory alone after any kill.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::{Context, files};

/// Eight hexadecimal digits of a hash: short enough for interface names.
pub(super) fn short_hash(parts: &[&str]) -> String {
    use std::fmt::Write as _;
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(4).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Names of what a cluster's machines share.
#[derive(Debug, Clone)]
pub(super) struct ClusterNames {
    /// Hash of the cluster's name and directory.
    pub(super) id: String,
    /// The bridge: at most 15 characters.
    pub(super) bridge: String,
    /// The nft table.
    pub(super) table: String,
    /// Tag of the bridge, for people and for finding orphans.
    pub(super) alias: String,
}

impl ClusterNames {
    pub(super) fn of(ctx: &Context) -> Self {
        let id = short_hash(&[&ctx.cluster, &ctx.cluster_dir.to_string_lossy()]);
        Self {
            bridge: format!("sw{id}"),
            table: format!("swdt-{id}"),
            alias: format!("swdt {}", ctx.cluster),
            id,
        }
    }
}

/// Where the machines of a cluster are.
pub(super) fn machines_dir(ctx: &Context) -> PathBuf {
    ctx.cluster_dir.join("machines")
}

/// Who made the machine of a node, by its ledger entry; nobody when there is no entry, or none that can be read.
pub(super) fn maker_of(ctx: &Context, node: &str) -> Option<String> {
    let entry = files::read_json::<serde_json::Value>(&machines_dir(ctx).join(node).join("machine.json"));
    entry.ok()??["provider"].as_str().map(str::to_owned)
}
