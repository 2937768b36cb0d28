//! Every rule finds its fault, and no rule finds one where there is none.
//!
//! A case spoils something sound in one way. It must be found by the rule it names, and by no other: what is told
//! twice is a false alarm, too.

mod cluster;
mod host;
mod machines;

use std::collections::BTreeSet;

use super::*;
use crate::id;

/// What a case must lead to.
struct Case {
    /// The rule.
    id: &'static str,
    /// Words of the finding.
    words: &'static str,
    /// All that was found.
    findings: Vec<Finding>,
}

fn cases() -> Vec<Case> {
    let mut cases = host::cases();
    cases.extend(machines::cases());
    cases.extend(cluster::cases());
    cases
}

fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|it| format!("{} {:?}: {} {:?}", it.id, it.node, it.told(), it.evidence)).collect()
}

#[test]
fn every_rule_is_found_where_something_is_wrong_and_no_other_is() {
    let mut tried = BTreeSet::new();
    for Case { id, words, findings } in cases() {
        let all = told(&findings);
        let ids: BTreeSet<&str> = findings.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, BTreeSet::from([id]), "`{words}`: {all:#?}");
        assert!(all.iter().any(|it| it.contains(words)), "`{words}` is not in {all:#?}");
        let stops = rules().any(|rule| rule.id == id && rule.can_stop());
        assert!(
            stops || findings.iter().all(|it| it.grade != Grade::Problem),
            "{id} does not tell that it stops"
        );
        tried.insert(id);
    }
    let untried: Vec<&str> = rules().map(|rule| rule.id).filter(|id| !tried.contains(id)).collect();
    assert!(untried.is_empty(), "no case for {untried:?}");
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let mut findings = host::sound();
    findings.extend(machines::sound());
    findings.extend(cluster::sound());
    assert_eq!(told(&findings), Vec::<String>::new());
}

#[test]
fn rules_are_whole_and_have_names_of_their_own() {
    let mut ids = BTreeSet::new();
    for rule in rules() {
        assert!(ids.insert(rule.id), "{} is there twice", rule.id);
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(rule.id.chars().all(plain), "{} must be an anchor of a page", rule.id);
        assert!(!rule.fix.is_empty(), "{} does not say what to do", rule.id);
        assert!(rule.cause.ends_with('.') && !rule.title.ends_with('.'), "{}: {}", rule.id, rule.cause);
        for text in [rule.title, rule.cause].into_iter().chain(rule.fix.iter().map(|(_, run)| *run)) {
            assert!(!text.contains("  "), "{}: two blanks in `{text}`", rule.id);
        }
    }
    assert!(ids.len() >= 40, "{}", ids.len());
}

#[test]
fn every_finding_tells_what_was_seen_and_why() {
    for Case { findings, .. } in cases() {
        for finding in findings {
            let id = &finding.id;
            assert!(!finding.evidence.is_empty(), "{id} shows nothing that was seen");
            assert!(finding.evidence.iter().all(|seen| !seen.is_empty()), "{id}: {:?}", finding.evidence);
            assert!(!finding.fix.is_empty() && !finding.cause.is_empty(), "{id}");
            let left = |step: &Step| step.run.contains("NODE") && finding.node.is_some();
            assert!(!finding.fix.iter().any(left), "{id} does not name its node: {:?}", finding.fix);
            assert!(page().contains(&format!("### {id}\n")), "{id} has no page");
        }
    }
}

/// `SWDT_WRITE_DOCS=1` writes it.
#[test]
fn the_page_is_made_from_the_rules() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    if std::env::var_os("SWDT_WRITE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/troubleshooting.md is old: run this test with SWDT_WRITE_DOCS=1");
}

#[test]
fn the_worst_comes_first_and_decides_the_exit_code() {
    let mut findings = host::find(|host| {
        host.clock_set = Some(false);
        host.kvm = Some(Kvm::Emulated("no /dev/kvm".into()));
        host.no_agent = Some("gone".into());
    });
    findings.reverse();
    let report = Report::new(vec!["this host".into()], &[Scope::Host], findings);
    let ids: Vec<&str> = report.findings.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["host-node-program", "host-clock", "host-kvm"]);
    assert_eq!(report.worst().unwrap().kind.exit_code(), 4);
    let calm = Report::new(Vec::new(), &[Scope::Host], host::find(|host| host.clock_set = Some(false)));
    assert_eq!((calm.worst(), calm.count(Grade::Warning)), (None, 1));
    insta::assert_snapshot!("report", serde_json::to_string_pretty(&report).unwrap());
}

/// What no rule is about is told as the run would tell it that stops there, all of it.
#[test]
fn what_a_run_would_stop_at_is_a_problem_in_its_own_words() {
    let image = Error::new(id::DISK_IMAGE_UNUSABLE, "cannot read the image /no.qcow2: no such file").on("w1");
    let small = Error::new(id::MACHINE_TOO_SMALL, "a disk of 1Gi is too small for the image: 3Gi are needed");
    let error = Error::all(vec![image.hinted("name a disk image"), small.on("w2")]).unwrap();
    let findings = Finding::all(error.clone());
    assert_eq!(
        told(&findings),
        [
            r#"disk-image-unusable Some("w1"): cannot read the image /no.qcow2: no such file; name a disk image []"#,
            r#"machine-too-small Some("w2"): a disk of 1Gi is too small for the image: 3Gi are needed []"#,
        ]
    );
    for finding in &findings {
        assert_eq!(
            (finding.grade, finding.page.as_str()),
            (Grade::Problem, &*format!("docs/reference/errors.md#{}", finding.id))
        );
        assert!(!finding.fix.is_empty() && !finding.cause.is_empty(), "{finding:?}");
    }
    // And back: whoever stops there tells the same.
    let again = Error::all(findings.into_iter().map(Error::from).collect()).unwrap();
    assert_eq!((again.summary(), again.kind()), (error.summary(), error.kind()));
}

/// Programs read the report; its shape changes knowingly.
#[test]
fn the_report_has_a_schema() {
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Report)).unwrap();
    insta::assert_snapshot!("schema", schema);
}
