//! `swdt cluster create` and `update`

use std::path::Path;

use swdt_core::{
    event::{EventKind, Reporter},
    run::{self, CreateOptions, Host, Sink, UpdateOptions},
    spec::Spec,
};

use super::{block_on, config, quickstart, resumable, support};
use crate::{
    args::{Format, Global, HostKeys},
    failure::Failed,
    host, out,
    render::{self, Volume},
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
        let (spec, bytes) = config::read(global, path, format)?;
        let host = host::host(global, hosts.accept_new_host_keys)?;
        let sink = render::renderer(format, global.volume());
        Ok(Self { spec, bytes, host, sink })
    }
}

/// A cluster whose machines cannot be made here is not begun: nothing would be there of it but its name in a list, and the
/// names of its nodes, which the file could no longer change.
pub(super) fn expect_makeable(host: &Host, spec: &Spec, quiet: bool) -> Result<(), Failed> {
    if host.dirs.clusters()?.contains(&spec.name) {
        return Ok(());
    }
    let reporter = Reporter::new(move |_, kind| match kind {
        EventKind::Doing { what } if !quiet => out::line(&what),
        _ => {}
    });
    block_on(run::can_make(host, spec, reporter)).map_err(Failed::from)
}

pub(super) fn create(
    global: &Global,
    path: &Path,
    until: Option<String>,
    hosts: &HostKeys,
    format: Format,
) -> Result<(), Failed> {
    let Work { spec, bytes, host, sink } = Work::of(global, path, hosts, format)?;
    expect_makeable(&host, &spec, global.volume() == Volume::Quiet || format.json())?;
    let new = host.dirs.cluster(&spec.name).load(&spec.name)?.made_at.is_none();
    let options = CreateOptions { until };
    block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::create(&host, &spec, &bytes, &options, sink).await
    })
    .map_err(|error| resumable(support::offered(error)))?;
    // For whoever sits there and has just seen the first of it; scripts know what comes next.
    if new
        && options.until.is_none()
        && out::width().is_some()
        && !format.json()
        && global.volume() == Volume::Normal
    {
        out::line(&quickstart::next(&spec, host.dirs.clusters()?.len() == 1));
    }
    Ok(())
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
