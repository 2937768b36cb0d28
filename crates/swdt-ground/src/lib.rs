//! For tests only: machines that clean up after themselves, and fingerprints of them.
//!
//! ```text
//! <cache>/nspawn/roots/         shared with swdt itself
//! <cache>/ground/host/          what all test clusters share of the host
//! <cache>/ground/runs/<id>/     one ground: owner.json, id_ed25519, cluster/
//! ```
//!
//! A [`Ground`] is a cluster directory of its own with machines made by core's own provider. It goes when
//! it is dropped; when its process dies in any other way, a janitor process that outlives it takes it away;
//! and when even that was killed, the next ground does.

mod faults;
pub mod fingerprint;
mod ground;
pub mod janitor;
mod machine;
mod node;
mod owner;

pub use ground::{Ground, cache_dir};
pub use machine::{Done, TestMachine};
pub use node::{NodeHalf, Program, Told, blob, on_linux};
