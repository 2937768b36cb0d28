//! What happens in a run, as values. Renderers and the journal only consume them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use swdt_wire::{Outcome, Resource};

use crate::words;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Grows by one within a run.
    pub seq: u64,
    /// When, by the host's clock.
    pub at: jiff::Timestamp,
    /// Milliseconds since the run began.
    pub elapsed_ms: u64,
    /// The node it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What.
    pub kind: EventKind,
}

/// What can happen. A run begins with `Started` and ends with exactly one `Finished`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// A run begins.
    Started {
        /// The run's id.
        run: String,
        /// `create`, `destroy`, …
        command: String,
        /// The cluster.
        cluster: String,
        /// Its nodes.
        nodes: Vec<String>,
    },
    /// A phase begins, for all nodes.
    PhaseStarted {
        /// Its id.
        phase: String,
        /// For people.
        title: String,
        /// How long it took in earlier runs on this host, where it had something to do; none where nothing is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usual_ms: Option<u64>,
    },
    /// A phase is over for all nodes.
    PhaseDone {
        /// Its id.
        phase: String,
        /// How long it took.
        took_ms: u64,
    },
    /// What a look found: the phases in which something is to be made true, in order.
    Ahead {
        /// Those phases.
        phases: Vec<PhaseAhead>,
    },
    /// A node begins with its part of a phase; one that has none does not.
    NodePhaseStarted {
        /// The phase's id.
        phase: String,
        /// How many resources it is about; none where the host works for the node.
        resources: u64,
    },
    /// A node is done with its part of a phase; others may still be at theirs.
    NodePhaseDone {
        /// The phase's id.
        phase: String,
        /// How long it took.
        took_ms: u64,
    },
    /// Something longer goes on (a machine boots, a root is built); for the eye.
    Doing {
        /// What, in a few words.
        what: String,
    },
    /// A machine answered and let us in.
    Connected {
        /// `Debian GNU/Linux 12 (bookworm)`.
        system: String,
        /// Where.
        address: String,
    },
    /// Work on a resource begins.
    ResourceStarted {
        /// Its id.
        id: String,
    },
    /// Work on a resource is over.
    ResourceDone {
        /// Its id.
        id: String,
        /// What became of it.
        outcome: Outcome,
        /// Writes to the machine.
        writes: u64,
    },
    /// A line of output.
    Output {
        /// The resource it belongs to.
        id: Option<String>,
        /// Without line end.
        line: String,
    },
    /// Something the user should know that is no failure.
    Warning {
        /// One sentence.
        message: String,
    },
    /// Work on a node was broken off, and is taken up again.
    Setback {
        /// By what.
        what: Setback,
        /// One sentence.
        message: String,
    },
    /// Something was tried on the whole cluster.
    Tried {
        /// What, in a few words.
        name: String,
        /// As it should be?
        ok: bool,
        /// What was seen.
        seen: String,
        /// How long it took.
        took_ms: u64,
    },
    /// Something could not be tried on this cluster, so nothing is said about it.
    NotTried {
        /// What, in a few words.
        name: String,
        /// Why not.
        why: String,
    },
    /// A node is done with everything asked of it.
    NodeDone {
        /// Writes to the machine in this run, counted by the node.
        writes: u64,
        /// Programs started on the machine in this run: one, when there was nothing to do.
        execs: u64,
    },
    /// A machine was given up without being undone.
    Forgotten {
        /// Why it could not be undone.
        why: String,
        /// What was made true on it, and may be so still; redacted.
        left: Vec<Resource>,
    },
    /// A node failed.
    NodeFailed {
        /// What went wrong.
        message: String,
    },
    /// The run is over.
    Finished {
        /// Did everything go well?
        ok: bool,
        /// Writes on all machines.
        writes: u64,
        /// Why not, in one line.
        error: Option<String>,
    },
}

/// A phase that has something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseAhead {
    /// Its id.
    pub phase: String,
    /// How long it took in earlier runs on this host; none where nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_ms: Option<u64>,
}

/// What breaks off work on a node that then goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Setback {
    /// The machine restarted, as it was asked to.
    Restarted,
    /// The node program ended without having been asked to.
    Died,
    /// The connection was lost; the work on the machine goes on meanwhile.
    Disconnected,
}

/// Takes the node and what happened to it.
type Sink = dyn Fn(Option<&str>, EventKind) + Send + Sync;

impl EventKind {
    /// The same, with nothing in texts of machines that a terminal would obey.
    fn printable(mut self) -> Self {
        let text = match &mut self {
            Self::Doing { what } => what,
            Self::Connected { system, .. } => system,
            Self::Output { line, .. } => line,
            Self::ResourceDone { outcome: Outcome::Kept(why), .. } | Self::Forgotten { why, .. } => why,
            Self::Warning { message } | Self::Setback { message, .. } | Self::NodeFailed { message } => {
                message
            }
            Self::Tried { seen, .. } => seen,
            Self::Finished { error: Some(error), .. } => error,
            _ => return self,
        };
        if text.chars().any(char::is_control) {
            *text = words::printable(text);
        }
        self
    }
}

/// Where a part of the library reports what it does. Cheap to clone; safe to use from every task.
#[derive(Clone)]
pub struct Reporter {
    sink: Arc<Sink>,
    node: Option<String>,
}

impl Reporter {
    /// Reports to a function.
    pub fn new(sink: impl Fn(Option<&str>, EventKind) + Send + Sync + 'static) -> Self {
        Self { sink: Arc::new(sink), node: None }
    }

    /// Reports to nobody.
    pub fn silent() -> Self {
        Self::new(|_, _| ())
    }

    /// The same, about one node.
    #[must_use]
    pub fn for_node(&self, node: &str) -> Self {
        Self { sink: self.sink.clone(), node: Some(node.to_owned()) }
    }

    /// Reports.
    pub fn say(&self, kind: EventKind) {
        (self.sink)(self.node.as_deref(), kind.printable());
    }

    /// Reports that something longer goes on.
    pub fn doing(&self, what: impl Into<String>) {
        self.say(EventKind::Doing { what: what.into() });
    }

    /// Reports that work was broken off and is taken up again.
    pub fn setback(&self, what: Setback, message: impl Into<String>) {
        self.say(EventKind::Setback { what, message: message.into() });
    }

    /// Reports something the user should know.
    pub fn warn(&self, message: impl Into<String>) {
        self.say(EventKind::Warning { message: message.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_machines_move_no_cursor() {
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let sink = heard.clone();
        let reporter = Reporter::new(move |_, kind| sink.lock().unwrap().push(kind));
        reporter.warn("a \u{1b}[2Jb\u{1b}[1;31m\u{1b}]52;c\u{7}");
        reporter.say(EventKind::Output { id: None, line: "c\td\r".into() });
        let heard = heard.lock().unwrap();
        assert_eq!(
            *heard,
            [
                EventKind::Warning { message: "a b ]52;c ".into() },
                EventKind::Output { id: None, line: "c\td ".into() }
            ]
        );
    }
}
