use serde::{Deserialize, Serialize};

use crate::{Facts, Resource, Secret};

/// One line of the node's standard output. Lines that are no event are log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeEvent {
    /// Grows by one within a run, so that a reconnect can go on where it stopped.
    pub seq: u64,
    /// Milliseconds since the run began on the node.
    pub elapsed_ms: u64,
    /// What happened.
    pub kind: NodeEventKind,
}

/// What a node tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NodeEventKind {
    /// Always first; `run` is the one of the request.
    Hello {
        /// [`crate::WIRE_VERSION`] of the node half.
        wire: u32,
        /// Version of the node half.
        version: String,
        /// Echo of the request.
        run: String,
        /// The node's clock, in seconds since the epoch. No fact, because it changes by itself; 0 from a node half
        /// that does not tell.
        #[serde(default, skip_serializing_if = "is_zero")]
        at: u64,
    },
    /// What the machine is.
    Facts(Box<Facts>),
    /// What the receipts tell (mode receipts only).
    Receipts {
        /// The cluster that the machine belongs to; none when to none.
        cluster: Option<String>,
        /// The resources that are not undone, redacted, in the order of the first touch.
        live: Vec<Resource>,
    },
    /// One resource was looked at (mode check only).
    Checked(Checked),
    /// One resource begins to be made true or undone.
    Started {
        /// Which.
        id: String,
    },
    /// A line a program said while a resource was worked on.
    Output {
        /// Which resource.
        id: String,
        /// Without line end.
        line: String,
    },
    /// Something the user should know that is no failure.
    Note {
        /// Which resource, if one.
        id: Option<String>,
        /// One sentence.
        message: String,
    },
    /// One resource is true, or undone.
    Done {
        /// Which.
        id: String,
        /// Was something to do?
        outcome: Outcome,
        /// Writes to the machine for this resource, counted where they happen.
        writes: u64,
    },
    /// What kubectl answered (mode kubectl only).
    Answer {
        /// Exit code; none when a signal ended it.
        code: Option<i32>,
        /// Standard output.
        stdout: Secret,
        /// Standard error.
        stderr: String,
    },
    /// The last event of a run.
    Finished(Summary),
}

/// The state of one resource, without touching it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// Which.
    pub id: String,
    /// True already?
    pub status: Status,
    /// Blobs the node needs before it can apply this resource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_blobs: Vec<String>,
}

/// Is a resource true?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Status {
    /// Nothing to do.
    Satisfied,
    /// Something differs; the text says what, for people.
    Differs(String),
}

/// What became of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// It was true already.
    Unchanged,
    /// It was made true.
    Changed,
    /// It was undone.
    Reverted,
    /// It was left as it is, for the reason given (somebody changed it after us, or it cannot be undone).
    Kept(String),
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// All writes of the run, receipts included.
    pub writes: u64,
    /// The machine must be restarted before it goes on.
    #[serde(default)]
    pub reboot: bool,
    /// Resources that were left as somebody changed them after us, and that force would still undo.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept: u64,
    /// Why it did not get to the end, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<NodeFailure>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Why a run did not get to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NodeFailure {
    /// A resource could not be made true or undone.
    Resource {
        /// Which.
        id: String,
        /// What went wrong.
        message: String,
        /// The last lines of the program that failed, if one did.
        output: Vec<String>,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Another run holds this machine.
    Busy(Busy),
    /// The machine belongs to another cluster.
    OtherCluster {
        /// That cluster's name.
        cluster: String,
    },
    /// The request speaks another wire version.
    Wire {
        /// The version of the node half.
        node: u32,
    },
    /// The run asked for is not known here.
    UnknownRun,
    /// The run's process died without a word (killed, or the machine restarted).
    Died,
    /// Stopped at a resource boundary because the host asked.
    Cancelled,
    /// The request could not be read, or the node's own files could not be used.
    Unusable {
        /// What went wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

/// Who holds a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Busy {
    /// The run that holds it.
    pub run: String,
    /// The cluster it works for.
    pub cluster: String,
    /// Who started it.
    pub who: String,
    /// Process id on the node.
    pub pid: u32,
    /// Seconds since the epoch, by the node's clock.
    pub since: u64,
}
