//! Calm lines, for logs and pipes. One line says one thing; nothing is ever overwritten.

use swdt_core::event::{Event, EventKind, Setback};
use swdt_wire::Outcome;

use super::{Renderer, Volume, count, duration, forecast::Forecast, resource::forgotten, tally::Tally};
use crate::out;

pub(super) fn renderer(volume: Volume) -> Renderer {
    let mut tally = Tally::default();
    Box::new(move |event| {
        tally.take(event);
        if let Some(text) = text(event, volume, &tally) {
            out::line(&text);
        }
    })
}

fn text(event: &Event, volume: Volume, tally: &Tally) -> Option<String> {
    if volume == Volume::Quiet {
        return None;
    }
    let verbose = volume == Volume::Verbose;
    let of_node = |text: &str| match &event.node {
        Some(node) => format!("  {node:<width$}  {text}", width = tally.width()),
        None => format!("  {text}"),
    };
    Some(match &event.kind {
        EventKind::Started { command, cluster, nodes, .. } => {
            format!("{command} {cluster}: {}", count(nodes.len() as u64, "node"))
        }
        EventKind::PhaseStarted { title, .. } => title.clone(),
        EventKind::PhaseDone { took_ms, .. } if verbose => of_node(&format!("took {}", duration(*took_ms))),
        EventKind::Ahead { phases } => {
            of_node(&format!("{}, by earlier runs on this host", Forecast::whole(phases)?))
        }
        EventKind::Doing { what } => of_node(what),
        EventKind::Connected { system, address } => of_node(&format!("connected to {address}, {system}")),
        EventKind::ResourceStarted { id } if verbose => of_node(&format!("{id} …")),
        EventKind::ResourceDone { id, outcome, writes } => match outcome {
            Outcome::Unchanged if !verbose => return None,
            Outcome::Unchanged => of_node(&format!("{id} was true already")),
            Outcome::Changed if verbose => of_node(&format!("{id} changed ({})", count(*writes, "write"))),
            Outcome::Changed => of_node(&format!("{id} changed")),
            Outcome::Reverted => of_node(&format!("{id} undone")),
            Outcome::Kept(why) => of_node(&format!("{id} kept: {why}")),
        },
        EventKind::Output { line, .. } if verbose => of_node(&format!("| {line}")),
        EventKind::Setback { what: Setback::Restarted, message } => of_node(message),
        EventKind::Warning { message } | EventKind::Setback { message, .. } => {
            of_node(&format!("warning: {message}"))
        }
        EventKind::Forgotten { why, left } => {
            forgotten(why, left).map(|line| of_node(&line)).collect::<Vec<_>>().join("\n")
        }
        EventKind::NodeFailed { message } => of_node(&format!("failed: {message}")),
        EventKind::Tried { name, ok, took_ms, .. } => {
            format!("  {} {name}, {}", if *ok { "ok    " } else { "FAILED" }, super::duration(*took_ms))
        }
        EventKind::NotTried { name, why } => format!("  -      {name}: {why}"),
        EventKind::Finished { ok, .. } => tally.finished(event, *ok),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::recorded, *};

    fn rendered(events: &[Event], volume: Volume) -> String {
        let mut tally = Tally::default();
        let mut lines = Vec::new();
        for event in events {
            tally.take(event);
            lines.extend(text(event, volume, &tally));
        }
        lines.join("\n")
    }

    #[test]
    fn a_create_in_plain_lines() {
        insta::assert_snapshot!("plain_create", rendered(&recorded::create(), Volume::Normal));
        insta::assert_snapshot!("plain_create_verbose", rendered(&recorded::create(), Volume::Verbose));
        assert_eq!(rendered(&recorded::create(), Volume::Quiet), "");
    }

    #[test]
    fn a_create_with_nothing_to_do_says_so() {
        let text = rendered(&recorded::again(), Volume::Normal);
        assert!(text.ends_with("done in 256 ms, nothing had to be changed"), "{text}");
    }

    #[test]
    fn a_failure_and_a_destroy_in_plain_lines() {
        insta::assert_snapshot!("plain_failure", rendered(&recorded::failure(), Volume::Normal));
        insta::assert_snapshot!("plain_destroy", rendered(&recorded::destroy(), Volume::Normal));
    }
}
