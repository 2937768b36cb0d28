//! The wizard: asks what a cluster shall be, and writes its file.
//!
//! ```text
//! keys ─► Model ─► Document (the YAML itself) ─► judge ─► what is wrong, beside the field it is about
//!           │                                    looks ─► what the machines are, while somebody types
//!           └──► view: questions left, the file right
//! ```
//!
//! The file is the only memory: every answer is written into it at once, and read from it again. So going back loses
//! nothing, the right half never lies, and an answer is judged by the rules of the file, because it is the file.

mod answer;
mod field;
mod finish;
mod judge;
mod looks;
mod model;
mod nodes;
mod pages;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

use std::path::PathBuf;

pub use looks::Prober;
pub use model::{Model, Outcome};
pub use nodes::add as add_node;
pub use terminal::run;

/// What the wizard knows of the host before it asks.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// Private keys that were found, as the file would name them: `~/.ssh/id_ed25519`.
    pub keys: Vec<String>,
    /// Processors.
    pub cpus: u64,
    /// Memory in MiB; zero where it is not known.
    pub memory_mib: u64,
    /// Why this host cannot make machines as it is; nothing if it can.
    pub cannot_make: Option<String>,
    /// The same for virtual machines.
    pub cannot_virtualise: Option<String>,
    /// Can it make machines that play Windows?
    pub makes_windows: bool,
    /// Versions of Kubernetes that swdt knows, the usual one first.
    pub versions: Vec<String>,
    /// `~` in the file.
    pub home: Option<PathBuf>,
    /// Where the file will be; paths in it are relative to this.
    pub directory: PathBuf,
    /// How the file will be called.
    pub file: String,
    /// A file is there that would be replaced, and it is not the one that is being changed.
    pub replaces: bool,
    /// No colours, please.
    pub plain: bool,
}
