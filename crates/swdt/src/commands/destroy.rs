//! `swdt cluster destroy`

use swdt_core::{ErrorKind, run};

use super::{Failed, block_on, chosen};
use crate::{
    args::{Format, Global},
    host, render,
};

pub(super) fn run(global: &Global, force: bool, format: Format) -> Result<(), Failed> {
    let host = host::host(global, false)?;
    let name = chosen(global, &host.dirs)?;
    let spec = host.dirs.cluster(&name).load_spec()?;
    let sink = render::renderer(format, global.volume());
    block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::destroy(&host, &spec, force, sink).await
    })
    .map_err(|error| {
        let resume = (error.kind != ErrorKind::Busy).then(|| format!("swdt cluster destroy --cluster {name}"));
        Failed { error, resume }
    })
}
