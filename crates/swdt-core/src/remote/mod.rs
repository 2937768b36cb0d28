//! How the host half reaches a machine: one interface, two ways, and the node program on top.
//!
//! ```text
//! Connect ─► Transport ─► Running      ssh/    SSH by russh; nothing outside that folder names russh
//!               ▲                      local   this very machine
//!               └── Agent              agent/  installs the node program once, speaks the protocol
//! ```

pub mod agent;
pub mod local;
mod running;
pub mod ssh;

use std::{pin::Pin, sync::Arc, time::Duration};

pub use agent::{Agent, AgentBinary, AgentOptions, Agents};
pub use local::Local;
pub use running::{Chunk, Collected, ExitStatus, Output, Running, Stdin};
pub use ssh::{Ssh, SshConnector, SshOptions};

use crate::Result;

/// A future in a box, so that [`Transport`] can be used as an object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Characters a line.
    pub columns: u32,
    /// Lines.
    pub rows: u32,
}

/// A way to run programs on one machine.
pub trait Transport: Send + Sync {
    /// Starts one command line. It is given to the login shell as it is, so callers send constants.
    fn exec<'a>(&'a self, command: &'a str) -> BoxFuture<'a, Result<Running>>;

    /// Starts a command line, or the login shell, on a terminal; all output comes as standard output.
    fn terminal<'a>(
        &'a self,
        command: Option<&'a str>,
        term: &'a str,
        size: TerminalSize,
    ) -> BoxFuture<'a, Result<Running>>;

    /// Writes a file into the directory where commands start, by SFTP; `None` removes it.
    fn leave<'a>(&'a self, name: &'a str, bytes: Option<&'a [u8]>) -> BoxFuture<'a, Result<()>>;

    /// `admin@10.0.0.4:22`, for people.
    fn place(&self) -> &str;

    /// The login name.
    fn user(&self) -> &str;

    /// False once the connection is known to be gone.
    fn is_alive(&self) -> bool;
}

/// A way to get a fresh [`Transport`] to the same machine, again and again.
pub trait Connect: Send + Sync {
    /// Connects; tries again for that long while the machine is not ready.
    fn connect(&self, patience: Duration) -> BoxFuture<'_, Result<Arc<dyn Transport>>>;
}
