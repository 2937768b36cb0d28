//! The node program on a machine: put there once, by its hash, and spoken to.
//!
//! It is started first and installed only if it does not answer, so a run that finds everything in
//! order costs one exec. `apply` and `revert` go on without us when the connection is lost; then we
//! come back and ask for the events we have not seen.

mod blobs;
pub(crate) mod conversation;
mod install;
pub(crate) mod lines;
mod trouble;

use std::{
    fmt::Write,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use secrecy::SecretString;
use sha2::{Digest, Sha256};
use swdt_wire::{Mode, NodeEvent, NodeFailure, Request, Summary, WIRE_VERSION};
use tokio::sync::Mutex;

use self::conversation::{Conversation, Ending};
use super::{Connect, ExitStatus, Running, TerminalSize, Transport};
use crate::{
    Error, ErrorKind, Result,
    event::{Reporter, Setback},
    id,
    spec::OsFamily,
};

/// Where node programs are kept on a Linux machine; only root may enter.
pub const BIN_DIR: &str = "/var/lib/swdt/bin";
/// The same on Windows, for administrators and the system.
pub const WINDOWS_BIN_DIR: &str = r"C:\ProgramData\swdt\bin";

/// How long a machine may be unable to say what became of a run.
const CONFUSION: Duration = Duration::from_mins(2);

/// What is kept of the words of a program that should have few.
const OUTPUT: usize = 16 << 10;

/// The node programs, one for each system.
#[derive(Clone)]
pub struct Agents {
    /// For Linux.
    pub linux: Arc<AgentBinary>,
    /// For Windows, where it can be found: a cluster of Linux nodes does without.
    pub windows: Option<Arc<AgentBinary>>,
}

impl Agents {
    /// The one of a system.
    pub fn of(&self, os: OsFamily) -> Result<Arc<AgentBinary>> {
        match os {
            OsFamily::Linux => Ok(self.linux.clone()),
            OsFamily::Windows => self.windows.clone().ok_or_else(|| {
                Error::new(id::NODE_PROGRAM_MISSING, "the node program for Windows is not beside `swdt`")
                    .hinted("in a clone of the sources, `cargo xtask agents` builds it")
            }),
        }
    }
}

/// The node program.
pub struct AgentBinary {
    sha256: String,
    bytes: Arc<[u8]>,
}

impl AgentBinary {
    /// The program with these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        let mut sha256 = String::with_capacity(64);
        for byte in Sha256::digest(&bytes) {
            // Writing to a string cannot fail.
            let _ = write!(sha256, "{byte:02x}");
        }
        Self { sha256, bytes: bytes.into() }
    }

    /// Its size.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Its bytes.
    pub fn bytes(&self) -> Arc<[u8]> {
        self.bytes.clone()
    }

    /// Its name on the machine.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Its name on its way to a Windows machine.
    fn upload(&self) -> String {
        format!("swdt-node-{}.exe", self.sha256)
    }
}

/// How the node program is used.
#[derive(Clone)]
pub struct AgentOptions {
    /// Start it with `sudo`? By the login name when absent: everybody but root.
    pub elevate: Option<bool>,
    /// What the machine runs: how a program is called and sent depends on it.
    pub os: OsFamily,
    /// Where it is kept; another place than [`BIN_DIR`] only in tests.
    pub bin_dir: String,
    /// How long to try to get a lost connection back.
    pub patience: Duration,
    /// Where output that is no event goes, and news about the connection.
    pub reporter: Reporter,
}

impl AgentOptions {
    /// The usual ones for a system.
    pub fn of(os: OsFamily) -> Self {
        let bin_dir = match os {
            OsFamily::Linux => BIN_DIR,
            OsFamily::Windows => WINDOWS_BIN_DIR,
        };
        Self { os, bin_dir: bin_dir.into(), ..Self::default() }
    }
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            elevate: None,
            os: OsFamily::Linux,
            bin_dir: BIN_DIR.into(),
            patience: Duration::from_mins(2),
            reporter: Reporter::silent(),
        }
    }
}

/// The node program on one machine. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<Shared>,
}

struct Shared {
    connector: Arc<dyn Connect>,
    binary: Arc<AgentBinary>,
    options: AgentOptions,
    transport: Mutex<Option<Arc<dyn Transport>>>,
    execs: AtomicU64,
}

/// What to send next in a run that survives its connection.
enum Next {
    /// The request itself.
    Ask,
    /// Only what happened since.
    Attach,
}

impl Agent {
    /// The node program, on the machine that the connector connects to. Does nothing yet.
    pub fn new(connector: Arc<dyn Connect>, binary: Arc<AgentBinary>, options: AgentOptions) -> Result<Self> {
        // It becomes part of a command line.
        let (start, special) = match options.os {
            OsFamily::Linux => ("/", "/._-"),
            OsFamily::Windows => ("C:\\", ":\\._-"),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || special.contains(c);
        if !options.bin_dir.starts_with(start) || !options.bin_dir.chars().all(plain) {
            let message = format!("`{}` cannot hold node programs", options.bin_dir);
            return Err(Error::new(id::INTERNAL, message));
        }
        let shared =
            Shared { connector, binary, options, transport: Mutex::default(), execs: AtomicU64::new(0) };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The connection; made anew, with that patience, when there is none or it is gone.
    pub async fn connect(&self, patience: Duration) -> Result<Arc<dyn Transport>> {
        let mut slot = self.shared.transport.lock().await;
        if let Some(transport) = slot.as_ref().filter(|transport| transport.is_alive()) {
            return Ok(transport.clone());
        }
        let fresh = self.shared.connector.connect(patience).await?;
        *slot = Some(fresh.clone());
        Ok(fresh)
    }

    /// How long it waits for a machine that was there before.
    pub fn patience(&self) -> Duration {
        self.shared.options.patience
    }

    /// Forgets the connection, e.g. before a machine restarts.
    pub async fn hang_up(&self) {
        *self.shared.transport.lock().await = None;
    }

    /// How many programs were started on the machine so far.
    pub fn execs(&self) -> u64 {
        self.shared.execs.load(Ordering::Relaxed)
    }

    /// Sends a request; every event goes to `on_event` exactly once, in order.
    ///
    /// When the connection is lost while a run changes the machine, connects again and goes on. A run that
    /// failed on the machine is no error here: the summary tells.
    pub async fn request(
        &self,
        request: &Request,
        on_event: &mut (dyn FnMut(NodeEvent) + Send),
    ) -> Result<Summary> {
        // The run that goes on without us, if there is one.
        let run = match &request.mode {
            Mode::Apply { .. } | Mode::Revert { .. } | Mode::RevertSome { .. } => Some(&request.run),
            Mode::Attach { run, .. } => Some(run),
            _ => None,
        };
        let options = &self.shared.options;
        let mut talk = Conversation::new(&request.run, options.reporter.clone());
        let (mut next, mut resent) = (Next::Ask, false);
        let mut progress = (talk.last(), Instant::now());
        let mut pause = Duration::from_millis(100);
        let mut confused: Option<Instant> = None;
        loop {
            let (line, attaching) = match (&next, run) {
                (Next::Attach, Some(run)) => {
                    let attach = Mode::Attach { run: run.clone(), after: talk.last() };
                    (encode(&Request::new(&request.cluster, &request.run, attach))?, true)
                }
                _ => (encode(request)?, false),
            };
            let transport = self.connect(options.patience).await?;
            let ending = match self.exchange(&transport, &line, &mut talk, attaching, on_event).await {
                Ok(ending) => ending,
                // Lost between connecting and starting, which is no different from lost a little later.
                Err(error) if error.kind() == ErrorKind::Connection && !transport.is_alive() => {
                    Ending::BrokenOff(error.message)
                }
                Err(error) => return Err(error),
            };
            let why = match ending {
                Ending::Mute { exit, .. } => exit.to_string(),
                Ending::BrokenOff(why) => why,
                Ending::Finished(event, summary) => match summary.failure {
                    // The request never got there.
                    Some(NodeFailure::UnknownRun) if attaching && talk.last() == 0 && !resent => {
                        resent = true;
                        next = Next::Ask;
                        continue;
                    }
                    Some(NodeFailure::Wire { node }) => return Err(wrong_wire(transport.place(), node)),
                    // A machine that goes down, or has just come up, fails in odd ways.
                    Some(NodeFailure::Unusable { message, .. })
                        if attaching && confused.get_or_insert_with(Instant::now).elapsed() < CONFUSION =>
                    {
                        message
                    }
                    _ => {
                        on_event(event);
                        return Ok(summary);
                    }
                },
            };
            self.forget(&transport).await;
            let lost = format!("the connection to {} was lost: {why}", transport.place());
            if progress.0 != talk.last() {
                progress = (talk.last(), Instant::now());
                pause = Duration::from_millis(100);
            }
            if run.is_none() || progress.1.elapsed() > options.patience {
                return Err(Error::new(id::CONNECTION_LOST, lost));
            }
            let message = format!("{lost}; connecting again, the work there goes on");
            options.reporter.setback(Setback::Disconnected, message);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
            next = Next::Attach;
        }
    }

    /// One exec of the node program; installs it first if it does not answer.
    async fn exchange(
        &self,
        transport: &Arc<dyn Transport>,
        line: &SecretString,
        talk: &mut Conversation,
        attaching: bool,
        on_event: &mut (dyn FnMut(NodeEvent) + Send),
    ) -> Result<Ending> {
        let command = self.command(transport.as_ref(), "serve");
        for installed in [false, true] {
            let running = self.exec(transport.as_ref(), &command).await?;
            let ending = talk.hold(running, line, transport.place(), attaching, on_event).await?;
            let Ending::Mute { exit, errors } = ending else { return Ok(ending) };
            if let ExitStatus::Lost(why) = exit {
                return Ok(Ending::BrokenOff(why));
            }
            if let Some(error) = trouble::explain(&errors, transport.as_ref()) {
                return Err(error);
            }
            if installed {
                let message = format!("the node program does not run on {} ({exit})", transport.place());
                return Err(Error::new(id::NODE_PROGRAM_REFUSED, message).with_output(errors).hinted(
                    format!(
                        "can programs be run from {}, or is it mounted noexec?",
                        self.shared.options.bin_dir
                    ),
                ));
            }
            self.install(transport.as_ref()).await?;
        }
        Err(Error::new(id::INTERNAL, "the node program was tried twice without an end"))
    }

    /// Starts a verb of the node program that speaks no protocol: the streams are the caller's, on a
    /// terminal if one is given. `verb` becomes part of a command line.
    pub(crate) async fn start(&self, verb: &str, terminal: Option<(&str, TerminalSize)>) -> Result<Running> {
        let transport = self.connect(self.shared.options.patience).await?;
        // Input cannot be given twice, so that the program is there must be known before.
        let version = self.command(transport.as_ref(), "version");
        let said = self.exec(transport.as_ref(), &version).await?.collect(b"", OUTPUT).await;
        if !said.exit.success() {
            if let Some(error) = trouble::explain(&said.last_errors(), transport.as_ref()) {
                return Err(error);
            }
            self.install(transport.as_ref()).await?;
        }
        let command = self.command(transport.as_ref(), verb);
        match terminal {
            None => self.exec(transport.as_ref(), &command).await,
            Some((term, size)) => transport.terminal(Some(&command), term, size).await,
        }
    }

    /// `[sudo -n] <dir>/<hash> <verb>`: the only values in it are ours. On Windows the same words mean the same
    /// to cmd and PowerShell, for nothing in them needs quotes.
    fn command(&self, transport: &dyn Transport, verb: &str) -> String {
        let Shared { binary, options, .. } = &*self.shared;
        let sha256 = binary.sha256();
        match options.os {
            OsFamily::Linux => format!("{}{}/{sha256} {verb}", self.elevation(transport), options.bin_dir),
            OsFamily::Windows => format!(r"{}\{sha256}.exe {verb}", options.bin_dir),
        }
    }

    fn elevation(&self, transport: &dyn Transport) -> &'static str {
        let elevate = self.shared.options.elevate.unwrap_or_else(|| transport.user() != "root");
        // In English, because what sudo says tells what is missing.
        if elevate { "env LC_ALL=C sudo -n " } else { "" }
    }

    async fn exec(&self, transport: &dyn Transport, command: &str) -> Result<Running> {
        self.shared.execs.fetch_add(1, Ordering::Relaxed);
        transport.exec(command).await
    }

    /// Forgets this connection, unless somebody has replaced it already.
    async fn forget(&self, transport: &Arc<dyn Transport>) {
        let mut slot = self.shared.transport.lock().await;
        if slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, transport)) {
            *slot = None;
        }
    }

    /// Stores files on the machine, each under its SHA-256, a few at a time.
    pub async fn put_all(&self, blobs: Vec<(String, PathBuf)>) -> Result<()> {
        blobs::put_all(self, blobs).await
    }
}

fn encode(request: &Request) -> Result<SecretString> {
    let mut line = serde_json::to_string(request)
        .map_err(|error| Error::new(id::INTERNAL, format!("a request cannot be written: {error}")))?;
    line.push('\n');
    Ok(line.into())
}

fn wrong_wire(place: &str, node: u32) -> Error {
    Error::new(
        id::WIRE_MISMATCH,
        format!("the node program on {place} speaks wire version {node}, this swdt {WIRE_VERSION}"),
    )
    .hinted("swdt and its node programs must come from the same release")
}
