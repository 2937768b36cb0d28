//! `lock.json`: what was resolved for a cluster, pinned by digest. Later runs use these digests.

use std::{collections::BTreeMap, fs, io, path::Path};

use semver::Version;
use serde::{Deserialize, Serialize};

use super::{Artifact, Cache, Supply, Want, patch};
use crate::{
    Error, Result,
    files::{self, failed},
    id,
    spec::Source,
    state::LOCK_SCHEMA,
};

/// What was resolved for a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    schema: u32,
    /// By piece and platform: `kubeadm linux/amd64`. A build for rehearsals has an entry beside that of the release.
    pieces: BTreeMap<String, Pin>,
}

/// What a want was resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The version that was wanted.
    pub version: Version,
    /// The source that was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The programs; none where a package of the node's system serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Pinned>,
    /// Why a package of the node's system serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
}

/// A program by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// The name of its file.
    pub name: String,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Where it came from, in words.
    pub from: String,
}

impl Default for Lock {
    fn default() -> Self {
        Self { schema: LOCK_SCHEMA, pieces: BTreeMap::new() }
    }
}

impl Lock {
    /// The lock of a cluster's directory; an empty one when there is none yet.
    pub fn load(cluster: &Path) -> Result<Self> {
        let path = cluster.join("lock.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed("read", &path, &error)),
        };
        let broken = |why: String| {
            Error::new(id::RECORD_UNREADABLE, format!("{} cannot be read: {why}", path.display())).hinted(
                "it is written by swdt alone; put it back as it was, or remove it to resolve everything anew",
            )
        };
        files::refuse_newer(&path, text.as_bytes(), LOCK_SCHEMA)?;
        serde_json::from_str(&text).map_err(|error| broken(error.to_string()))
    }

    /// Writes the lock, at once or not at all.
    pub fn save(&self, cluster: &Path) -> Result<()> {
        let path = cluster.join("lock.json");
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::new(id::INTERNAL, format!("lock: {error}")))?;
        text.push('\n');
        files::replace(&path, text.as_bytes()).map_err(|error| failed("write", &path, &error))
    }

    /// What is pinned, by piece and platform.
    pub fn pins(&self) -> &BTreeMap<String, Pin> {
        &self.pieces
    }

    /// The pinned programs of a want, if they are in the store.
    pub(super) fn pinned(&self, want: &Want, cache: &Cache) -> Result<Option<Vec<Artifact>>> {
        let Some(pin) = self.binding(want) else { return Ok(None) };
        let mut found = Vec::new();
        for program in &pin.programs {
            let Some(blob) = cache.blob(&program.sha256)? else { return Ok(None) };
            found.push(Artifact::new(program.name.clone(), blob, program.from.clone()));
        }
        Ok((!found.is_empty()).then_some(found))
    }

    /// Why a package of the node's system serves a want, if that is how it was resolved.
    pub(super) fn package(&self, want: &Want) -> Option<String> {
        self.binding(want)?.package.clone()
    }

    /// Pins what a want was resolved to. What is pinned already must not have changed.
    pub(super) fn pin(&mut self, want: &Want, supply: &Supply) -> Result<()> {
        let programs = supply.programs();
        if let Some(before) = self.binding(want) {
            for program in programs {
                let same = before.programs.iter().find(|old| old.name == program.name);
                if let Some(old) = same.filter(|old| old.sha256 != program.sha256) {
                    return Err(Error::new(
                        id::LOCK_DIFFERS,
                        format!(
                            "{} is not what lock.json says: {} ({}), not {} ({})",
                            program.name, program.sha256, program.from, old.sha256, old.from
                        ),
                    )
                    .hinted("if you trust the new one, remove lock.json from the cluster's directory"));
                }
            }
        }
        let pinned = |artifact: &Artifact| Pinned {
            name: artifact.name.clone(),
            sha256: artifact.sha256.clone(),
            size: artifact.size,
            from: artifact.from.clone(),
        };
        let pin = Pin {
            version: want.version.clone(),
            source: want.source.clone(),
            programs: programs.iter().map(pinned).collect(),
            package: match supply {
                Supply::Programs(_) => None,
                Supply::Package { why, .. } => Some(why.clone()),
            },
        };
        self.pieces.insert(name(want), pin);
        Ok(())
    }

    /// The pin that speaks of this very want. Files and source trees may change: that is what they are for.
    fn binding(&self, want: &Want) -> Option<&Pin> {
        if matches!(want.source, Some(Source::Files(_) | Source::Checkout { .. })) {
            return None;
        }
        let pin = self.pieces.get(&name(want))?;
        (pin.version == want.version && pin.source == want.source).then_some(pin)
    }
}

fn name(want: &Want) -> String {
    let mark = if patch::is_rehearsed(&want.version) { "+rehearsal" } else { "" };
    format!("{}{mark} {}", want.piece, want.platform.as_str())
}
