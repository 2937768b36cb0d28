//! What renderers keep in mind of a run: its nodes, and how much was changed.

use swdt_core::event::{Event, EventKind};
use swdt_wire::Outcome;

use super::{count, duration};

/// Longer node names are cut; nobody reads a column of them.
const WIDEST: usize = 24;

#[derive(Default)]
pub(super) struct Tally {
    /// The nodes, in the order of the file.
    pub(super) nodes: Vec<String>,
    /// Resources changed or undone: in all, and in the phases that are over.
    changed: u64,
    earlier: u64,
    /// Did nodes come to the end of everything asked of them, without a change?
    seen_through: bool,
    destroying: bool,
}

impl Tally {
    pub(super) fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Started { command, nodes, .. } => {
                *self = Self { nodes: nodes.clone(), destroying: command == "destroy", ..Self::default() };
            }
            EventKind::PhaseStarted { .. } => self.earlier = self.changed,
            EventKind::ResourceDone { outcome: Outcome::Changed | Outcome::Reverted, .. } => {
                self.changed += 1;
            }
            EventKind::NodeDone { .. } => self.seen_through = true,
            _ => {}
        }
    }

    /// Columns for node names.
    pub(super) fn width(&self) -> usize {
        self.nodes.iter().map(|name| name.chars().count()).max().unwrap_or(12).min(WIDEST)
    }

    /// Where a node stands in the file; what is no node (the host) comes before all.
    pub(super) fn place(&self, node: &str) -> usize {
        self.nodes.iter().position(|name| name == node).map_or(0, |index| index + 1)
    }

    /// `, 8 changes` of this phase, or nothing.
    pub(super) fn phase_changes(&self) -> String {
        self.changes(self.changed - self.earlier)
    }

    fn changes(&self, number: u64) -> String {
        match number {
            0 => String::new(),
            n if self.destroying => format!(", {} undone", count(n, "change")),
            n => format!(", {}", count(n, "change")),
        }
    }

    /// The last word of a run.
    pub(super) fn finished(&self, event: &Event, ok: bool) -> String {
        let took = duration(event.elapsed_ms);
        if !ok {
            return format!("stopped after {took}");
        }
        // A run that ends early, or only makes and removes machines, has no resources to speak of.
        let nothing = self.changed == 0 && self.seen_through && !self.destroying;
        let changes = if nothing { ", nothing had to be changed".into() } else { self.changes(self.changed) };
        format!("done in {took}{changes}")
    }
}
