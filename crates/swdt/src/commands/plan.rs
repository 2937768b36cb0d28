//! `swdt cluster plan`

use std::{collections::BTreeMap, path::Path};

use serde_json::json;
use swdt_core::{
    Result,
    plan::{self, Known, NodePlan, PHASES, Work},
    run::{self, CreateOptions, Looked},
    spec::Spec,
};
use swdt_wire::{Resource, Status};

use super::{block_on, config};
use crate::{
    args::{Format, Global, HostKeys, OutputFormat},
    host, out,
};

/// What was found on the machines, by node and resource id.
type Found = BTreeMap<String, BTreeMap<String, Status>>;

pub(super) fn run(
    global: &Global,
    path: &Path,
    check: bool,
    until: Option<String>,
    hosts: &HostKeys,
    format: Format,
) -> Result<()> {
    let (spec, _) = config::read(path)?;
    let mut found = Found::new();
    let mut plans: BTreeMap<String, NodePlan> = BTreeMap::new();
    if check {
        let host = host::host(global, hosts.accept_new_host_keys)?;
        let options = CreateOptions { until: until.clone() };
        for Looked { node, plan, checked } in block_on(run::check(&host, &spec, &options))? {
            let states = checked.into_iter().map(|checked| (checked.id, checked.status)).collect();
            found.insert(node.clone(), states);
            plans.insert(node, plan);
        }
    }
    let known = remembered(global, &spec)?;
    for node in &spec.nodes {
        let plan = || plan::plan_node(&spec, node, &known, until.as_deref());
        plans.entry(node.name.clone()).or_insert_with(plan);
    }
    match format.format {
        Some(OutputFormat::Json) => out::line(&as_json(&spec, &plans, &found).to_string()),
        _ => as_text(&spec, &plans, &found, check, until.as_deref()),
    }
    Ok(())
}

/// What an earlier run learned of these machines.
fn remembered(global: &Global, spec: &Spec) -> Result<Known> {
    let state = host::dirs(global)?.cluster(&spec.name).load(&spec.name)?;
    let mut known = Known::default();
    for (name, node) in state.nodes {
        known.facts.extend(node.facts.map(|facts| (name.clone(), facts)));
        known.endpoints.extend(node.endpoint.map(|endpoint| (name, endpoint)));
    }
    Ok(known)
}

fn as_text(spec: &Spec, plans: &BTreeMap<String, NodePlan>, found: &Found, check: bool, until: Option<&str>) {
    out::line(&format!("cluster {}, Kubernetes {}", spec.name, spec.kubernetes));
    for phase in PHASES {
        out::line(&format!("\n{}: {}", phase.id, phase.about));
        if matches!(phase.work, Work::Nodes(_)) {
            for node in &spec.nodes {
                out::line(&format!("  {}", node.name));
                if check && !found.contains_key(&node.name) {
                    out::line("    (the machine is not there yet)");
                }
                for resource in plans[&node.name].of_phase(phase.id) {
                    let state = found.get(&node.name).and_then(|states| states.get(&resource.id));
                    out::line(&resource_line(resource, state));
                }
            }
        }
        if until == Some(phase.id) {
            break;
        }
    }
}

fn resource_line(resource: &Resource, state: Option<&Status>) -> String {
    let name = resource.id.split_once('/').map_or(resource.id.as_str(), |(_, name)| name);
    let target = resource.kind.target();
    let line = format!("    {name:<44} {target}");
    match state {
        None => line,
        Some(Status::Satisfied) => format!("  = {}", line.trim_start()),
        Some(Status::Differs(why)) => format!("  ~ {}\n        {why}", line.trim_start()),
    }
}

fn as_json(spec: &Spec, plans: &BTreeMap<String, NodePlan>, found: &Found) -> serde_json::Value {
    let nodes: BTreeMap<&String, Vec<serde_json::Value>> = plans
        .iter()
        .map(|(node, plan)| {
            let phases = plan.phases.iter().map(|(phase, resources)| {
                let resources: Vec<_> = resources
                    .iter()
                    .map(|resource| {
                        let state = found.get(node).and_then(|states| states.get(&resource.id));
                        json!({ "resource": resource.redacted(), "state": state })
                    })
                    .collect();
                json!({ "phase": phase, "resources": resources })
            });
            (node, phases.collect())
        })
        .collect();
    let phases: Vec<_> = PHASES.iter().map(|phase| json!({ "id": phase.id, "about": phase.about })).collect();
    json!({ "cluster": spec.name, "phases": phases, "nodes": nodes })
}
