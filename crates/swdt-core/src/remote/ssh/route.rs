//! From what was asked to the hops to take: the machine itself, and the jump hosts before it.

use std::path::PathBuf;

use russh::keys::PublicKey;
use secrecy::SecretString;

use super::{
    host_key::Policy,
    known_hosts,
    options::SshOptions,
    ssh_config::{self, Question, SshConfig},
};
use crate::{Error, Result, id};

/// More jump hosts than this are a loop in somebody's configuration.
const MAX_HOPS: usize = 8;

/// One machine on the way.
#[derive(Debug, Clone)]
pub(super) struct Hop {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) policy: Policy,
    pub(super) keys: KeySources,
    /// For password logins.
    pub(super) password: Option<SecretString>,
    /// For encrypted keys.
    pub(super) passphrase: Option<SecretString>,
}

impl Hop {
    /// `admin@10.0.0.4:22`.
    pub(super) fn place(&self) -> &str {
        &self.policy.place
    }
}

/// Where keys for a login come from.
#[derive(Debug, Clone)]
pub(super) struct KeySources {
    /// The key named in the cluster's file: it must be usable.
    pub(super) named: Option<PathBuf>,
    /// Keys that ssh would try: they may be missing.
    pub(super) usual: Vec<PathBuf>,
    /// The agent.
    pub(super) agent: Option<PathBuf>,
    /// Of the agent's keys use only those that are in a file above as well.
    pub(super) only_files: bool,
}

/// The hops, the first to connect to first, and what the user should know.
pub(super) async fn route(options: &SshOptions) -> Result<(Vec<Hop>, Vec<String>)> {
    let target =
        Address { user: options.connection.user.clone(), host: options.address.clone(), port: options.port };
    let mut warnings = Vec::new();
    let config = ask(options, &target).await?;
    let mut hops = vec![target_hop(options, &target, &config)?];
    let asked = options.connection.jump.clone();
    if asked.is_none() && config.proxy_jump.is_none() && config.proxy_command.is_some() {
        warnings.push(format!(
            "the ssh configuration of {} uses ProxyCommand, which swdt does not; connecting directly (a jump host works)",
            options.address
        ));
    }
    let mut jumps = asked.or(config.proxy_jump);
    while let Some(chain) = jumps.take().filter(|chain| chain != "none") {
        for jump in chain.split(',').rev() {
            let address = Address::parse(jump.trim())?;
            let config = ask(options, &address).await?;
            let hop = jump_hop(options, &address, &config)?;
            // `Host *` with a ProxyJump also covers the jump host itself; ssh ignores it there.
            if hops[0].host == hop.host && hops[0].port == hop.port {
                jumps = None;
                continue;
            }
            hops.insert(0, hop);
            // Only the first of a chain is reached by a way of its own.
            jumps = config.proxy_jump;
        }
        if hops.len() > MAX_HOPS {
            return Err(Error::new(
                id::JUMP_REFUSED,
                format!("more than {MAX_HOPS} jump hosts on the way to {}", options.address),
            )
            .hinted("does a jump host name itself as its own jump host in ~/.ssh/config?"));
        }
    }
    Ok((hops, warnings))
}

/// `[user@]host[:port]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) user: Option<String>,
    pub(super) host: String,
    pub(crate) port: Option<u16>,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::new(id::VALUE_INVALID, format!("`{text}` is no jump host"))
                .hinted("write [user@]host[:port], e.g. admin@gate.example:2222 or [fd00::1]:22")
        };
        let rest = text.strip_prefix("ssh://").unwrap_or(text);
        let (user, rest) = rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user), rest));
        let (host, port) = match rest.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(Some((host, port))) => (host, port.strip_prefix(':')),
            Some(None) => return Err(wrong()),
            // More than one colon and no brackets: a bare IPv6 address.
            None if rest.matches(':').count() > 1 => (rest, None),
            None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map(str::parse).transpose().map_err(|_| wrong())?;
        if host.is_empty() || user == Some("") {
            return Err(wrong());
        }
        Ok(Self { user: user.map(str::to_owned), host: host.to_owned(), port })
    }
}

async fn ask(options: &SshOptions, address: &Address) -> Result<SshConfig> {
    if address.host.starts_with('-') {
        return Err(Error::new(id::ADDRESS_INVALID, format!("`{}` is no host", address.host)));
    }
    let Some(program) = &options.ssh_program else { return Ok(SshConfig::default()) };
    let question = Question {
        host: &address.host,
        user: address.user.as_deref(),
        port: address.port,
        config: options.ssh_config.as_deref(),
    };
    ssh_config::ask(program, &question).await
}

fn target_hop(options: &SshOptions, address: &Address, config: &SshConfig) -> Result<Hop> {
    let mut hop = hop(options, address, config)?;
    hop.keys.named.clone_from(&options.connection.key);
    hop.keys.only_files |= hop.keys.named.is_some();
    if hop.keys.named.is_some() {
        // The user chose; other keys would only use up the tries the server allows.
        hop.keys.usual.clear();
    }
    hop.password.clone_from(&options.password);
    hop.policy.target = true;
    hop.policy.pinned = options.connection.host_key.as_deref().map(pinned).transpose()?;
    Ok(hop)
}

fn jump_hop(options: &SshOptions, address: &Address, config: &SshConfig) -> Result<Hop> {
    let mut hop = hop(options, address, config)?;
    // ssh would not, but who names one key and one jump host usually means it for both.
    hop.keys.usual.extend(options.connection.key.clone());
    Ok(hop)
}

fn hop(options: &SshOptions, address: &Address, config: &SshConfig) -> Result<Hop> {
    let host = config.hostname.clone().unwrap_or_else(|| address.host.clone());
    let port = address.port.or(config.port).unwrap_or(22);
    let Some(user) = address.user.clone().or_else(|| config.user.clone()) else {
        return Err(Error::new(id::FIELD_MISSING, format!("no login name for {host}"))
            .hinted("write `user:` in the connection of the node"));
    };
    let expand = |path: &String| expand(path, options, &host, port, &user);
    let agent = match config.identity_agent.as_deref() {
        Some("none") => None,
        None | Some("SSH_AUTH_SOCK") => options.agent_socket.clone(),
        // `$NAME` would need the environment, which only the caller reads.
        Some(path) if path.starts_with('$') => options.agent_socket.clone(),
        Some(path) => expand(&path.to_owned()),
    };
    // `no` would mean to accept changed keys as well; that is never done here.
    let accept_new = options.accept_new
        || matches!(config.strict_host_key_checking.as_deref(), Some("accept-new" | "false" | "no" | "off"));
    let mut others = options.known_hosts.clone();
    others.extend(config.known_hosts.iter().filter(|file| !options.known_hosts.contains(file)).cloned());
    let policy = Policy {
        place: format!(
            "{user}@{}:{port}",
            if host.contains(':') { format!("[{host}]") } else { host.clone() }
        ),
        name: match &config.host_key_alias {
            Some(alias) => alias.to_ascii_lowercase(),
            None => known_hosts::name(&host, port),
        },
        target: false,
        pinned: None,
        own: options.own_known_hosts.clone(),
        others,
        accept_new,
    };
    let keys = KeySources {
        named: None,
        usual: config.identity_files.iter().filter_map(expand).collect(),
        agent,
        only_files: config.identities_only,
    };
    Ok(Hop { host, port, user, policy, keys, password: None, passphrase: options.password.clone() })
}

fn pinned(text: &str) -> Result<PublicKey> {
    PublicKey::from_openssh(text.trim()).map_err(|error| {
        Error::new(id::HOST_KEY_INVALID, format!("`{text}` is no host key: {error}"))
            .hinted("write it as in known_hosts, without the host: ssh-ed25519 AAAA…")
    })
}

/// `~` and the tokens of ssh_config; none when the path needs something unknown.
fn expand(path: &str, options: &SshOptions, host: &str, port: u16, user: &str) -> Option<PathBuf> {
    let home = || options.home.as_ref().and_then(|home| home.to_str());
    let mut text = String::new();
    let mut rest = path;
    if let Some(tail) = path.strip_prefix("~/") {
        text.push_str(home()?);
        text.push('/');
        rest = tail;
    }
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        match after.chars().next()? {
            '%' => text.push('%'),
            'd' => text.push_str(home()?),
            'h' => text.push_str(host),
            'n' => text.push_str(&options.address),
            'p' => text.push_str(&port.to_string()),
            'r' => text.push_str(user),
            _ => return None,
        }
        rest = &after[1..];
    }
    text.push_str(rest);
    Some(text.into())
}
