//! Commands for the file that describes a cluster.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Write a configuration file: answer questions on the screen, or say it all with options
    #[command(after_help = examples!("swdt config create", "swdt config create --from my-cluster.yaml", "swdt config create --yes --name lab \\", "  --node cp1,role=control-plane,address=192.168.1.10 \\", "  --node win1,os=windows,address=192.168.1.20"))]
    Create(CreateFile),
    /// Check a configuration file: every problem at once
    #[command(after_help = examples!("swdt config validate my-cluster.yaml", "swdt config validate my-cluster.yaml --format json"))]
    Validate {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        format: Format,
    },
    /// Explain a field of the configuration file, and list what is below it
    #[command(after_help = examples!("swdt config explain", "swdt config explain network.podCIDR", "swdt config explain nodes.connection"))]
    Explain {
        /// Its path; the whole file if there is none
        #[arg(value_name = "FIELD")]
        field: Option<String>,
        #[command(flatten)]
        format: Format,
    },
    /// Bring a file of an earlier version to the newest, with its comments and order
    #[command(after_help = examples!("swdt config migrate old.yaml", "swdt config migrate old.yaml --output new.yaml", "swdt config migrate my.yaml --output my.yaml"))]
    Migrate {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Write to this file, which may be the same one, instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print the JSON Schema of the configuration file, for editors
    #[command(after_help = examples!("swdt config schema --output swdt.schema.json"))]
    Schema {
        /// Write to this file instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

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
