//! Options of `swdt config create`.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// What the file shall say before anything is asked, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct CreateFile {
    /// Write to this file [default: cluster.yaml, or the one of --from]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Change this file, and keep its comments and its order
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Name of the cluster
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Version of Kubernetes: a minor, or a whole one
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubernetes: Option<String>,
    /// A node: its name, and fields of it (`role=`, `os=`, `address=`, `user=`, `key=`, `provider=`, `cpus=`, `memory=`);
    /// may be given several times
    #[arg(long, value_name = "NAME[,FIELD=VALUE]…")]
    pub(crate) node: Vec<String>,
    /// Any field of the file, by its path; the value is read as YAML; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Ask nothing: write what the options say, if it is sound
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Replace a file that is there, without asking
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}
