//! The run as a picture: a lane for the host and each node, a band for each phase. Places are percentages and sizes are
//! pixels, so that it fits every width and its words stay readable.

use std::fmt::Write;

use swdt_core::{
    event::Setback,
    report::{Lane, PhaseTime, Report, Run},
};

use super::html::e;
use crate::render::{count, duration};

const HEAD: u64 = 26;
const LANE: u64 = 40;
const BAR: u64 = 14;
const AXIS: u64 = 24;
/// Neighbours differ, and all of them go together.
const HUES: [u16; 13] = [205, 262, 172, 226, 292, 190, 248, 156, 214, 276, 182, 318, 142];

pub(super) fn section(page: &mut String, report: &Report) {
    let run = report.run();
    let _ = write!(
        page,
        "<section id=\"timeline\"><h2>How it went</h2>\n<p class=\"about\"><span class=\"code\">{command}</span>, begun {began}, \
         {took}. A lane is the host or a node, a colour is a phase; nodes work side by side, and wait for each other \
         between phases.</p>\n",
        command = e(&run.command),
        began = e(&super::moment(&run.began)),
        took = e(&duration(run.took_ms)),
    );
    if run.phases.is_empty() {
        page.push_str("<p>It ended before its first phase.</p></section>\n");
        return;
    }
    picture(page, run);
    phases(page, run);
    setbacks(page, run);
    slowest(page, run);
    page.push_str("</section>\n");
}

/// The lanes, from above: the host, then nodes in the order of the file, then whoever left.
fn lanes(run: &Run) -> Vec<Option<&str>> {
    let worked = || run.phases.iter().flat_map(|phase| &phase.lanes).map(|lane| lane.node.as_deref());
    let mut lanes: Vec<Option<&str>> = Vec::new();
    lanes.extend(worked().find(Option::is_none));
    lanes.extend(run.nodes.iter().map(|node| Some(node.as_str())));
    for lane in worked() {
        if !lanes.contains(&lane) {
            lanes.push(lane);
        }
    }
    lanes
}

fn picture(page: &mut String, run: &Run) {
    let lanes = lanes(run);
    let scale = Scale { whole: run.took_ms.max(1) };
    let height = HEAD + LANE * lanes.len() as u64 + AXIS;
    let bottom = height - AXIS;
    let _ = writeln!(
        page,
        "<svg class=\"timeline\" width=\"100%\" height=\"{height}\" role=\"img\" aria-label=\"Phases of the run, by node; the \
         list below tells the same\">"
    );
    for (index, phase) in run.phases.iter().enumerate() {
        band(page, &scale, index, phase, bottom);
    }
    ticks(page, &scale, bottom);
    for (row, name) in lanes.iter().enumerate() {
        let top = HEAD + LANE * row as u64;
        let _ = writeln!(
            page,
            "<text class=\"lane\" x=\"6\" y=\"{}\">{}</text><rect class=\"rail\" x=\"0\" y=\"{}\" width=\"100%\" height=\"{BAR}\" rx=\"3\"/>",
            top + 15,
            e(name.unwrap_or("host")),
            top + 20
        );
        for (index, phase) in run.phases.iter().enumerate() {
            for lane in phase.lanes.iter().filter(|lane| lane.node.as_deref() == *name) {
                bar(page, &scale, index, phase, lane, top + 20);
            }
        }
        let all = run.phases.iter().flat_map(|phase| &phase.lanes);
        for lane in all.filter(|lane| lane.node.as_deref() == *name) {
            marks(page, &scale, lane, top + 20);
        }
    }
    page.push_str("</svg>\n");
}

/// A phase over all lanes, with its number where that fits.
fn band(page: &mut String, scale: &Scale, index: usize, phase: &PhaseTime, bottom: u64) {
    let (from, width) = scale.part(phase.from_ms, phase.to_ms);
    let shade = if index.is_multiple_of(2) { "even" } else { "odd" };
    let _ = writeln!(
        page,
        "<rect class=\"band {shade}\" x=\"{from}%\" y=\"0\" width=\"{width}%\" height=\"{bottom}\"><title>{}</title></rect>",
        e(&format!("{}. {}, {}", index + 1, phase.title, duration(phase.took_ms())))
    );
    let fits = match scale.thousandths(phase.took_ms()) {
        ..25 => return,
        25..90 => "number roomy",
        _ => "number",
    };
    let middle = scale.at(phase.from_ms + phase.took_ms() / 2);
    let _ = writeln!(page, "<text class=\"{fits}\" x=\"{middle}%\" y=\"17\">{}</text>", index + 1);
}

fn bar(page: &mut String, scale: &Scale, index: usize, phase: &PhaseTime, lane: &Lane, top: u64) {
    let (from, width) = scale.part(lane.from_ms, lane.to_ms);
    let who = lane.node.as_deref().unwrap_or("host");
    let mut told = format!("{who}: {}, {}", phase.title, duration(lane.took_ms()));
    if lane.changes > 0 {
        let _ = write!(told, ", {}", count(lane.changes, "change"));
    }
    if let Some(why) = &lane.failed {
        let _ = write!(told, "; failed: {why}");
    }
    let failed = if lane.failed.is_some() { " failed" } else { "" };
    let _ = writeln!(
        page,
        "<rect class=\"bar{failed}\" style=\"--h:{}\" x=\"{from}%\" y=\"{top}\" width=\"{width}%\" height=\"{BAR}\" rx=\"2\">\
         <title>{}</title></rect>",
        hue(index),
        e(&told)
    );
}

/// What broke in, above the bars.
fn marks(page: &mut String, scale: &Scale, lane: &Lane, top: u64) {
    let who = lane.node.as_deref().unwrap_or("host");
    for pause in &lane.setbacks {
        let _ = writeln!(
            page,
            "<circle class=\"setback\" cx=\"{}%\" cy=\"{}\" r=\"7\"><title>{}</title></circle><text class=\"mark\" x=\"{}%\" \
             y=\"{}\">{}</text>",
            scale.at(pause.at_ms),
            top + BAR / 2,
            e(&format!("{who}, at {}: {}", duration(pause.at_ms), pause.message)),
            scale.at(pause.at_ms),
            top + BAR / 2 + 4,
            mark(pause.what)
        );
    }
}

/// How the mark of a setback looks.
fn mark(what: Setback) -> &'static str {
    match what {
        Setback::Restarted => "↻",
        Setback::Died => "!",
        Setback::Disconnected => "~",
    }
}

fn ticks(page: &mut String, scale: &Scale, bottom: u64) {
    let step = step(scale.whole);
    for (index, at) in (0..).map(|index| index * step).take_while(|at| *at <= scale.whole).enumerate() {
        let place = scale.at(at);
        // The last word must not run out of the picture, nor every second one into the next on a phone.
        let anchor = match scale.thousandths(at) {
            0 => "start",
            970.. => "end",
            _ => "middle",
        };
        let roomy = if index % 2 == 1 { " roomy" } else { "" };
        let _ = writeln!(
            page,
            "<line class=\"tick\" x1=\"{place}%\" x2=\"{place}%\" y1=\"{HEAD}\" y2=\"{}\"/>\
             <text class=\"axis{roomy}\" x=\"{place}%\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            bottom + 5,
            bottom + 19,
            clock(at)
        );
    }
}

/// Round steps, five to ten of them.
fn step(whole_ms: u64) -> u64 {
    const STEPS: [u64; 14] =
        [1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000];
    STEPS.into_iter().find(|step| whole_ms / step <= 10).unwrap_or(3_600_000)
}

/// `45 s`, `2:30`.
fn clock(ms: u64) -> String {
    match ms {
        0 => "0".to_owned(),
        1..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{} s", ms / 1_000),
        _ => format!("{}:{:02}", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// The same as the picture, to be read; and what the numbers mean.
fn phases(page: &mut String, run: &Run) {
    let longest = run.phases.iter().map(PhaseTime::took_ms).max().unwrap_or(0).max(1);
    page.push_str("<ol class=\"phases\">\n");
    for (index, phase) in run.phases.iter().enumerate() {
        let scale = Scale { whole: longest };
        let mut about = Vec::new();
        if phase.changes > 0 {
            about.push(count(phase.changes, "change"));
        }
        if !phase.done {
            about.push("not finished".to_owned());
        }
        // Nothing was to be done there.
        let quiet = if phase.changes == 0 && phase.took_ms() < 1000 { "quiet" } else { "" };
        let _ = writeln!(
            page,
            "<li class=\"{quiet}\" style=\"--h:{hue}\"><i>{number}</i><b>{title}</b><span class=\"share\"><span style=\"width:{width}%\"></span></span>\
             <span class=\"took\">{took}</span><span class=\"more\">{about}</span></li>",
            hue = hue(index),
            number = index + 1,
            title = e(&phase.title),
            width = scale.at(phase.took_ms()),
            took = duration(phase.took_ms()),
            about = e(&about.join(", ")),
        );
    }
    page.push_str("</ol>\n");
}

fn setbacks(page: &mut String, run: &Run) {
    if run.setbacks().next().is_none() {
        return;
    }
    page.push_str("<h3>Restarts and retries</h3>\n<ul class=\"list\">\n");
    for (lane, phase, pause) in run.setbacks() {
        let _ = writeln!(
            page,
            "<li><span class=\"badge\">{}</span><b>{}</b> {} <span class=\"dim\">{}, after {}</span></li>",
            mark(pause.what),
            e(lane.node.as_deref().unwrap_or("host")),
            e(&pause.message),
            e(&phase.title),
            duration(pause.at_ms)
        );
    }
    page.push_str("</ul>\n");
}

fn slowest(page: &mut String, run: &Run) {
    if run.slowest.is_empty() {
        return;
    }
    page.push_str("<h3>What took longest on nodes</h3>\n<ul class=\"list\">\n");
    for it in &run.slowest {
        let _ = writeln!(
            page,
            "<li><b>{}</b> <span class=\"code\">{}</span> <span class=\"dim\">{}</span></li>",
            e(&it.node),
            e(&it.id),
            duration(it.took_ms)
        );
    }
    page.push_str("</ul>\n");
}

fn hue(index: usize) -> u16 {
    HUES[index % HUES.len()]
}

/// From milliseconds to percent of the width.
struct Scale {
    whole: u64,
}

impl Scale {
    fn thousandths(&self, ms: u64) -> u64 {
        ms.min(self.whole) * 1000 / self.whole
    }

    /// `12.3`.
    fn at(&self, ms: u64) -> String {
        let hundredths = ms.min(self.whole) * 10_000 / self.whole;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }

    /// Where a piece begins and how wide it is; never so narrow that nobody sees it.
    fn part(&self, from: u64, to: u64) -> (String, String) {
        let least = self.whole / 400;
        (self.at(from), self.at(to.saturating_sub(from).max(least)))
    }
}
