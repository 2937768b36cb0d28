//! The kinds of Windows.

mod env_path;
mod feature;
mod firewall;
pub(crate) mod hns_network;
mod hostname;
mod registry;
mod restart;
mod scm;
pub mod service;
mod source_vip;
mod system_service;

use std::{io, path::Path};

use swdt_wire::Kind;

use super::{Behaviour, Elsewhere, windows_hints as hints};

/// The behaviour of a kind that Linux has nothing in common of.
pub(super) fn of_this_system(kind: &Kind) -> &dyn Behaviour {
    match kind {
        Kind::Hostname(it) => it,
        Kind::Firewall(it) => it,
        Kind::EnvPath(it) => it,
        Kind::Registry(it) => it,
        Kind::Service(it) => it,
        Kind::WindowsService(it) => it,
        Kind::Feature(it) => it,
        Kind::Restart(it) => it,
        Kind::SourceVip(it) => it,
        Kind::HnsNetwork(it) => it,
        _ => &Elsewhere,
    }
}

/// What to do about a file that could not be read or written.
pub(crate) fn file_hint(path: &Path, error: &io::Error) -> Option<String> {
    let code = error.raw_os_error()?;
    let holders = if code == hints::HELD { service::running(path) } else { Vec::new() };
    hints::of_file(code, &holders)
}
