//! `swdt cluster snapshot …`

use clap::Subcommand;
use swdt_core::snapshot::Name;

use super::Format;

#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Shut all machines down, save them, and start those that ran
    #[command(after_help = examples!("swdt cluster snapshot save before-upgrade", "swdt cluster snapshot save fresh --cluster my-cluster"))]
    Save {
        /// What to call it: lower-case letters, digits and `-`
        name: Name,
        #[command(flatten)]
        format: Format,
    },
    /// Make the cluster what it was; all that happened since is lost
    #[command(after_help = examples!("swdt cluster snapshot restore before-upgrade", "swdt cluster snapshot restore before-upgrade --yes"))]
    Restore {
        /// The snapshot
        name: Name,
        /// Remove machines that came after the snapshot; those that left are made again anyway
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        format: Format,
    },
    /// List the snapshots of a cluster
    #[command(after_help = examples!("swdt cluster snapshot list", "swdt cluster snapshot list --format json"))]
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Remove a snapshot; the cluster stays as it is
    #[command(after_help = examples!("swdt cluster snapshot delete before-upgrade"))]
    Delete {
        /// The snapshot
        name: Name,
        #[command(flatten)]
        format: Format,
    },
}

impl SnapshotCommand {
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Save { format, .. }
            | Self::Restore { format, .. }
            | Self::List { format }
            | Self::Delete { format, .. } => *format,
        }
    }
}
