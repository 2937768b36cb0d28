//! What differs between operating systems: one small set of functions, written twice.
//!
//! Shared code says what it wants (a private file, a directory nobody else can write, a process that outlives
//! its connection); the two files here say how. A mode is what Linux has; on Windows only one thing of it
//! means something: whether others than administrators may read ([`mode`]).

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

use std::sync::OnceLock;

/// How much longer than elsewhere everything may take on this machine.
pub fn slowness() -> u32 {
    static EMULATED: OnceLock<bool> = OnceLock::new();
    if *EMULATED.get_or_init(emulated) { 10 } else { 1 }
}
