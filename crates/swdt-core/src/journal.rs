//! Gives events their number and time, keeps them on disk, and passes them on.

use std::{
    fs,
    io::{self, BufRead, Write},
    path::Path,
    sync::{Arc, Mutex},
    time::Instant,
};

use swdt_wire::Outcome;

use crate::{
    Result,
    event::{Event, EventKind, Reporter, Setback},
    files::{append, failed},
    state::ClusterDir,
};

/// Every event of a run passes here once.
#[derive(Clone)]
pub struct Journal(Arc<Mutex<Inner>>);

struct Inner {
    seq: u64,
    started: Instant,
    /// Where events are kept: the cluster's directory, and its journal.
    kept: Option<(ClusterDir, fs::File)>,
    sink: Box<dyn FnMut(&Event) + Send>,
}

impl Journal {
    /// Appends to the cluster's journal and passes each event to `sink`.
    pub fn open(dir: &ClusterDir, sink: impl FnMut(&Event) + Send + 'static) -> Result<Self> {
        let path = dir.events();
        let file = append(&path).map_err(|error| failed("open", &path, &error))?;
        Ok(Self::new(Some((dir.clone(), file)), sink))
    }

    /// Passes each event to `sink` and keeps none: for work that belongs to no cluster.
    pub fn unkept(sink: impl FnMut(&Event) + Send + 'static) -> Self {
        Self::new(None, sink)
    }

    fn new(kept: Option<(ClusterDir, fs::File)>, sink: impl FnMut(&Event) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Inner { seq: 0, started: Instant::now(), kept, sink: Box::new(sink) })))
    }

    /// A reporter whose events come here.
    pub fn reporter(&self) -> Reporter {
        let journal = self.0.clone();
        Reporter::new(move |node, kind| {
            let mut inner = journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            inner.take(node, kind);
        })
    }
}

impl Inner {
    fn take(&mut self, node: Option<&str>, kind: EventKind) {
        let event = Event {
            seq: self.seq,
            at: jiff::Timestamp::now(),
            elapsed_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            node: node.map(ToOwned::to_owned),
            kind,
        };
        self.seq += 1;
        // A full disk must not stop a run that may be about to free it; the renderer still tells.
        if let Some((dir, file)) = &mut self.kept {
            if let Ok(mut line) = serde_json::to_vec(&event) {
                line.push(b'\n');
                let _ = file.write_all(&line);
            }
            let _ = log(dir, &event);
        }
        (self.sink)(&event);
    }
}

/// What belongs to a node also goes to its log, in words.
fn log(dir: &ClusterDir, event: &Event) -> io::Result<()> {
    let Some(node) = &event.node else { return Ok(()) };
    let text = match &event.kind {
        EventKind::Output { id: Some(id), line } => format!("{id}: {line}"),
        EventKind::Output { id: None, line } => line.clone(),
        EventKind::ResourceStarted { id } => format!("{id} …"),
        EventKind::ResourceDone { id, outcome, .. } => match outcome {
            Outcome::Unchanged => format!("{id} was true already"),
            Outcome::Changed => format!("{id} changed"),
            Outcome::Reverted => format!("{id} undone"),
            Outcome::Kept(why) => format!("{id} kept: {why}"),
        },
        EventKind::Setback { what: Setback::Restarted, message } => message.clone(),
        EventKind::Warning { message } | EventKind::Setback { message, .. } => format!("warning: {message}"),
        EventKind::NodeFailed { message } => format!("failed: {message}"),
        EventKind::Connected { system, address } => format!("connected to {address}, {system}"),
        EventKind::Doing { what } => what.clone(),
        _ => return Ok(()),
    };
    writeln!(append(&dir.log(node))?, "{} {text}", event.at)
}

/// The events of a journal; lines that cannot be read (a torn last one, a newer swdt's) are left out.
pub fn read(path: &Path) -> Result<Vec<Event>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", path, &error)),
    };
    let lines = io::BufReader::new(file).lines().map_while(std::result::Result::ok);
    Ok(lines.filter_map(|line| serde_json::from_str(&line).ok()).collect())
}
