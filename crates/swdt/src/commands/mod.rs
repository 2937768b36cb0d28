//! One file a group of commands. Each is thin over the library.

mod adopt;
mod catalog;
mod cluster;
mod config;
mod console;
mod destroy;
mod difference;
mod doctor;
mod explain;
mod get;
mod image;
mod kubectl;
mod logs;
mod manual;
mod node;
mod plan;
mod provenance;
mod quickstart;
mod replace;
mod report;
mod snapshot;
mod source;
mod status;
mod streams;
mod support;
mod test;

use swdt_core::{
    Error, ErrorKind, Result, id,
    run::{AdoptOptions, DestroyOptions, Drain, UpdateOptions},
    state::Dirs,
    words,
};

use crate::{
    args::{
        Cli, ClusterCommand, Command, ConfigCommand, E2eOptions, Format, GetCommand, Global, ImageCommand,
        NodeCommand, SourceCommand, TestCommand,
    },
    complete,
    failure::{self, Failed},
    host, out,
};

/// Runs a command; gives the exit code.
pub(crate) fn run(cli: Cli) -> u8 {
    let Cli { global, command } = cli;
    let json = wants_json(&command);
    dispatch(&global.or_environment(), command).unwrap_or_else(|failed| failure::report(&failed, json))
}

fn dispatch(global: &Global, command: Command) -> Result<u8, Failed> {
    match command {
        Command::Cluster(command) => match command {
            ClusterCommand::Plan { config, check, prune, until, hosts, format } => {
                let wish = plan::Wish { check, prune: &prune, until: until.until.as_deref() };
                plan::run(global, &config.config, &wish, &hosts, format)?;
            }
            ClusterCommand::Create { config, until, hosts, format } => {
                cluster::create(global, &config.config, until.until, &hosts, format)?;
            }
            ClusterCommand::Update { config, prune, force_forget, force, timeout, hosts, format } => {
                let options = UpdateOptions {
                    prune,
                    forget: force_forget,
                    drain: Drain { skip: false, force, timeout },
                };
                cluster::update(global, &config.config, &options, &hosts, format)?;
            }
            ClusterCommand::Destroy { name, force, force_forget, format } => {
                let options = DestroyOptions { force, forget: force_forget };
                destroy::run(&named(global, name)?, &options, format)?;
            }
            ClusterCommand::Adopt { config, without, hosts, format } => {
                adopt::run(global, &config.config, &AdoptOptions { without }, &hosts, format)?;
            }
            ClusterCommand::List { format } => status::list(global, format)?,
            ClusterCommand::Status { format } => status::status(global, format)?,
            ClusterCommand::Snapshot(command) => snapshot::run(global, &command)?,
            ClusterCommand::Logs { follow, all, format } => logs::run(global, follow, all, format)?,
            ClusterCommand::Report { place, format } => report::run(global, &place, format)?,
            ClusterCommand::SupportBundle { output, format } => {
                support::run(global, output.as_deref(), format)?;
            }
        },
        Command::Config(ConfigCommand::Create(wish)) => config::create::run(global, &wish)?,
        Command::Config(ConfigCommand::Validate { file, format }) => {
            return config::validate(global, &file, format);
        }
        Command::Config(ConfigCommand::Explain { field, format }) => {
            config::explain::run(field.as_deref().unwrap_or_default(), format)?;
        }
        Command::Config(ConfigCommand::Migrate { file, output }) => {
            config::migrate::run(global, &file, output.as_deref())?;
        }
        Command::Config(ConfigCommand::Schema { output }) => config::schema(output.as_deref())?,
        Command::Node(command) => match command {
            NodeCommand::Shell { name } => return Ok(node::shell(global, &name)?),
            NodeCommand::Exec { name, command } => return Ok(node::exec(global, &name, &command)?),
            NodeCommand::Logs { name } => node::logs(global, &name)?,
            NodeCommand::Start { name, format } => node::start(global, &name, format)?,
            NodeCommand::Console { name } => console::attach(global, &name)?,
            NodeCommand::Screenshot { name, output, format } => {
                console::screenshot(global, &name, output, format)?;
            }
            NodeCommand::Stop { name, options, format } => node::stop(global, &name, &options, format)?,
            NodeCommand::Replace { name, options, format } => replace::run(global, &name, &options, format)?,
        },
        Command::Quickstart { windows, yes, format } => quickstart::run(global, windows, yes, format)?,
        Command::Doctor(wish) => return doctor::run(global, &wish),
        Command::Get(command) => match command {
            GetCommand::Kubeconfig { place, format } => get::kubeconfig(global, &place, format)?,
            GetCommand::Nodes { names, format } => get::objects(global, "nodes", &names, None, format)?,
            GetCommand::Pods { names, namespaces, format } => {
                get::objects(global, "pods", &names, Some(&namespaces), format)?;
            }
        },
        Command::Kubectl { arguments } => return Ok(kubectl::run(global, arguments)?),
        Command::Image(ImageCommand::Load { what, nodes, name, format }) => {
            image::load(global, &what, &nodes, name.as_deref(), format)?;
        }
        Command::Test(TestCommand::Smoke { format }) => test::smoke(global, format)?,
        Command::Test(TestCommand::E2e(options)) => test::e2e(global, &options)?,
        Command::Source(command) => match command {
            SourceCommand::List { config, which, format } => {
                source::list(global, config.as_deref(), &which, format)?;
            }
            SourceCommand::Fetch { config, which, bundle, format } => {
                source::fetch(global, config.as_deref(), &which, bundle.as_deref(), format)?;
            }
            SourceCommand::Build { which, version, format } => {
                source::build(global, &which, version.as_deref(), format)?;
            }
            SourceCommand::Prune { go, artifacts, yes, format } => {
                source::prune(global, source::scope(go, artifacts), yes, format)?;
            }
        },
        Command::Catalog { kubernetes, format } => catalog::run(kubernetes.as_deref(), format)?,
        Command::Completions { shell } => {
            let script = complete::script(shell);
            out::raw(&script.map_err(|error| Error::new(id::INTERNAL, error.to_string()))?);
        }
        Command::Explain { ids, format } => explain::run(&ids, format)?,
        Command::Help { words } => manual::help(&words)?,
        Command::Man { dir } => manual::pages(&dir)?,
        Command::MachineSwitch { dir } => console::switch(&dir)?,
        Command::Version { format } => version(format),
    }
    Ok(0)
}

/// Errors are told in the format that was asked for.
fn wants_json(command: &Command) -> bool {
    match command {
        Command::Cluster(
            ClusterCommand::Plan { format, .. }
            | ClusterCommand::Create { format, .. }
            | ClusterCommand::Update { format, .. }
            | ClusterCommand::Destroy { format, .. }
            | ClusterCommand::Adopt { format, .. }
            | ClusterCommand::List { format }
            | ClusterCommand::Status { format }
            | ClusterCommand::Logs { format, .. }
            | ClusterCommand::Report { format, .. }
            | ClusterCommand::SupportBundle { format, .. },
        )
        | Command::Config(ConfigCommand::Explain { format, .. } | ConfigCommand::Validate { format, .. })
        | Command::Source(
            SourceCommand::List { format, .. }
            | SourceCommand::Fetch { format, .. }
            | SourceCommand::Build { format, .. }
            | SourceCommand::Prune { format, .. },
        )
        | Command::Catalog { format, .. }
        | Command::Explain { format, .. }
        | Command::Quickstart { format, .. }
        | Command::Node(
            NodeCommand::Start { format, .. }
            | NodeCommand::Stop { format, .. }
            | NodeCommand::Replace { format, .. }
            | NodeCommand::Screenshot { format, .. },
        )
        | Command::Image(ImageCommand::Load { format, .. })
        | Command::Test(TestCommand::Smoke { format } | TestCommand::E2e(E2eOptions { format, .. }))
        | Command::Version { format } => format.json(),
        Command::Cluster(ClusterCommand::Snapshot(command)) => command.format().json(),
        Command::Config(ConfigCommand::Create(wish)) => wish.format.json(),
        Command::Doctor(wish) => wish.format.json(),
        Command::Get(GetCommand::Kubeconfig { format, .. }) => format.json(),
        Command::Get(GetCommand::Nodes { format, .. } | GetCommand::Pods { format, .. }) => format.json(),
        _ => false,
    }
}

/// The same, with a cluster that was named in another place of the command line.
fn named(global: &Global, name: Option<String>) -> Result<Global> {
    let mut global = global.clone();
    if let Some(name) = name {
        if let Some(other) = global.cluster.filter(|other| *other != name) {
            let message = format!("two clusters are named: `{name}` and `{other}`");
            return Err(Error::new(id::ARGUMENTS_CONFLICT, message)
                .hinted("name one: as the argument, with --cluster or in SWDT_CLUSTER"));
        }
        global.cluster = Some(name);
    }
    Ok(global)
}

fn version(format: Format) {
    let version = env!("CARGO_PKG_VERSION");
    let agent = host::agent_digest();
    if format.json() {
        let document = serde_json::json!({
            "swdt": version,
            "wire": swdt_wire::WIRE_VERSION,
            "nodePrograms": { "linux/amd64": agent },
        });
        out::line(&document.to_string());
        return;
    }
    out::line(&format!("swdt {version}"));
    let agent = agent.map_or_else(|| "not found".to_owned(), |digest| format!("sha256 {}", &digest[..12]));
    out::line(&format!("node program linux/amd64: {agent}"));
}

/// The cluster that is meant: named, or the only one.
fn chosen(global: &Global, dirs: &Dirs) -> Result<String> {
    let names = dirs.clusters()?;
    match (&global.cluster, names.as_slice()) {
        (Some(name), _) if names.contains(name) => Ok(name.clone()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(Error::new(id::CLUSTER_NONE, "there is no cluster yet").hinted(HOW_TO_MAKE_ONE)),
        (Some(name), []) => Err(Error::new(id::CLUSTER_UNKNOWN, format!("there is no cluster `{name}`"))
            .hinted("there is none at all")),
        (Some(name), _) => {
            let hint = match words::nearest(name, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are: {}", names.join(", ")),
            };
            Err(Error::new(id::CLUSTER_UNKNOWN, format!("there is no cluster `{name}`")).hinted(hint))
        }
        (None, _) => Err(Error::new(
            id::CLUSTER_AMBIGUOUS,
            format!("there are several clusters: {}", names.join(", ")),
        )
        .hinted("say which one with --cluster NAME or SWDT_CLUSTER")),
    }
}

const HOW_TO_MAKE_ONE: &str =
    "`swdt quickstart` makes one to try; `swdt config create` writes a file for your own";

/// An error of a run, with the command that goes on: the same again, unless it is wrong itself or somebody else is
/// at work.
fn resumable(error: Error) -> Failed {
    let again = !matches!(error.kind(), ErrorKind::Busy | ErrorKind::Usage);
    let resume = again.then(host::command_line);
    Failed::Error(error, resume)
}

/// Runs asynchronous work.
fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::new(id::INTERNAL, format!("cannot start: {error}")))?
        .block_on(work)
}
