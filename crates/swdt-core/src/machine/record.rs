//! What every provider that makes machines writes down of one: how far it is, and what it was when it was saved.

use std::{net::Ipv4Addr, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{files, tool};
use crate::{Error, Result, id};

const FILE: &str = "machine.json";

/// How far a machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Stage {
    /// Begun; whatever is there is not whole and is made anew.
    Creating,
    /// Made; it can be started and stopped.
    Ready,
    /// Being removed; there is no way back.
    Deleting,
}

/// What a machine was, besides its files, with the provider's entry in its ledger.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Saved<Entry> {
    pub(super) entry: Entry,
    pub(super) address: Ipv4Addr,
}

impl<Entry: Serialize + DeserializeOwned> Saved<Entry> {
    pub(super) fn load(dir: &Path) -> Result<Self> {
        files::read_json(&dir.join(FILE))?.ok_or_else(|| {
            Error::new(id::SNAPSHOT_DAMAGED, format!("{} holds no machine", dir.display()))
                .hinted("somebody removed files of the snapshot; it cannot be restored")
        })
    }

    pub(super) fn save(&self, dir: &Path) -> Result<()> {
        files::write_json(&dir.join(FILE), self)
    }
}

/// What was copied is on the disk before anything says so.
pub(super) fn flush(path: &Path) -> Result<()> {
    tool::run("sync", ["--file-system".as_ref(), path.as_os_str()]).map(drop)
}
