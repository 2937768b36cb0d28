//! Discs that install a system: written ([`iso`]), read ([`iso`], [`udf`], [`wim`]), and what stands on them
//! ([`windows`], [`virtio`], [`answer`], [`cloud`]).
//!
//! Nothing here knows of clusters or virtual machines, and nothing is mounted or run: bytes in, bytes out. Whatever is
//! read is the user's and may be broken, so every length is looked at before it is believed.

pub mod answer;
pub mod cloud;
mod error;
pub mod iso;
pub mod udf;
pub mod virtio;
pub mod wim;
pub mod windows;

pub use error::{Error, Result};
