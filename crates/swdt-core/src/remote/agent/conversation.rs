//! One run as seen from here: its events, exactly once, over as many execs as it takes.

use secrecy::{ExposeSecret, SecretString};
use swdt_wire::{NodeEvent, NodeEventKind, Summary, WIRE_VERSION};

use super::{
    super::{Chunk, ExitStatus, Running},
    lines::{LONGEST, Lines},
    wrong_wire,
};
use crate::{
    Error, Result,
    event::{EventKind, Reporter},
    id,
};

/// Of lines that are no events, so many are passed on; a login script may be endless.
const MAX_NOISE: usize = 1000;
/// And so much of each.
const MAX_LINE: usize = 4000;
/// So many lines of errors are kept for a message.
const MAX_ERRORS: usize = 50;

/// How one exec ended.
pub(super) enum Ending {
    /// The last event came; it is not passed on yet.
    Finished(NodeEvent, Summary),
    /// Not a word of the protocol: the program is not there, or cannot run.
    Mute { exit: ExitStatus, errors: Vec<String> },
    /// It began, and then the line went dead.
    BrokenOff(String),
}

/// A run.
pub(crate) struct Conversation {
    run: String,
    reporter: Reporter,
    /// The highest sequence number seen; hello has 0.
    last: u64,
    /// Hello was passed on.
    greeted: bool,
    noise: usize,
}

impl Conversation {
    pub(crate) fn new(run: &str, reporter: Reporter) -> Self {
        Self { run: run.to_owned(), reporter, last: 0, greeted: false, noise: 0 }
    }

    /// The highest sequence number seen.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Sends a line to a fresh exec and listens until it ends, or the run does.
    pub(super) async fn hold(
        &mut self,
        running: Running,
        line: &SecretString,
        place: &str,
        attaching: bool,
        on_event: &mut (dyn FnMut(NodeEvent) + Send),
    ) -> Result<Ending> {
        let Running { mut stdin, mut output } = running;
        let line = line.clone();
        // Beside the listening, so that neither side waits for the other with a full pipe.
        let writer = tokio::spawn(async move {
            // If nobody reads, the end of the output says more.
            let _ = stdin.write(line.expose_secret().as_bytes()).await;
            stdin.close().await;
        });
        let (mut lines, mut error_lines) = (Lines::default(), Lines::default());
        let mut errors = Vec::new();
        let mut hello = false;
        let endless =
            |_| Error::new(id::INTERNAL, format!("{place} sent a line of more than {LONGEST} bytes"));
        let exit = loop {
            let (complete, ended) = match output.next().await {
                Some(Chunk::Stdout(bytes)) => (lines.push(&bytes).map_err(endless)?, None),
                Some(Chunk::Stderr(bytes)) => {
                    for line in error_lines.push(&bytes).map_err(endless)? {
                        self.complaint(&line, &mut errors);
                    }
                    continue;
                }
                Some(Chunk::Exit(exit)) => (lines.take().into_iter().collect(), Some(exit)),
                None => (Vec::new(), Some(ExitStatus::Lost("no word of its end".into()))),
            };
            for line in complete {
                let Some(event) = self.hear(&line, &mut hello, place, attaching)? else { continue };
                if let NodeEventKind::Finished(summary) = &event.kind {
                    let summary = summary.clone();
                    return Ok(Ending::Finished(event, summary));
                }
                self.last = self.last.max(event.seq);
                on_event(event);
            }
            if let Some(exit) = ended {
                break exit;
            }
        };
        writer.abort();
        if let Some(line) = error_lines.take() {
            self.complaint(&line, &mut errors);
        }
        if !hello {
            return Ok(Ending::Mute { exit, errors });
        }
        Ok(Ending::BrokenOff(match exit {
            ExitStatus::Lost(why) => why,
            other => format!("the node program stopped ({other})"),
        }))
    }

    /// What a line means: an event that is new, or nothing.
    pub(crate) fn hear(
        &mut self,
        line: &str,
        hello: &mut bool,
        place: &str,
        attaching: bool,
    ) -> Result<Option<NodeEvent>> {
        let Ok(event) = serde_json::from_str::<NodeEvent>(line) else {
            self.noise(line);
            return Ok(None);
        };
        if let NodeEventKind::Hello { wire, run, .. } = &event.kind
            && *run == self.run
        {
            if *wire != WIRE_VERSION {
                return Err(wrong_wire(place, *wire));
            }
            if !*hello && attaching {
                self.reporter.doing(format!("connected to {place} again"));
            }
            *hello = true;
            // Every exec says hello; the run has begun only once.
            return Ok((!std::mem::replace(&mut self.greeted, true)).then_some(event));
        }
        if !*hello {
            self.noise(line);
            return Ok(None);
        }
        // The answer to an attach that found no run has a number of its own.
        if matches!(event.kind, NodeEventKind::Finished(_)) {
            return Ok(Some(event));
        }
        if event.seq <= self.last {
            return Ok(None);
        }
        if event.seq > self.last + 1 {
            let (from, to) = (self.last + 1, event.seq - 1);
            let message = format!("events {from} to {to} of run {} on {place} are missing", self.run);
            return Err(Error::new(id::INTERNAL, message));
        }
        Ok(Some(event))
    }

    fn complaint(&mut self, line: &str, errors: &mut Vec<String>) {
        self.noise(line);
        if errors.len() == MAX_ERRORS {
            errors.remove(0);
        }
        errors.push(shortened(line));
    }

    fn noise(&mut self, line: &str) {
        self.noise += 1;
        if self.noise <= MAX_NOISE {
            self.reporter.say(EventKind::Output { id: None, line: shortened(line) });
        } else if self.noise == MAX_NOISE + 1 {
            self.reporter
                .warn(format!("more than {MAX_NOISE} lines that are no events; the rest is dropped"));
        }
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(MAX_LINE).collect()
}
