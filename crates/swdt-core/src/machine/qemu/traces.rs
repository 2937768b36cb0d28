//! What of a machine or a cluster is to be found on the host: destroy is done when there is nothing.

use super::{
    names::MachineNames,
    process::{self, QEMU},
    segment, windows,
};
use crate::machine::{Context, network};

/// What is left of a machine, for people to read.
pub(super) fn of_machine(names: &MachineNames) -> Vec<String> {
    let mut found = Vec::new();
    let runtime = names.runtime();
    found.extend(process::find(QEMU, &runtime.pid).map(|pid| format!("process {pid}")));
    found.extend(names.tpm().runs().then(|| "process of its TPM".to_owned()));
    found.extend(network::link_exists(&names.tap).then(|| format!("link {}", names.tap)));
    let files =
        [runtime.pid, runtime.qmp, runtime.console, names.port(), names.tpm().socket, names.dir.clone()];
    found.extend(files.iter().filter(|path| path.exists()).map(|path| format!("file {}", path.display())));
    found
}

/// What is left of a cluster and of these nodes of it, for people to read.
pub(super) fn of_cluster(ctx: &Context, nodes: &[&str]) -> Vec<String> {
    let machines = nodes.iter().flat_map(|node| of_machine(&MachineNames::of(ctx, node)));
    machines.chain(segment::traces(ctx)).chain(network::traces(ctx)).chain(windows::traces(ctx)).collect()
}
