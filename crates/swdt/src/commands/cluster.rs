//! `swdt cluster create` and `update`

use std::path::Path;

use swdt_core::{
    run::{self, CreateOptions, Host, Sink, UpdateOptions},
    spec::Spec,
};

use super::{block_on, config, resumable, support};
use crate::{
    args::{Format, Global, HostKeys},
    failure::Failed,
    host, render,
};

/// What every command on the cluster of a file begins with.
pub(super) struct Work {
    pub(super) spec: Spec,
    pub(super) bytes: Vec<u8>,
    pub(super) host: Host,
    pub(super) sink: Sink,
}

impl Work {
    pub(super) fn of(global: &Global, path: &Path, hosts: &HostKeys, format: Format) -> Result<Self, Failed> {
        let (spec, bytes) = config::read(global, path)?;
        let host = host::host(global, hosts.accept_new_host_keys)?;
        let sink = render::renderer(format, global.volume());
        Ok(Self { spec, bytes, host, sink })
    }
}

pub(super) fn create(
    global: &Global,
    path: &Path,
    until: Option<String>,
    hosts: &HostKeys,
    format: Format,
) -> Result<(), Failed> {
    let Work { spec, bytes, host, sink } = Work::of(global, path, hosts, format)?;
    let options = CreateOptions { until };
    block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::create(&host, &spec, &bytes, &options, sink).await
    })
    .map_err(|error| resumable(support::offered(error)))
}

pub(super) fn update(
    global: &Global,
    path: &Path,
    options: &UpdateOptions,
    hosts: &HostKeys,
    format: Format,
) -> Result<(), Failed> {
    let Work { spec, bytes, host, sink } = Work::of(global, path, hosts, format)?;
    block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::update(&host, &spec, &bytes, options, sink).await
    })
    .map_err(|error| resumable(support::offered(error)))
}
