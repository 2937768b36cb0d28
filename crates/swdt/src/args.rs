//! The command line, as data. Doc comments are the help texts.
//!
//! `-o` stays free: it will be the short form of `--format` where things are shown.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const BEGIN: &str = "\
Begin with:
  swdt config validate my-cluster.yaml
  swdt cluster create --config my-cluster.yaml

Clusters are remembered in ~/.local/share/swdt; machine
roots and downloads are kept in ~/.cache/swdt.

Exit codes:
  0 ok             5 download      9 cluster
  2 usage          6 machine      10 busy
  3 configuration  7 connection   70 a mistake in swdt
  4 prerequisite   8 resource    130 interrupted";

/// The heading of what every command takes, so that it does not drown what this one takes.
const GLOBAL: &str = "Global options";

/// How a command is used, under its help.
macro_rules! examples {
    ($($line:literal),+) => { concat!("Examples:", $("\n  ", $line),+) };
}

/// Makes a vanilla Kubernetes cluster with Linux and Windows nodes.
#[derive(Debug, Parser)]
#[command(
    name = "swdt",
    version,
    after_help = BEGIN,
    arg_required_else_help = true,
    subcommand_required = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes. The environment is read by `host`, which takes an empty variable for none.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Which cluster, of several [env: SWDT_CLUSTER]
    #[arg(long, global = true, value_name = "NAME", help_heading = GLOBAL)]
    pub(crate) cluster: Option<String>,
    /// Say only what went wrong
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// Say everything, also what programs say
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) verbose: bool,
    /// Remember clusters here [env: SWDT_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Keep roots and downloads here [env: SWDT_CACHE_DIR]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) cache_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make, look at and remove clusters
    #[command(subcommand, disable_help_subcommand = true)]
    Cluster(ClusterCommand),
    /// Check and describe the configuration file
    #[command(subcommand, disable_help_subcommand = true)]
    Config(ConfigCommand),
    /// Work on one machine of a cluster
    #[command(subcommand, disable_help_subcommand = true)]
    Node(NodeCommand),
    /// Print a completion script for a shell
    #[command(after_help = examples!("source <(swdt completions bash)", "swdt completions zsh > ~/.zfunc/_swdt", "swdt completions fish | source"))]
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Print the version of swdt and of the node programs it carries
    #[command(after_help = examples!("swdt version", "swdt version --format json"))]
    Version {
        #[command(flatten)]
        format: Format,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show what `create` would make true, on which machine, in which order
    #[command(after_help = examples!("swdt cluster plan --config my-cluster.yaml", "swdt cluster plan --config my-cluster.yaml --check"))]
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
    /// Undo every change on machines you own, and remove machines that swdt made
    #[command(after_help = examples!("swdt cluster destroy", "swdt cluster destroy --cluster my-cluster --force"))]
    Destroy {
        /// Also undo what somebody changed after swdt
        #[arg(long)]
        force: bool,
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
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check a configuration file: every problem at once
    #[command(after_help = examples!("swdt config validate my-cluster.yaml", "swdt config validate my-cluster.yaml --format json"))]
    Validate {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        format: Format,
    },
    /// Print the JSON Schema of the configuration file, for editors
    #[command(after_help = examples!("swdt config schema --output swdt.schema.json"))]
    Schema {
        /// Write to this file instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

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
    /// Start a machine that swdt made (also after the host was restarted)
    #[command(after_help = examples!("swdt node start w1"))]
    Start {
        /// The node
        name: String,
    },
    /// Stop a machine that swdt made
    #[command(after_help = examples!("swdt node stop w1"))]
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
    /// Stop after this phase
    #[arg(long, value_name = "PHASE", value_parser = phase_names())]
    pub(crate) until: Option<String>,
}

fn phase_names() -> clap::builder::PossibleValuesParser {
    swdt_core::plan::PHASES.iter().map(|phase| phase.id).collect::<Vec<_>>().into()
}

#[derive(Debug, Args)]
pub(crate) struct HostKeys {
    /// Trust and remember host keys that are not known yet; changed ones stay refused
    #[arg(long)]
    pub(crate) accept_new_host_keys: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Format {
    /// How to print
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<OutputFormat>,
}

impl Format {
    /// Asked to be read by a program?
    pub(crate) fn json(self) -> bool {
        self.format == Some(OutputFormat::Json)
    }

    /// Asked for lines that never move?
    pub(crate) fn plain(self) -> bool {
        self.format == Some(OutputFormat::Plain)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    // Plain lines, also on a terminal. (No doc comments here: with them, clap spreads every help over pages.)
    Plain,
    // One JSON document, or one a line for what happens over time.
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use swdt_core::ErrorKind;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_exit_code_is_told() {
        for kind in ErrorKind::ALL {
            let code = kind.exit_code().to_string();
            assert!(BEGIN.split_whitespace().any(|word| word == code), "{kind:?} is missing in the help");
        }
    }

    #[test]
    fn every_command_shows_how_it_is_used() {
        for group in Cli::command().get_subcommands() {
            let commands: Vec<_> = group.get_subcommands().collect();
            for command in if commands.is_empty() { vec![group] } else { commands } {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with("Example"), "`{}` has no example", command.get_name());
                assert!(help.lines().all(|line| line.len() <= 60), "`{}`: {help}", command.get_name());
            }
        }
    }

    #[test]
    fn minus_o_stays_free() {
        fn check(command: &clap::Command) {
            assert!(command.get_arguments().all(|argument| argument.get_short() != Some('o')));
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
