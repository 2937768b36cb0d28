//! The kinds of Windows.

mod env_path;
mod feature;
mod firewall;
pub(crate) mod hns_network;
mod hostname;
mod registry;
pub mod service;

use swdt_wire::Kind;

use super::{Behaviour, Elsewhere};

/// The behaviour of a kind that Linux has nothing in common of.
pub(super) fn of_this_system(kind: &Kind) -> &dyn Behaviour {
    match kind {
        Kind::Hostname(it) => it,
        Kind::Firewall(it) => it,
        Kind::EnvPath(it) => it,
        Kind::Registry(it) => it,
        Kind::WindowsService(it) => it,
        Kind::Feature(it) => it,
        Kind::HnsNetwork(it) => it,
        _ => &Elsewhere,
    }
}
