//! The ledger entry of a machine: what is intended, on disk before it is done.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::names::MachineNames;
use crate::{
    Result,
    machine::{Context, files, names::machines_dir, record::Stage},
    spec::MachineSpec,
};

/// Says whose entry it is; other providers keep theirs in the same place.
const PROVIDER: &str = "nspawn";

/// One machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    schema: u32,
    provider: String,
    pub(super) stage: Stage,
    /// Key of the shared root it stands on, for as long as it lives.
    pub(super) root: String,
    pub(super) cpus: u32,
    pub(super) memory_mib: u64,
}

impl Entry {
    pub(super) fn new(spec: &MachineSpec, root: String) -> Self {
        Self {
            schema: 1,
            provider: PROVIDER.to_owned(),
            stage: Stage::Creating,
            root,
            cpus: spec.cpus,
            memory_mib: spec.memory_mib,
        }
    }

    pub(super) fn load(names: &MachineNames) -> Result<Option<Self>> {
        files::read_json(&names.ledger())
    }

    pub(super) fn save(&self, names: &MachineNames) -> Result<()> {
        files::make_dir(&names.dir)?;
        files::write_json(&names.ledger(), self)
    }
}

/// Nodes with a machine of this provider, or with a directory that a killed run left before its first word.
pub(super) fn nodes(ctx: &Context) -> Vec<String> {
    let machines = machines_dir(ctx);
    files::names(&machines)
        .into_iter()
        .filter(|node| ours(&machines.join(node).join("machine.json")))
        .collect()
}

fn ours(ledger: &Path) -> bool {
    match files::read_json::<serde_json::Value>(ledger) {
        Ok(Some(entry)) => entry["provider"] == PROVIDER,
        Ok(None) => ledger
            .parent()
            .is_some_and(|dir| files::names(dir).iter().all(|name| files::has_extension(name, "tmp"))),
        Err(_) => false,
    }
}
