//! `swdt cluster create`

use std::path::Path;

use swdt_core::{
    Error, ErrorKind,
    run::{self, CreateOptions},
};

use super::{Failed, block_on, config};
use crate::{
    args::{Format, Global, HostKeys},
    host, render,
};

pub(super) fn create(
    global: &Global,
    path: &Path,
    until: Option<String>,
    hosts: &HostKeys,
    format: Format,
) -> Result<(), Failed> {
    let (spec, bytes) = config::read(path)?;
    if let Some(named) = global.cluster.as_ref().filter(|named| **named != spec.name) {
        let message = format!("--cluster says `{named}`, but the file describes `{}`", spec.name);
        return Err(Error::new(ErrorKind::Usage, message).hinted("leave --cluster out; the file names the cluster").into());
    }
    let host = host::host(global, hosts.accept_new_host_keys)?;
    let sink = render::renderer(format, global.volume());
    let options = CreateOptions { until };
    block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::create(&host, &spec, &bytes, &options, sink).await
    })
    .map_err(|error| {
        let resume = (error.kind != ErrorKind::Busy).then(|| format!("swdt cluster create --config {}", path.display()));
        Failed { error, resume }
    })
}
