//! What there is to tell of a cluster afterwards: its runs, its nodes, what it is made of, whether it works. Pure: made
//! from what swdt keeps anyway.
//!
//! This leaves somebody's house, like a support bundle: every field is named here, nothing is taken because it lies in a
//! file, and sentences of others pass `Redactor` on their way in. What programs print is never taken.

mod parts;
mod smoke;
mod timeline;

use std::collections::BTreeMap;

use serde::Serialize;

pub use parts::{Image, Networks, NodeFacts, Program, Warning};
pub use smoke::{Smoke, Trial, Verdict};
pub use timeline::{Lane, Pause, PhaseTime, Run, Slowest};

use crate::{artifact::Artifacts, event::Event, plan::Known, spec::Spec, state::State};

/// The version of the document; fields are only ever added to one.
const SCHEMA: u32 = 1;

/// What a report is made from.
pub struct Sources<'a> {
    /// The cluster.
    pub spec: &'a Spec,
    /// What is remembered of it.
    pub state: &'a State,
    /// What is known of the machines.
    pub known: &'a Known,
    /// What the nodes got, if that was resolved.
    pub artifacts: Option<&'a Artifacts>,
    /// Every event of every run.
    pub events: &'a [Event],
    /// When.
    pub now: jiff::Timestamp,
    /// Takes credentials out of a sentence.
    pub clean: &'a dyn Fn(&str) -> String,
}

/// Everything there is to tell of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Of this document.
    pub schema: u32,
    /// When it was made, RFC 3339.
    pub made: String,
    /// The cluster.
    pub cluster: String,
    /// Its version of Kubernetes.
    pub kubernetes: String,
    /// Host name of the control plane.
    pub endpoint: String,
    /// Networks, and who makes them.
    pub networks: Networks,
    /// Machines, in the order of the file.
    pub nodes: Vec<NodeFacts>,
    /// Every run that was recorded, the oldest first.
    pub runs: Vec<Run>,
    /// The run that is told at length: the last that changed something.
    pub main_run: usize,
    /// The last smoke test, if one was recorded.
    pub smoke: Option<Smoke>,
    /// Programs on the nodes.
    pub programs: Vec<Program>,
    /// Images on the nodes.
    pub images: Vec<Image>,
    /// What users should know of the main run and of those after it.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Puts everything together; none where no run was recorded.
    pub fn of(sources: &Sources<'_>) -> Option<Self> {
        let Sources { spec, state, known, artifacts, events, now, clean } = *sources;
        let begins = timeline::begins(events);
        let runs: Vec<Run> = timeline::split(events, &begins).map(|run| Run::of(run, clean)).collect();
        let changed = |run: &Run| run.changes > 0 || run.writes > 0 || run.failed();
        let main_run = runs.iter().rposition(changed).or(runs.len().checked_sub(1))?;
        let replaced = artifacts.cloned().map(|artifacts| state.with_replaced(artifacts));
        Some(Self {
            schema: SCHEMA,
            made: moment(now),
            cluster: spec.name.clone(),
            kubernetes: spec.kubernetes.to_string(),
            endpoint: spec.endpoint.clone(),
            networks: Networks::of(spec),
            nodes: spec.nodes.iter().map(|node| NodeFacts::of(node, state, known)).collect(),
            main_run,
            smoke: timeline::split(events, &begins)
                .filter_map(|run| Smoke::of(run, &spec.nodes, clean))
                .next_back(),
            programs: parts::programs(replaced.as_ref(), clean),
            images: parts::images(spec, replaced.as_ref(), state, clean),
            warnings: parts::warnings(&events[begins[main_run]..], clean),
            runs,
        })
    }

    /// The run that is told at length.
    pub fn run(&self) -> &Run {
        &self.runs[self.main_run]
    }

    /// How many checks of the smoke test came out in which way.
    pub fn verdicts(&self) -> BTreeMap<Verdict, usize> {
        let mut counted = BTreeMap::new();
        for trial in self.smoke.iter().flat_map(|smoke| &smoke.trials) {
            *counted.entry(trial.verdict).or_default() += 1;
        }
        counted
    }
}

/// To the second, as RFC 3339 has it.
fn moment(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests;
