//! The command line, as data. Doc comments are the help texts.
//!
//! `-o` is the short form of `--format` everywhere, as kubectl's users type it; `--output` is a file everywhere.

use std::path::PathBuf;

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::styling::{Ansi256Color, AnsiColor, Styles},
};

const BEGIN: &str = "\
\x1b[1;38;5;163mBegin with:\x1b[0m
  swdt quickstart
or with a file of your own:
  swdt config create --output my-cluster.yaml
  swdt cluster create --config my-cluster.yaml
`swdt help topics` lists more to read.

Clusters are remembered in ~/.local/share/swdt; machine
roots and downloads are kept in ~/.cache/swdt.

\x1b[1;38;5;163mExit codes:\x1b[0m
  0 ok             5 download      9 cluster
  2 usage          6 machine      10 busy
  3 config         7 connection   70 a mistake in swdt
  4 prerequisite   8 resource    130 interrupted";

/// Colours of help texts; these two are the wizard's, and can be read on light and dark backgrounds alike.
const PINK: Ansi256Color = Ansi256Color(163);
const BLUE: Ansi256Color = Ansi256Color(31);
const STYLES: Styles = Styles::styled()
    .header(PINK.on_default().bold())
    .usage(PINK.on_default().bold())
    .literal(BLUE.on_default().bold())
    .placeholder(BLUE.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Green.on_default().bold())
    .invalid(AnsiColor::Yellow.on_default().bold());

/// The heading of what every command takes, so that it does not drown what this one takes.
const GLOBAL: &str = "Global options";

/// How a command is used, under its help; the heading is coloured as the others are.
macro_rules! examples {
    ($($line:literal),+) => { concat!("\x1b[1;38;5;163mExamples:\x1b[0m", $("\n  ", $line),+) };
}

mod cluster;
mod config;
mod day_two;
mod doctor;
mod node;
mod report;
mod snapshot;
mod source;
mod time;

pub(crate) use cluster::ClusterCommand;
pub(crate) use config::{ConfigCommand, CreateFile};
pub(crate) use day_two::{
    E2eOptions, GetCommand, ImageCommand, KubeconfigFormat, KubeconfigPlace, KubectlFormat, Namespaces,
    TestCommand,
};
pub(crate) use doctor::Doctor;
pub(crate) use node::{DrainOptions, NodeCommand, ReplaceOptions};
pub(crate) use report::ReportPlace;
pub(crate) use snapshot::SnapshotCommand;
pub(crate) use source::{SourceCommand, Which};

/// Makes a vanilla Kubernetes cluster with Linux and Windows nodes.
#[derive(Debug, Parser)]
#[command(
    name = "swdt",
    version,
    after_help = BEGIN,
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    styles = STYLES
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes. The environment is read by `host`, which takes an empty variable for none.
#[derive(Debug, Clone, Args)]
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
    /// Write, check and describe the configuration file
    #[command(subcommand, disable_help_subcommand = true)]
    Config(ConfigCommand),
    /// Work on one machine of a cluster
    #[command(subcommand, disable_help_subcommand = true)]
    Node(NodeCommand),
    /// Make a cluster of two nodes on this Linux host, to try things out
    #[command(after_help = examples!("swdt quickstart", "swdt quickstart --yes", "swdt quickstart --windows rehearsal"))]
    Quickstart {
        /// Add a node of Windows: `rehearsal` needs no Windows, and runs no pods
        #[arg(long, value_name = "HOW")]
        windows: Option<Windows>,
        /// Install packages that this host lacks, without asking
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        format: Format,
    },
    /// Find out what is wrong with this host, machines or a cluster
    ///
    /// Looks at this host; with --config at every machine of the file; and at the cluster, if it is there. All findings
    /// at once, the worst first. With a problem, the exit code is that of its kind.
    #[command(after_help = examples!("swdt doctor", "swdt doctor --config my-cluster.yaml", "swdt doctor --cluster my-cluster --fix"))]
    Doctor(Doctor),
    /// Tell what an error or a rule of the doctor means, and what to do about it
    #[command(after_help = examples!("swdt explain host-key-unknown", "swdt explain host-kvm disk-full", "swdt explain --format json"))]
    Explain {
        /// As it stands in brackets behind the word `error`; without one, all are listed
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        format: Format,
    },
    /// Look at a cluster's nodes and pods, get its kubeconfig
    #[command(subcommand, disable_help_subcommand = true)]
    Get(GetCommand),
    /// Run kubectl on the control plane; its exit code becomes ours
    #[command(after_help = examples!("swdt kubectl -- get pods -A", "swdt kubectl -- apply -f app.yaml", "swdt kubectl -- exec -it my-pod -- sh", "kustomize build . | swdt kubectl -- apply -f -"))]
    Kubectl {
        /// The arguments of kubectl; files after `-f` are of this host
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            required = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<String>,
    },
    /// Put images on the nodes
    #[command(subcommand, disable_help_subcommand = true)]
    Image(ImageCommand),
    /// Try whether a cluster works
    #[command(subcommand, disable_help_subcommand = true)]
    Test(TestCommand),
    /// Look at, fetch and build what clusters are made of
    #[command(subcommand, disable_help_subcommand = true)]
    Source(SourceCommand),
    /// Show which versions go together, and what does not, and why
    #[command(after_help = examples!("swdt catalog", "swdt catalog --kubernetes 1.35", "swdt catalog --format json"))]
    Catalog {
        /// Only this Kubernetes: a minor, or a whole version
        #[arg(long, value_name = "VERSION")]
        kubernetes: Option<String>,
        #[command(flatten)]
        format: Format,
    },
    /// Print a script for a shell, so that Tab completes commands and the names of clusters and nodes
    #[command(after_help = examples!("bash: source <(swdt completions bash)", "zsh:  source <(swdt completions zsh)", "fish: swdt completions fish | source", "PowerShell: swdt completions powershell |", "  Out-String | Invoke-Expression"))]
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of swdt and its commands into a directory
    #[command(after_help = examples!("swdt man ~/.local/share/man/man1", "man swdt-cluster-create"))]
    Man {
        /// The directory; made if it is not there
        dir: PathBuf,
    },
    /// Print the help of a command, or a topic; `swdt help topics` lists those
    #[command(after_help = examples!("swdt help topics", "swdt help windows", "swdt help cluster create"))]
    Help {
        /// A topic, or the words of a command
        #[arg(value_name = "TOPIC|COMMAND")]
        words: Vec<String>,
    },
    /// Pass frames between the virtual machines of a directory; started by swdt itself
    #[command(hide = true)]
    MachineSwitch {
        /// Where the sockets are
        dir: PathBuf,
    },
    /// Print the version of swdt and of the node programs it carries
    #[command(after_help = examples!("swdt version", "swdt version --format json"))]
    Version {
        #[command(flatten)]
        format: Format,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Windows {
    // By provider `rehearsal`.
    Rehearsal,
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
    #[arg(long, short = 'o', value_enum, value_name = "FORMAT")]
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
        fn check(command: &clap::Command) {
            if command.has_subcommands() {
                return command.get_subcommands().filter(|it| !it.is_hide_set()).for_each(check);
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Example"), "`{}` has no example", command.get_name());
            assert!(help.lines().all(|line| line.len() <= 60), "`{}`: {help}", command.get_name());
        }
        check(&Cli::command());
    }

    #[test]
    fn minus_o_is_format_and_output_is_a_file() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                let (short, long) = (argument.get_short(), argument.get_long());
                let place = format!("{} {}", command.get_name(), argument.get_id());
                assert_eq!(short == Some('o'), long == Some("format"), "{place}");
                let file = argument.get_value_names().is_some_and(|names| names == ["FILE"]);
                assert!(long != Some("output") || file, "{place}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
