//! Commands for a cluster that is there.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Format;

#[derive(Debug, Subcommand)]
pub(crate) enum GetCommand {
    /// Print the kubeconfig of a cluster, write it to a file, or merge it into yours
    #[command(after_help = examples!("swdt get kubeconfig", "swdt get kubeconfig --output my-cluster.kubeconfig", "swdt get kubeconfig --merge --use"))]
    Kubeconfig {
        #[command(flatten)]
        place: KubeconfigPlace,
        #[command(flatten)]
        format: KubeconfigFormat,
    },
    /// List the nodes, as kubectl does
    #[command(after_help = examples!("swdt get nodes", "swdt get nodes -o wide", "swdt get nodes w1 -o yaml"))]
    Nodes {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        format: KubectlFormat,
    },
    /// List pods, as kubectl does
    #[command(after_help = examples!("swdt get pods -A", "swdt get pods -n kube-system -o wide"))]
    Pods {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        namespaces: Namespaces,
        #[command(flatten)]
        format: KubectlFormat,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KubeconfigPlace {
    /// Write to this file, for its owner only
    #[arg(long, value_name = "FILE", conflicts_with = "merge")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file whatever it is
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Put it into this kubeconfig and keep all else there [default: $KUBECONFIG, ~/.kube/config]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, without a file, with a file: three things")]
    pub(crate) merge: Option<Option<PathBuf>>,
    /// Make it the current context
    #[arg(long = "use", requires = "merge")]
    pub(crate) current: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Namespaces {
    /// Of this namespace
    #[arg(long, short, value_name = "NAME", conflicts_with = "all_namespaces")]
    pub(crate) namespace: Option<String>,
    /// Of all namespaces
    #[arg(long, short = 'A', conflicts_with = "names")]
    pub(crate) all_namespaces: bool,
}

/// What kubectl prints is printed as it is, in its own formats.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct KubectlFormat {
    /// How to print
    #[arg(long, short = 'o', value_enum, value_name = "FORMAT")]
    format: Option<KubectlFormatName>,
}

impl KubectlFormat {
    /// Asked to be read by a program?
    pub(crate) fn json(self) -> bool {
        self.format == Some(KubectlFormatName::Json)
    }

    /// As kubectl calls it; none for its tables.
    pub(crate) fn name(self) -> Option<&'static str> {
        self.format.map(|format| match format {
            KubectlFormatName::Wide => "wide",
            KubectlFormatName::Json => "json",
            KubectlFormatName::Yaml => "yaml",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KubectlFormatName {
    Wide,
    Json,
    Yaml,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct KubeconfigFormat {
    /// How to print
    #[arg(long, short = 'o', value_enum, value_name = "FORMAT")]
    format: Option<KubeconfigFormatName>,
}

impl KubeconfigFormat {
    /// JSON instead of YAML?
    pub(crate) fn json(self) -> bool {
        self.format == Some(KubeconfigFormatName::Json)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KubeconfigFormatName {
    Yaml,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageCommand {
    /// Put an image on the nodes: from an archive, or pulled by themselves
    #[command(after_help = examples!("docker save my-app:1 -o my-app.tar", "swdt image load my-app.tar", "swdt image load quay.io/me/my-app:1 --node w1"))]
    Load {
        /// An archive (docker or OCI), or the name of an image
        #[arg(value_name = "ARCHIVE|NAME")]
        what: String,
        /// Only on this node; can be repeated
        #[arg(long = "node", value_name = "NODE")]
        nodes: Vec<String>,
        /// The name of an image whose archive has none
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        format: Format,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TestCommand {
    /// Pods on every node: do they reach each other, services, names and volumes?
    #[command(after_help = examples!("swdt test smoke", "swdt test smoke --format json"))]
    Smoke {
        #[command(flatten)]
        format: Format,
    },
    /// Tests of Kubernetes' own, of the cluster's version
    ///
    /// They are built on this host the first time, which takes minutes. Without --focus a small set is run that
    /// needs no images but those the nodes have.
    #[command(after_help = examples!("swdt test e2e", r"swdt test e2e --focus '\[sig-network\] DNS'", "swdt test e2e --focus Conformance --reports out"))]
    E2e(E2eOptions),
}

#[derive(Debug, Args)]
pub(crate) struct E2eOptions {
    /// Run tests whose names match this regular expression; can be repeated
    #[arg(long, value_name = "REGEX")]
    pub(crate) focus: Vec<String>,
    /// Leave out tests whose names match; can be repeated
    #[arg(long, value_name = "REGEX")]
    pub(crate) skip: Vec<String>,
    /// End after this time
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub(crate) timeout: String,
    /// Put junit.xml and e2e.log there [default: the cluster's directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) reports: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}
