//! The node half of swdt.
//!
//! One small static program that makes resources true on the machine it runs on, and can undo
//! them. It reads one [`swdt_wire::Request`] and answers with [`swdt_wire::NodeEvent`]s.
//!
//! * `main.rs` – the command: `serve`, `put`, `version`, and `run` for itself
//! * `serve.rs` – one conversation: a request in, events out
//! * `detach.rs`, `tail.rs` – a run outlives its conversation; a conversation follows a run
//! * `engine.rs` – check → receipt → apply → check, and the way back
//! * `resources/` – one file a kind: `check`, `prior`, `apply`, `revert`
//! * `ctx.rs` – the only doors through which resources read and change the machine
//! * `program.rs`, `kubectl.rs` – programs of the machine; what they say
//! * `state.rs`, `receipts.rs`, `blobs.rs`, `lock.rs` – the node half's own files
//! * `facts.rs` – what the machine is
//! * `first_boot/` – from Setup's last question to a machine that can be reached
//! * `logs.rs` – what its programs said
//! * `host.rs` – runs programs as services of Windows
//! * `os/` – what differs between operating systems, written twice
//! * `fuzz.rs` – whatever reads bytes of others, for tests that throw bad ones at it
//! * `error.rs` – what can go wrong, with the output of the program that failed

pub mod blobs;
pub mod ctx;
pub mod detach;
pub mod disk;
pub mod engine;
pub mod error;
pub mod events;
#[cfg_attr(windows, path = "facts/windows.rs")]
pub mod facts;
pub mod faults;
#[cfg(windows)]
pub mod first_boot;
#[cfg(all(feature = "fuzz", target_os = "linux"))]
pub mod fuzz;
pub mod host;
#[cfg(windows)]
pub mod install;
pub mod kubectl;
#[cfg(feature = "laws")]
pub mod laws;
pub mod lock;
pub mod logs;
pub mod os;
pub mod program;
pub mod receipts;
#[cfg(windows)]
pub mod registry;
pub mod resources;
pub mod serve;
pub mod stamps;
pub mod state;
pub mod tail;

pub use ctx::Ctx;
pub use error::{Error, Result};
pub use events::Events;
