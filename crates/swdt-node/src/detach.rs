//! A run outlives the connection that asked for it.
//!
//! `serve` starts this program again as `run`, in a session of its own, hands it the request through
//! a pipe (secrets never touch the disk), and waits for one line: the [`Verdict`]. From then on the
//! two share only files: the run writes its events, and whoever wants to know reads them. The pipe
//! closes when `serve` has opened that file, or is gone; a complete revert removes it no earlier.

use std::{
    ffi::OsString,
    fs::File,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{ChildStdin, Command, Stdio},
};

use serde::{Deserialize, Serialize};
use swdt_wire::{Busy, Mode, NodeEventKind, NodeFailure, Owner, Request, Summary};

use crate::{
    Ctx, Error, Events, Result, disk,
    engine::{self, Job},
    faults,
    lock::{self, Lock},
    os,
    receipts::Receipts,
    stamps,
    state::{RunId, State},
};

/// Room kept for the last event of a run.
const RESERVE: [u8; 16 << 10] = [b'.'; 16 << 10];

/// What became of the wish to run.
#[derive(Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// It runs, or did: follow its events.
    Follow,
    /// It does not.
    Refused(NodeFailure),
}

/// Starts the run a request asks for, and returns as soon as it is decided whether it goes on.
/// Drop the pipe when the run's events are being followed.
pub fn start(ctx: &Ctx, run: &RunId, request: &[u8]) -> Result<(Verdict, ChildStdin)> {
    let program =
        std::env::current_exe().map_err(|error| Error::new(format!("cannot find this program: {error}")))?;
    let argv: [OsString; 4] = [program.into(), "--root".into(), ctx.root().into(), "run".into()];
    // If that does not work, it goes on without.
    if let Some(mut command) = os::escape(ctx, run)
        && let Ok(Some(started)) = spawn(command.args(&argv), request)
    {
        return Ok(started);
    }
    spawn(Command::new(&argv[0]).args(&argv[1..]), request)?
        .ok_or_else(|| Error::new("the run ended before it began"))
}

fn spawn(command: &mut Command, request: &[u8]) -> Result<Option<(Verdict, ChildStdin)>> {
    let trouble = |error: std::io::Error| Error::new(format!("cannot start the run: {error}"));
    // No descriptor of the connection: sshd keeps a session open while anybody holds one.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir(os::ROOT);
    let mut child = os::spawn_detached(command).map_err(trouble)?;
    if let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) {
        let sent = stdin.write_all(request.trim_ascii_end()).and_then(|()| stdin.write_all(b"\n"));
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map_err(trouble)?;
        if let (Ok(()), Ok(verdict)) = (sent, serde_json::from_str(&line)) {
            return Ok(Some((verdict, stdin)));
        }
    }
    // It is no run; do not leave a process that only half is one.
    let _ = child.kill();
    let _ = child.wait();
    Ok(None)
}

/// The detached side: decides, says so once, and works. `followed` returns when whoever asked follows
/// the events, or is gone.
pub fn run(ctx: &Ctx, request: &Request, say: impl FnOnce(&Verdict), followed: impl FnOnce()) {
    os::leave();
    match begin(ctx, request) {
        Err(failure) => say(&failure.map_or(Verdict::Follow, Verdict::Refused)),
        Ok(begun) => {
            say(&Verdict::Follow);
            begun.work(ctx, request, followed);
        }
    }
}

/// A run that may work: it holds the machine.
struct Begun {
    state: State,
    run: RunId,
    receipts: Receipts,
    events: Events,
    _lock: Lock,
}

/// Takes the machine. The error is none if this very run goes on already, or did.
fn begin(ctx: &Ctx, request: &Request) -> Result<Begun, Option<NodeFailure>> {
    let unusable = |error: Error| Some(unusable(error));
    let (Mode::Apply { owner, .. } | Mode::Revert { owner, .. } | Mode::RevertSome { owner, .. }) =
        &request.mode
    else {
        return Err(unusable(Error::new("only apply and revert run detached")));
    };
    let run = RunId::parse(&request.run).map_err(unusable)?;
    let state = State::of(ctx);
    let runs = state.ensure("runs").map_err(unusable)?;
    let lock = match lock::take(&state.lock(), &me(request, owner)).map_err(unusable)? {
        Ok(lock) => lock,
        Err(busy) if busy.run == request.run => return Err(None),
        Err(busy) => return Err(Some(NodeFailure::Busy(busy))),
    };
    if state.events(&run).exists() {
        return Err(None);
    }
    state.remove_secrets().map_err(unusable)?;
    let receipts = Receipts::open(state.receipts(), run.as_str()).map_err(unusable)?;
    if let Some(cluster) = receipts.cluster().filter(|cluster| **cluster != request.cluster) {
        return Err(Some(NodeFailure::OtherCluster { cluster: cluster.to_owned() }));
    }
    let events = record(&state, &run, &runs).map_err(unusable)?;
    Ok(Begun { state, run, receipts, events, _lock: lock })
}

/// Opens the conversation's file. From here on, words of a crash go into a file as well.
fn record(state: &State, run: &RunId, runs: &Path) -> Result<Events> {
    let dir = state.run(run);
    let open = |name: &str| os::private(File::options().append(true).create(true)).open(dir.join(name));
    let files = (|| {
        os::make_private_dir(&dir)?;
        os::complain_to(&open("log")?)?;
        open("reserve")?.write_all(&RESERVE)?;
        open("events.jsonl")
    })();
    let mut file = files.map_err(|error| Error::io("write to", runs, &error))?;
    Ok(Events::from(1, move |event| {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        // A full disk must not end the run in the middle; the work itself will meet it and say so.
        let written = file.write_all(&line);
        // But without a last word the run would seem to have died.
        if written.is_err() && matches!(event.kind, NodeEventKind::Finished(_)) {
            let _ = std::fs::remove_file(dir.join("reserve"));
            // Half a line may stand there.
            let _ = file.write_all(b"\n").and_then(|()| file.write_all(&line));
        }
    }))
}

impl Begun {
    fn work(mut self, ctx: &Ctx, request: &Request, followed: impl FnOnce()) {
        faults::load(self.state.dir());
        let marker = self.state.cancel(&self.run);
        let asked = marker.clone();
        ctx.stop_when(move || asked.exists());
        let job = Job { ctx, events: self.events.clone(), cancelled: &|| marker.exists() };
        let mut summary = match &request.mode {
            Mode::Apply { resources, .. } => {
                let summary = engine::apply(&job, &mut self.receipts, &request.cluster, resources);
                if summary.writes > 0 {
                    stamps::record(ctx, resources);
                }
                summary
            }
            Mode::Revert { force, .. } => engine::revert(&job, &mut self.receipts, *force),
            Mode::RevertSome { ids, .. } => engine::revert_some(&job, &mut self.receipts, ids),
            _ => return,
        };
        let undone = matches!(request.mode, Mode::Revert { .. }) && summary.failure.is_none();
        if undone {
            // What was kept can still be forced: only the receipts know how.
            summary.failure = self.state.clear(summary.kept > 0).err().map(unusable);
        } else {
            self.state.tidy(&self.run);
        }
        let gone = undone && summary.kept == 0 && summary.failure.is_none();
        self.events.finish(summary);
        if gone {
            followed();
            // Nobody is left to tell of a failure; the next revert finds what stayed.
            let _ = self.state.remove();
        }
    }
}

/// Who we are, for whoever finds the machine busy.
fn me(request: &Request, owner: &Owner) -> Busy {
    Busy {
        run: request.run.clone(),
        cluster: request.cluster.clone(),
        who: owner.who.clone(),
        pid: std::process::id(),
        since: disk::now(),
    }
}

/// An error of the node half itself, for the host half.
pub fn unusable(error: Error) -> NodeFailure {
    NodeFailure::Unusable { message: error.message, hint: error.hint }
}

/// The end of a run that did not begin.
pub fn failed(failure: NodeFailure) -> Summary {
    Summary { failure: Some(failure), ..Summary::default() }
}
