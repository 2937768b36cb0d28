//! The report of a cluster as one page of HTML: no script, no font, no picture from elsewhere. It opens from a file, on
//! a phone, in the dark, and on paper.

mod html;
mod parts;
mod smoke;
mod timeline;
mod topology;

use std::fmt::Write;

use html::e;
use swdt_core::report::{Report, Run, Verdict};

use crate::render::{count, duration};

const STYLE: &str = include_str!("style.css");

/// The page.
pub(crate) fn page(report: &Report, version: &str) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{name} · swdt report</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        name = e(&report.cluster),
    );
    head(&mut page, report);
    page.push_str("<main>\n");
    figures(&mut page, report);
    timeline::section(&mut page, report);
    topology::section(&mut page, report);
    smoke::section(&mut page, report);
    parts::warnings(&mut page, report);
    parts::programs(&mut page, report);
    parts::images(&mut page, report);
    parts::runs(&mut page, report);
    let _ = write!(
        page,
        "</main>\n<footer><p>Made {made} by swdt {version} from what it recorded; no machine was asked. Names and \
         addresses are in it, secrets are not.</p></footer>\n</body>\n</html>\n",
        made = e(&moment(&report.made)),
        version = e(version),
    );
    page
}

fn head(page: &mut String, report: &Report) {
    let (class, word) = outcome(report.run());
    let system = count(report.nodes.len() as u64, "node");
    let _ = write!(
        page,
        "<header><div><p class=\"kicker\">Kubernetes cluster</p>\n<h1>{name}</h1>\n\
         <p class=\"lead\">Kubernetes {version} · {system} · control plane at <span class=\"code\">{endpoint}</span></p></div>\n\
         <p class=\"pill {class}\">{word}</p></header>\n",
        name = e(&report.cluster),
        version = e(&report.kubernetes),
        endpoint = e(&report.endpoint),
        word = e(&format!("{} {word}", report.run().command)),
    );
}

/// How a run ended: a class for colours, and a word.
fn outcome(run: &Run) -> (&'static str, &'static str) {
    match run.ok {
        Some(true) => ("good", "went well"),
        Some(false) => ("bad", "failed"),
        None => ("mid", "has no end yet"),
    }
}

/// What one looks for first.
fn figures(page: &mut String, report: &Report) {
    let run = report.run();
    let verdicts = report.verdicts();
    let of = |verdict| verdicts.get(&verdict).copied().unwrap_or(0);
    let tried = of(Verdict::Passed) + of(Verdict::Failed);
    let checks = match &report.smoke {
        None => ("–".to_owned(), "no smoke test was recorded".to_owned(), ""),
        Some(_) => (
            format!("{}/{tried}", of(Verdict::Passed)),
            match of(Verdict::NotTried) {
                0 => "checks passed".to_owned(),
                untried => format!("checks passed, {untried} not tried"),
            },
            if of(Verdict::Failed) > 0 { "bad" } else { "good" },
        ),
    };
    let setbacks = run.setbacks().count();
    let warnings = report.warnings.len();
    let tiles = [
        (duration(run.took_ms), format!("for {}", run.command), ""),
        (run.changes.to_string(), plural(run.changes, "change made", "changes made"), ""),
        checks,
        (
            setbacks.to_string(),
            plural(setbacks as u64, "restart or retry", "restarts and retries"),
            if setbacks > 0 { "mid" } else { "" },
        ),
        (
            warnings.to_string(),
            plural(warnings as u64, "warning", "warnings"),
            if warnings > 0 { "mid" } else { "" },
        ),
    ];
    page.push_str("<ul class=\"tiles\">\n");
    for (figure, about, class) in tiles {
        let _ = writeln!(page, "<li class=\"{class}\"><b>{}</b><span>{}</span></li>", e(&figure), e(&about));
    }
    page.push_str("</ul>\n");
    if let Some(error) = &run.error {
        let _ = writeln!(page, "<p class=\"failure\"><b>Why it failed.</b> {}</p>", e(error));
    }
}

fn plural(number: u64, one: &str, many: &str) -> String {
    if number == 1 { one.to_owned() } else { many.to_owned() }
}

/// A moment as people read it, from RFC 3339.
fn moment(text: &str) -> String {
    text.replace('T', " ").replace('Z', " UTC")
}

#[cfg(test)]
mod tests;
