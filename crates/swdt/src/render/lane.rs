//! The line of one node: what it is at, how far that is, or what it says.

use indicatif::{ProgressBar, ProgressStyle};

use super::duration;

pub(super) struct Lane {
    pub(super) bar: ProgressBar,
    what: String,
    /// What its programs said last.
    said: String,
    /// Is that to be shown?
    output: bool,
    /// Which resource it is at, of how many; none where they are not counted.
    at: u64,
    of: u64,
}

impl Lane {
    pub(super) fn new(bar: ProgressBar, name: &str, width: usize, output: bool) -> Self {
        if let Ok(style) = ProgressStyle::with_template(&format!("  {{prefix:{width}!}}  {{wide_msg}}")) {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        Self { bar, what: String::new(), said: String::new(), output, at: 0, of: 0 }
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
        let text = match (self.output && !self.said.is_empty(), self.at) {
            (true, _) => format!("| {}", self.said),
            (false, 1..) if self.at <= self.of => format!("{}/{} {}", self.at, self.of, self.what),
            (false, _) => self.what.clone(),
        };
        self.bar.set_message(text);
    }
}
