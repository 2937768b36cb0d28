//! Commands for one machine of a cluster.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::Format;

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// Open a shell on a machine
    #[command(after_help = examples!("swdt node shell cp1"))]
    Shell {
        /// The node
        name: String,
    },
    /// Run a command on a machine; its exit code becomes ours
    #[command(after_help = examples!("swdt node exec cp1 -- systemctl status ssh", "swdt node exec w1 -- sh -c 'cat > /root/notes' < notes"))]
    Exec {
        /// The node
        name: String,
        /// The program and its arguments
        #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Print what a machine and its programs said
    #[command(after_help = examples!("swdt node logs cp1", "swdt node logs cp1 | grep -i warning"))]
    Logs {
        /// The node
        name: String,
    },
    /// Start a machine that swdt made, and wait until its node is ready
    #[command(after_help = examples!("swdt node start w1"))]
    Start {
        /// The node
        name: String,
        #[command(flatten)]
        format: Format,
    },
    /// Move the pods away, then stop a machine that swdt made
    #[command(after_help = examples!("swdt node stop w1", "swdt node stop w1 --force", "swdt node stop w1 --no-drain"))]
    Stop {
        /// The node
        name: String,
        #[command(flatten)]
        options: DrainOptions,
        #[command(flatten)]
        format: Format,
    },
    /// Talk to a virtual machine on its serial line, also before it has a network
    #[command(after_help = examples!("swdt node console cp1"))]
    Console {
        /// The node
        name: String,
    },
    /// Save what a virtual machine shows on its screen
    #[command(after_help = examples!("swdt node screenshot win1", "swdt node screenshot win1 --output boot.png"))]
    Screenshot {
        /// The node
        name: String,
        /// Write the picture to this file, as PNG [default: NAME.png]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        format: Format,
    },
    /// Put another program on a node, and the old one back if it does not work
    ///
    /// The pods are moved away, the program is swapped, and the node must become ready again; otherwise everything goes
    /// back by itself. What was replaced is remembered: `cluster create` keeps it until --reset.
    #[command(after_help = examples!(
        "swdt node replace w1 kubelet=./kubelet",
        "swdt node replace win1 kubelet=./kubelet.exe",
        "swdt node replace w1 cni-plugins=./bin",
        "swdt node replace w1 kubelet --from-checkout ~/kubernetes",
        "swdt node replace w1 --reset"
    ))]
    Replace {
        /// The node
        name: String,
        #[command(flatten)]
        options: ReplaceOptions,
        #[command(flatten)]
        format: Format,
    },
}

/// How a node is emptied first.
#[derive(Debug, Args)]
pub(crate) struct DrainOptions {
    /// Also remove pods that nobody starts again, and what they stored on the node
    #[arg(long, conflicts_with = "no_drain")]
    pub(crate) force: bool,
    /// Leave the pods on the node
    #[arg(long)]
    pub(crate) no_drain: bool,
    /// How long pods may take to go
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = super::time::parse)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct ReplaceOptions {
    /// What is replaced, and by which file or directory; names alone with --from-checkout and --reset
    #[arg(value_name = "COMPONENT=FILE", required_unless_present = "reset")]
    pub(crate) what: Vec<String>,
    /// Build the components from this source tree
    #[arg(long, value_name = "DIR", conflicts_with = "reset")]
    pub(crate) from_checkout: Option<PathBuf>,
    /// Bring back the cluster's own: of these components, or of all that were replaced
    #[arg(long)]
    pub(crate) reset: bool,
    #[command(flatten)]
    pub(crate) drain: DrainOptions,
    /// How long the node may take to be ready again before everything goes back
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = super::time::parse)]
    pub(crate) ready_within: Duration,
}
