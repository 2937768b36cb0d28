//! What was tried, as a matrix: a row for what, a column for where.

use std::fmt::Write;

use swdt_core::report::{Report, Smoke, Trial, Verdict};

use super::html::e;
use crate::render::duration;

pub(super) fn section(page: &mut String, report: &Report) {
    page.push_str("<section id=\"smoke\"><h2>Does it work</h2>\n");
    let Some(smoke) = &report.smoke else {
        page.push_str(
            "<p>No smoke test was recorded. <span class=\"code\">swdt test smoke</span> tries the cluster.</p></section>\n",
        );
        return;
    };
    let _ = writeln!(
        page,
        "<p class=\"about\">The smoke test of {}. A column is where it was tried.</p>",
        e(&super::moment(&smoke.at))
    );
    matrix(page, report, smoke);
    whole(page, smoke);
    findings(page, smoke, Verdict::Failed, "What failed");
    findings(page, smoke, Verdict::NotTried, "What was not tried, and why");
    page.push_str("</section>\n");
}

/// The rows, in the order in which they were first tried.
fn rows(smoke: &Smoke) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for trial in smoke.trials.iter().filter(|trial| trial.node.is_some()) {
        let row = row(trial);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

fn row(trial: &Trial) -> String {
    trial.to.as_ref().map_or_else(|| trial.what.clone(), |to| format!("{} → {to}", trial.what))
}

fn matrix(page: &mut String, report: &Report, smoke: &Smoke) {
    let columns: Vec<&str> = report
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .filter(|name| smoke.trials.iter().any(|trial| trial.node.as_deref() == Some(name)))
        .collect();
    if columns.is_empty() {
        return;
    }
    page.push_str("<div class=\"scroll\"><table class=\"matrix\"><thead><tr><th scope=\"col\">what</th>");
    for column in &columns {
        let _ = write!(page, "<th scope=\"col\">{}</th>", e(column));
    }
    page.push_str("</tr></thead><tbody>\n");
    for label in rows(smoke) {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", e(&label));
        for column in &columns {
            let here = |trial: &&Trial| trial.node.as_deref() == Some(column) && row(trial) == label;
            cell(page, smoke.trials.iter().find(here));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn cell(page: &mut String, trial: Option<&Trial>) {
    let Some(trial) = trial else {
        page.push_str("<td></td>");
        return;
    };
    let (class, mark, word) = looks(trial.verdict);
    let told = match trial.verdict {
        Verdict::NotTried => format!("{word}: {}", trial.seen),
        _ => format!("{word}, {}", duration(trial.took_ms)),
    };
    let _ = write!(
        page,
        "<td class=\"{class}\" title=\"{}\"><span aria-hidden=\"true\">{mark}</span><span class=\"unseen\">{word}</span></td>",
        e(&told)
    );
}

fn looks(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Passed => ("good", "✓", "passed"),
        Verdict::Failed => ("bad", "✗", "failed"),
        Verdict::NotTried => ("none", "–", "not tried"),
    }
}

/// What is about no single node.
fn whole(page: &mut String, smoke: &Smoke) {
    let trials: Vec<&Trial> = smoke.trials.iter().filter(|trial| trial.node.is_none()).collect();
    if trials.is_empty() {
        return;
    }
    page.push_str("<ul class=\"list\">\n");
    for trial in trials {
        let (class, mark, _) = looks(trial.verdict);
        let _ = writeln!(
            page,
            "<li><span class=\"badge {class}\">{mark}</span>{} <span class=\"dim\">{}</span></li>",
            e(&trial.name),
            duration(trial.took_ms)
        );
    }
    page.push_str("</ul>\n");
}

/// Those of one verdict, with what was seen; what was seen alike is told once.
fn findings(page: &mut String, smoke: &Smoke, verdict: Verdict, title: &str) {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for trial in smoke.trials.iter().filter(|trial| trial.verdict == verdict) {
        match told.iter_mut().find(|(seen, _)| *seen == trial.seen) {
            Some((_, names)) => names.push(&trial.name),
            None => told.push((&trial.seen, vec![&trial.name])),
        }
    }
    if told.is_empty() {
        return;
    }
    let _ = writeln!(page, "<h3>{title}</h3>\n<ul class=\"list\">");
    for (seen, names) in told {
        let _ = writeln!(
            page,
            "<li><b>{}</b><span class=\"said\">{}</span></li>",
            e(&names.join("; ")),
            e(seen.trim())
        );
    }
    page.push_str("</ul>\n");
}
