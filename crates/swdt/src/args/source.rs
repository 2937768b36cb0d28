//! Commands for what nodes are made of, and where it comes from.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;

#[derive(Debug, Subcommand)]
pub(crate) enum SourceCommand {
    /// List the components, where each would come from, and whether it is here; asks no server
    #[command(after_help = examples!("swdt source list", "swdt source list --config my-cluster.yaml", "swdt source list --kubernetes 1.35 --os windows"))]
    List {
        /// The file that describes a cluster
        #[arg(long, short, value_name = "FILE", conflicts_with_all = ["kubernetes", "os", "arch"])]
        config: Option<PathBuf>,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        format: Format,
    },
    /// Get everything into the cache that a cluster needs, programs and images
    #[command(after_help = examples!("swdt source fetch --config my-cluster.yaml", "swdt source fetch --kubernetes 1.35", "swdt source fetch --component e2e", "swdt source fetch --bundle swdt-bundle.tar"))]
    Fetch {
        /// The file that describes a cluster
        #[arg(long, short, value_name = "FILE", conflicts_with_all = ["kubernetes", "os", "arch"])]
        config: Option<PathBuf>,
        #[command(flatten)]
        which: Which,
        /// Also pack the programs into this file, for hosts without a network
        #[arg(long, value_name = "FILE")]
        bundle: Option<PathBuf>,
        #[command(flatten)]
        format: Format,
    },
    /// Build from source, whatever else could serve
    #[command(after_help = examples!("swdt source build", "swdt source build --os windows", "swdt source build --component kubelet --version 1.36.1"))]
    Build {
        #[command(flatten)]
        which: Which,
        /// This version of the component
        #[arg(long, value_name = "VERSION", requires = "component")]
        version: Option<String>,
        #[command(flatten)]
        format: Format,
    },
    /// Show what could be removed from the cache, and remove it with --yes
    #[command(after_help = examples!("swdt source prune", "swdt source prune --go --yes"))]
    Prune {
        /// Only what Go keeps: compiled packages and modules
        #[arg(long, conflicts_with = "artifacts")]
        go: bool,
        /// Only artifacts that no cluster of this host uses
        #[arg(long)]
        artifacts: bool,
        /// Remove it
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        format: Format,
    },
}

/// Which components, where no configuration says so.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Of this Kubernetes: a minor, or a whole version [default: the catalog's]
    #[arg(long, value_name = "VERSION")]
    pub(crate) kubernetes: Option<String>,
    /// For this system
    #[arg(long, value_name = "OS", value_parser = ["linux", "windows"])]
    pub(crate) os: Option<String>,
    /// For this processor
    #[arg(long, value_name = "ARCH", value_parser = ["amd64", "arm64"])]
    pub(crate) arch: Option<String>,
    /// Only this component; may be given several times
    #[arg(long, value_name = "NAME", value_parser = piece_names(), hide_possible_values = true)]
    pub(crate) component: Vec<String>,
}

fn piece_names() -> clap::builder::PossibleValuesParser {
    swdt_core::source::Piece::all().map(swdt_core::source::Piece::as_str).collect::<Vec<_>>().into()
}
