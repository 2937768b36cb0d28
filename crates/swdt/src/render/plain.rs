//! Calm lines, for logs and pipes. One line says one thing; nothing is ever overwritten.

use swdt_core::event::{Event, EventKind};
use swdt_wire::Outcome;

use super::{Volume, count, duration};
use crate::out;

pub(super) fn renderer(volume: Volume) -> Box<dyn FnMut(&Event) + Send> {
    Box::new(move |event| {
        if let Some(text) = text(event, volume) {
            out::line(&text);
        }
    })
}

fn text(event: &Event, volume: Volume) -> Option<String> {
    let node = event.node.as_deref().unwrap_or("");
    if volume == Volume::Quiet {
        return None;
    }
    let verbose = volume == Volume::Verbose;
    Some(match &event.kind {
        EventKind::Started { command, cluster, nodes, .. } => {
            format!("{command} {cluster}: {}", count(nodes.len() as u64, "node"))
        }
        EventKind::PhaseStarted { title, .. } => title.clone(),
        EventKind::PhaseDone { took_ms, .. } if verbose => format!("  took {}", duration(*took_ms)),
        EventKind::Doing { what } => format!("  {node:<12} {what}"),
        EventKind::Connected { system, address } => format!("  {node:<12} connected to {address}, {system}"),
        EventKind::ResourceStarted { id } if verbose => format!("  {node:<12} {id} …"),
        EventKind::ResourceDone { id, outcome, writes } => match outcome {
            Outcome::Unchanged if !verbose => return None,
            Outcome::Unchanged => format!("  {node:<12} {id} was true already"),
            Outcome::Changed if verbose => format!("  {node:<12} {id} changed ({})", count(*writes, "write")),
            Outcome::Changed => format!("  {node:<12} {id} changed"),
            Outcome::Reverted => format!("  {node:<12} {id} undone"),
            Outcome::Kept(why) => format!("  {node:<12} {id} kept: {why}"),
        },
        EventKind::Output { line, .. } if verbose => format!("  {node:<12} | {line}"),
        EventKind::Warning { message } if node.is_empty() => format!("  warning: {message}"),
        EventKind::Warning { message } => format!("  {node:<12} warning: {message}"),
        EventKind::NodeFailed { message } => format!("  {node:<12} failed: {message}"),
        EventKind::Finished { ok: true, writes, .. } => {
            format!("done in {}, {}", duration(event.elapsed_ms), count(*writes, "write"))
        }
        EventKind::Finished { ok: false, .. } => format!("stopped after {}", duration(event.elapsed_ms)),
        _ => return None,
    })
}
