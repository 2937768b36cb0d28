//! The line of one node: what it is at, how far that is, or what it says.

use indicatif::{ProgressBar, ProgressStyle};

use super::duration;

/// Columns of a bar.
const BAR: usize = 16;
/// Columns for what a node is at, and what stands between; with less, there is no bar.
const WORDS: usize = 36;

pub(super) struct Lane {
    pub(super) bar: ProgressBar,
    what: String,
    /// What its programs said last.
    said: String,
    /// Is that to be shown?
    output: bool,
    /// How it looks while resources are counted, and while none are.
    styles: Option<[ProgressStyle; 2]>,
    /// Which resource it is at, of how many; none where they are not counted.
    at: u64,
    of: u64,
}

impl Lane {
    /// A line whose name has so many columns, on a terminal that has so many.
    pub(super) fn new(
        bar: ProgressBar,
        name: &str,
        width: usize,
        terminal: Option<usize>,
        output: bool,
    ) -> Self {
        let style = |counted: &str| {
            let template = format!("  {{prefix:{width}!.31}}  {counted}{{wide_msg}}");
            Some(ProgressStyle::with_template(&template).ok()?.progress_chars("━╸─"))
        };
        // What is done is read, how far it is seen: the words go first.
        let room = terminal.is_some_and(|columns| columns >= width + BAR + WORDS);
        let counted = if room { format!("{{bar:{BAR}.99/243}} ") } else { String::new() };
        let styles = style(&counted).zip(style("")).map(|(counted, bare)| [counted, bare]);
        bar.set_prefix(name.to_owned());
        let lane = Self { bar, what: String::new(), said: String::new(), output, styles, at: 0, of: 0 };
        lane.draw();
        lane
    }

    /// A part of a phase begins, of so many resources.
    pub(super) fn begin(&mut self, resources: u64) {
        (self.at, self.of) = (0, resources);
        self.said.clear();
    }

    /// Something longer goes on.
    pub(super) fn at(&mut self, what: &str) {
        what.clone_into(&mut self.what);
        self.draw();
    }

    /// The next resource.
    pub(super) fn resource(&mut self, name: &str) {
        self.at += 1;
        self.said.clear();
        self.at(name);
    }

    /// Everything is looked at once more.
    pub(super) fn again(&mut self, why: &str) {
        self.at = 0;
        self.at(why);
    }

    /// Its part is over; whoever waits for others is not at work.
    pub(super) fn done(&mut self, took_ms: u64) {
        (self.at, self.of) = (0, 0);
        self.said.clear();
        self.at(&format!("done in {}", duration(took_ms)));
    }

    pub(super) fn failed(&mut self) {
        (self.at, self.of) = (0, 0);
        self.at("failed");
    }

    /// A line of output.
    pub(super) fn says(&mut self, line: &str) {
        self.said = line.replace('\t', " ");
        if self.output {
            self.draw();
        }
    }

    pub(super) fn show_output(&mut self, output: bool) {
        self.output = output;
        self.draw();
    }

    fn draw(&self) {
        let said = self.output && !self.said.is_empty();
        let counted = !said && (1..=self.of).contains(&self.at);
        let text = match (said, counted) {
            (true, _) => format!("| {}", self.said),
            (false, true) => format!("{}/{} {}", self.at, self.of, self.what),
            (false, false) => self.what.clone(),
        };
        if let Some([with_bar, bare]) = &self.styles {
            self.bar.set_style(if counted { with_bar.clone() } else { bare.clone() });
        }
        // The one it is at is not done yet.
        self.bar.set_length(self.of);
        self.bar.set_position(self.at.saturating_sub(1));
        self.bar.set_message(text);
    }
}
