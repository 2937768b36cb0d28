//! `swdt cluster report`

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ReportPlace {
    /// Write to this file, for its owner only [default: swdt-CLUSTER.html; JSON goes to standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file whatever it is
    #[arg(long)]
    pub(crate) force: bool,
}
