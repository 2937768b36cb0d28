//! Follows the events of a run, which goes on whether anybody follows or not.

use std::{
    fs::File,
    io::{self, Read},
    thread::sleep,
    time::{Duration, Instant},
};

use serde::Deserialize;
use swdt_wire::{NodeEvent, NodeEventKind, NodeFailure};

use crate::{
    Error, Events, Result, lock,
    state::{RunId, State},
};

const PAUSE: Duration = Duration::from_millis(20);

/// How often it is asked whether the run still lives. Seldom: Wine keeps every handle of the lock, also a closed one,
/// until its holder lets go (POSIX would drop the lock otherwise), and a long run would use up its files.
const LOOK: Duration = Duration::from_millis(500);

/// How long a run may take to leave after its last word, in pauses.
const LEAVING: u32 = 500;

/// The events of a run, from their beginning; none when there is no such run.
/// A run that has just begun may not have its file yet.
pub fn open(state: &State, run: &RunId) -> Result<Option<File>> {
    let path = state.events(run);
    loop {
        let alive = alive(state, run)?;
        match File::open(&path) {
            Ok(file) => return Ok(Some(file)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("read", &path, &error));
            }
            Err(_) if !alive => return Ok(None),
            Err(_) => sleep(PAUSE),
        }
    }
}

/// Passes on the events after number `after` until the last one; otherwise says why there is none.
/// The last event is passed on when the process is gone: whoever reads it may begin the next run.
pub fn follow(
    state: &State,
    run: &RunId,
    mut file: File,
    after: u64,
    events: &Events,
) -> Result<Option<NodeFailure>> {
    let mut text = Vec::new();
    let mut looked: Option<Instant> = None;
    loop {
        // Asked before reading: what a dead process wrote is all there.
        let alive = if looked.is_some_and(|at| at.elapsed() < LOOK) {
            true
        } else {
            looked = Some(Instant::now());
            alive(state, run)?
        };
        file.read_to_end(&mut text).map_err(|error| Error::io("read", &state.events(run), &error))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in text.drain(..whole).collect::<Vec<_>>().split(|byte| *byte == b'\n') {
            let Some(event) = read(line) else { continue };
            if matches!(event.kind, NodeEventKind::Finished(_)) {
                wait_until_gone(state, run);
                events.pass(&event);
                return Ok(None);
            }
            if event.seq > after {
                events.pass(&event);
            }
        }
        if !alive {
            return Ok(Some(NodeFailure::Died));
        }
        sleep(PAUSE);
    }
}

/// The event of a line. One that only another version of swdt understands, whose run goes on after an upgrade, keeps
/// its number: without it the host would miss it for ever.
fn read(line: &[u8]) -> Option<NodeEvent> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Envelope {
        seq: u64,
        #[serde(default)]
        elapsed_ms: u64,
    }
    let other = || {
        let Envelope { seq, elapsed_ms } = serde_json::from_slice(line).ok()?;
        let message = "another version of swdt tells something that this one does not understand".to_owned();
        Some(NodeEvent { seq, elapsed_ms, kind: NodeEventKind::Note { id: None, message } })
    };
    serde_json::from_slice(line).ok().or_else(other)
}

/// A run lives as long as it holds the lock.
fn alive(state: &State, run: &RunId) -> Result<bool> {
    Ok(lock::holder(&state.lock())?.is_some_and(|busy| busy.run == run.as_str()))
}

fn wait_until_gone(state: &State, run: &RunId) {
    for _ in 0..LEAVING {
        // A directory without a lock is about to go after a complete revert. A lock that cannot be looked at, or
        // is held by nobody known, is going as well: on Windows it stays until its holder is gone.
        if !alive(state, run).unwrap_or(true) && (state.lock().exists() || state.is_gone()) {
            break;
        }
        sleep(PAUSE);
    }
}
