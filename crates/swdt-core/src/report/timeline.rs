//! Runs as they went: which phase, on which node, from when to when, and what broke in.

use std::collections::BTreeMap;

use serde::Serialize;
use swdt_wire::Outcome;

use crate::event::{Event, EventKind, Setback};

/// How many of the slowest resources of a run are told.
const SLOWEST: usize = 5;

/// Where runs begin.
pub(super) fn begins(events: &[Event]) -> Vec<usize> {
    let started = |event: &Event| matches!(event.kind, EventKind::Started { .. });
    (0..events.len()).filter(|&index| started(&events[index])).collect()
}

/// The events of each run.
pub(super) fn split<'a>(
    events: &'a [Event],
    begins: &'a [usize],
) -> impl DoubleEndedIterator<Item = &'a [Event]> {
    (0..begins.len()).map(|index| {
        let end = begins.get(index + 1).copied().unwrap_or(events.len());
        &events[begins[index]..end]
    })
}

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub id: String,
    /// `create`, `update`, …
    pub command: String,
    /// When it began, RFC 3339.
    pub began: String,
    /// How long it took, or until its last event.
    pub took_ms: u64,
    /// Did it go well? None where it was killed, or is at work still.
    pub ok: Option<bool>,
    /// Why not.
    pub error: Option<String>,
    /// Writes on all machines.
    pub writes: u64,
    /// Resources changed or undone.
    pub changes: u64,
    /// Those who took part, in the order of the file.
    pub nodes: Vec<String>,
    /// Its phases, in order.
    pub phases: Vec<PhaseTime>,
    /// What took longest.
    pub slowest: Vec<Slowest>,
}

/// A phase of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTime {
    /// Its id.
    pub phase: String,
    /// For people.
    pub title: String,
    /// Since the run began.
    pub from_ms: u64,
    /// The same.
    pub to_ms: u64,
    /// Was its end seen?
    pub done: bool,
    /// Resources changed or undone in it.
    pub changes: u64,
    /// Who was at work in it: nodes, and the host, which has no name.
    pub lanes: Vec<Lane>,
}

/// The work of one in a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    /// The node; none for the host.
    pub node: Option<String>,
    /// Since the run began.
    pub from_ms: u64,
    /// The same.
    pub to_ms: u64,
    /// Resources changed or undone.
    pub changes: u64,
    /// Resources that were looked at or made true.
    pub resources: u64,
    /// What broke in.
    pub setbacks: Vec<Pause>,
    /// Why it failed, if it did.
    pub failed: Option<String>,
}

/// Work that was broken off and taken up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// Since the run began.
    pub at_ms: u64,
    /// By what.
    pub what: Setback,
    /// One sentence.
    pub message: String,
}

/// A resource that took long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Slowest {
    /// On which node.
    pub node: String,
    /// Its id.
    pub id: String,
    /// How long.
    pub took_ms: u64,
}

impl Run {
    pub(super) fn of(events: &[Event], clean: &dyn Fn(&str) -> String) -> Self {
        let mut run = Self::default();
        let mut resources = Resources::default();
        for event in events {
            run.took_ms = event.elapsed_ms;
            run.take(event, clean);
            resources.take(event);
        }
        run.slowest = resources.slowest();
        // One that was broken off is as long as it is known to be.
        let end = run.took_ms;
        for phase in run.phases.iter_mut().filter(|phase| !phase.done) {
            phase.to_ms = end.max(phase.from_ms);
        }
        run
    }

    /// Is it known to have gone wrong?
    pub fn failed(&self) -> bool {
        self.ok == Some(false)
    }

    /// What broke in, with the node and its phase.
    pub fn setbacks(&self) -> impl Iterator<Item = (&Lane, &PhaseTime, &Pause)> {
        let lanes = self.phases.iter().flat_map(|phase| phase.lanes.iter().map(move |lane| (lane, phase)));
        lanes.flat_map(|(lane, phase)| lane.setbacks.iter().map(move |pause| (lane, phase, pause)))
    }

    fn take(&mut self, event: &Event, clean: &dyn Fn(&str) -> String) {
        let at = event.elapsed_ms;
        match &event.kind {
            EventKind::Started { run, command, nodes, .. } => {
                self.id.clone_from(run);
                self.command.clone_from(command);
                self.began = super::moment(event.at);
                self.nodes.clone_from(nodes);
            }
            EventKind::PhaseStarted { phase, title, .. } => self.phases.push(PhaseTime {
                phase: phase.clone(),
                title: title.clone(),
                from_ms: at,
                to_ms: at,
                done: false,
                changes: 0,
                lanes: Vec::new(),
            }),
            EventKind::PhaseDone { phase, took_ms } => {
                if let Some(open) = self.open().filter(|open| open.phase == *phase) {
                    open.to_ms = open.from_ms + took_ms;
                    open.done = true;
                }
            }
            EventKind::Finished { ok, writes, error } => {
                self.ok = Some(*ok);
                self.writes = *writes;
                self.error = error.as_deref().map(clean);
            }
            // Tried by the host, on the whole cluster; and what ends a run belongs to none of its phases.
            EventKind::Ahead { .. } | EventKind::NodeDone { .. } => {}
            _ => self.work(event, clean),
        }
    }

    /// The phase that is at work.
    fn open(&mut self) -> Option<&mut PhaseTime> {
        self.phases.last_mut().filter(|phase| !phase.done)
    }

    /// Something happened to a node, or on the host, within a phase.
    fn work(&mut self, event: &Event, clean: &dyn Fn(&str) -> String) {
        let changed = matches!(
            event.kind,
            EventKind::ResourceDone { outcome: Outcome::Changed | Outcome::Reverted, .. }
        );
        self.changes += u64::from(changed);
        let Some(phase) = self.open() else { return };
        phase.changes += u64::from(changed);
        let lane = phase.lane(event.node.as_deref(), event.elapsed_ms);
        lane.to_ms = event.elapsed_ms;
        lane.changes += u64::from(changed);
        match &event.kind {
            EventKind::ResourceDone { .. } => lane.resources += 1,
            EventKind::Setback { what, message } => {
                lane.setbacks.push(Pause { at_ms: event.elapsed_ms, what: *what, message: clean(message) });
            }
            EventKind::NodeFailed { message } => lane.failed = Some(clean(message)),
            _ => {}
        }
    }
}

impl PhaseTime {
    /// How long it took, or until nothing more was heard of it.
    pub fn took_ms(&self) -> u64 {
        self.to_ms.saturating_sub(self.from_ms)
    }

    fn lane(&mut self, node: Option<&str>, at: u64) -> &mut Lane {
        let known = self.lanes.iter().position(|lane| lane.node.as_deref() == node);
        let index = known.unwrap_or_else(|| {
            self.lanes.push(Lane {
                node: node.map(ToOwned::to_owned),
                from_ms: at,
                to_ms: at,
                ..Lane::default()
            });
            self.lanes.len() - 1
        });
        &mut self.lanes[index]
    }
}

impl Lane {
    /// How long it took.
    pub fn took_ms(&self) -> u64 {
        self.to_ms.saturating_sub(self.from_ms)
    }
}

/// How long resources took, from the two events of each.
#[derive(Default)]
struct Resources {
    begun: BTreeMap<(String, String), u64>,
    took: Vec<Slowest>,
}

impl Resources {
    fn take(&mut self, event: &Event) {
        let Some(node) = &event.node else { return };
        match &event.kind {
            EventKind::ResourceStarted { id } => {
                // Begun again after a restart, it is still the same work.
                self.begun.entry((node.clone(), id.clone())).or_insert(event.elapsed_ms);
            }
            EventKind::ResourceDone { id, .. } => {
                if let Some(began) = self.begun.remove(&(node.clone(), id.clone())) {
                    let took_ms = event.elapsed_ms.saturating_sub(began);
                    self.took.push(Slowest { node: node.clone(), id: id.clone(), took_ms });
                }
            }
            _ => {}
        }
    }

    fn slowest(mut self) -> Vec<Slowest> {
        self.took.sort_by_key(|it| std::cmp::Reverse(it.took_ms));
        self.took.truncate(SLOWEST);
        self.took.retain(|it| it.took_ms >= 1000);
        self.took
    }
}
