//! The library of swdt: from a YAML file to a running cluster.
//!
//! ```text
//! cluster.yaml ─► Config ─► Spec ─► Plan ─► run ─► Events
//!              as written  resolved  pure   acts
//! ```
//!
//! It never prints and never reads the environment or the home directory by itself.

pub mod error;
pub mod event;
pub mod machine;
pub mod spec;

pub use error::{Error, ErrorKind, Result};
