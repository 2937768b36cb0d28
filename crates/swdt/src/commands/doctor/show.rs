//! How findings look.

use owo_colors::OwoColorize;
use swdt_core::{
    doctor::{Finding, Grade, On, Report, Step},
    spec::{OsFamily, Spec},
};

use crate::{
    out,
    render::{Volume, count, wrapped},
};

/// All findings and a closing line. Notes are short, unless everything is to be said.
pub(super) fn text(report: &Report, spec: Option<&Spec>, volume: Volume) -> String {
    let width = out::width();
    let mut parts = Vec::new();
    for finding in &report.findings {
        let brief = finding.grade == Grade::Note && volume != Volume::Verbose;
        if finding.grade == Grade::Note && volume == Volume::Quiet {
            continue;
        }
        parts.push(one(finding, spec, brief, width));
    }
    parts.push(closing(report, width));
    parts.join("\n\n")
}

fn one(finding: &Finding, spec: Option<&Spec>, brief: bool, width: Option<usize>) -> String {
    let place = finding.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
    let head = format!("{} {}", finding.grade.mark(), finding.grade.words());
    let head = match finding.grade {
        Grade::Problem => head.red().bold().to_string(),
        Grade::Warning => head.yellow().bold().to_string(),
        Grade::Note => head.cyan().to_string(),
    };
    let mut lines = vec![format!("{head} {}{place}", finding.id.bold()), wrapped("  ", &finding.what, width)];
    let mut tell = |word: &str, texts: &[String]| {
        for (index, text) in texts.iter().enumerate() {
            let word = if index == 0 { word } else { "" };
            let line = wrapped(&format!("  {word:<5} "), text, width);
            let dim = |word: &str| if word.is_empty() { String::new() } else { word.dimmed().to_string() };
            lines.push(line.replacen(word, &dim(word), 1));
        }
    };
    tell("seen", &finding.evidence);
    if !brief {
        tell("why", std::slice::from_ref(&finding.cause));
        let steps = finding.fix.iter().filter(|step| fits(step, finding, spec));
        let mut steps: Vec<_> = steps.map(ToString::to_string).collect();
        // What helps here may be what helps everywhere.
        steps.dedup();
        tell("do", &steps);
        tell("--fix", &finding.remedy.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
    tell("page", std::slice::from_ref(&finding.page));
    lines.join("\n")
}

/// Commands for Windows are of no use on Linux, nor the other way round.
fn fits(step: &Step, finding: &Finding, spec: Option<&Spec>) -> bool {
    let node = finding.node.as_ref().and_then(|name| spec?.node(name));
    let wrong = match node.map(|node| node.os) {
        Some(OsFamily::Linux) => step.on == On::Windows,
        Some(OsFamily::Windows) => matches!(step.on, On::Linux | On::Debian | On::Fedora),
        None => false,
    };
    !wrong
}

fn closing(report: &Report, width: Option<usize>) -> String {
    let counted = Grade::ALL.iter().map(|grade| (report.count(*grade), grade.words()));
    let words: Vec<String> =
        counted.filter(|(number, _)| *number > 0).map(|(number, word)| count(number as u64, word)).collect();
    let looked = format!("{} rules, {}", report.rules, report.looked_at.join(", "));
    let verdict = if words.is_empty() {
        format!("{} nothing is wrong", "✓".green().bold())
    } else {
        words.join(", ").bold().to_string()
    };
    let mendable = report.findings.iter().filter(|finding| finding.remedy.is_some()).count();
    let mend = if mendable > 0 {
        format!("\n`swdt doctor --fix` mends {mendable} of them, after asking")
    } else {
        String::new()
    };
    format!("{verdict}\n{}{mend}", wrapped("", &looked, width))
}
