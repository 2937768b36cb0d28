//! `swdt cluster list` and `swdt cluster status`

use comfy_table::{Table, presets};
use serde_json::json;
use swdt_core::{
    Result,
    spec::{Node, OsFamily, Place, Role, Spec},
    state::{Stage, State},
};

use super::chosen;
use crate::{
    args::{Format, Global, OutputFormat},
    host, out,
};

pub(super) fn list(global: &Global, format: Format) -> Result<()> {
    let dirs = host::dirs(global)?;
    let mut clusters = Vec::new();
    for name in dirs.clusters()? {
        let state = dirs.cluster(&name).load(&name)?;
        let version = dirs.cluster(&name).load_spec().map(|spec| spec.kubernetes.to_string()).unwrap_or_default();
        clusters.push((name, version, state));
    }
    if format.format == Some(OutputFormat::Json) {
        let rows = clusters.iter().map(|(name, version, state)| {
            json!({ "name": name, "kubernetes": version, "nodes": state.nodes.len(), "lastRun": state.last_run })
        });
        out::line(&json!({ "clusters": rows.collect::<Vec<_>>() }).to_string());
        return Ok(());
    }
    if clusters.is_empty() {
        out::error_line("there is no cluster yet; make one with `swdt cluster create --config my-cluster.yaml`");
        return Ok(());
    }
    let mut table = table(&["NAME", "KUBERNETES", "NODES", "LAST RUN"]);
    for (name, version, state) in &clusters {
        table.add_row([name, version, &state.nodes.len().to_string(), &last_run(state)]);
    }
    out::line(&table.to_string());
    Ok(())
}

pub(super) fn status(global: &Global, format: Format) -> Result<()> {
    let dirs = host::dirs(global)?;
    let name = chosen(global, &dirs)?;
    let dir = dirs.cluster(&name);
    let (spec, state) = (dir.load_spec()?, dir.load(&name)?);
    if format.format == Some(OutputFormat::Json) {
        let nodes = spec.nodes.iter().map(|node| {
            json!({ "name": node.name, "role": node.role, "os": node.os, "state": state.nodes.get(&node.name) })
        });
        let document = json!({
            "cluster": name,
            "kubernetes": spec.kubernetes,
            "lastRun": state.last_run,
            "nodes": nodes.collect::<Vec<_>>(),
        });
        out::line(&document.to_string());
        return Ok(());
    }
    out::line(&format!("cluster {name}, Kubernetes {}, {}", spec.kubernetes, last_run(&state)));
    let mut table = table(&["NODE", "ROLE", "OS", "ADDRESS", "REACHED", "SYSTEM"]);
    for node in &spec.nodes {
        table.add_row(row(&spec, node, &state));
    }
    out::line(&table.to_string());
    Ok(())
}

fn row(_spec: &Spec, node: &Node, state: &State) -> [String; 6] {
    let known = state.nodes.get(&node.name);
    let role = match node.role {
        Role::ControlPlane => "control-plane",
        Role::Worker => "worker",
    };
    let os = match node.os {
        OsFamily::Linux => "linux",
        OsFamily::Windows => "windows",
    };
    let address = match &node.place {
        Place::Existing { address, .. } => address.clone(),
        Place::Machine(_) => known
            .and_then(|known| known.endpoint.as_ref())
            .map_or_else(|| "-".to_owned(), |endpoint| endpoint.address.clone()),
    };
    let reached = known.map_or_else(
        || "-".to_owned(),
        |known| match known.stage {
            Stage::Creating => "being made".to_owned(),
            Stage::Deleting => "being removed".to_owned(),
            Stage::Ready => known.phase.clone().unwrap_or_else(|| "connect".to_owned()),
        },
    );
    let system = known.and_then(|known| known.facts.as_ref()).map(|facts| facts.os.name.clone());
    [node.name.clone(), role.into(), os.into(), address, reached, system.unwrap_or_else(|| "-".into())]
}

fn last_run(state: &State) -> String {
    match &state.last_run {
        None => "no run ended yet".to_owned(),
        Some(run) => {
            let at = run.at.strftime("%Y-%m-%d %H:%M UTC");
            let how = if run.error.is_none() { "ok" } else { "failed" };
            format!("{} {how}, {at}", run.command)
        }
    }
}

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.to_vec());
    table
}
