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
    for (finding, nodes) in together(&report.findings) {
        let brief = finding.grade == Grade::Note && volume != Volume::Verbose;
        if finding.grade == Grade::Note && volume == Volume::Quiet {
            continue;
        }
        parts.push(one(finding, &nodes, spec, brief, width));
    }
    parts.push(closing(report, width));
    parts.join("\n\n")
}

/// What is the same on several nodes is told once, with all of them.
fn together(findings: &[Finding]) -> Vec<(&Finding, Vec<&str>)> {
    let nameless = |finding: &Finding| {
        let mut finding = finding.clone();
        finding.node = None;
        finding
    };
    let mut told: Vec<(&Finding, Vec<&str>)> = Vec::new();
    for finding in findings {
        let at =
            told.iter().position(|(known, _)| nameless(known) == nameless(finding)).unwrap_or(told.len());
        if at == told.len() {
            told.push((finding, Vec::new()));
        }
        told[at].1.extend(finding.node.as_deref());
    }
    told
}

fn one(finding: &Finding, nodes: &[&str], spec: Option<&Spec>, brief: bool, width: Option<usize>) -> String {
    let place = if nodes.is_empty() { String::new() } else { format!(" on {}", nodes.join(", ")) };
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
    let told = together(&report.findings);
    let of = |grade: Grade| told.iter().filter(|(finding, _)| finding.grade == grade).count();
    let counted = Grade::ALL.iter().map(|grade| (of(*grade), grade.words()));
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

#[cfg(test)]
mod tests {
    use swdt_core::doctor::{HostFacts, host};

    use super::*;

    #[test]
    fn what_is_the_same_on_several_nodes_is_told_once() {
        let facts = HostFacts { no_agent: Some("it is gone".to_owned()), ..HostFacts::default() };
        let Some(finding) = host(&facts).into_iter().next() else { panic!("something is wrong with that") };
        let on = |node: &str| {
            let mut finding = finding.clone();
            finding.node = Some(node.to_owned());
            finding
        };
        let mut other = on("w2");
        "something else".clone_into(&mut other.what);
        let findings = [on("cp1"), on("w1"), other];
        let told: Vec<_> = together(&findings).into_iter().map(|(_, nodes)| nodes).collect();
        assert_eq!(told, [vec!["cp1", "w1"], vec!["w2"]]);
    }
}
