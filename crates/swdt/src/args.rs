//! The command line, as data. Doc comments are the help texts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "\
Exit codes: 0 ok · 2 usage · 3 configuration · 4 something must be there first · 5 download ·
6 machine · 7 connection · 8 resource · 9 cluster · 10 somebody else works on it ·
70 a mistake in swdt · 130 interrupted";

/// Makes a vanilla Kubernetes cluster with Linux and Windows nodes.
#[derive(Debug, Parser)]
#[command(
    name = "swdt",
    version,
    after_help = EXIT_CODES,
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Which cluster; not needed when there is only one
    #[arg(long, global = true, env = "SWDT_CLUSTER", value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Say only what went wrong
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say everything, output of programs on the nodes included
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// Where clusters are remembered [default: ~/.local/share/swdt]
    #[arg(long, global = true, env = "SWDT_DATA_DIR", value_name = "DIR", hide_env_values = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where machine roots and downloads are kept [default: ~/.cache/swdt]
    #[arg(long, global = true, env = "SWDT_CACHE_DIR", value_name = "DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make, look at and remove clusters
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Check and describe the configuration file
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Work on one machine of a cluster
    #[command(subcommand)]
    Node(NodeCommand),
    /// Print a completion script for a shell
    #[command(after_help = "Example: swdt completions bash > /etc/bash_completion.d/swdt")]
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Print the version of swdt and of the node programs it carries
    Version {
        #[command(flatten)]
        format: Format,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show what `create` would make true, on which machine, in which order
    #[command(after_help = "Examples:\n  swdt cluster plan --config my-cluster.yaml\n  swdt cluster plan --config my-cluster.yaml --check")]
    Plan {
        #[command(flatten)]
        config: ConfigFile,
        /// Ask the machines what of it is true already; changes nothing
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        until: Until,
        #[command(flatten)]
        hosts: HostKeys,
        #[command(flatten)]
        format: Format,
    },
    /// Make the cluster, or go on where an earlier run stopped
    #[command(after_help = "Examples:\n  swdt cluster create --config my-cluster.yaml\n  swdt cluster create --config my-cluster.yaml --format json > events.jsonl")]
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
    /// Undo every change on machines you own, and remove machines that swdt made
    Destroy {
        /// Also undo what somebody changed after swdt
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        format: Format,
    },
    /// List the clusters that swdt remembers on this host
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Show the machines of a cluster and how far they are
    Status {
        #[command(flatten)]
        format: Format,
    },
    /// Replay what happened in the last run
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
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check a configuration file: every problem at once
    Validate {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        format: Format,
    },
    /// Print the JSON Schema of the configuration file, for editors
    Schema {
        /// Write to this file instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// Open a shell on a machine
    Shell {
        /// The node
        name: String,
    },
    /// Run a command on a machine; its exit code becomes ours
    #[command(after_help = "Example: swdt node exec cp1 -- systemctl status ssh")]
    Exec {
        /// The node
        name: String,
        /// The program and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Print what a machine and its programs said
    Logs {
        /// The node
        name: String,
    },
    /// Start a machine that swdt made (also after the host was restarted)
    Start {
        /// The node
        name: String,
    },
    /// Stop a machine that swdt made
    Stop {
        /// The node
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConfigFile {
    /// The file that describes the cluster
    #[arg(long, short, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Until {
    /// Stop after this phase (see `swdt cluster plan`)
    #[arg(long, value_name = "PHASE", value_parser = phase_names())]
    pub(crate) until: Option<String>,
}

fn phase_names() -> clap::builder::PossibleValuesParser {
    swdt_core::plan::PHASES.iter().map(|phase| phase.id).collect::<Vec<_>>().into()
}

#[derive(Debug, Args)]
pub(crate) struct HostKeys {
    /// Trust machines whose host key is not known yet, and remember it. Changed keys stay refused
    #[arg(long)]
    pub(crate) accept_new_host_keys: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Format {
    /// How to print [default: live on a terminal, plain elsewhere]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<OutputFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Plain lines, also on a terminal
    Plain,
    /// One JSON document, or one a line for what happens over time
    Json,
}
