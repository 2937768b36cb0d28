//! The library of swdt: from a YAML file to a running cluster.
//!
//! ```text
//! cluster.yaml ─► Config ─► Spec ─► Plan ─► run ─► Events
//!              as written  resolved  pure   acts
//! ```
//!
//! | module | purpose |
//! |---|---|
//! | `config` | YAML v1alpha1: parse strictly, default, validate; every problem at once; JSON Schema |
//! | `spec` | the resolved cluster |
//! | `catalog` | versions and the compatibility matrix as data, checked before a machine is touched |
//! | `source` | where bytes come from: bundle, release, build, checkout, files, url; one cache under all |
//! | `plan` | the visible list of phases; pure functions from spec and knowledge to resources |
//! | `doctor` | one registry of rules: what can be wrong with a host, a machine or a cluster, and how to mend it |
//! | `preflight` | may a run go on? |
//! | `run` | the runner: the only code that acts |
//! | `remote` | SSH and local transports; the node program's other end |
//! | `kube`, `smoke` | the cluster's API, and whether a cluster does what clusters are for |
//! | `image` | images that the user brings |
//! | `machine` | providers: who makes machines |
//! | `support` | what goes into a support bundle, and what does not |
//! | `pace` | how long phases took on this host before |
//! | `report` | what there is to tell of a cluster afterwards |
//! | `state` | names every file on disk |
//! | `snapshot` | what is kept of a cluster at a moment; whole or not there |
//! | `index` | whatever has an id, errors and rules, to be looked up by it |
//! | `journal`, `event`, `error`, `interrupt`, `keys` | what happens, what goes wrong, the wish to stop, key pairs |
//! | `words` | what was meant, and how to list what is possible |
//! | `fuzz` | whatever reads bytes of others, for tests that throw bad ones at it |
//!
//! It never prints and never reads the environment or the home directory by itself.

pub mod artifact;
pub mod catalog;
mod cni;
pub mod config;
pub mod doctor;
pub mod error;
pub mod event;
mod files;
#[cfg(all(feature = "fuzz", target_os = "linux"))]
pub mod fuzz;
pub mod image;
pub mod index;
pub mod interrupt;
pub mod journal;
pub mod keys;
pub mod kube;
pub mod machine;
mod pace;
pub mod plan;
pub mod preflight;
pub mod remote;
pub mod report;
pub mod run;
pub mod smoke;
pub mod snapshot;
pub mod source;
pub mod spec;
pub mod state;
pub mod support;
pub mod words;

pub use error::{Error, ErrorKind, Result, id};
