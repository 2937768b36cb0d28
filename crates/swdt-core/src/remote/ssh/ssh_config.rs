//! What the user's `~/.ssh/config` says about a host, asked of `ssh -G`: only OpenSSH itself knows
//! its own rules.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::process::Command;

use crate::{Error, Result, id};

/// A `Match exec` in the file may hang.
const PATIENCE: Duration = Duration::from_secs(15);

/// The part of `ssh -G` that matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshConfig {
    /// Login name.
    pub user: Option<String>,
    /// The name or address to connect to.
    pub hostname: Option<String>,
    /// Port.
    pub port: Option<u16>,
    /// Private keys to try, as written.
    pub identity_files: Vec<String>,
    /// Offer no other keys, even if the agent has some.
    pub identities_only: bool,
    /// `none`, `SSH_AUTH_SOCK`, or a path.
    pub identity_agent: Option<String>,
    /// `[user@]host[:port],…`, first hop first.
    pub proxy_jump: Option<String>,
    /// A program to connect through; not supported here.
    pub proxy_command: Option<String>,
    /// Files of host keys, the user's first.
    pub known_hosts: Vec<PathBuf>,
    /// `ask`, `true`, `false`, `accept-new`, ….
    pub strict_host_key_checking: Option<String>,
    /// The name to look for in known_hosts.
    pub host_key_alias: Option<String>,
}

/// What is asked of ssh.
#[derive(Debug, Clone)]
pub(super) struct Question<'a> {
    pub(super) host: &'a str,
    pub(super) user: Option<&'a str>,
    pub(super) port: Option<u16>,
    pub(super) config: Option<&'a Path>,
}

/// Asks ssh. A broken configuration is an error: guessing past it would use other keys than meant.
pub(super) async fn ask(program: &Path, question: &Question<'_>) -> Result<SshConfig> {
    let mut arguments: Vec<OsString> = vec!["-G".into()];
    if let Some(config) = question.config {
        arguments.extend(["-F".into(), config.into()]);
    }
    if let Some(user) = question.user {
        arguments.extend(["-l".into(), user.into()]);
    }
    if let Some(port) = question.port {
        arguments.extend(["-p".into(), port.to_string().into()]);
    }
    arguments.extend(["--".into(), question.host.into()]);

    let failed = |what: String| {
        Error::new(id::SSH_CONFIG_FAILED, format!("`ssh -G {}` {what}", question.host))
            .hinted("swdt reads ~/.ssh/config through it; try the same command by hand")
    };
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(PATIENCE, output).await {
        Ok(Ok(output)) => output,
        // A host without ssh is fine: then only the cluster's file counts.
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(SshConfig::default()),
        Ok(Err(error)) => return Err(failed(format!("cannot be started: {error}"))),
        Err(_) => return Err(failed("does not answer".into())),
    };
    if !output.status.success() {
        let lines = String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect();
        return Err(failed(format!("failed ({})", output.status)).with_output(lines));
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses the output of `ssh -G`: one lower-case keyword and its value a line.
pub fn parse(text: &str) -> SshConfig {
    let mut config = SshConfig::default();
    let mut global = Vec::new();
    for line in text.lines() {
        let Some((keyword, value)) = line.trim_end().split_once(' ') else { continue };
        let text = || Some(value.to_owned());
        let meant = || (value != "none").then(|| value.to_owned());
        match keyword {
            "user" => config.user = text(),
            "hostname" => config.hostname = text(),
            "port" => config.port = value.parse().ok(),
            "identityfile" => config.identity_files.extend(meant()),
            "identitiesonly" => config.identities_only = value == "yes",
            "identityagent" => config.identity_agent = text(),
            "proxyjump" => config.proxy_jump = meant(),
            "proxycommand" => config.proxy_command = meant(),
            // ssh prints no quotes, so a path with a blank cannot be told from two.
            "userknownhostsfile" => config.known_hosts = files(value),
            "globalknownhostsfile" => global = files(value),
            "stricthostkeychecking" => config.strict_host_key_checking = text(),
            "hostkeyalias" => config.host_key_alias = meant(),
            _ => {}
        }
    }
    config.known_hosts.extend(global);
    config
}

fn files(value: &str) -> Vec<PathBuf> {
    value.split(' ').filter(|path| !path.is_empty() && *path != "none").map(PathBuf::from).collect()
}
