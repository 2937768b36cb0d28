//! The real node program on a test machine, over real SSH, as `swdt` itself uses it.

use std::{
    fmt::Write,
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use sha2::{Digest, Sha256};
use swdt_core::{
    Error, Result,
    event::Reporter,
    id,
    remote::{Agent, AgentBinary, AgentOptions, SshConnector, SshOptions},
};
use swdt_wire::{
    Blob, Facts, Mode, NodeEventKind, NodeFailure, Outcome, Owner, Request, Resource, Status, Summary,
};

use crate::{
    TestMachine,
    ground::{cannot, programs_dir},
};

/// Which node program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The one that ships, where it always is on a machine; it goes with the last thing that is undone.
    Shipped,
    /// The same elsewhere on the machine, so that it need not be sent again after everything was undone.
    Kept,
    /// The one that dies on demand, kept elsewhere too.
    Faults,
}

/// Where programs are on a machine that are to outlive a complete revert.
const ELSEWHERE: &str = "/opt/swdt/bin";
const ELSEWHERE_ON_WINDOWS: &str = r"C:\opt\swdt\bin";

impl Program {
    /// Its bytes.
    pub fn bytes(self, windows: bool) -> Result<Vec<u8>> {
        let name = match (self, windows) {
            (Self::Shipped | Self::Kept, false) => "swdt-node-linux-amd64",
            (Self::Faults, false) => "swdt-node-linux-amd64-faults",
            (Self::Shipped | Self::Kept, true) => "swdt-node-windows-amd64.exe",
            (Self::Faults, true) => "swdt-node-windows-amd64-faults.exe",
        };
        let path = programs_dir()?.join(name);
        fs::read(&path).map_err(|error| {
            Error::new(id::NODE_PROGRAM_MISSING, format!("no node program at {}: {error}", path.display()))
                .hinted("`cargo xtask agents` builds it, with the same target directory as this test")
        })
    }
}

/// The node program of one machine.
pub struct NodeHalf {
    machine: TestMachine,
    agent: Agent,
    /// Blobs on their way to the machine.
    outbox: PathBuf,
}

/// What a run told.
#[derive(Debug)]
pub struct Told {
    /// How it ended.
    pub summary: Summary,
    /// What became of each resource.
    pub outcomes: Vec<(String, Outcome)>,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

impl Told {
    /// Did the run's process die?
    pub fn died(&self) -> bool {
        self.summary.failure == Some(NodeFailure::Died)
    }
}

impl TestMachine {
    /// The node program of this machine; sent there at the first word.
    pub fn node_half(&self, program: Program) -> Result<NodeHalf> {
        let connection = swdt_core::spec::Connection {
            host_key: Some(self.host_key().to_owned()),
            ..self.node().connection.clone()
        };
        let outbox = self.key().with_file_name("outbox");
        fs::create_dir_all(&outbox).map_err(|error| cannot("make", &outbox, &error))?;
        let mut options = SshOptions::new(self.address(), connection, outbox.join("known_hosts"));
        options.port = Some(self.port());
        let connector = Arc::new(SshConnector::new(options, Reporter::silent()));
        let binary = AgentBinary::new(program.bytes(self.is_windows())?);
        let mut options = AgentOptions { os: self.node().os, ..AgentOptions::default() };
        if self.is_windows() {
            options.bin_dir = ELSEWHERE_ON_WINDOWS.into();
            let path = on_linux(&format!(r"{ELSEWHERE_ON_WINDOWS}\{}.exe", binary.sha256()));
            self.put(&path, 0o755, &program.bytes(true)?)?;
        } else if program != Program::Shipped {
            options.bin_dir = ELSEWHERE.into();
        }
        let agent = Agent::new(connector, Arc::new(binary), options)?;
        Ok(NodeHalf { machine: self.clone(), agent, outbox })
    }
}

impl NodeHalf {
    /// Looks at resources.
    pub async fn check(&self, resources: &[Resource]) -> Result<Vec<Status>> {
        let mut all = Vec::new();
        let request = Request::new("laws", run(), Mode::Check { resources: resources.to_vec() });
        let summary = self
            .agent
            .request(&request, &mut |event| {
                if let NodeEventKind::Checked(checked) = event.kind {
                    all.push(checked.status);
                }
            })
            .await?;
        match summary.failure {
            None => Ok(all),
            Some(failure) => Err(Error::new(id::RESOURCE_FAILED, format!("{failure:?}"))),
        }
    }

    /// What the machine is.
    pub async fn facts(&self) -> Result<Facts> {
        let mut facts = None;
        let request = Request::new("laws", run(), Mode::Facts);
        self.agent
            .request(&request, &mut |event| {
                if let NodeEventKind::Facts(told) = event.kind {
                    facts = Some(*told);
                }
            })
            .await?;
        facts.ok_or_else(|| Error::new(id::RESOURCE_FAILED, "no facts"))
    }

    /// Makes resources true.
    pub async fn apply(&self, resources: &[Resource]) -> Result<Told> {
        self.tell(Mode::Apply { resources: resources.to_vec(), owner: owner() }).await
    }

    /// Undoes everything.
    pub async fn revert(&self, force: bool) -> Result<Told> {
        self.tell(Mode::Revert { force, owner: owner() }).await
    }

    /// Stores bytes on the machine, as a blob that resources can name.
    pub async fn put(&self, bytes: &[u8]) -> Result<Blob> {
        let blob = blob(bytes);
        let path = self.outbox.join(&blob.sha256);
        fs::write(&path, bytes).map_err(|error| cannot("write", &path, &error))?;
        self.agent.put(&blob.sha256, &path).await?;
        Ok(blob)
    }

    /// Lets the next run be killed where it reaches a point for the nth time; [`Program::Faults`] only.
    pub fn kill_at(&self, point: &str, nth: u32) -> Result<()> {
        self.machine
            .arm("it", &serde_json::json!({ "at": "*", "point": point, "nth": nth, "action": "kill" }))
    }

    /// Where the node half keeps its own files, in the machine's own file system.
    pub fn state_dir(&self) -> String {
        self.machine.state_dir()
    }

    async fn tell(&self, mode: Mode) -> Result<Told> {
        let (mut outcomes, mut notes) = (Vec::new(), Vec::new());
        let request = Request::new("laws", run(), mode);
        let summary = self
            .agent
            .request(&request, &mut |event| match event.kind {
                NodeEventKind::Done { id, outcome, .. } => outcomes.push((id, outcome)),
                NodeEventKind::Note { message, .. } => notes.push(message),
                _ => {}
            })
            .await?;
        // A fault that did not strike was meant for this run only.
        self.machine.disarm()?;
        Ok(Told { summary, outcomes, notes })
    }
}

/// Where a path of Windows is in the file system of the machine that plays it.
pub fn on_linux(path: &str) -> String {
    path.replacen("C:", swdt_rehearsal::DRIVE_C, 1).replace('\\', "/")
}

/// The name of bytes.
pub fn blob(bytes: &[u8]) -> Blob {
    let mut sha256 = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(sha256, "{byte:02x}");
    }
    Blob { sha256, size: bytes.len() as u64 }
}

fn owner() -> Owner {
    Owner { who: "laws@ground".into() }
}

/// A name for the next run.
fn run() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("laws-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
