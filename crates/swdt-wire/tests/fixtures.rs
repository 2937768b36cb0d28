//! What once was written must still be understood, and still be written like that.
//!
//! A new variant does not compile here before it has a name, and the test fails before the fixtures
//! hold one. Lines are only ever added; receipts of every version stay for ever.

use std::{collections::BTreeSet, fmt::Debug};

use serde::{Serialize, de::DeserializeOwned};
use swdt_wire::{
    Content, Entry, FIRST_BOOT_VERSION, FirstBoot, InodeKind, Kind, Mode, NodeEvent, NodeEventKind as Event,
    NodeFailure, Outcome, PathPrior, Prior, Receipt, RegistryValue, Request, Resource, ServiceStart, Status,
    Truth,
};

const REQUESTS: &str = include_str!("fixtures/v1/requests.jsonl");
const EVENTS: &str = include_str!("fixtures/v1/events.jsonl");
const FIRST_BOOTS: &str = include_str!("fixtures/v1/first-boot.jsonl");
const RECEIPTS: &str = include_str!("fixtures/v1/receipts.jsonl");

/// Every line parses, and is written as it was.
fn round_trip<T: Serialize + DeserializeOwned + Debug + PartialEq>(text: &str) -> Vec<T> {
    let line = |line: &str| {
        let parsed: T = serde_json::from_str(line).expect(line);
        assert_eq!(serde_json::to_string(&parsed).expect(line), line);
        parsed
    };
    text.lines().map(line).collect()
}

/// The names seen are exactly these.
fn all_seen(seen: impl IntoIterator<Item = &'static str>, expected: &str) {
    let seen: BTreeSet<_> = seen.into_iter().collect();
    let expected: BTreeSet<_> = expected.split_whitespace().collect();
    assert_eq!(seen, expected);
}

fn kind(resource: &Resource) -> &'static str {
    match &resource.kind {
        Kind::File(file) => match file.content {
            Content::Text(_) => "text",
            Content::Blob(_) => "blob",
            Content::Secret(_) => "secret",
        },
        Kind::Dir(_) => "dir",
        Kind::Archive(_) => "archive",
        Kind::Line(_) => "line",
        Kind::Hostname(_) => "hostname",
        Kind::Sysctl(_) => "sysctl",
        Kind::KernelModule(_) => "module",
        Kind::Swap(_) => "swap",
        Kind::Package(_) => "package",
        Kind::Service(_) => "service",
        Kind::Firewall(_) => "firewall",
        Kind::EnvPath(_) => "path",
        Kind::Image(_) => "image",
        Kind::KubeadmInit(_) => "init",
        Kind::KubeadmJoin(_) => "join",
        Kind::Manifest(_) => "manifest",
        Kind::Condition(condition) => match condition.what {
            Truth::ApiReady => "api-ready",
            Truth::FileExists { .. } => "file-exists",
            Truth::HnsNetwork { .. } => "hns-network-ready",
            Truth::RuntimeAnswers => "runtime-answers",
            Truth::Healthy { .. } => "healthy",
            Truth::NodeReady { .. } => "node-ready",
            Truth::DaemonSet { .. } => "daemon-set",
            Truth::Deployment { .. } => "deployment",
        },
        Kind::Registry(registry) => match registry.value {
            RegistryValue::Text(_) => "registry-text",
            RegistryValue::Expanded(_) => "registry-expanded",
            RegistryValue::Number(_) => "registry-number",
            RegistryValue::List(_) => "registry-list",
        },
        Kind::WindowsService(service) => match service.start {
            ServiceStart::Automatic => "windows-service",
            ServiceStart::Delayed => "windows-service-delayed",
            ServiceStart::Manual => "windows-service-manual",
        },
        Kind::Feature(_) => "feature",
        Kind::HnsNetwork(_) => "hns-network",
        Kind::Restart(_) => "restart",
        Kind::SourceVip(_) => "source-vip",
        Kind::ClientConfig(_) => "client-config",
        Kind::Traces(_) => "traces",
    }
}

const KINDS: &str = "text blob secret dir archive line hostname sysctl module swap package service firewall path \
                     image init join manifest api-ready file-exists node-ready daemon-set deployment registry-text \
                     registry-expanded registry-number registry-list windows-service windows-service-delayed windows-service-manual feature \
                     hns-network hns-network-ready restart source-vip client-config runtime-answers healthy traces";

#[test]
fn requests() {
    let requests = round_trip::<Request>(REQUESTS);
    let mode = |request: &Request| match request.mode {
        Mode::Facts => "facts",
        Mode::Receipts => "receipts",
        Mode::Check { .. } => "check",
        Mode::Apply { .. } => "apply",
        Mode::Revert { .. } => "revert",
        Mode::RevertSome { .. } => "revert-some",
        Mode::Attach { .. } => "attach",
        Mode::Kubectl { .. } => "kubectl",
        Mode::Pull { .. } => "pull",
        Mode::Logs { .. } => "logs",
        Mode::Cancel { .. } => "cancel",
    };
    all_seen(
        requests.iter().map(mode),
        "facts receipts check apply revert revert-some attach kubectl pull logs cancel",
    );
    let resources = requests.iter().flat_map(|request| match &request.mode {
        Mode::Check { resources } | Mode::Apply { resources, .. } => resources.as_slice(),
        _ => &[],
    });
    all_seen(resources.map(kind), KINDS);
}

#[test]
fn events() {
    let failure = |failure: &NodeFailure| match failure {
        NodeFailure::Resource { .. } => "resource",
        NodeFailure::Busy(_) => "busy",
        NodeFailure::OtherCluster { .. } => "other",
        NodeFailure::Wire { .. } => "wire",
        NodeFailure::UnknownRun => "unknown",
        NodeFailure::Died => "died",
        NodeFailure::Cancelled => "cancelled",
        NodeFailure::Unusable { .. } => "unusable",
    };
    let name = |event: &NodeEvent| match &event.kind {
        Event::Hello { .. } => "hello",
        Event::Facts(_) => "facts",
        Event::Receipts { .. } => "receipts",
        Event::Checked(checked) => match checked.status {
            Status::Satisfied => "satisfied",
            Status::Differs(_) => "differs",
        },
        Event::Started { .. } => "started",
        Event::Output { .. } => "output",
        Event::Note { .. } => "note",
        Event::Done { outcome, .. } => match outcome {
            Outcome::Unchanged => "unchanged",
            Outcome::Changed => "changed",
            Outcome::Reverted => "reverted",
            Outcome::Kept(_) => "kept",
        },
        Event::Answer { .. } => "answer",
        Event::Finished(summary) => summary.failure.as_ref().map_or("finished", failure),
    };
    all_seen(
        round_trip::<NodeEvent>(EVENTS).iter().map(name),
        "hello facts receipts satisfied differs started output note unchanged changed reverted kept answer finished \
         resource busy other wire unknown died cancelled unusable",
    );
}

#[test]
fn receipts() {
    let receipts = round_trip::<Receipt>(RECEIPTS);
    let was = |prior: &PathPrior| match prior.was.as_ref().map(|was| &was.what) {
        None => "file-none",
        Some(InodeKind::File { .. }) => "file-file",
        Some(InodeKind::Dir) => "file-dir",
        Some(InodeKind::Symlink { .. }) => "file-link",
    };
    let prior = |prior: &Prior| match prior {
        Prior::File(path) => was(path),
        Prior::Dir(_) => "dir",
        Prior::Archive { .. } => "archive",
        Prior::Line { .. } => "line",
        Prior::Hostname { .. } => "hostname",
        Prior::Sysctl { .. } => "sysctl",
        Prior::KernelModule { .. } => "module",
        Prior::Swap { .. } => "swap",
        Prior::Package { .. } => "package",
        Prior::Service { .. } => "service",
        Prior::Firewall { .. } => "firewall",
        Prior::EnvPath(_) => "path",
        Prior::Image { .. } => "image",
        Prior::Kubeadm { .. } => "kubeadm",
        Prior::Registry { .. } => "registry",
        Prior::ComputerName { .. } => "computer-name",
        Prior::WindowsService => "windows-service",
        Prior::Feature { .. } => "feature",
        Prior::HnsNetwork { .. } => "hns-network",
        Prior::Traces { .. } => "traces",
        Prior::Nothing => "nothing",
    };
    let name = |receipt: &Receipt| match &receipt.entry {
        Entry::Opened { .. } => "opened",
        Entry::Intent { prior: it, .. } => prior(it),
        Entry::Done { .. } => "done",
        Entry::Kept { .. } => "kept",
        Entry::Reverted { .. } => "reverted",
    };
    all_seen(
        receipts.iter().map(name),
        "opened done kept reverted file-none file-file file-link dir archive line hostname sysctl module swap \
         package service firewall path image kubeadm nothing registry computer-name windows-service feature \
         hns-network traces",
    );
    let resources = receipts.iter().filter_map(|receipt| match &receipt.entry {
        Entry::Intent { resource, .. } => Some(kind(resource)),
        _ => None,
    });
    all_seen(resources, KINDS);
}

/// Written before `masks` was added.
#[test]
fn older_receipts_lack_newer_fields() {
    let old = r#"{"swap":{"fstab":{"path":"/etc/fstab","was":null},"zram":{"path":"/z","was":null},"active":[],"units":[]}}"#;
    assert!(matches!(serde_json::from_str(old), Ok(Prior::Swap { masks, .. }) if masks.is_empty()));
}

/// What must not be written down is not.
#[test]
fn redacted_resources_hold_no_secret() {
    let requests = REQUESTS
        .replace(r#"{"secret":""}"#, r#"{"secret":"hunter2"}"#)
        .replace(r#""token":"""#, r#""token":"hunter2""#)
        .replace("kind: Namespace", "kind: Secret, data: hunter3");
    for request in round_trip::<Request>(&requests) {
        let Mode::Apply { resources, .. } = request.mode else { continue };
        assert!(serde_json::to_string(&resources).is_ok_and(|text| text.contains("hunter2")));
        let redacted: Vec<_> = resources.iter().map(Resource::redacted).collect();
        assert!(serde_json::to_string(&redacted).is_ok_and(|text| !text.contains("hunter")));
        assert!(!format!("{resources:?}").contains("hunter2"));
    }
}

#[test]
fn first_boots() {
    let all = round_trip::<FirstBoot>(FIRST_BOOTS);
    assert!(all.iter().all(|it| it.version == FIRST_BOOT_VERSION));
    assert!(!format!("{all:?}").contains("BEGIN"), "a host key can be printed");
}
