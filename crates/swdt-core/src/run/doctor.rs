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
    Host, broken,
    probe::Candidate,
    support::{PATIENCE, late},
};
use crate::{
    Error, Result,
    doctor::{self, Clocks, Finding, Fleet},
    spec::Spec,
};

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
