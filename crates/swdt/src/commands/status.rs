//! `swdt cluster list` and `swdt cluster status`

use std::collections::BTreeMap;

use owo_colors::OwoColorize;
use serde_json::json;
use swdt_core::{
    Result,
    kube::NodeStatus,
    machine::MachineState,
    run,
    spec::{Node, OsFamily, Place, Role},
    state::{Stage, State},
};

use super::{HOW_TO_MAKE_ONE, block_on, chosen, provenance};
use crate::{
    args::{Format, Global},
    host, out,
    render::{Table, Volume},
};

pub(super) fn list(global: &Global, format: Format) -> Result<()> {
    let dirs = host::dirs(global)?;
    let mut clusters = Vec::new();
    for name in dirs.clusters()? {
        let state = dirs.cluster(&name).load(&name);
        let version =
            dirs.cluster(&name).load_spec().map(|spec| spec.kubernetes.to_string()).unwrap_or_default();
        clusters.push((name, version, state));
    }
    if format.json() {
        let rows = clusters.iter().map(|(name, version, state)| match state {
            Ok(state) => {
                json!({ "name": name, "kubernetes": version, "nodes": state.nodes.len(), "lastRun": state.last_run })
            }
            Err(error) => json!({ "name": name, "kubernetes": version, "error": error.to_string() }),
        });
        out::line(&json!({ "clusters": rows.collect::<Vec<_>>() }).to_string());
        return Ok(());
    }
    if clusters.is_empty() {
        if global.volume() != Volume::Quiet {
            out::error_line(&format!("there is no cluster yet; {HOW_TO_MAKE_ONE}"));
        }
        return Ok(());
    }
    let mut table = Table::new(["NAME", "KUBERNETES", "NODES", "LAST RUN"]);
    for (name, version, state) in clusters {
        let (nodes, last) = match state {
            Ok(state) => (state.nodes.len().to_string(), last_run(&state)),
            // One that is damaged does not hide the others.
            Err(_) => ("?".to_owned(), "cannot be read; `swdt doctor` says more".to_owned()),
        };
        table.row([name, version, nodes, last]);
    }
    out::line(&table.coloured(out::width()));
    Ok(())
}

pub(super) fn status(global: &Global, format: Format) -> Result<()> {
    let dirs = host::dirs(global)?;
    let name = chosen(global, &dirs)?;
    let dir = dirs.cluster(&name);
    let (spec, state) = (dir.load_spec()?, dir.load(&name)?);
    let machines = block_on(run::machine_states(&dirs, &spec))?;
    let artifacts = run::artifacts(&dirs, &spec)?.map(|artifacts| state.with_replaced(artifacts));
    // Best effort: whatever is wrong with the cluster, what is known is shown.
    let asked = host::host(global, false).and_then(|host| block_on(run::readiness(&host, &spec)));
    let (nodes, unknown) = match asked {
        Ok(nodes) => (nodes.unwrap_or_default(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let kubernetes: BTreeMap<&str, &NodeStatus> =
        nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    if format.json() {
        let nodes = spec.nodes.iter().map(|node| {
            json!({
                "name": node.name,
                "role": node.role,
                "os": node.os,
                "machine": machines.get(&node.name),
                "state": state.nodes.get(&node.name),
                "kubernetes": kubernetes.get(node.name.as_str()),
            })
        });
        let document = json!({
            "cluster": name,
            "kubernetes": spec.kubernetes,
            "lastRun": state.last_run,
            "unanswered": unknown,
            "nodes": nodes.collect::<Vec<_>>(),
            "sources": provenance::as_json(artifacts.as_ref(), &state),
        });
        out::line(&document.to_string());
        return Ok(());
    }
    out::line(&format!("cluster {}, Kubernetes {}", name.bold(), spec.kubernetes));
    out::line(&format!("last run: {}", last_run(&state)));
    if let Some(why) = state.last_run.as_ref().and_then(|run| run.error.as_ref()) {
        out::line(&format!("  {why}"));
    }
    if let Some(why) = &unknown {
        out::line(&format!("Kubernetes cannot be asked: {why}"));
    }
    let mut table = Table::new(["NODE", "MACHINE", "KUBERNETES", "REACHED", "ROLE", "ADDRESS", "SYSTEM"]);
    for node in &spec.nodes {
        let answer = match (kubernetes.get(node.name.as_str()), &unknown) {
            (Some(status), _) => readiness(status),
            (None, Some(_)) => "unknown".to_owned(),
            (None, None) => "-".to_owned(),
        };
        table.row(row(node, &state, &machines, answer));
    }
    out::line(&table.coloured(out::width()));
    let brief = out::width().is_some() && global.volume() != Volume::Verbose;
    provenance::print(artifacts.as_ref(), &state, brief);
    Ok(())
}

fn readiness(status: &NodeStatus) -> String {
    let ready = if status.ready { "ready" } else { "not ready" };
    let cordoned = if status.cordoned { ", cordoned" } else { "" };
    format!("{ready}{cordoned}")
}

fn row(
    node: &Node,
    state: &State,
    machines: &BTreeMap<String, MachineState>,
    kubernetes: String,
) -> [String; 7] {
    let known = state.nodes.get(&node.name);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let role = match node.role {
        Role::ControlPlane => "control-plane",
        Role::Worker => "worker",
    };
    let machine = match machines.get(&node.name) {
        None => "yours",
        Some(MachineState::Absent) => "absent",
        Some(MachineState::Stopped) => "stopped",
        Some(MachineState::Running) => "running",
    };
    let address = match &node.place {
        Place::Existing { address, .. } => Some(address.clone()),
        Place::Machine(_) => known.and_then(|known| known.endpoint.clone()).map(|endpoint| endpoint.address),
    };
    let reached = known.map(|known| match known.stage {
        Stage::Creating => "nothing yet".to_owned(),
        Stage::Deleting => "half undone".to_owned(),
        Stage::Ready => known.phase.clone().unwrap_or_else(|| "connect".to_owned()),
    });
    let system = known.and_then(|known| known.facts.as_ref()).map_or(
        match node.os {
            OsFamily::Linux => "Linux",
            OsFamily::Windows => "Windows",
        },
        |facts| &facts.os.name,
    );
    [
        node.name.clone(),
        machine.into(),
        kubernetes,
        or_dash(reached),
        role.into(),
        or_dash(address),
        system.to_owned(),
    ]
}

fn last_run(state: &State) -> String {
    match &state.last_run {
        None => "none ended yet".to_owned(),
        Some(run) => {
            let at = run.at.strftime("%Y-%m-%d %H:%M UTC");
            let how = if run.error.is_none() { "ok" } else { "failed" };
            format!("{} {how}, {at}", run.command)
        }
    }
}
