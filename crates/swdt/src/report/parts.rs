//! What it is made of and where that came from; what users should know; earlier runs.

use std::fmt::Write;

use swdt_core::report::{Report, Warning};

use super::{html::e, moment, outcome};
use crate::render::{bytes, count, duration};

pub(super) fn warnings(page: &mut String, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    page.push_str("<section id=\"warnings\"><h2>What to know</h2>\n<ul class=\"list\">\n");
    for Warning { nodes, message, times } in &report.warnings {
        let who = match nodes.as_slice() {
            [] => String::new(),
            nodes => format!("<b>{}</b> ", e(&nodes.join(", "))),
        };
        let often = if *times > nodes.len().max(1) as u64 {
            format!(" <span class=\"dim\">said {times} times</span>")
        } else {
            String::new()
        };
        let _ = writeln!(page, "<li><span class=\"badge mid\">!</span>{who}{}{often}</li>", e(message));
    }
    page.push_str("</ul></section>\n");
}

/// One thing with a digest.
struct Part<'a> {
    name: &'a str,
    from: &'a str,
    about: String,
    digest: &'a str,
}

pub(super) fn programs(page: &mut String, report: &Report) {
    let parts = report.programs.iter().map(|it| Part {
        name: &it.name,
        from: &it.from,
        about: format!("{}, {}", on(report, &it.nodes), bytes(it.size)),
        digest: &it.sha256,
    });
    let about = "The bytes on the nodes, by SHA-256, and where they came from.";
    by_origin(page, ["programs", "Programs", about], &parts.collect::<Vec<_>>());
}

pub(super) fn images(page: &mut String, report: &Report) {
    let parts = report.images.iter().map(|it| Part {
        name: &it.reference,
        from: &it.from,
        about: on(report, &it.nodes),
        digest: &it.digest,
    });
    let about = "By the digests of their manifests, and where they came from.";
    by_origin(page, ["images", "Images", about], &parts.collect::<Vec<_>>());
}

/// Nodes, named only where not all of them have it.
fn on(report: &Report, nodes: &[String]) -> String {
    match nodes {
        [_, _, ..] if nodes.len() == report.nodes.len() => "every node".to_owned(),
        _ => nodes.join(", "),
    }
}

/// What came from one place stands together, under the place.
fn by_origin(page: &mut String, [id, title, about]: [&str; 3], parts: &[Part<'_>]) {
    if parts.is_empty() {
        return;
    }
    let mut origins: Vec<&str> = Vec::new();
    for part in parts {
        if !origins.contains(&part.from) {
            origins.push(part.from);
        }
    }
    let _ = writeln!(
        page,
        "<section id=\"{id}\"><h2>{title}</h2>\n<p class=\"about\">{about}</p>\n<ul class=\"made-of\">"
    );
    for origin in origins {
        let _ = writeln!(page, "<li><b>{}</b><ul>", e(origin));
        for part in parts.iter().filter(|part| part.from == origin) {
            let _ = writeln!(
                page,
                "<li><span>{}</span><span class=\"dim\">{}</span><span class=\"code digest\">{}</span></li>",
                e(part.name),
                e(&part.about),
                e(part.digest)
            );
        }
        page.push_str("</ul></li>\n");
    }
    page.push_str("</ul></section>\n");
}

/// All of them, the newest first.
pub(super) fn runs(page: &mut String, report: &Report) {
    let _ = writeln!(
        page,
        "<section id=\"runs\"><h2>Every run</h2>\n<p class=\"about\">{} on record, the newest first.</p>\n<ul class=\"runs\">",
        e(&count(report.runs.len() as u64, "run"))
    );
    for (index, run) in report.runs.iter().enumerate().rev() {
        let (class, word) = outcome(run);
        let mut about = vec![duration(run.took_ms)];
        about.push(if run.changes == 0 { "nothing changed".into() } else { count(run.changes, "change") });
        if index == report.main_run {
            about.push("told above".into());
        }
        let error = run.error.as_ref().map(|why| format!("<span class=\"said\">{}</span>", e(why)));
        let _ = writeln!(
            page,
            "<li><span class=\"pill small {class}\">{word}</span><b>{}</b><span class=\"dim\">{}</span><span>{}</span>{}</li>",
            e(&run.command),
            e(&moment(&run.began)),
            e(&about.join(", ")),
            error.unwrap_or_default()
        );
    }
    page.push_str("</ul></section>\n");
}
