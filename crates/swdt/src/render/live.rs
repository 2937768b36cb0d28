//! A terminal: finished phases stay as lines; the phase at work, and its nodes, have a line each that
//! changes. Draws on standard error, so that standard output stays clean for pipes.

use std::{fmt::Write, io::IsTerminal, time::Duration};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use owo_colors::OwoColorize;
use swdt_core::event::{Event, EventKind, Setback};
use swdt_wire::Outcome;

use super::{Renderer, count, duration, resource::forgotten, tally::Tally};
use crate::out;

/// Titles of phases are short; what follows them is aligned.
const TITLE: usize = 12;

/// Can this terminal move its cursor? (`TERM=dumb` cannot.)
pub(super) fn possible() -> bool {
    std::io::stderr().is_terminal() && !ProgressDrawTarget::stderr().is_hidden()
}

pub(super) fn renderer() -> Renderer {
    let mut live = Live::new(MultiProgress::new(), out::colour_on_stderr());
    out::share_with(&live.all);
    Box::new(move |event| live.take(event))
}

struct Live {
    all: MultiProgress,
    colours: bool,
    tally: Tally,
    title: String,
    phase: Option<ProgressBar>,
    /// The nodes at work, by their place in the file.
    nodes: Vec<(usize, ProgressBar)>,
}

impl Live {
    fn new(all: MultiProgress, colours: bool) -> Self {
        Self { all, colours, tally: Tally::default(), title: String::new(), phase: None, nodes: Vec::new() }
    }

    fn take(&mut self, event: &Event) {
        self.tally.take(event);
        let node = event.node.as_deref();
        let place = node.map(|node| format!("{node}: ")).unwrap_or_default();
        match &event.kind {
            EventKind::Started { command, cluster, nodes, .. } => {
                let nodes = count(nodes.len() as u64, "node");
                self.print(&format!("{} {} · {nodes}", command.bold(), cluster.bold()));
            }
            EventKind::PhaseStarted { title, .. } => self.begin(title),
            EventKind::PhaseDone { took_ms, .. } => {
                self.clear();
                let took = format!("{}{}", duration(*took_ms), self.tally.phase_changes());
                self.print(&format!("{} {:<TITLE$} {}", "✓".green(), self.title, took.dimmed()));
            }
            EventKind::Doing { what } => self.working(node, what),
            EventKind::Setback { what: Setback::Restarted, message } => self.working(node, message),
            EventKind::Connected { system, .. } => self.working(node, system),
            // The phase is in the line above.
            EventKind::ResourceStarted { id } => {
                self.working(node, id.split_once('/').map_or(id.as_str(), |(_, name)| name));
            }
            EventKind::ResourceDone { outcome: Outcome::Kept(why), id, .. } => {
                self.print(&format!("{} {place}{id} kept: {why}", "!".yellow()));
            }
            EventKind::Warning { message } | EventKind::Setback { message, .. } => {
                self.print(&format!("{} {place}{message}", "!".yellow()));
            }
            EventKind::Forgotten { why, left } => {
                for line in forgotten(why, left) {
                    self.print(&format!("{} {place}{line}", "!".yellow()));
                }
            }
            EventKind::NodeFailed { message } => {
                self.working(node, "failed");
                self.print(&format!("{} {place}{message}", "✗".red()));
            }
            EventKind::Tried { name, ok, took_ms, .. } => {
                let mark = if *ok { "✓".green().to_string() } else { "✗".red().to_string() };
                self.print(&format!("  {mark} {name} {}", super::duration(*took_ms).dimmed()));
            }
            EventKind::NotTried { name, why } => {
                self.print(&format!("  {} {name} {}", "–".yellow(), why.dimmed()));
            }
            EventKind::Finished { ok, .. } => {
                self.clear();
                let mark = if *ok { "✓".green().to_string() } else { "✗".red().to_string() };
                self.print(&format!("{mark} {}", self.tally.finished(event, *ok)));
            }
            EventKind::Ahead { .. }
            | EventKind::NodePhaseStarted { .. }
            | EventKind::NodePhaseDone { .. }
            | EventKind::ResourceDone { .. }
            | EventKind::Output { .. }
            | EventKind::NodeDone { .. } => {}
        }
    }

    /// The phase's line is the only one that moves by itself.
    fn begin(&mut self, title: &str) {
        self.clear();
        title.clone_into(&mut self.title);
        let bar = self.all.insert(0, ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {since}") {
            bar.set_style(style.with_key("since", since));
        }
        bar.set_prefix(format!("{title:<TITLE$}"));
        bar.enable_steady_tick(Duration::from_millis(120));
        self.phase = Some(bar);
    }

    fn working(&mut self, node: Option<&str>, what: &str) {
        let name = node.unwrap_or("host");
        let place = node.map_or(0, |node| self.tally.place(node));
        if let Some((_, bar)) = self.nodes.iter().find(|(known, _)| *known == place) {
            bar.set_message(what.to_owned());
            return;
        }
        let index = self.nodes.partition_point(|(known, _)| *known < place);
        let below = index + usize::from(self.phase.is_some());
        let bar = self.all.insert(below, ProgressBar::new_spinner());
        let template = format!("  {{prefix:{}!}}  {{wide_msg}}", self.tally.width().max(4));
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        bar.set_message(what.to_owned());
        self.nodes.insert(index, (place, bar));
    }

    fn clear(&mut self) {
        for bar in self.nodes.drain(..).map(|(_, bar)| bar).chain(self.phase.take()) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }

    fn print(&self, text: &str) {
        let text =
            if self.colours { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
        let _ = self.all.println(text);
    }
}

/// How long a phase has been at work, once that is worth a word.
fn since(state: &ProgressState, to: &mut dyn Write) {
    let seconds = state.elapsed().as_secs();
    if seconds >= 3 {
        let _ = match seconds {
            ..60 => write!(to, "{seconds} s"),
            _ => write!(to, "{} min {:02} s", seconds / 60, seconds % 60),
        };
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::{super::recorded, *};

    /// The screen after so many events.
    fn screen(events: &[Event], rows: u16, columns: u16) -> String {
        let terminal = InMemoryTerm::new(rows, columns);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let mut live = Live::new(MultiProgress::with_draw_target(target), false);
        for event in events {
            live.take(event);
        }
        // Spinners turn by themselves; a snapshot must not.
        let still = |c: char| if ('\u{2801}'..='\u{28ff}').contains(&c) { '⠿' } else { c };
        terminal.contents().chars().map(still).collect()
    }

    fn at(events: &[Event], wanted: impl Fn(&EventKind) -> bool) -> usize {
        events.iter().position(|event| wanted(&event.kind)).unwrap() + 1
    }

    #[test]
    fn a_create_from_its_middle_to_its_end() {
        let events = recorded::create();
        let machines = at(&events, |kind| matches!(kind, EventKind::PhaseDone { .. })) - 1;
        insta::assert_snapshot!("live_machines", screen(&events[..machines], 20, 60));
        let done = |kind: &EventKind| matches!(kind, EventKind::ResourceDone { .. });
        insta::assert_snapshot!("live_prepare", screen(&events[..at(&events, done)], 20, 60));
        insta::assert_snapshot!("live_end", screen(&events, 20, 60));
    }

    #[test]
    fn failures_and_what_was_kept_stay_on_the_screen() {
        insta::assert_snapshot!("live_failure", screen(&recorded::failure(), 20, 60));
        insta::assert_snapshot!("live_destroy", screen(&recorded::destroy(), 20, 60));
    }

    #[test]
    fn more_nodes_than_lines_leave_nothing_behind() {
        let events = recorded::many(40);
        let end = screen(&events, 10, 40);
        assert!(end.ends_with("done in 2.0 s"), "{end}");
        assert!(!end.contains("booting"), "{end}");
    }
}
