//! A terminal: finished phases stay as lines; the phase at work, its nodes and the time have a line each that
//! changes. Draws on standard error, so that standard output stays clean for pipes.

use std::{
    collections::BTreeMap,
    fmt::Write,
    io::IsTerminal,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use owo_colors::{OwoColorize, XtermColors};
use swdt_core::event::{Event, EventKind, Setback};
use swdt_wire::Outcome;

use super::{
    Renderer, count, duration,
    forecast::{Forecast, WORTH_A_WORD, clock},
    keys::Keys,
    lane::Lane,
    resource::forgotten,
    tally::Tally,
    wrapped,
};
use crate::out;

/// The pink of the wizard and of helps, which can be read on light and dark backgrounds alike.
const ACCENT: XtermColors = XtermColors::HollywoodCerise;
/// Titles of phases are short; what follows them is aligned.
const TITLE: usize = 12;
/// So are most checks of the smoke test.
const TRIED: usize = 26;
/// Shows what programs say last, and hides it again.
const OUTPUT_KEY: u8 = b'l';
const HELP: &str = "l shows output, Ctrl-C stops safely";

/// Can this terminal move its cursor? (`TERM=dumb` cannot.)
pub(super) fn possible() -> bool {
    std::io::stderr().is_terminal() && !ProgressDrawTarget::stderr().is_hidden()
}

pub(super) fn renderer() -> Renderer {
    let all = MultiProgress::new();
    out::share_with(&all);
    let live = Arc::new(Mutex::new(Live::new(all, out::colour_on_stderr(), out::live_width)));
    Box::new(move |event| {
        if let EventKind::Started { .. } = event.kind {
            // One that is still listened with gives the terminal back first.
            locked(&live).keys = None;
            let at_keys = live.clone();
            let take = move |key: u8| {
                if key.eq_ignore_ascii_case(&OUTPUT_KEY) {
                    locked(&at_keys).turn_output();
                }
            };
            locked(&live).keys = Keys::listen(take);
        }
        locked(&live).take(event);
    })
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Live {
    all: MultiProgress,
    colours: bool,
    /// Columns of the terminal now, if that is known.
    width: fn() -> Option<usize>,
    tally: Tally,
    title: String,
    phase: Option<ProgressBar>,
    /// The nodes at work, by their place in the file.
    lanes: Vec<(usize, Lane)>,
    /// The time, below everything.
    footer: Option<ProgressBar>,
    /// What the lines that move by themselves are drawn from.
    time: Arc<Mutex<Time>>,
    /// What was warned of, and on which node first.
    warned: BTreeMap<String, String>,
    /// Is what programs say on the screen?
    output: bool,
    keys: Option<Keys>,
}

/// When the phase at work began, and what is known of the time ahead.
#[derive(Default)]
struct Time {
    phase: Option<Instant>,
    forecast: Forecast,
}

impl Time {
    fn of_phase(&self) -> Duration {
        self.phase.map(|began| began.elapsed()).unwrap_or_default()
    }
}

impl Live {
    fn new(all: MultiProgress, colours: bool, width: fn() -> Option<usize>) -> Self {
        Self {
            all,
            colours,
            width,
            tally: Tally::default(),
            title: String::new(),
            phase: None,
            lanes: Vec::new(),
            footer: None,
            time: Arc::default(),
            warned: BTreeMap::new(),
            output: false,
            keys: None,
        }
    }

    fn take(&mut self, event: &Event) {
        self.tally.take(event);
        locked(&self.time).forecast.take(event);
        let node = event.node.as_deref();
        let place = node.map(|node| format!("{node}: ")).unwrap_or_default();
        match &event.kind {
            EventKind::Started { command, cluster, nodes, .. } => {
                let nodes = count(nodes.len() as u64, "node");
                let command = command.color(ACCENT);
                self.print(&format!("{} {} · {nodes}", command.bold(), cluster.bold()));
                self.foot();
            }
            EventKind::PhaseStarted { title, .. } => self.begin(title),
            EventKind::PhaseDone { took_ms, .. } => {
                self.clear();
                let took = format!("{}{}", duration(*took_ms), self.tally.phase_changes());
                self.print(&format!("{} {:<TITLE$} {}", "✓".green(), self.title, took.dimmed()));
            }
            EventKind::NodePhaseStarted { resources, .. } => self.lane(node).begin(*resources),
            EventKind::NodePhaseDone { took_ms, .. } => self.lane(node).done(*took_ms),
            EventKind::Doing { what } => self.lane(node).at(what),
            EventKind::Setback { what: Setback::Restarted, message } => self.lane(node).again(message),
            EventKind::Connected { system, .. } => self.lane(node).at(system),
            // The phase is in the line above.
            EventKind::ResourceStarted { id } => {
                self.lane(node).resource(id.split_once('/').map_or(id.as_str(), |(_, name)| name));
            }
            EventKind::Output { line, .. } => self.lane(node).says(line),
            EventKind::ResourceDone { outcome: Outcome::Kept(why), id, .. } => {
                self.tell("!".yellow(), &format!("{place}{id} kept: {why}"));
            }
            EventKind::Warning { message } => self.warn(node, message),
            EventKind::Setback { what, message } => {
                if *what == Setback::Died {
                    self.lane(node).again("trying again");
                }
                self.tell("!".yellow(), &format!("{place}{message}"));
            }
            EventKind::Forgotten { why, left } => {
                for line in forgotten(why, left) {
                    self.tell("!".yellow(), &format!("{place}{line}"));
                }
            }
            EventKind::NodeFailed { message } => {
                self.lane(node).failed();
                self.tell("✗".red(), &format!("{place}{message}"));
            }
            EventKind::Tried { name, ok, took_ms, .. } => {
                let mark = if *ok { "✓".green().to_string() } else { "✗".red().to_string() };
                self.print(&format!("  {mark} {name:<TRIED$} {}", super::duration(*took_ms).dimmed()));
            }
            EventKind::NotTried { name, why } => {
                self.print(&format!("  {} {name:<TRIED$} {}", "–".yellow(), why.dimmed()));
            }
            EventKind::Finished { ok, .. } => {
                self.clear();
                self.end_foot();
                self.keys = None;
                let mark = if *ok { "✓".green().to_string() } else { "✗".red().to_string() };
                self.print(&format!("{mark} {}", self.tally.finished(event, *ok)));
            }
            EventKind::Ahead { .. } | EventKind::ResourceDone { .. } | EventKind::NodeDone { .. } => {}
        }
    }

    fn begin(&mut self, title: &str) {
        self.clear();
        title.clone_into(&mut self.title);
        locked(&self.time).phase = Some(Instant::now());
        let bar = self.all.insert(0, ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner:.163} {prefix:.bold} {since:.243}") {
            let (time, width) = (self.time.clone(), self.width);
            let since = move |_: &ProgressState, to: &mut dyn Write| {
                let time = locked(&time);
                // The mark, the title and the blanks before it.
                let _ = to.write_str(&cut(&time.forecast.of_phase(time.of_phase()), width(), TITLE + 3));
            };
            bar.set_style(style.with_key("since", since));
        }
        bar.set_prefix(format!("{title:<TITLE$}"));
        bar.enable_steady_tick(Duration::from_millis(120));
        self.phase = Some(bar);
    }

    /// The line of a node, or of the host; made if there is none.
    fn lane(&mut self, node: Option<&str>) -> &mut Lane {
        let place = node.map_or(0, |node| self.tally.place(node));
        let index = self.lanes.partition_point(|(known, _)| *known < place);
        if self.lanes.get(index).is_none_or(|(known, _)| *known != place) {
            let below = index + usize::from(self.phase.is_some());
            let bar = self.all.insert(below, ProgressBar::new_spinner());
            let (name, columns) = (node.unwrap_or("host"), self.tally.width().max(4));
            let lane = Lane::new(bar, name, columns, (self.width)(), self.output);
            self.lanes.insert(index, (place, lane));
        }
        &mut self.lanes[index].1
    }

    /// What programs say comes on the screen, or goes.
    fn turn_output(&mut self) {
        self.output = !self.output;
        let output = self.output;
        self.lanes.iter_mut().for_each(|(_, lane)| lane.show_output(output));
    }

    /// The time, and what can be done meanwhile.
    fn foot(&mut self) {
        self.end_foot();
        let bar = self.all.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("  {so_far:.243}") {
            let (time, width, keys) = (self.time.clone(), self.width, self.keys.is_some());
            let so_far = move |state: &ProgressState, to: &mut dyn Write| {
                let time = locked(&time);
                let elapsed = state.elapsed();
                let mut parts: Vec<String> =
                    (elapsed >= WORTH_A_WORD).then(|| clock(elapsed)).into_iter().collect();
                parts.extend(time.forecast.left(time.of_phase()));
                parts.extend(keys.then(|| HELP.to_owned()));
                let _ = to.write_str(&cut(&parts.join(" · "), width(), 2));
            };
            bar.set_style(style.with_key("so_far", so_far));
        }
        bar.enable_steady_tick(Duration::from_secs(1));
        self.footer = Some(bar);
    }

    fn end_foot(&mut self) {
        if let Some(bar) = self.footer.take() {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }

    fn clear(&mut self) {
        for bar in self.lanes.drain(..).map(|(_, lane)| lane.bar).chain(self.phase.take()) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }

    /// What holds for several nodes is said once, and then which others it holds for.
    fn warn(&mut self, node: Option<&str>, message: &str) {
        let place = node.map(|node| format!("{node}: ")).unwrap_or_default();
        let first = node.and_then(|node| {
            let first = self.warned.entry(message.to_owned()).or_insert_with(|| node.to_owned());
            (first != node).then(|| first.clone())
        });
        match first {
            Some(first) => self.tell("!".yellow(), &format!("{place}the same as on {first}")),
            None => self.tell("!".yellow(), &format!("{place}{message}")),
        }
    }

    /// What may be long, behind a mark of one letter: it breaks between words.
    fn tell(&self, mark: impl std::fmt::Display, text: &str) {
        let text = wrapped("  ", text, (self.width)());
        self.print(&format!("{mark} {}", text.trim_start()));
    }

    fn print(&self, text: &str) {
        let text =
            if self.colours { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
        let _ = self.all.println(text);
    }
}

/// So much of the text as fits behind what is there already: a line that is broken cannot be taken back.
fn cut(text: &str, width: Option<usize>, before: usize) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(before + 1));
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
