//! `swdt cluster snapshot …`

use serde::Serialize;
use serde_json::json;
use swdt_core::{
    Result,
    machine::MachineState,
    run,
    snapshot::{Manifest, Name},
    state::{Dirs, Midway},
};

use super::{block_on, chosen, resumable};
use crate::{
    args::{Format, Global, SnapshotCommand},
    failure::Failed,
    host, out,
    render::{self, Table, Volume, bytes, count},
};

pub(super) fn run(global: &Global, command: &SnapshotCommand) -> Result<(), Failed> {
    match command {
        SnapshotCommand::Save { name, format } => save(global, name, *format),
        SnapshotCommand::Restore { name, yes, format } => restore(global, name, *yes, *format),
        SnapshotCommand::List { format } => Ok(list(global, *format)?),
        SnapshotCommand::Delete { name, format } => Ok(delete(global, name, *format)?),
    }
}

fn save(global: &Global, name: &Name, format: Format) -> Result<(), Failed> {
    let host = host::host(global, false)?;
    let spec = host.dirs.cluster(&chosen(global, &host.dirs)?).load_spec()?;
    let saved = block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::save_snapshot(&host, &spec, name, sink(global, format)).await
    })
    .map_err(resumable)?;
    let machines = count(saved.nodes.len() as u64, "machine");
    say(global, format, &saved, &format!("snapshot {name} is made: {machines}, {}", bytes(saved.size)));
    Ok(())
}

fn restore(global: &Global, name: &Name, yes: bool, format: Format) -> Result<(), Failed> {
    let host = host::host(global, false)?;
    let cluster = chosen(global, &host.dirs)?;
    let restored = block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::restore_snapshot(&host, &cluster, name, yes, sink(global, format)).await
    })
    .map_err(resumable)?;
    let stopped = restored.snapshot.nodes.iter().filter(|node| !node.running);
    let stopped: Vec<&str> = stopped.map(|node| node.name.as_str()).collect();
    let mut told = vec![format!("cluster {cluster} is as it was on {}", when(&restored.snapshot))];
    if !restored.removed.is_empty() {
        told.push(format!("removed: {}", restored.removed.join(", ")));
    }
    if !stopped.is_empty() {
        told.push(format!("stopped then, and so now: {}", stopped.join(", ")));
    }
    say(global, format, &restored, &told.join("; "));
    Ok(())
}

fn list(global: &Global, format: Format) -> Result<()> {
    let dirs = host::dirs(global)?;
    let cluster = chosen(global, &dirs)?;
    let (snapshots, midway) = run::snapshots(&dirs, &cluster)?;
    if format.json() {
        let document = json!({ "cluster": cluster, "snapshots": snapshots, "brokenOff": midway });
        out::line(&document.to_string());
        return Ok(());
    }
    if !snapshots.is_empty() {
        let mut table = Table::new(["NAME", "SAVED", "SIZE", "KUBERNETES", "NODES"]);
        for one in &snapshots {
            let nodes: Vec<&str> = one.nodes.iter().map(|node| node.name.as_str()).collect();
            table.row([
                one.name.to_string(),
                when(one),
                bytes(one.size),
                one.kubernetes.clone(),
                nodes.join(", "),
            ]);
        }
        out::line(&table.coloured(out::width()));
    } else if global.volume() != Volume::Quiet {
        out::error_line("there is no snapshot yet; make one with `swdt cluster snapshot save NAME`");
    }
    if let Some(told) = midway.map(|midway| broken_off(&dirs, &cluster, midway)).transpose()?.flatten() {
        out::error_line(&told);
    }
    Ok(())
}

/// What a killed command left, if it is still so.
fn broken_off(dirs: &Dirs, cluster: &str, midway: Midway) -> Result<Option<String>> {
    let running = match midway {
        Midway::Restoring { snapshot } => {
            let again = format!("`swdt cluster snapshot restore {snapshot}` goes on");
            return Ok(Some(format!("restoring {snapshot} was broken off; {again}")));
        }
        Midway::Saving { running } => running,
    };
    let machines = block_on(run::machine_states(dirs, &dirs.cluster(cluster).load_spec()?))?;
    let stopped = |name: &String| machines.get(name) == Some(&MachineState::Stopped);
    let names: Vec<String> = running.into_iter().filter(stopped).collect();
    let told = format!(
        "a save was broken off, and these are still stopped: {}; `swdt node start` or the next save starts them",
        names.join(", ")
    );
    Ok((!names.is_empty()).then_some(told))
}

/// Removing twice is no mistake.
fn delete(global: &Global, name: &Name, format: Format) -> Result<()> {
    let host = host::host(global, false)?;
    let cluster = chosen(global, &host.dirs)?;
    let removed = run::delete_snapshot(&host, &cluster, name)?;
    let text = if removed { "is removed" } else { "is not there, so nothing is removed" };
    let document = json!({ "cluster": cluster, "name": name, "removed": removed });
    say(global, format, &document, &format!("snapshot {name} {text}"));
    Ok(())
}

/// Events for people; programs get one document in the end.
fn sink(global: &Global, format: Format) -> run::Sink {
    if format.json() { Box::new(|_| ()) } else { render::renderer(format, global.volume()) }
}

fn say(global: &Global, format: Format, document: &impl Serialize, text: &str) {
    if format.json() {
        out::line(&json!(document).to_string());
    } else if global.volume() != Volume::Quiet {
        out::end_live();
        out::line(text);
    }
}

fn when(snapshot: &Manifest) -> String {
    snapshot.at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
