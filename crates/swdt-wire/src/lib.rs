//! What crosses between the host half (`swdt`) and the node half (`swdt-node`).
//!
//! Plain types, no I/O. One [`Request`] goes to the node on standard input; the node answers with
//! [`NodeEvent`]s, one JSON document a line. [`Receipt`]s stay on the node and say how to undo.
//!
//! Requests and events match by exact [`WIRE_VERSION`], because the host half always brings its own
//! node half. Receipts outlive both: every receipt ever written must still parse (see `tests/`).

mod event;
mod facts;
mod first_boot;
mod receipt;
mod request;
mod resource;
mod secret;
mod windows;

pub use event::{Busy, Checked, NodeEvent, NodeEventKind, NodeFailure, Outcome, Status, Summary};
pub use facts::{Address, Disk, Facts, Firewall as FirewallFact, Os, Route, Virtualization};
pub use first_boot::*;
pub use receipt::*;
pub use request::{Log, Mode, Owner, Request};
pub use resource::*;
pub use secret::Secret;
pub use windows::*;

/// The version of requests and events. Raise it with every change of their meaning.
pub const WIRE_VERSION: u32 = 1;

/// The version of the receipt format. Older versions must stay readable for ever.
pub const RECEIPT_VERSION: u32 = 1;

/// Where the node half keeps everything of its own on a Linux machine.
pub const LINUX_STATE_DIR: &str = "/var/lib/swdt";

/// Where the node half keeps everything of its own on a Windows machine.
pub const WINDOWS_STATE_DIR: &str = r"C:\ProgramData\swdt";
