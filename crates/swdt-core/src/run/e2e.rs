//! Tests of Kubernetes' own, run against a cluster: `e2e.test` of the cluster's version, on this host.
//!
//! On this host and not on the control plane, because that is what the tests expect: an API server and nodes that
//! they reach from outside, and a place for their reports.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::{Host, Sink, kubeconfig, prefetch};
use crate::{
    Error, Result, catalog,
    event::Reporter,
    files::failed,
    id,
    interrupt::Interrupt,
    source::{Piece, Sources, lock::Lock, wants},
    spec::{OsFamily, Platform, Spec},
};

/// What is run when nothing is asked for: pods, probes, volumes, controllers and services, by tests that need no image
/// but agnhost, which every node of ours has, and no shell inside it.
pub const USUAL: &[&str] = &[
    r"\[sig-node\] Pods should get a host IP",
    r"\[sig-node\] Pods should be submitted and removed",
    r"\[sig-node\] Probing container should be restarted with a /healthz http liveness probe",
    r"\[sig-storage\] ConfigMap should be consumable from pods in volume \[NodeConformance\]",
    r"\[sig-storage\] Secrets should be consumable from pods in volume \[NodeConformance\]",
    r"\[sig-storage\] Downward API volume should provide podname only",
    r"\[sig-apps\] ReplicaSet should serve a basic image on each replica with a public image",
    r"\[sig-network\] Proxy version v1 A set of valid responses are returned for both pod and service Proxy",
];

/// What to run, and where to put the reports.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Regular expressions; a test is run if one matches its name. None means [`USUAL`].
    pub focus: Vec<String>,
    /// Regular expressions; a test is not run if one matches.
    pub skip: Vec<String>,
    /// How long all of it may take, as Go writes it: `1h30m`.
    pub timeout: String,
    /// A directory for `junit.xml` and `e2e.log`.
    pub reports: PathBuf,
}

/// One test that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// Its whole name.
    pub name: String,
    /// Did it pass?
    pub ok: bool,
    /// Why not, in the test's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How long it took.
    pub took_ms: u64,
}

/// Runs tests of Kubernetes' own. Every line they print is given to `line`; what was tried comes back, also
/// when some of it failed.
pub async fn e2e(
    host: &Host,
    spec: &Spec,
    choice: &Choice,
    sink: Sink,
    line: &mut (dyn FnMut(&str) + Send),
) -> Result<Vec<Tried>> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Error::new(id::HOST_UNFIT, "Kubernetes' own tests run on Linux on x86-64 only"));
    }
    let (config, silent) = kubeconfig(host, spec).await?;
    if let Some(server) = silent {
        return Err(Error::new(id::API_UNREACHABLE, format!("this host does not reach {server}"))
            .hinted("the tests run on this host, and need to reach the API server and the nodes"));
    }
    fs::create_dir_all(&choice.reports).map_err(|error| failed("make", &choice.reports, &error))?;
    let scratch = Sources::new(host.sources.clone(), Reporter::silent())?.cache().scratch()?;
    let kubeconfig = scratch.path().join("kubeconfig");
    crate::kube::kubeconfig::write(&kubeconfig, &config, &config.json(), false)?;
    let program = program(host, spec, scratch.path(), sink).await?;
    let report = scratch.path().join("report.json");
    let mut command = Command::new(program);
    command
        .args(arguments(spec, choice, &kubeconfig, &report))
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", scratch.path())
        .current_dir(scratch.path());
    let code = follow(command, &choice.reports.join("e2e.log"), &host.interrupt, line).await?;
    host.interrupt.check()?;
    let tried = read(&report, choice)?;
    if tried.is_empty() {
        let message = if code == Some(0) { "no test has such a name" } else { "the tests did not start" };
        return Err(Error::new(id::KUBERNETES_TESTS_NOT_RUN, message)
            .hinted(format!("{} holds what they said", choice.reports.join("e2e.log").display())));
    }
    Ok(tried)
}

/// A table's verdict: an error if something failed.
pub fn verdict(tried: &[Tried]) -> Result<()> {
    let bad: Vec<&str> = tried.iter().filter(|one| !one.ok).map(|one| one.name.as_str()).collect();
    if bad.is_empty() {
        return Ok(());
    }
    let message = format!("{} of {} tests failed: {}", bad.len(), tried.len(), bad.join("; "));
    Err(Error::new(id::KUBERNETES_TESTS_FAILED, message))
}

/// The program of the cluster's version, from wherever it can be had.
async fn program(host: &Host, spec: &Spec, scratch: &Path, sink: Sink) -> Result<PathBuf> {
    let versions = catalog::defaults(&spec.kubernetes)?;
    let want = wants::plain(Piece::E2e, Platform::usual(OsFamily::Linux), &versions);
    let dir = host.dirs.cluster(&spec.name);
    let mut lock = Lock::load(dir.root())?;
    let fetched =
        prefetch::fetch(host.sources.of(spec), vec![want], None, &mut lock, &host.interrupt, sink).await?;
    let found = fetched.iter().flat_map(|fetched| fetched.supply.programs()).next();
    let found = found.ok_or_else(|| Error::new(id::INTERNAL, "no e2e.test was fetched"))?;
    // The cache holds bytes, not programs.
    let program = scratch.join("e2e.test");
    fs::copy(&found.path, &program).map_err(|error| failed("write", &program, &error))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700))
            .map_err(|error| failed("write", &program, &error))?;
    }
    Ok(program)
}

fn arguments(spec: &Spec, choice: &Choice, kubeconfig: &Path, report: &Path) -> Vec<String> {
    let focus: Vec<&str> = if choice.focus.is_empty() {
        USUAL.to_vec()
    } else {
        choice.focus.iter().map(String::as_str).collect()
    };
    let mut arguments = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--provider=skeleton".to_owned(),
        format!("--num-nodes={}", spec.nodes.len()),
        "--disable-log-dump=true".to_owned(),
        "--ginkgo.no-color".to_owned(),
        "--ginkgo.v".to_owned(),
        format!("--ginkgo.timeout={}", choice.timeout),
        format!("--ginkgo.junit-report={}", choice.reports.join("junit.xml").display()),
        format!("--ginkgo.json-report={}", report.display()),
    ];
    arguments.extend(focus.iter().map(|text| format!("--ginkgo.focus={text}")));
    arguments.extend(choice.skip.iter().map(|text| format!("--ginkgo.skip={text}")));
    arguments
}

/// Runs the program to its end; everything it says is kept, and shown line by line.
async fn follow(
    mut command: Command,
    log: &Path,
    interrupt: &Interrupt,
    line: &mut (dyn FnMut(&str) + Send),
) -> Result<Option<i32>> {
    let cannot = |error: std::io::Error| Error::new(id::INTERNAL, format!("cannot run e2e.test: {error}"));
    let mut file = fs::File::create(log).map_err(|error| failed("write", log, &error))?;
    // One pipe for both, or their lines would lose their order.
    let (reader, writer) = std::io::pipe().map_err(cannot)?;
    let second = writer.try_clone().map_err(cannot)?;
    command.stdin(Stdio::null()).stdout(writer).stderr(second).kill_on_drop(true);
    // Of its own, so that a Ctrl-C reaches it once, from us: at the second one it leaves its objects behind.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(cannot)?;
    drop(command);
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        use std::io::BufRead;
        for line in std::io::BufReader::new(reader).lines().map_while(std::result::Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut asked_to_stop = false;
    loop {
        tokio::select! {
            text = lines.recv() => {
                let Some(text) = text else { break };
                writeln!(file, "{text}").map_err(|error| failed("write", log, &error))?;
                line(&text);
            }
            () = interrupt.wait(), if !asked_to_stop => {
                asked_to_stop = true;
                ask_to_stop(&child);
            }
        }
    }
    Ok(child.wait().await.map_err(cannot)?.code())
}

/// It removes what it made in the cluster, and then ends.
fn ask_to_stop(child: &tokio::process::Child) {
    #[cfg(unix)]
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGINT);
    }
    #[cfg(not(unix))]
    let _ = child;
}

/// Ginkgo's own report: one for each suite.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    #[serde(default)]
    spec_reports: Option<Vec<SpecReport>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecReport {
    #[serde(default)]
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    #[serde(default)]
    leaf_node_text: String,
    state: String,
    /// In nanoseconds.
    run_time: u64,
    #[serde(default)]
    failure: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    #[serde(default)]
    message: String,
}

fn read(report: &Path, choice: &Choice) -> Result<Vec<Tried>> {
    let Ok(text) = fs::read_to_string(report) else {
        return Err(Error::new(id::KUBERNETES_TESTS_NOT_RUN, "the tests ended without a report")
            .hinted(format!("{} holds what they said", choice.reports.join("e2e.log").display())));
    };
    parse(&text)
}

pub(crate) fn parse(text: &str) -> Result<Vec<Tried>> {
    let reports: Vec<Report> = serde_json::from_str(text)
        .map_err(|error| Error::new(id::INTERNAL, format!("the report of the tests: {error}")))?;
    let specs = reports.into_iter().flat_map(|report| report.spec_reports.unwrap_or_default());
    // What was not chosen is in the report as well; so is what prepares all of them, if it failed.
    let run = specs.filter(|spec| !matches!(spec.state.as_str(), "skipped" | "pending"));
    let told = run.filter(|spec| spec.leaf_node_type == "It" || spec.state != "passed");
    Ok(told
        .map(|spec| {
            let mut words = spec.container_hierarchy_texts.unwrap_or_default();
            words.push(if spec.leaf_node_text.is_empty() {
                spec.leaf_node_type
            } else {
                spec.leaf_node_text
            });
            Tried {
                name: words.join(" "),
                ok: spec.state == "passed",
                why: spec.failure.map(|failure| failure.message).filter(|message| !message.is_empty()),
                took_ms: spec.run_time / 1_000_000,
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_tells_what_was_run_and_nothing_else() {
        let text = r#"[{"SpecReports":[
            {"ContainerHierarchyTexts":null,"LeafNodeType":"SynchronizedBeforeSuite","LeafNodeText":"","State":"passed","RunTime":1000000},
            {"ContainerHierarchyTexts":["[sig-node] Pods"],"LeafNodeType":"It","LeafNodeText":"should get a host IP","State":"passed","RunTime":2500000000},
            {"ContainerHierarchyTexts":["[sig-node] Pods"],"LeafNodeType":"It","LeafNodeText":"should fly","State":"failed","RunTime":5,"Failure":{"Message":"no wings"}},
            {"ContainerHierarchyTexts":["[sig-node] Pods"],"LeafNodeType":"It","LeafNodeText":"should swim","State":"skipped","RunTime":0}
        ]},{"SpecReports":null}]"#;
        let tried = parse(text).unwrap();
        let names: Vec<_> = tried.iter().map(|one| (one.name.as_str(), one.ok, one.took_ms)).collect();
        assert_eq!(
            names,
            [("[sig-node] Pods should get a host IP", true, 2500), ("[sig-node] Pods should fly", false, 0)]
        );
        assert_eq!(tried[1].why.as_deref(), Some("no wings"));
        assert!(verdict(&tried).unwrap_err().message.contains("1 of 2 tests failed"));
    }

    #[test]
    fn a_suite_that_could_not_begin_is_a_failure() {
        let text = r#"[{"SpecReports":[{"LeafNodeType":"SynchronizedBeforeSuite","State":"timedout","RunTime":0,"Failure":{"Message":"no nodes"}}]}]"#;
        assert!(verdict(&parse(text).unwrap()).is_err());
    }
}
