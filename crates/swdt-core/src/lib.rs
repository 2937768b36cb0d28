//! The library of swdt: from a YAML file to a running cluster.
//!
//! ```text
//! cluster.yaml ─► Config ─► Spec ─► Plan ─► run ─► Events
//!              as written  resolved  pure   acts
//! ```
//!
//! It never prints and never reads the environment or the home directory by itself.

pub mod config;
pub mod error;
pub mod event;
pub mod journal;
pub mod keys;
pub mod plan;
pub mod preflight;
pub mod run;
pub mod spec;
pub mod state;

pub use error::{Error, ErrorKind, Result};
