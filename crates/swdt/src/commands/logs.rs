//! `swdt cluster logs`

use std::{thread::sleep, time::Duration};

use swdt_core::{
    Result,
    event::{Event, EventKind},
    journal,
};

use super::chosen;
use crate::{
    args::{Format, Global},
    host, render,
};

/// Often enough to feel live, seldom enough to cost nothing.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

pub(super) fn run(global: &Global, follow: bool, all: bool, format: Format) -> Result<()> {
    let dirs = host::dirs(global)?;
    let path = dirs.cluster(&chosen(global, &dirs)?).events();
    let mut show = render::replay(format, global.volume());
    let events = journal::read(&path)?;
    let begin = if all { 0 } else { start_of_last_run(&events) };
    events[begin..].iter().for_each(&mut show);
    let mut shown = events.len();
    let mut over = ended(events.last());
    while follow && !over {
        sleep(LOOK_AGAIN);
        let events = journal::read(&path)?;
        for event in events.get(shown..).unwrap_or_default() {
            show(event);
            over = ended(Some(event));
        }
        shown = events.len();
    }
    Ok(())
}

fn start_of_last_run(events: &[Event]) -> usize {
    events.iter().rposition(|event| matches!(event.kind, EventKind::Started { .. })).unwrap_or(0)
}

fn ended(last: Option<&Event>) -> bool {
    last.is_none_or(|event| matches!(event.kind, EventKind::Finished { .. }))
}
