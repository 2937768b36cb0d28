//! What the runner needs from the host it runs on. The command fills it in; the library reads no
//! environment by itself.

use std::{
    hash::{BuildHasher, Hasher},
    path::PathBuf,
};

use crate::{
    interrupt::Interrupt,
    machine::Rehearsal,
    remote::Agents,
    source::Settings,
    state::{Dirs, Holder},
};

/// The host and its user.
#[derive(Clone)]
pub struct Host {
    /// Where things are kept.
    pub dirs: Dirs,
    /// The node programs to bring along.
    pub agents: Agents,
    /// The user swdt runs as.
    pub user: String,
    /// `user@host`, for whoever finds a machine busy.
    pub who: String,
    /// Socket of the user's ssh-agent.
    pub agent_socket: Option<PathBuf>,
    /// The `ssh` program, which knows the user's configuration.
    pub ssh_program: Option<PathBuf>,
    /// The user's home directory, for `~` in what `ssh -G` says.
    pub home: Option<PathBuf>,
    /// The user's own known_hosts files.
    pub known_hosts: Vec<PathBuf>,
    /// Trust machines whose host key is not known yet.
    pub accept_new_host_keys: bool,
    /// Looks up an environment variable, for `passwordFrom: {env: …}`.
    pub variable: fn(&str) -> Option<String>,
    /// The program `swdt` itself; it runs parts of the network of virtual machines.
    pub program: PathBuf,
    /// Where programs and images come from.
    pub sources: Settings,
    /// What Windows nodes without Windows are made of.
    pub rehearsal: Option<Rehearsal>,
    /// Set when the user wants to stop.
    pub interrupt: Interrupt,
}

impl Host {
    pub(super) fn holder(&self, command: &str) -> Holder {
        Holder {
            command: command.to_owned(),
            who: self.who.clone(),
            pid: std::process::id(),
            since: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        }
    }
}

/// Unique among the runs of a cluster, and sorts by time.
pub(super) fn new_run_id() -> String {
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("{}-{:04x}", jiff::Timestamp::now().strftime("%Y%m%dt%H%M%S"), random & 0xffff)
}
