//! Everything the SSH transport needs to be told; it looks up nothing by itself.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;

use crate::spec::Connection;

/// How to reach and enter one machine.
#[derive(Debug, Clone)]
pub struct SshOptions {
    /// IP address, host name, or a `Host` of the user's ssh configuration.
    pub address: String,
    /// Port; what `ssh -G` says, else 22, when the user was silent.
    pub port: Option<u16>,
    /// What the cluster's file says. It wins over `ssh -G`.
    pub connection: Connection,
    /// The secret that `connection.password_from` points to: password of the user on the machine, and
    /// passphrase of its key. Never sent to a jump host.
    pub password: Option<SecretString>,
    /// The cluster's own known_hosts file; new keys are learned into it.
    pub own_known_hosts: PathBuf,
    /// Further known_hosts files, besides those that `ssh -G` names.
    pub known_hosts: Vec<PathBuf>,
    /// Learn the key of a host of which nothing is recorded. A changed key is refused all the same.
    pub accept_new: bool,
    /// The agent: a socket, on Windows a named pipe or the word `pageant`.
    pub agent_socket: Option<PathBuf>,
    /// The OpenSSH client, only for `ssh -G`; without it the cluster's file alone counts.
    pub ssh_program: Option<PathBuf>,
    /// Another file than `~/.ssh/config` for `ssh -G`.
    pub ssh_config: Option<PathBuf>,
    /// The user's home, for `~` in what `ssh -G` prints.
    pub home: Option<PathBuf>,
    /// Try again for so long while the machine refuses, is unreachable, or does not let us in yet.
    pub patience: Duration,
    /// Limits of a single try, and of silence.
    pub timing: Timing,
}

/// Limits of a single try, and of silence.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// For the TCP connection, and again for the key exchange.
    pub connect: Duration,
    /// For the login.
    pub auth: Duration,
    /// After so much silence the machine is asked for a sign of life.
    pub keepalive: Duration,
    /// After so many unanswered questions the connection counts as lost.
    pub missed: u32,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            auth: Duration::from_secs(30),
            keepalive: Duration::from_secs(5),
            missed: 3,
        }
    }
}

impl Timing {
    /// How long a dead connection can go unnoticed.
    pub fn silence(&self) -> Duration {
        // One interval before the first question, and one after each.
        self.keepalive * (self.missed + 1)
    }
}

impl SshOptions {
    /// Defaults: strict host keys, no agent, no `ssh -G`, one try.
    pub fn new(address: impl Into<String>, connection: Connection, own_known_hosts: PathBuf) -> Self {
        Self {
            address: address.into(),
            port: None,
            connection,
            password: None,
            own_known_hosts,
            known_hosts: Vec::new(),
            accept_new: false,
            agent_socket: None,
            ssh_program: None,
            ssh_config: None,
            home: None,
            patience: Duration::ZERO,
            timing: Timing::default(),
        }
    }
}
