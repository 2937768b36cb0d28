//! `swdt cluster adopt`

use std::path::Path;

use swdt_core::run::{self, AdoptOptions};

use super::{block_on, cluster::Work, resumable};
use crate::{
    args::{Format, Global, HostKeys},
    failure::Failed,
    host, out,
    render::{Volume, count},
};

pub(super) fn run(
    global: &Global,
    path: &Path,
    options: &AdoptOptions,
    hosts: &HostKeys,
    format: Format,
) -> Result<(), Failed> {
    let Work { spec, bytes, host, sink } = Work::of(global, path, hosts, format)?;
    let adopted = block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::adopt(&host, &spec, &bytes, options, sink).await
    })
    .map_err(resumable)?;
    if format.json() {
        out::line(&serde_json::json!({ "adopted": adopted }).to_string());
    } else if global.volume() != Volume::Quiet {
        for (node, changes) in &adopted.changes {
            out::line(&format!("{node}: {} can be undone", count(*changes as u64, "change")));
        }
        out::line(&format!(
            "the cluster {} is remembered again; `swdt cluster plan --config {}` compares it with the file",
            spec.name,
            path.display()
        ));
    }
    Ok(())
}
