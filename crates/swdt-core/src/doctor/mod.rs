//! What can be wrong, in one registry: rules about the host, about machines and about clusters that are there.
//!
//! `swdt doctor` asks all of them; `preflight` and the wizard those about machines; the providers those about the
//! host that their machines need. A rule is a row in one of the lists below, with the function that finds it. It is
//! pure: it judges what somebody else has looked at (`run/doctor.rs`). What is not known is not judged.
//!
//! A new rule: a row in its list, a case in `tests/`, and `cargo test -p swdt-core doctor` writes the page anew with
//! `SWDT_WRITE_DOCS=1`.

mod cluster;
mod host;
mod machine;
mod page;
mod rule;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub use cluster::{ClusterFacts, Differs, NodeLook};
pub use host::{Closed, ClusterSeen, Firmware, HostFacts, Kvm, Lack, OpenFile, Place, Room};
pub use machine::{Clocks, Fleet, Machine, Unreached};
pub use page::page;
pub use rule::{Finding, Found, Grade, Look, Remedy, Rule, Scope, Step};

pub use crate::error::On;
use crate::{
    Error, Result,
    spec::{OsFamily, Spec},
};

/// Every rule there is.
pub const RULES: &[&[Rule]] = &[
    host::SYSTEM,
    host::MACHINES,
    host::CLUSTERS,
    machine::REACH,
    machine::GENERAL,
    machine::LINUX,
    machine::WINDOWS,
    machine::FLEET,
    cluster::CONTROL,
    cluster::NODES,
    cluster::WINDOWS,
    cluster::PODS,
    cluster::NETWORK,
];

/// Every rule there is, one by one.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().copied().flatten()
}

/// What all rules say, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// 1.
    pub schema: u32,
    /// What was looked at.
    pub looked_at: Vec<String>,
    /// How many rules were asked.
    pub rules: usize,
    /// The worst first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// A report of these findings.
    pub fn new(looked_at: Vec<String>, scopes: &[Scope], mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|a, b| (a.grade, a.scope, &a.node, &a.id).cmp(&(b.grade, b.scope, &b.node, &b.id)));
        findings.dedup();
        let rules = rules().filter(|rule| scopes.contains(&rule.scope())).count();
        Self { schema: 1, looked_at, rules, findings }
    }

    /// How many there are of a grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.findings.iter().filter(|finding| finding.grade == grade).count()
    }

    /// The kind of the worst problem decides the exit code; none where there is no problem.
    pub fn worst(&self) -> Option<&Finding> {
        self.findings.first().filter(|finding| finding.grade == Grade::Problem)
    }
}

/// What is wrong with the host.
pub fn host(facts: &HostFacts) -> Vec<Finding> {
    let found = rules().flat_map(|rule| match rule.look {
        Look::Host(look) | Look::Room(look) => findings(rule, look(facts)),
        _ => Vec::new(),
    });
    found.collect()
}

/// The same for whoever cannot go on with a problem: all problems as one error.
pub(crate) fn require(facts: &HostFacts) -> Result<()> {
    let problems = host(facts).into_iter().filter(|finding| finding.grade == Grade::Problem);
    Error::all(problems.map(Error::from).collect()).map_or(Ok(()), Err)
}

/// What is wrong with machines.
pub fn machines(fleet: &Fleet<'_>) -> Vec<Finding> {
    let mut all = Vec::new();
    for node in &fleet.spec.nodes {
        if let Some(machine) = fleet.machine(node) {
            all.extend(one_machine(&machine));
        }
    }
    for rule in rules() {
        if let Look::Fleet(look) | Look::File(look) = rule.look {
            all.extend(findings(rule, look(fleet)));
        }
    }
    all
}

fn one_machine(machine: &Machine<'_>) -> Vec<Finding> {
    let family = || {
        rules().flat_map(|rule| match rule.look {
            Look::Family(look) => on(machine, rule, look(machine)),
            _ => Vec::new(),
        })
    };
    // Nothing else can be judged on the wrong system.
    let wrong: Vec<Finding> = family().collect();
    if !wrong.is_empty() {
        return wrong;
    }
    let windows = machine.facts.windows.as_ref().filter(|_| machine.node.os == OsFamily::Windows);
    let found = rules().flat_map(|rule| match (&rule.look, windows) {
        (Look::Machine(look), _) => on(machine, rule, look(machine)),
        (Look::Linux(look), _) if machine.node.os == OsFamily::Linux => on(machine, rule, look(machine)),
        (Look::Windows(look), Some(windows)) => on(machine, rule, look(machine, windows)),
        _ => Vec::new(),
    });
    found.collect()
}

fn on(machine: &Machine<'_>, rule: &Rule, found: Vec<Found>) -> Vec<Finding> {
    findings(rule, found.into_iter().map(|found| found.on(&machine.node.name)).collect())
}

/// Why a machine could not be looked at.
pub fn unreached(spec: &Spec, failures: &BTreeMap<String, Error>) -> Vec<Finding> {
    let mut all = Vec::new();
    for node in &spec.nodes {
        let Some(error) = failures.get(&node.name) else { continue };
        let unreached = Unreached { node, error };
        for rule in rules() {
            if let Look::Reach(look) = rule.look {
                let found = look(&unreached).into_iter().map(|found| found.on(&node.name));
                all.extend(findings(rule, found.collect()));
            }
        }
    }
    all
}

/// What is wrong with a cluster that is there.
pub fn cluster(facts: &ClusterFacts<'_>) -> Vec<Finding> {
    let found = rules().flat_map(|rule| match rule.look {
        Look::Cluster(look) => findings(rule, look(facts)),
        _ => Vec::new(),
    });
    found.collect()
}

fn findings(rule: &Rule, found: Vec<Found>) -> Vec<Finding> {
    found.into_iter().map(|found| rule.finding(found)).collect()
}
