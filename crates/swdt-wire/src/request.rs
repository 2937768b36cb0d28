use serde::{Deserialize, Serialize};

use crate::{Resource, Secret, WIRE_VERSION};

/// The one document the host half writes to the node half.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Must equal [`WIRE_VERSION`] of the node half.
    pub wire: u32,
    /// The cluster this machine works for; a machine serves one cluster at a time.
    pub cluster: String,
    /// Names this exchange. The node echoes it in `hello`, which tells protocol from login noise.
    pub run: String,
    /// What to do.
    pub mode: Mode,
}

impl Request {
    /// A request of the current wire version.
    pub fn new(cluster: impl Into<String>, run: impl Into<String>, mode: Mode) -> Self {
        Self { wire: WIRE_VERSION, cluster: cluster.into(), run: run.into(), mode }
    }
}

/// What the node half is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Mode {
    /// Only look at the machine.
    Facts,
    /// Facts, and what the receipts tell: whose machine it is, and what is not undone. Writes nothing.
    Receipts,
    /// Facts, and the state of each resource. Writes nothing.
    Check {
        /// In order.
        resources: Vec<Resource>,
    },
    /// Make resources true, in order, detached from the connection.
    Apply {
        /// In order.
        resources: Vec<Resource>,
        /// Who asks, for whoever finds the machine busy.
        owner: Owner,
    },
    /// Undo everything the receipts tell of, last first, detached from the connection.
    Revert {
        /// Also undo what somebody changed after us.
        force: bool,
        /// Who asks.
        owner: Owner,
    },
    /// Undo these resources alone, last first, as far as the receipts tell of them, detached from the connection.
    RevertSome {
        /// Ids of resources.
        ids: Vec<String>,
        /// Who asks.
        owner: Owner,
    },
    /// Follow a run that goes on, or went on, without us.
    Attach {
        /// The run to follow.
        run: String,
        /// Send events with a higher sequence number only.
        after: u64,
    },
    /// Run kubectl on the control plane with the administrator's rights, and bring its answer.
    Kubectl {
        /// Arguments, without the program and the kubeconfig.
        arguments: Vec<String>,
        /// Its standard input. May hold a bootstrap token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Secret>,
    },
    /// Let the container runtime pull an image from its registry. The answer's output is its digest.
    Pull {
        /// In full: `registry.k8s.io/pause:3.10.2`.
        reference: String,
    },
    /// The last lines of these logs, as [`crate::NodeEventKind::Output`] under each one's name; one that cannot be
    /// read is a [`crate::NodeEventKind::Note`]. Writes nothing.
    Logs {
        /// Which.
        of: Vec<Log>,
        /// At most so many of each.
        lines: u32,
    },
    /// Ask a run to stop at the next resource boundary.
    Cancel {
        /// The run to stop.
        run: String,
    },
}

/// A log of a machine that may be asked for; there is no way to name a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Log {
    /// What a service said: `kubelet`.
    Service(String),
    /// What the node half told in its last runs.
    Runs,
}

impl Log {
    /// Under which name its lines come.
    pub fn name(&self) -> &str {
        match self {
            Self::Service(name) => name,
            Self::Runs => "swdt-node",
        }
    }
}

/// Who started a run, for messages to somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// `user@host` of the host half.
    pub who: String,
}
