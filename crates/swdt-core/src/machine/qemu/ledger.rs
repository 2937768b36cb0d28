//! The ledger entry of a virtual machine: what is intended, on disk before it is done.

use serde::{Deserialize, Serialize};

use super::names::MachineNames;
use crate::{
    Result,
    machine::{
        Context, files,
        names::{machines_dir, maker_of},
        record::Stage,
    },
    spec::{Firmware, Wiring},
};

/// Says whose entry it is; other providers keep theirs in the same place.
const PROVIDER: &str = "qemu";

/// One machine: what it is for as long as it lives. Its sizes are taken from the configuration at each start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    schema: u32,
    provider: String,
    pub(super) stage: Stage,
    /// The base its disk stands on.
    pub(super) base: String,
    /// Which of its name it is; none where an earlier version made the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mark: Option<String>,
    pub(super) firmware: Firmware,
    pub(super) wiring: Wiring,
}

impl Entry {
    pub(super) fn new(base: String, mark: Option<String>, firmware: Firmware, wiring: Wiring) -> Self {
        Self {
            schema: 1,
            provider: PROVIDER.to_owned(),
            stage: Stage::Creating,
            base,
            mark,
            firmware,
            wiring,
        }
    }

    pub(super) fn load(names: &MachineNames) -> Result<Option<Self>> {
        files::read_json(&names.ledger())
    }

    pub(super) fn save(&self, names: &MachineNames) -> Result<()> {
        files::make_private_dir(&names.dir)?;
        files::write_json(&names.ledger(), self)
    }
}

/// Nodes with a machine of this provider. A directory without a word of anybody is removed by whoever comes first.
pub(super) fn nodes(ctx: &Context) -> Vec<String> {
    let ours = |node: &String| maker_of(ctx, node).as_deref() == Some(PROVIDER);
    files::names(&machines_dir(ctx)).into_iter().filter(ours).collect()
}
