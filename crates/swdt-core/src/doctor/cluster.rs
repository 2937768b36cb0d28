//! Rules about a cluster that is there: what its API tells, and what its machines are.

mod control;
mod network;
mod nodes;
mod objects;
mod pods;
mod windows;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use swdt_wire::Facts;

pub(super) use control::RULES as CONTROL;
pub(super) use network::RULES as NETWORK;
pub(super) use nodes::RULES as NODES;
pub(super) use pods::RULES as PODS;
pub(super) use windows::RULES as WINDOWS;

use crate::spec::Spec;

/// What is known of a cluster that is there. Lists that nobody could ask for are empty.
pub struct ClusterFacts<'a> {
    /// What it shall be.
    pub spec: &'a Spec,
    /// When it was looked at.
    pub now: Timestamp,
    /// Why its API does not answer, as kubectl says it.
    pub unanswered: Option<String>,
    /// Until when the certificate of the administrator is valid; the others were made with it.
    pub certificates_until: Option<Timestamp>,
    /// Names of bootstrap tokens, and until when each is valid.
    pub tokens: Vec<(String, Option<Timestamp>)>,
    /// Objects of the API, by the kind as kubectl calls it: `nodes`, `pods`.
    pub objects: BTreeMap<&'static str, Vec<Value>>,
    /// What its machines told, by node.
    pub machines: BTreeMap<String, NodeLook>,
}

/// What the machine of a node told.
#[derive(Debug, Clone, Default)]
pub struct NodeLook {
    /// What it is.
    pub facts: Option<Facts>,
    /// What shall be true on it and is not.
    pub differs: Vec<Differs>,
    /// What its kubelet said last.
    pub kubelet_log: Vec<String>,
}

/// Something that shall be true on a machine and is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differs {
    /// The resource: `join/kubelet`.
    pub id: String,
    /// The service that it is, without `.service`.
    pub service: Option<String>,
    /// How it differs.
    pub how: String,
}

impl ClusterFacts<'_> {
    /// Kinds that are asked for.
    pub const KINDS: &'static [&'static str] =
        &["nodes", "pods", "events", "daemonsets", "deployments", "statefulsets", "endpointslices"];

    fn all(&self, kind: &str) -> &[Value] {
        self.objects.get(kind).map(Vec::as_slice).unwrap_or_default()
    }

    /// What differs on a machine, by the rule's own choice.
    fn differing<'s>(
        &'s self,
        is: impl Fn(&Differs) -> bool + 's,
    ) -> impl Iterator<Item = (&'s str, &'s Differs)> {
        let all = self.machines.iter();
        all.flat_map(|(node, look)| look.differs.iter().map(move |differs| (node.as_str(), differs)))
            .filter(move |(_, differs)| is(differs))
    }
}

impl Differs {
    /// Is this service not running, or not there?
    fn is_down(&self, service: &str) -> bool {
        self.service.as_deref() == Some(service)
            && ["not running", "missing", "no unit", "masked"].iter().any(|word| self.how.contains(word))
    }

    /// As evidence.
    fn seen(&self) -> String {
        format!("{}: {}", self.id, self.how)
    }
}
