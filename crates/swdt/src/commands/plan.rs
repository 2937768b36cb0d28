//! `swdt cluster plan`

use std::{collections::BTreeMap, path::Path};

use owo_colors::OwoColorize;
use serde_json::json;
use swdt_core::{
    Result,
    plan::{self, Known, NodePlan, PHASES, Work},
    run::{self, CreateOptions, Looked},
    spec::Spec,
};
use swdt_wire::{Resource, Status};

use super::{block_on, config, difference};
use crate::{
    args::{Format, Global, HostKeys},
    failure::Failed,
    host, out,
    render::{describe, wrapped},
};

/// What was found on the machines, by node and resource id.
type Found = BTreeMap<String, BTreeMap<String, Status>>;

/// What the user wants to see.
pub(super) struct Wish<'a> {
    pub(super) check: bool,
    pub(super) prune: &'a [String],
    pub(super) until: Option<&'a str>,
}

pub(super) fn run(
    global: &Global,
    path: &Path,
    wish: &Wish<'_>,
    hosts: &HostKeys,
    format: Format,
) -> Result<(), Failed> {
    let (spec, _) = config::read(global, path, format)?;
    let &Wish { check, prune, until } = wish;
    let stands = host::dirs(global)?.cluster(&spec.name).load(&spec.name)?.made_at.is_some();
    if !check && (stands || !prune.is_empty()) {
        return difference::run(global, &spec, wish, hosts, format);
    }
    let mut found = Found::new();
    let mut plans: BTreeMap<String, NodePlan> = BTreeMap::new();
    if check {
        let host = host::host(global, hosts.accept_new_host_keys)?;
        let options = CreateOptions { until: until.map(ToOwned::to_owned) };
        for Looked { node, plan, checked } in block_on(run::check(&host, &spec, &options))? {
            let states = checked.into_iter().map(|checked| (checked.id, checked.status)).collect();
            found.insert(node.clone(), states);
            plans.insert(node, plan);
        }
    }
    let known = remembered(global, &spec)?;
    if !known.facts.is_empty() {
        config::judge(global, &spec, &known.facts, format)?;
    }
    for node in &spec.nodes {
        let plan = || plan::plan_node(&spec, node, &known, until);
        plans.entry(node.name.clone()).or_insert_with(plan);
    }
    if format.json() {
        out::line(&as_json(&spec, &plans, &found, until).to_string());
    } else {
        as_text(&spec, &plans, &found, check, until);
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
    let width = out::width();
    out::line(&format!("cluster {}, Kubernetes {}", spec.name, spec.kubernetes));
    for phase in PHASES {
        out::line(&format!("\n{}", phase.title.bold()));
        out::line(&wrapped("  ", phase.about, width));
        if matches!(phase.work, Work::Nodes(_)) {
            for node in &spec.nodes {
                out::line(&format!("\n  {}", node.name.bold()));
                if check && !found.contains_key(&node.name) {
                    out::line("    (the machine is not there yet)");
                }
                let resources = plans[&node.name].of_phase(phase.id);
                let names = resources.iter().map(|resource| name(resource).len()).max().unwrap_or(0);
                for resource in resources {
                    let state = found.get(&node.name).and_then(|states| states.get(&resource.id));
                    out::line(&resource_lines(resource, names, state, width));
                }
            }
        }
        if until == Some(phase.id) {
            break;
        }
    }
    if check {
        out::line(&format!("\n{}", verdict(found)));
    }
}

/// Within its phase.
pub(super) fn name(resource: &Resource) -> &str {
    resource.id.split_once('/').map_or(resource.id.as_str(), |(_, name)| name)
}

fn resource_lines(resource: &Resource, names: usize, state: Option<&Status>, width: Option<usize>) -> String {
    let (mark, why) = match state {
        None => (' ', None),
        Some(Status::Satisfied) => ('=', None),
        Some(Status::Differs(why)) => ('~', Some(why)),
    };
    let mut head = format!("  {mark} {:<names$}  ", name(resource));
    let mut margin = " ".repeat(head.chars().count());
    // Beside a wide column of names, a narrow terminal has no room for words: they go below.
    if width.is_some_and(|width| width < margin.len() + 40) {
        margin = " ".repeat(6);
        head = format!("{}\n{margin}", head.trim_end());
    }
    let text = head + wrapped(&margin, &describe(&resource.kind), width).trim_start();
    let Some(why) = why else { return text };
    let now = wrapped(&format!("{margin}now: "), why, width);
    format!("{}\n{}", text.yellow(), now.dimmed())
}

/// What was found, in one line that also says what the marks mean.
fn verdict(found: &Found) -> String {
    let (mut same, mut differ) = (0, 0);
    for state in found.values().flat_map(BTreeMap::values) {
        match state {
            Status::Satisfied => same += 1,
            Status::Differs(_) => differ += 1,
        }
    }
    format!("= true already: {same}   ~ to be changed: {differ}")
}

fn as_json(
    spec: &Spec,
    plans: &BTreeMap<String, NodePlan>,
    found: &Found,
    until: Option<&str>,
) -> serde_json::Value {
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
    let last = PHASES.iter().position(|phase| until == Some(phase.id));
    let phases = PHASES.iter().take(last.map_or(PHASES.len(), |last| last + 1));
    let phases: Vec<_> = phases.map(|phase| json!({ "id": phase.id, "about": phase.about })).collect();
    json!({ "cluster": spec.name, "phases": phases, "nodes": nodes })
}
