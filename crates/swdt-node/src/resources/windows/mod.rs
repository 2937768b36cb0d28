//! The kinds of Windows.

use swdt_wire::Kind;

use super::{Behaviour, Elsewhere};

/// The behaviour of a kind that Linux has nothing in common of.
pub(super) fn of_this_system(kind: &Kind) -> &dyn Behaviour {
    match kind {
        _ => &Elsewhere,
    }
}
