//! From a node of the spec to a connection.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use secrecy::SecretString;

use super::{Host, Run};
use crate::{
    Error, Result,
    event::Reporter,
    id,
    remote::{Agent, AgentOptions, Connect, Local, SshConnector, SshOptions},
    spec::{Connection, Node, OsFamily, PasswordFrom, Place, Via},
};

/// How long a machine that we just started may take until it lets us in.
const BOOT_PATIENCE: Duration = Duration::from_mins(1);
/// How long a machine may be away in the middle of a run: a restart, a network that comes back.
const AWAY_PATIENCE: Duration = Duration::from_mins(5);
/// Windows finishes what waited for a restart before it lets anybody in.
const WINDOWS_AWAY_PATIENCE: Duration = Duration::from_mins(20);

/// How long the first connection may take. A machine that was there before either lets us in or does
/// not; one that we made may still be booting.
pub(super) fn first_patience(node: &Node) -> Duration {
    match node.place {
        Place::Existing { .. } => Duration::ZERO,
        Place::Machine(_) => BOOT_PATIENCE,
    }
}

/// The node program on a machine of this run.
pub(super) fn agent(run: &Run<'_>, node: &Node, reporter: &Reporter) -> Result<Agent> {
    let connector = connector(run, node, reporter)?;
    let usual = AgentOptions::of(node.os);
    let patience = match node.os {
        OsFamily::Linux => AWAY_PATIENCE,
        OsFamily::Windows => WINDOWS_AWAY_PATIENCE,
    };
    let options = AgentOptions { patience, reporter: reporter.clone(), ..usual };
    Agent::new(connector, run.host.agents.of(node.os)?, options)
}

/// A way to connect to a machine, as often as needed.
pub(super) fn connector(run: &Run<'_>, node: &Node, reporter: &Reporter) -> Result<Arc<dyn Connect>> {
    let host: &Host = run.host;
    if node.connection.via == Via::Local {
        return Ok(Arc::new(Local::as_ourselves(&host.user)));
    }
    let options = match &node.place {
        Place::Existing { address, port } => {
            existing(host, address, *port, &node.connection, run.dir.known_hosts())
                .map_err(|error| error.on(&node.name))?
        }
        Place::Machine(machine) => {
            let state = run.state();
            let known = state.nodes.get(&node.name);
            let endpoint = known.and_then(|known| known.endpoint.clone()).ok_or_else(|| {
                Error::new(id::MACHINE_NOT_MADE, "the machine was not made yet")
                    .on(&node.name)
                    .hinted("`swdt cluster create` makes it")
            })?;
            let connection = Connection {
                user: Some(machine.provider.user(node.os).into()),
                key: Some(run.dir.key()),
                host_key: known.and_then(|known| known.host_key.clone()),
                ..Connection::default()
            };
            let mut options = SshOptions::new(endpoint.address, connection, run.dir.known_hosts());
            options.port = Some(endpoint.port);
            options.home.clone_from(&host.home);
            options
        }
    };
    Ok(Arc::new(SshConnector::new(options, reporter.clone())))
}

/// How to log in to a machine that was there before.
pub(super) fn existing(
    host: &Host,
    address: &str,
    port: Option<u16>,
    connection: &Connection,
    own_known_hosts: PathBuf,
) -> Result<SshOptions> {
    let mut options = SshOptions::new(address, connection.clone(), own_known_hosts);
    options.port = port;
    options.password = password(host, connection)?;
    options.known_hosts.clone_from(&host.known_hosts);
    options.accept_new = host.accept_new_host_keys;
    options.agent_socket.clone_from(&host.agent_socket);
    options.ssh_program.clone_from(&host.ssh_program);
    options.home.clone_from(&host.home);
    Ok(options)
}

/// The secret the file points to.
pub(super) fn password(host: &Host, connection: &Connection) -> Result<Option<SecretString>> {
    let text = match &connection.password_from {
        None => return Ok(None),
        Some(PasswordFrom::Env(name)) => (host.variable)(name).ok_or_else(|| {
            Error::new(
                id::PASSWORD_UNREADABLE,
                format!("the environment variable {name}, named by `passwordFrom`, is not set"),
            )
        })?,
        Some(PasswordFrom::File(path)) => read_secret(path)?,
    };
    Ok(Some(SecretString::from(text)))
}

fn read_secret(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(
            id::PASSWORD_UNREADABLE,
            format!("cannot read {}, named by `passwordFrom`: {error}", path.display()),
        )
    })?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
        if open {
            return Err(Error::new(
                id::PASSWORD_UNREADABLE,
                format!("{} can be read by others", path.display()),
            )
            .hinted(format!("chmod 600 {}", path.display())));
        }
    }
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
