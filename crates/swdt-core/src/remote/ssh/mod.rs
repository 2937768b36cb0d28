//! SSH, by russh. Its interface changes with every release, so no other folder names it.
//!
//! ```text
//! SshOptions ─► route ─► for each hop: session (host_key, known_hosts) ─► auth (identity) ─► Ssh
//!                 └─ ssh_config: what `ssh -G` says
//! ```

mod auth;
mod host_key;
pub(crate) mod identity;
pub mod known_hosts;
mod options;
pub(crate) mod route;
mod session;
mod sftp;
pub mod ssh_config;
mod stall;

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use russh::client::{Handle, Msg};

use self::{auth::Login, identity::Identities, route::Hop, session::Client};
pub use options::{SshOptions, Timing};

use super::{BoxFuture, Connect, Running, TerminalSize, Transport};
use crate::{Error, Result, event::Reporter, id};

/// Waits between two tries grow up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// An SSH connection to a machine.
pub struct Ssh {
    handle: Handle<Client>,
    /// Connections to jump hosts live as long as the one through them.
    jumps: Vec<Ssh>,
    ended: Arc<OnceLock<String>>,
    place: String,
    user: String,
}

/// Why one try failed.
struct Setback {
    error: Error,
    /// Time may heal it.
    again: bool,
}

impl Setback {
    fn again(error: Error) -> Self {
        Self { error, again: true }
    }

    fn last(error: Error) -> Self {
        Self { error, again: false }
    }
}

impl Ssh {
    /// Connects and logs in; tries again within the patience of the options.
    pub async fn connect(options: &SshOptions, reporter: &Reporter) -> Result<Self> {
        let (hops, warnings) = route::route(options).await?;
        let mut identities = Vec::new();
        for hop in &hops {
            let (keys, passphrase) = (hop.keys.clone(), hop.passphrase.clone());
            let loaded = tokio::task::spawn_blocking(move || identity::load(&keys, passphrase.as_ref()))
                .await
                .map_err(|error| Error::new(id::INTERNAL, error.to_string()))??;
            identities.push(loaded);
        }
        let noticed = identities.iter().flat_map(|identities| &identities.warnings);
        for warning in warnings.iter().chain(noticed) {
            reporter.warn(warning);
        }

        let began = Instant::now();
        let mut pause = Duration::from_millis(200);
        let mut said = String::new();
        loop {
            let setback = match Self::attempt(options, &hops, &identities, reporter).await {
                Ok(ssh) => return Ok(ssh),
                Err(setback) => setback,
            };
            if !setback.again || began.elapsed() + pause > options.patience {
                return Err(setback.error);
            }
            if said != setback.error.message {
                reporter.doing(format!("waiting for SSH: {}", setback.error.message));
                said = setback.error.message;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attempt(
        options: &SshOptions,
        hops: &[Hop],
        identities: &[Identities],
        reporter: &Reporter,
    ) -> Result<Self, Setback> {
        let mut way: Vec<Self> = Vec::new();
        for (hop, identities) in hops.iter().zip(identities) {
            let through = way.last().map(|ssh| &ssh.handle);
            let (handle, ended) = Self::enter(options, hop, through, identities, reporter).await?;
            let (place, user) = (hop.place().to_owned(), hop.user.clone());
            way.push(Self { handle, jumps: Vec::new(), ended, place, user });
        }
        let mut last =
            way.pop().ok_or_else(|| Setback::last(Error::new(id::INTERNAL, "a route without an end")))?;
        last.jumps = way;
        Ok(last)
    }

    async fn enter(
        options: &SshOptions,
        hop: &Hop,
        through: Option<&Handle<Client>>,
        identities: &Identities,
        reporter: &Reporter,
    ) -> Result<(Handle<Client>, Arc<OnceLock<String>>), Setback> {
        let mut opened = session::open(hop, through, &options.timing).await?;
        opened.warnings.iter().for_each(|warning| reporter.warn(warning));
        let login = Login::new(&mut opened.handle, hop).run(identities);
        tokio::time::timeout(options.timing.auth, login).await.unwrap_or_else(|_| {
            let message = format!("{} does not finish the login", hop.place());
            Err(Setback::again(Error::new(id::ANSWER_LATE, message)))
        })?;
        Ok((opened.handle, opened.ended))
    }

    async fn channel(&self) -> Result<russh::Channel<Msg>> {
        self.handle.channel_open_session().await.map_err(|error| self.lost(&error))
    }

    fn lost(&self, error: &russh::Error) -> Error {
        let why = self.ended.get().cloned().unwrap_or_else(|| error.to_string());
        Error::new(id::CONNECTION_LOST, format!("the connection to {} is lost: {why}", self.place))
    }
}

impl Transport for Ssh {
    fn exec<'a>(&'a self, command: &'a str) -> BoxFuture<'a, Result<Running>> {
        Box::pin(async move {
            let channel = self.channel().await?;
            // The answer to the request is awaited with the output: a round trip less.
            channel.exec(true, command).await.map_err(|error| self.lost(&error))?;
            Ok(session::attach(channel, self.ended.clone()))
        })
    }

    fn terminal<'a>(
        &'a self,
        command: Option<&'a str>,
        term: &'a str,
        size: TerminalSize,
    ) -> BoxFuture<'a, Result<Running>> {
        Box::pin(async move {
            let channel = self.channel().await?;
            let asked = channel.request_pty(false, term, size.columns, size.rows, 0, 0, &[]).await;
            asked.map_err(|error| self.lost(&error))?;
            let started = match command {
                Some(command) => channel.exec(true, command).await,
                None => channel.request_shell(true).await,
            };
            started.map_err(|error| self.lost(&error))?;
            Ok(session::attach(channel, self.ended.clone()))
        })
    }

    fn leave<'a>(&'a self, name: &'a str, bytes: Option<&'a [u8]>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { sftp::leave(self.channel().await?, &self.place, name, bytes).await })
    }

    fn place(&self) -> &str {
        &self.place
    }

    fn user(&self) -> &str {
        &self.user
    }

    fn is_alive(&self) -> bool {
        !self.handle.is_closed() && self.jumps.iter().all(Self::is_alive)
    }
}

/// Makes a new SSH connection whenever it is asked.
#[derive(Clone)]
pub struct SshConnector {
    options: SshOptions,
    reporter: Reporter,
}

impl SshConnector {
    /// Connects by these options (but with the patience of each call), and reports here.
    pub fn new(options: SshOptions, reporter: Reporter) -> Self {
        Self { options, reporter }
    }
}

impl Connect for SshConnector {
    fn connect(&self, patience: Duration) -> BoxFuture<'_, Result<Arc<dyn Transport>>> {
        Box::pin(async move {
            let options = SshOptions { patience, ..self.options.clone() };
            let ssh = Ssh::connect(&options, &self.reporter).await?;
            Ok(Arc::new(ssh) as Arc<dyn Transport>)
        })
    }
}
