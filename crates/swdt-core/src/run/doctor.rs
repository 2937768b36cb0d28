//! `doctor`: looks at the host, at machines and at a cluster, for the rules to judge; and mends what they name.
//! Looking changes nothing there; here it keeps what it tried of the processor, until the host is started again.

mod cluster;
mod host;
mod mend;

use std::collections::BTreeMap;

use tokio::{task::JoinSet, time::timeout};

pub use cluster::look_at_cluster;
pub use host::look_at_host;
pub use mend::mend;

use super::{
    Host, broken, onlooker,
    probe::Candidate,
    support::{PATIENCE, late},
};
use crate::{
    Error, Result,
    doctor::{self, Clocks, Finding, Fleet, HostFacts},
    machine::{Context, MachineState, Machines},
    spec::Spec,
};

/// Looks at what machines are to be made of that are not there yet, and tells at what `create` would stop. What they take
/// of this host goes into the facts, for its rules. A disc of Windows is read once, and known from then on.
pub async fn look_ahead(host: &Host, spec: &Spec, facts: &mut HostFacts) -> Result<Vec<Finding>> {
    let program = host.agents.windows.as_ref().map(|agent| agent.bytes());
    let machines = Machines::new(Context {
        rehearsal: host.rehearsal,
        sources: host.sources.of(spec),
        // That there is none is told by a rule.
        windows_program: Some(program.unwrap_or_default()),
        interrupt: host.interrupt.clone(),
        ..onlooker(&host.dirs, &spec.name)
    });
    let mut absent = Vec::new();
    for node in &spec.nodes {
        // So is what cannot be read of a machine.
        if matches!(machines.status(node).await, Ok(MachineState::Absent)) {
            absent.push(node.clone());
        }
    }
    let wrong = machines.wants(facts, &absent).await.err();
    host.interrupt.check()?;
    Ok(wrong.map(Finding::all).unwrap_or_default())
}

/// Looks at the machines that a file names and that were there before, and judges them. Leaves nothing there.
pub async fn look_at_machines(host: &Host, spec: &Spec) -> Result<Vec<Finding>> {
    let mut tasks = JoinSet::new();
    for node in &spec.nodes {
        if let Some(candidate) = Candidate::of(&spec.name, node) {
            let (host, name) = (host.clone(), node.name.clone());
            tasks.spawn(async move {
                let seen = timeout(PATIENCE, candidate.look(&host)).await;
                (name, seen.unwrap_or_else(|_| Err(late("the machine"))))
            });
        }
    }
    let mut met = Met::default();
    while let Some(joined) = tasks.join_next().await {
        let (name, seen) = joined.map_err(|panic| broken(&panic))?;
        match seen {
            Err(error) => met.failures.extend([(name, error)]),
            Ok(seen) => {
                met.clocks.insert(name.clone(), seen.clock);
                met.facts.insert(name, seen.facts);
            }
        }
    }
    Ok(met.findings(spec))
}

/// Machines that were looked at, by node.
#[derive(Default)]
struct Met {
    facts: BTreeMap<String, swdt_wire::Facts>,
    clocks: Clocks,
    failures: BTreeMap<String, Error>,
}

impl Met {
    fn findings(&self, spec: &Spec) -> Vec<Finding> {
        let fleet = Fleet { spec, facts: &self.facts, clocks: &self.clocks };
        let mut findings = doctor::unreached(spec, &self.failures);
        findings.extend(doctor::machines(&fleet));
        findings
    }
}
