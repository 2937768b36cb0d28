//! What a virtual machine shows: its serial line, its screen; and the switch between such machines.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use swdt_core::{Error, Result, id, run};

use super::{block_on, node::find, streams};
use crate::{
    args::{Format, Global},
    host, out,
    render::Volume,
};

/// The serial line of a machine, on this terminal.
pub(super) fn attach(global: &Global, name: &str) -> Result<()> {
    if !io::stdin().is_terminal() {
        return Err(Error::new(id::TERMINAL_MISSING, "a console needs a terminal"));
    }
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    block_on(async {
        let socket = run::console(&host, &spec, &node).await?;
        out::error_line(&format!("the serial line of {name}; Enter wakes it, Ctrl-] leaves"));
        streams::line(&socket).await?;
        out::error_line("");
        Ok(())
    })
}

pub(super) fn screenshot(global: &Global, name: &str, output: Option<PathBuf>, format: Format) -> Result<()> {
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    let output = output.unwrap_or_else(|| format!("{name}.png").into());
    // QEMU writes it, and it works elsewhere.
    let path = std::path::absolute(&output).map_err(|error| {
        Error::new(
            id::OUTPUT_NOT_WRITTEN,
            format!("`{}` is no place for a picture: {error}", output.display()),
        )
    })?;
    block_on(run::screenshot(&host, &spec, &node, path.clone()))?;
    if format.json() {
        out::line(&serde_json::json!({ "node": name, "file": path }).to_string());
    } else if global.volume() != Volume::Quiet {
        out::line(&format!("what {name} shows is in {}", output.display()));
    }
    Ok(())
}

/// The switch between the machines of a directory, until it is no longer wanted.
#[cfg(target_os = "linux")]
pub(super) fn switch(dir: &Path) -> Result<()> {
    swdt_core::machine::qemu::serve_switch(dir)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn switch(_: &Path) -> Result<()> {
    Err(Error::new(id::HOST_UNFIT, "virtual machines by QEMU need a Linux host"))
}
