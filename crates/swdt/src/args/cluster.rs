//! Commands for a whole cluster.

use std::{path::PathBuf, time::Duration};

use clap::Subcommand;

use super::{ConfigFile, Format, HostKeys, ReportPlace, SnapshotCommand, Until};

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show what `create` would make true, on which machine, in which order; of a cluster that is there, what `update`
    /// would change
    #[command(after_help = examples!("swdt cluster plan --config my-cluster.yaml", "swdt cluster plan --config my-cluster.yaml --check", "swdt cluster plan -c my-cluster.yaml --prune w2"))]
    Plan {
        #[command(flatten)]
        config: ConfigFile,
        /// Show everything, with what the machines say is true already; changes nothing
        #[arg(long)]
        check: bool,
        /// Show what it means that this node leaves; may be given several times
        #[arg(long, value_name = "NODE", conflicts_with = "check")]
        prune: Vec<String>,
        #[command(flatten)]
        until: Until,
        #[command(flatten)]
        hosts: HostKeys,
        #[command(flatten)]
        format: Format,
    },
    /// Make the cluster, or go on where an earlier run stopped
    #[command(after_help = examples!("swdt cluster create --config my-cluster.yaml", "swdt cluster create -c my-cluster.yaml --until preflight", "swdt cluster create -c my-cluster.yaml --format json"))]
    Create {
        #[command(flatten)]
        config: ConfigFile,
        #[command(flatten)]
        until: Until,
        #[command(flatten)]
        hosts: HostKeys,
        #[command(flatten)]
        format: Format,
    },
    /// Add nodes to a cluster, and let nodes leave that are named with --prune
    #[command(after_help = examples!("swdt cluster update --config my-cluster.yaml", "swdt cluster update -c my-cluster.yaml --prune w2", "swdt cluster update -c my-cluster.yaml --prune w2 \\", "  --force-forget w2"))]
    Update {
        #[command(flatten)]
        config: ConfigFile,
        /// Let this node leave: drain it, delete it, undo every change on its machine; may be given several times
        #[arg(long, value_name = "NODE")]
        prune: Vec<String>,
        /// Give up the machine of this node that leaves if it cannot be reached, and say what stays on it; may be given
        /// several times
        #[arg(long, value_name = "NODE")]
        force_forget: Vec<String>,
        /// Also remove pods that nobody starts again, and what they stored on a node that leaves
        #[arg(long)]
        force: bool,
        /// How long pods may take to go
        #[arg(long, value_name = "TIME", default_value = "2m", value_parser = super::time::parse)]
        timeout: Duration,
        #[command(flatten)]
        hosts: HostKeys,
        #[command(flatten)]
        format: Format,
    },
    /// Undo every change on machines you own; remove those that swdt made, and snapshots
    #[command(after_help = examples!("swdt cluster destroy", "swdt cluster destroy my-cluster --force", "swdt cluster destroy --force-forget w1"))]
    Destroy {
        /// The cluster, of several; the same as --cluster
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Also undo what somebody changed after swdt
        #[arg(long)]
        force: bool,
        /// Give up this node's machine if it cannot be reached, and say what stays on it; may be given several times
        #[arg(long, value_name = "NODE")]
        force_forget: Vec<String>,
        #[command(flatten)]
        format: Format,
    },
    /// Remember a cluster again that this host lost the directory of; changes no machine
    #[command(after_help = examples!("swdt cluster adopt --config my-cluster.yaml", "swdt cluster adopt -c my-cluster.yaml --without w2"))]
    Adopt {
        #[command(flatten)]
        config: ConfigFile,
        /// This node has nothing of the cluster any more, or its machine is gone; may be given several times
        #[arg(long, value_name = "NODE")]
        without: Vec<String>,
        #[command(flatten)]
        hosts: HostKeys,
        #[command(flatten)]
        format: Format,
    },
    /// List the clusters that swdt remembers on this host
    #[command(after_help = examples!("swdt cluster list", "swdt cluster list --format json"))]
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Show the machines of a cluster and how far they are
    #[command(after_help = examples!("swdt cluster status", "SWDT_CLUSTER=my-cluster swdt cluster status"))]
    Status {
        #[command(flatten)]
        format: Format,
    },
    /// Save all machines of a cluster at a moment, and put them back
    #[command(subcommand, disable_help_subcommand = true)]
    Snapshot(SnapshotCommand),
    /// Replay what happened in the last run
    #[command(after_help = examples!("swdt cluster logs", "swdt cluster logs --follow --verbose", "swdt cluster logs --all --format json"))]
    Logs {
        /// Go on with what happens now, until the run ends
        #[arg(long, short)]
        follow: bool,
        /// All runs, not only the last one
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        format: Format,
    },
    /// Write a page that shows a cluster: how its last run went, what it is, whether it works, what it is made of
    ///
    /// One file of HTML for any browser, made from what swdt recorded; no machine is asked. Names and addresses are in
    /// it, secrets are not.
    #[command(after_help = examples!("swdt cluster report", "swdt cluster report --output report.html --force", "swdt cluster report --format json"))]
    Report {
        #[command(flatten)]
        place: ReportPlace,
        #[command(flatten)]
        format: Format,
    },
    /// Collect what helps to find out why a cluster does not work, without its secrets
    ///
    /// One archive with what swdt did, what the machines are, logs of the services, and the state of the cluster.
    /// index.md in it tells what there is, and what was left out. Look through it before you send it to somebody.
    #[command(after_help = examples!("swdt cluster support-bundle", "swdt cluster support-bundle --output bundle.zip"))]
    SupportBundle {
        /// Write to this file, for its owner only [default: swdt-CLUSTER-TIME.zip]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        format: Format,
    },
}
