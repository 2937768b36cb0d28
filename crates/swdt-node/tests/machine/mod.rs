//! A scratch machine, on which the real program is asked.
#![allow(dead_code, reason = "every test program uses its share")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use swdt_wire::{
    Content, File, Kind, Mode, NodeEvent, NodeEventKind, NodeFailure, Owner, Request, Resource, Summary,
};

/// A scratch machine.
pub(crate) struct Machine {
    pub(crate) root: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("var/lib")).unwrap();
        fs::create_dir_all(root.path().join("etc")).unwrap();
        Self { root }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("var/lib/swdt")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_swdt-node"));
        command.arg("--root").arg(self.root.path()).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &[&str], input: &[u8]) -> Output {
        let mut child = self.command(words).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    pub(crate) fn serve(&self, input: &[u8]) -> Vec<NodeEvent> {
        let output = self.run(&["serve"], input);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with('\n'), "{text:?}");
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn ask(&self, request: &Request) -> Vec<NodeEvent> {
        self.serve(&line(request))
    }

    pub(crate) fn apply(&self, run: &str, resources: Vec<Resource>) -> Vec<NodeEvent> {
        self.ask(&request("one", run, apply(resources)))
    }

    /// Begins a request and leaves it going on.
    pub(crate) fn begin(&self, request: &Request) -> Child {
        let mut child = self.command(&["serve"]).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&line(request)).unwrap();
        child
    }

    pub(crate) fn fault(&self, at: &str, point: &str, action: &str) {
        let fault = format!(r#"{{"at":"{at}","point":"{point}","action":"{action}"}}"#);
        fs::create_dir_all(self.faults()).unwrap();
        fs::write(self.faults().join("it.json"), fault).unwrap();
    }

    pub(crate) fn faults(&self) -> PathBuf {
        swdt_node::faults::dir(&self.state())
    }

    /// Ends a run that a fault made hang, as the kernel would in need of memory.
    pub(crate) fn kill_run(&self) {
        let holder = swdt_node::lock::holder(&self.state().join("lock")).unwrap().unwrap();
        let pid = nix::unistd::Pid::from_raw(i32::try_from(holder.pid).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
}

pub(crate) fn line(request: &Request) -> Vec<u8> {
    let mut line = serde_json::to_vec(request).unwrap();
    line.push(b'\n');
    line
}

pub(crate) fn request(cluster: &str, run: &str, mode: Mode) -> Request {
    Request::new(cluster, run, mode)
}

pub(crate) fn owner() -> Owner {
    Owner { who: "me@here".into() }
}

pub(crate) fn apply(resources: Vec<Resource>) -> Mode {
    Mode::Apply { resources, owner: owner() }
}

pub(crate) fn revert() -> Mode {
    Mode::Revert { force: false, owner: owner() }
}

pub(crate) fn file(name: &str, text: &str) -> Resource {
    let content = Content::Text(text.into());
    Resource::new(
        format!("test/{name}"),
        Kind::File(File { path: format!("/etc/{name}"), content, mode: 0o644 }),
    )
}

pub(crate) fn files(names: &[&str]) -> Vec<Resource> {
    names.iter().map(|name| file(name, name)).collect()
}

pub(crate) fn summary(events: &[NodeEvent]) -> &Summary {
    match &events.last().unwrap().kind {
        NodeEventKind::Finished(summary) => summary,
        other => panic!("the last event is {other:?}"),
    }
}

pub(crate) fn failure(events: &[NodeEvent]) -> &NodeFailure {
    summary(events).failure.as_ref().unwrap()
}

pub(crate) fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(20), "waited for {what}");
        sleep(Duration::from_millis(5));
    }
}

/// Names of the events, short.
pub(crate) fn names(events: &[NodeEvent]) -> Vec<String> {
    let name = |event: &NodeEvent| match &event.kind {
        NodeEventKind::Hello { run, .. } => format!("hello {run}"),
        NodeEventKind::Facts(_) => "facts".into(),
        NodeEventKind::Receipts { cluster, live } => {
            let ids: Vec<_> = live.iter().map(|resource| resource.id.as_str()).collect();
            format!("receipts {cluster:?} {}", ids.join(" "))
        }
        NodeEventKind::Checked(checked) => format!("checked {} {:?}", checked.id, checked.status),
        NodeEventKind::Started { id } => format!("started {id}"),
        NodeEventKind::Output { line, .. } => format!("output {line}"),
        NodeEventKind::Note { message, .. } => format!("note {message}"),
        NodeEventKind::Done { id, outcome, writes } => format!("done {id} {outcome:?} {writes}"),
        NodeEventKind::Answer { code, .. } => format!("answer {code:?}"),
        NodeEventKind::Finished(summary) => format!("finished {} {:?}", summary.writes, summary.failure),
    };
    events.iter().map(|event| format!("{} {}", event.seq, name(event))).collect()
}
