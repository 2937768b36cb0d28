//! Windows from Microsoft's own disc: Setup runs by itself, and we look on.
//!
//! ```text
//! firmware ─► disk (blank) ─► disc: a key is pressed ─► files are copied ─► starts anew
//! firmware ─► disk ─► Windows sets itself up, starting anew when it wants ─► our program: first boot ─► SSH
//! ```
//!
//! Nothing inside the machine tells how far Setup is. What is known is what stands on the serial line: the firmware says
//! what it starts, our own program says what it does. Both are kept in a file by QEMU, so whoever is killed in between
//! reads on where he was. The rest is a guess, and is called one.

mod base;
mod follow;
mod install;
mod keys;
mod phase;
mod provide;
pub(crate) mod serial;

pub(super) use provide::{Setup, abandon, base, devices, first_boot, require, seed, traces, under_way};

/// Of the card of machines that become bases; it is plugged into nothing.
const MAC_OF_BASES: &str = "52:54:00:73:77:64";

#[cfg(test)]
mod tests;
