//! Options of `swdt doctor`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, HostKeys};

/// What to look at, and what to do about it.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Look at the machines of this file, too
    #[arg(long, short, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Mend what is safe to mend: say what, ask, do it, look again
    #[arg(long)]
    pub(crate) fix: bool,
    /// Do not ask before mending
    #[arg(long, short, requires = "fix")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) hosts: HostKeys,
    #[command(flatten)]
    pub(crate) format: Format,
}
