//! `swdt cluster destroy`

use swdt_core::run::{self, DestroyOptions};

use super::{block_on, chosen, resumable};
use crate::{
    args::{Format, Global},
    failure::Failed,
    host, out,
    render::{self, Volume},
};

pub(super) fn run(global: &Global, options: &DestroyOptions, format: Format) -> Result<(), Failed> {
    let dirs = host::dirs(global)?;
    // Destroying twice is no mistake; a name that does not exist may be one.
    if global.cluster.is_none() && dirs.clusters()?.is_empty() {
        if global.volume() != Volume::Quiet {
            out::error_line("there is no cluster, so there is nothing to destroy");
        }
        return Ok(());
    }
    let name = chosen(global, &dirs)?;
    let spec = dirs.cluster(&name).load_spec()?;
    let host = host::host(global, false)?;
    let sink = render::renderer(format, global.volume());
    block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::destroy(&host, &spec, options, sink).await
    })
    .map_err(resumable)
}
