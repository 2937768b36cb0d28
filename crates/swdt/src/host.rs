//! What the library needs from this host: directories, the user, the environment, the node program.

use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use etcetera::BaseStrategy;
use swdt_core::{
    Error, Result, id,
    interrupt::Interrupt,
    machine::Rehearsal,
    remote::{AgentBinary, Agents},
    run::Host,
    source::{Patch, Settings},
    spec::OsFamily,
    state::Dirs,
};

use crate::{args::Global, out};

/// The names of the node programs, beside `swdt`.
const LINUX_AGENT: &str = "swdt-node-linux-amd64";
const WINDOWS_AGENT: &str = "swdt-node-windows-amd64.exe";
/// Host keys that the administrator of this host vouches for.
const SYSTEM_KNOWN_HOSTS: Option<&str> = if cfg!(unix) { Some("/etc/ssh/ssh_known_hosts") } else { None };

impl Global {
    /// What was not said on the command line is taken from the environment. An empty variable is
    /// none: scripts clear variables that way.
    pub(crate) fn or_environment(mut self) -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        self.cluster =
            self.cluster.or_else(|| variable("SWDT_CLUSTER").map(|name| name.to_string_lossy().into()));
        self.data_dir = self.data_dir.or_else(|| variable("SWDT_DATA_DIR").map(PathBuf::from));
        self.cache_dir = self.cache_dir.or_else(|| variable("SWDT_CACHE_DIR").map(PathBuf::from));
        self
    }
}

/// The command as it was typed, to be typed again.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| shell_word(&word.to_string_lossy()));
    std::iter::once("swdt".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// How to call this program: by its name where the shell finds it, else by its place.
pub(crate) fn program() -> String {
    let Ok(here) = std::env::current_exe().and_then(|path| path.canonicalize()) else { return "swdt".into() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join("swdt").with_extension(std::env::consts::EXE_EXTENSION))
        .find_map(|candidate| candidate.canonicalize().ok());
    if found.as_ref() == Some(&here) { "swdt".into() } else { shell_word(&here.to_string_lossy()) }
}

/// A word as a shell takes it, quoted only where that is needed.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Where things are kept.
pub(crate) fn dirs(global: &Global) -> Result<Dirs> {
    let base = || {
        etcetera::choose_base_strategy().map_err(|_| {
            Error::new(id::HOME_UNKNOWN, "cannot find your home directory")
                .hinted("set HOME, or name the places with --data-dir and --cache-dir")
        })
    };
    let data = match &global.data_dir {
        Some(dir) => absolute(dir)?,
        None => base()?.data_dir().join("swdt"),
    };
    let cache = match &global.cache_dir {
        Some(dir) => absolute(dir)?,
        None => base()?.cache_dir().join("swdt"),
    };
    Ok(Dirs { data, cache })
}

/// The user's home directory, for `~/` in the configuration.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir()
}

/// Private keys in `~/.ssh`.
pub(crate) fn keys() -> Vec<PathBuf> {
    let Some(home) = home() else { return Vec::new() };
    let entries = std::fs::read_dir(home.join(".ssh")).into_iter().flatten().flatten();
    let private = entries.map(|entry| entry.path()).filter(|path| {
        let mut head = [0; 64];
        let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut head));
        read.is_ok_and(|length| String::from_utf8_lossy(&head[..length]).contains("PRIVATE KEY-----"))
    });
    let mut keys: Vec<_> = private.collect();
    keys.sort();
    keys
}

/// This host, ready to reach machines.
pub(crate) fn host(global: &Global, accept_new_host_keys: bool) -> Result<Host> {
    let ssh_dir = home().map(|home| home.join(".ssh"));
    Ok(Host {
        dirs: dirs(global)?,
        agents: Agents {
            linux: Arc::new(agent(OsFamily::Linux)?),
            windows: agent(OsFamily::Windows).ok().map(Arc::new),
        },
        user: user(),
        who: who(),
        agent_socket: std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from),
        ssh_program: Some(PathBuf::from("ssh")),
        home: home(),
        known_hosts: ssh_dir
            .iter()
            .map(|dir| dir.join("known_hosts"))
            .chain(SYSTEM_KNOWN_HOSTS.map(PathBuf::from))
            .collect(),
        accept_new_host_keys,
        variable: |name| std::env::var(name).ok(),
        program: std::env::current_exe().unwrap_or_else(|_| "swdt".into()),
        sources: sources(global)?,
        rehearsal: REHEARSAL.0,
        interrupt: Interrupt::default(),
    })
}

/// Variables that decide where Go gets modules, and how it checks them.
const GO_VARIABLES: &[&str] = &[
    "GOPROXY",
    "GONOPROXY",
    "GOPRIVATE",
    "GOSUMDB",
    "GONOSUMDB",
    "GOINSECURE",
    "GOVCS",
    "GOAUTH",
    "GOFLAGS",
];

/// Where programs and images come from on this host.
pub(crate) fn sources(global: &Global) -> Result<Settings> {
    let proxy = |name: &str| {
        // Both spellings are in use; the lower-case one is the older.
        let names = [name.to_lowercase(), name.to_owned(), "all_proxy".to_owned(), "ALL_PROXY".to_owned()];
        names.iter().find_map(|name| variable(name))
    };
    let mut settings = Settings::new(dirs(global)?.cache);
    settings.proxy = proxy("HTTPS_PROXY");
    settings.http_proxy = proxy("HTTP_PROXY");
    settings.no_proxy = variable("no_proxy").or_else(|| variable("NO_PROXY"));
    settings.go_env =
        GO_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?))).collect();
    settings.bundles =
        variable("SWDT_BUNDLES").map(|list| std::env::split_paths(&list).collect()).unwrap_or_default();
    if let Some(text) = variable("SWDT_GO_CACHE_MIB") {
        settings.go_cache_mib = text.parse().map_err(|_| {
            Error::new(id::ARGUMENT_INVALID, format!("SWDT_GO_CACHE_MIB is `{text}`, which is no number"))
                .hinted("write how many MiB of compiled packages to keep, for example 3072")
        })?;
    }
    settings.patches = REHEARSAL.1;
    Ok(settings)
}

/// A variable of the environment; an empty one is none.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The first Ctrl-C stops at the next resource; the second one ends the program, and what the
/// machines are doing goes on to the end of it.
pub(crate) fn stop_on_ctrl_c(interrupt: Interrupt) {
    tokio::spawn(async move {
        if asked_to_stop().await {
            out::take_back_echo();
            out::error_line("stopping at the next safe point, nothing is lost; Ctrl-C again leaves at once");
            interrupt.set();
        }
        if asked_to_stop().await {
            out::take_back_echo();
            out::end_live();
            out::error_line(
                "left; machines finish the step they are at, and the same command goes on from there",
            );
            std::process::exit(130);
        }
    });
}

/// By Ctrl-C, or by whoever ends processes politely: a terminal that is left without a word would not echo any more.
async fn asked_to_stop() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut ended) = signal(SignalKind::terminate()) else {
            return tokio::signal::ctrl_c().await.is_ok();
        };
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
            told = ended.recv() => told.is_some(),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await.is_ok()
}

fn first_variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok())
}

fn user() -> String {
    first_variable(&["USER", "USERNAME", "LOGNAME"]).unwrap_or_else(|| "somebody".into())
}

/// `user@host`.
fn who() -> String {
    let mut host = String::new();
    if let Ok(mut file) = std::fs::File::open("/proc/sys/kernel/hostname") {
        let _ = file.read_to_string(&mut host);
    }
    let host = Some(host.trim().to_owned())
        .filter(|host| !host.is_empty())
        .or_else(|| first_variable(&["COMPUTERNAME"]));
    format!("{}@{}", user(), host.unwrap_or_else(|| "this host".into()))
}

/// The node programs for Linux and Windows, when a release carries them inside.
#[cfg(feature = "embed-agents")]
const EMBEDDED: Option<[&[u8]; 2]> = Some([
    include_bytes!(concat!(env!("SWDT_AGENTS_DIR"), "/swdt-node-linux-amd64")),
    include_bytes!(concat!(env!("SWDT_AGENTS_DIR"), "/swdt-node-windows-amd64.exe")),
]);
#[cfg(not(feature = "embed-agents"))]
const EMBEDDED: Option<[&[u8]; 2]> = None;

fn agent(os: OsFamily) -> Result<AgentBinary> {
    if let Some([linux, windows]) = EMBEDDED {
        let bytes = match os {
            OsFamily::Linux => linux,
            OsFamily::Windows => windows,
        };
        return Ok(AgentBinary::new(bytes.to_vec()));
    }
    let path = agent_path(os)?;
    let bytes = std::fs::read(&path).map_err(|error| {
        Error::new(
            id::NODE_PROGRAM_MISSING,
            format!("the node program {} cannot be read: {error}", path.display()),
        )
        .hinted("it belongs beside `swdt`; in a clone of the sources, `cargo xtask agents` builds it")
    })?;
    Ok(AgentBinary::new(bytes))
}

fn agent_path(os: OsFamily) -> Result<PathBuf> {
    Ok(beside()?.join(match os {
        OsFamily::Linux => LINUX_AGENT,
        OsFamily::Windows => WINDOWS_AGENT,
    }))
}

/// The directory this program is in.
fn beside() -> Result<PathBuf> {
    let here = std::env::current_exe()
        .map_err(|error| Error::new(id::INTERNAL, format!("cannot find the program itself: {error}")))?;
    Ok(here.parent().unwrap_or(Path::new(".")).to_owned())
}

/// What Windows nodes without Windows are made of, and what their kubelet has of its own.
#[cfg(feature = "rehearsal")]
const REHEARSAL: (Option<Rehearsal>, &[Patch]) =
    (Some(swdt_rehearsal::rehearsal(|| swdt_rehearsal::stand_ins(&beside()?))), swdt_rehearsal::PATCHES);
#[cfg(not(feature = "rehearsal"))]
const REHEARSAL: (Option<Rehearsal>, &[Patch]) = (None, &[]);

/// Can this swdt make Windows nodes without Windows?
pub(crate) fn has_rehearsals() -> bool {
    REHEARSAL.0.is_some()
}

/// The node program and its digest, if it can be found.
pub(crate) fn agent_digest() -> Option<String> {
    agent(OsFamily::Linux).ok().map(|agent| agent.sha256().to_owned())
}

pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Error::new(id::ARGUMENT_INVALID, format!("{}: {error}", path.display())))
}
