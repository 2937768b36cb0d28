//! The node half of swdt.
//!
//! One small static program that makes resources true on the machine it runs on, and can undo
//! them. It reads one [`swdt_wire::Request`] and answers with [`swdt_wire::NodeEvent`]s.
//!
//! * `resources/` – one file a kind: `check`, `prior`, `apply`, `revert`
//! * `ctx.rs` – the only doors through which resources read and change the machine
//! * `facts.rs` – what this machine is
//! * `error.rs` – what can go wrong, with the output of the program that failed

pub mod ctx;
pub mod error;
pub mod facts;
pub mod resources;

pub use ctx::Ctx;
pub use error::{Error, Result};
