//! A terminal: finished phases stay as lines, nodes at work have a line each that moves.

use std::{collections::BTreeMap, time::Duration};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;
use swdt_core::event::{Event, EventKind};
use swdt_wire::Outcome;

use super::{count, duration};

/// Draws on standard error, so that standard output stays clean for pipes.
pub(super) fn renderer() -> Box<dyn FnMut(&Event) + Send> {
    let mut live = Live { all: MultiProgress::new(), nodes: BTreeMap::new(), phase: String::new(), changed: 0 };
    Box::new(move |event| live.take(event))
}

struct Live {
    all: MultiProgress,
    nodes: BTreeMap<String, ProgressBar>,
    phase: String,
    changed: u64,
}

impl Live {
    fn take(&mut self, event: &Event) {
        let node = event.node.as_deref();
        match &event.kind {
            EventKind::Started { command, cluster, nodes, .. } => {
                let nodes = count(nodes.len() as u64, "node");
                self.print(&format!("{} {} · {nodes}", command.bold(), cluster.bold()));
            }
            EventKind::PhaseStarted { title, .. } => {
                self.phase.clone_from(title);
                self.changed = 0;
            }
            EventKind::PhaseDone { took_ms, .. } => {
                self.clear();
                let changed = match self.changed {
                    0 => String::new(),
                    n => format!(", {}", count(n, "change")),
                };
                let took = format!("{}{changed}", duration(*took_ms));
                self.print(&format!("{} {:<12} {}", "✓".green(), self.phase, took.dimmed()));
            }
            EventKind::Doing { what } => self.working(node, what),
            EventKind::Connected { system, .. } => self.working(node, system),
            EventKind::ResourceStarted { id } => self.working(node, id),
            EventKind::ResourceDone { outcome, id, .. } => match outcome {
                Outcome::Unchanged => {}
                Outcome::Changed | Outcome::Reverted => self.changed += 1,
                Outcome::Kept(why) => {
                    self.print(&format!("{} {} {id} kept: {why}", "!".yellow(), node.unwrap_or("")));
                }
            },
            EventKind::Warning { message } => {
                let place = node.map(|node| format!("{node}: ")).unwrap_or_default();
                self.print(&format!("{} {place}{message}", "!".yellow()));
            }
            EventKind::NodeFailed { message } => {
                self.print(&format!("{} {}: {message}", "✗".red(), node.unwrap_or("")));
            }
            EventKind::Finished { ok, writes, .. } => {
                self.clear();
                let took = duration(event.elapsed_ms);
                match ok {
                    true if *writes == 0 => self.print(&format!("{} nothing to do, {took}", "✓".green())),
                    true => self.print(&format!("{} done in {took}, {}", "✓".green(), count(*writes, "write"))),
                    false => self.print(&format!("{} stopped after {took}", "✗".red())),
                }
            }
            EventKind::Output { .. } | EventKind::NodeDone { .. } => {}
        }
    }

    fn working(&mut self, node: Option<&str>, what: &str) {
        let name = node.unwrap_or("host");
        let all = &self.all;
        let bar = self.nodes.entry(name.to_owned()).or_insert_with(|| {
            let bar = all.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix:12!} {wide_msg}") {
                bar.set_style(style);
            }
            bar.set_prefix(name.to_owned());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        bar.set_message(what.to_owned());
    }

    fn clear(&mut self) {
        for bar in std::mem::take(&mut self.nodes).into_values() {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }

    fn print(&self, text: &str) {
        let text = if crate::out::colour_on_stderr() { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
        let _ = self.all.println(text);
    }
}
