//! Rules about machines, whether they are nodes or shall become some.

mod fleet;
mod general;
mod linux;
mod reach;
mod windows;

use std::collections::BTreeMap;

use swdt_wire::Facts;

pub(super) use fleet::RULES as FLEET;
pub(super) use general::RULES as GENERAL;
pub(super) use linux::RULES as LINUX;
pub(super) use reach::RULES as REACH;
pub(super) use windows::RULES as WINDOWS;

use crate::{
    Error,
    spec::{Node, Spec},
};

/// What a machine's clock said, and ours at that moment, in seconds since the epoch; by node.
pub type Clocks = BTreeMap<String, (u64, u64)>;

/// All machines that are known.
pub struct Fleet<'a> {
    /// What they shall be.
    pub spec: &'a Spec,
    /// What they are, by node.
    pub facts: &'a BTreeMap<String, Facts>,
    /// What their clocks said.
    pub clocks: &'a Clocks,
}

/// One machine that is known.
pub struct Machine<'a> {
    /// The cluster it is for.
    pub spec: &'a Spec,
    /// The node it is for.
    pub node: &'a Node,
    /// What it is.
    pub facts: &'a Facts,
    /// What its clock said, and ours.
    pub clock: Option<(u64, u64)>,
}

/// A machine that could not be looked at.
pub struct Unreached<'a> {
    /// The node it is for.
    pub node: &'a Node,
    /// Why not.
    pub error: &'a Error,
}

impl<'a> Fleet<'a> {
    /// The machine of a node, if it is known.
    pub(super) fn machine(&self, node: &'a Node) -> Option<Machine<'a>> {
        let facts = self.facts.get(&node.name)?;
        Some(Machine { spec: self.spec, node, facts, clock: self.clocks.get(&node.name).copied() })
    }
}
