//! The protocol, with a node program played by `node.sh`.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use nix::sys::signal::Signal;
use swdt_core::{
    Error,
    event::{EventKind, Reporter},
    remote::{
        Agent, AgentBinary, AgentOptions, BoxFuture, Connect, Local, SshConnector, SshOptions, Transport,
    },
};
use swdt_wire::{Mode, NodeEvent, NodeEventKind, NodeFailure, Owner, Request, Summary};
use tempfile::TempDir;

use super::sshd::{Sshd, me, recorder};

const NODE: &str = include_str!("node.sh");

/// A directory for the node program, and what it shall play.
struct Stage {
    dir: TempDir,
    heard: Arc<Mutex<Vec<EventKind>>>,
    reporter: Reporter,
}

impl Stage {
    fn new(play: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        fs::write(dir.path().join("bin/play"), play).unwrap();
        let (reporter, heard) = recorder();
        Self { dir, heard, reporter }
    }

    fn bin(&self, name: &str) -> PathBuf {
        self.dir.path().join("bin").join(name)
    }

    fn agent(&self, connector: Arc<dyn Connect>) -> Agent {
        self.agent_of(connector, NODE)
    }

    fn agent_of(&self, connector: Arc<dyn Connect>, program: &str) -> Agent {
        let options = AgentOptions {
            os: swdt_core::spec::OsFamily::Linux,
            elevate: Some(false),
            bin_dir: self.bin("").display().to_string().trim_end_matches('/').to_owned(),
            patience: Duration::from_secs(10),
            reporter: self.reporter.clone(),
        };
        Agent::new(connector, Arc::new(AgentBinary::new(program.into())), options).unwrap()
    }

    fn here(&self) -> Agent {
        self.agent(Arc::new(Local::new(me())))
    }

    /// Over SSH, with short keepalives.
    fn over(&self, sshd: &Sshd) -> Agent {
        let mut options = sshd.options();
        options.timing.keepalive = Duration::from_millis(200);
        options.timing.missed = 2;
        self.agent(Arc::new(SshConnector::new(options, Reporter::silent())))
    }

    fn asked(&self) -> Vec<Request> {
        let text = fs::read_to_string(self.bin("asked")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn heard(&self) -> String {
        format!("{:?}", self.heard.lock().unwrap())
    }
}

fn facts() -> Request {
    Request::new("demo", "run-1", Mode::Facts)
}

fn apply() -> Request {
    Request::new("demo", "run-1", Mode::Apply { resources: Vec::new(), owner: Owner { who: "me".into() } })
}

/// The sequence numbers that came, and the end.
async fn ask(agent: &Agent, request: &Request) -> (Vec<u64>, Result<Summary, Error>) {
    let mut events = Vec::<NodeEvent>::new();
    let result = agent.request(request, &mut |event| events.push(event)).await;
    if !events.is_empty() {
        assert!(matches!(events[0].kind, NodeEventKind::Hello { .. }));
        let hellos = events.iter().filter(|event| matches!(event.kind, NodeEventKind::Hello { .. }));
        assert_eq!(hellos.count(), 1);
    }
    (events.iter().map(|event| event.seq).collect(), result)
}

#[tokio::test]
async fn installed_once_then_one_exec_a_request() {
    let stage = Stage::new("hello; note 1; finished 2");
    let agent = stage.here();
    let (seqs, summary) = ask(&agent, &facts()).await;
    assert_eq!((seqs, summary.unwrap().failure), (vec![0, 1, 2], None));
    // Tried, installed, tried again.
    assert_eq!(agent.execs(), 3);
    ask(&agent, &facts()).await.1.unwrap();
    assert_eq!(agent.execs(), 4);
    // Another process finds it there at once.
    let another = stage.here();
    ask(&another, &facts()).await.1.unwrap();
    assert_eq!(another.execs(), 1);
    assert_eq!(stage.asked(), [facts(), facts(), facts()]);
    let left: Vec<_> = fs::read_dir(stage.bin("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[tokio::test]
async fn noise_before_the_protocol_is_log() {
    let stage = Stage::new("echo 'not json'; hello; echo 'some text'; note 1; echo oops >&2; finished 2");
    let noise = r#"echo welcome; echo '{"seq":0,"elapsedMs":0,"kind":{"hello":{"wire":9,"version":"t","run":"other"}}}'; echo '{"seq":1}'; printf 'no end of line'; sh -c "$SSH_ORIGINAL_COMMAND""#;
    let sshd = Sshd::with(&["ed25519"], &format!("ForceCommand {noise}"));
    let agent = stage.over(&sshd);
    let (seqs, summary) = ask(&agent, &facts()).await;
    summary.unwrap();
    assert_eq!(seqs, [0, 1, 2]);
    for line in ["welcome", "other", "no end of line", "some text", "not json"] {
        assert!(stage.heard().contains(line), "{line}: {}", stage.heard());
    }
}

#[tokio::test]
async fn another_wire_version_is_refused() {
    for play in ["hello 7", "hello; finished 1 '{\"wire\":{\"node\":7}}'"] {
        let stage = Stage::new(play);
        let error = ask(&stage.here(), &facts()).await.1.unwrap_err();
        assert!(error.message.contains("speaks wire version 7, this swdt 1"), "{error}");
    }
}

#[tokio::test]
async fn a_program_that_does_not_run_is_told() {
    let stage = Stage::new("echo broken >&2; exit 3");
    let error = ask(&stage.here(), &facts()).await.1.unwrap_err();
    assert_eq!(error.id(), "node-program-refused");
    assert!(error.message.contains("does not run on this machine (exit code 3)"), "{error}");
    assert_eq!(error.output, ["broken"]);

    let agent = stage.agent_of(Arc::new(Local::new(me())), "\x7fELF, but not really");
    let error = ask(&agent, &facts()).await.1.unwrap_err();
    assert!(
        error.message.contains("not made for the processor") || error.message.contains("does not run"),
        "{error}"
    );
}

#[tokio::test]
async fn missing_events_are_not_passed_over() {
    let stage = Stage::new("hello; note 1; note 3; finished 4");
    let (seqs, result) = ask(&stage.here(), &facts()).await;
    assert_eq!(seqs, [0, 1]);
    assert_eq!(result.unwrap_err().id(), "internal");
}

#[tokio::test]
async fn an_endless_line_is_refused() {
    let stage = Stage::new("hello; head -c 9000000 /dev/zero | tr '\\0' x; sleep 100");
    let error = ask(&stage.here(), &facts()).await.1.unwrap_err();
    assert!(error.message.contains("a line of more than"), "{error}");
}

#[tokio::test]
async fn a_lost_connection_during_facts_is_an_error() {
    let stage = Stage::new("hello; note 1; sleep .3; kill -9 $PPID; sleep 5");
    let sshd = Sshd::start();
    let (seqs, result) = ask(&stage.over(&sshd), &facts()).await;
    assert_eq!(seqs, [0, 1]);
    assert_eq!(result.unwrap_err().id(), "connection-lost");
}

/// The session's sshd is killed in the middle, twice; no event is lost or comes twice.
#[tokio::test]
async fn a_lost_connection_during_apply_goes_on() {
    let stage = Stage::new(
        r#"case $request in
        *'"apply"'*) hello; note 1; note 2; sleep .2; die ;;
        *) hello; [ "$after" = 2 ] && { note 2; note 3; sleep .2; die; }; note 4; finished 5 ;;
        esac"#,
    );
    let sshd = Sshd::start();
    let die = "die() { kill -9 $(cat \"$dir/victim\"); sleep 5; }\n";
    let play = fs::read_to_string(stage.bin("play")).unwrap();
    // The victim is the sshd of this very connection: the ancestor whose parent is the listener.
    let find = "pid=$$; while p=$(cut -d' ' -f4 /proc/$pid/stat); [ \"$p\" != \"$(cat \"$dir/listener\")\" ]; do pid=$p; done; echo $pid >\"$dir/victim\"\n";
    fs::write(stage.bin("play"), format!("{die}{find}{play}")).unwrap();
    fs::write(stage.bin("listener"), sshd.listener().to_string()).unwrap();
    let agent = stage.over(&sshd);
    let (seqs, summary) = ask(&agent, &apply()).await;
    assert_eq!(summary.unwrap().failure, None);
    assert_eq!(seqs, [0, 1, 2, 3, 4, 5]);
    let modes: Vec<_> = stage.asked().into_iter().map(|request| request.mode).collect();
    let attach = |after| Mode::Attach { run: "run-1".into(), after };
    assert_eq!(modes, [apply().mode, attach(2), attach(3)]);
    assert!(stage.heard().contains("was lost"), "{}", stage.heard());
    assert!(stage.heard().contains("again"), "{}", stage.heard());
}

/// The machine falls silent; the keepalive notices, and the run is found again.
#[tokio::test]
async fn silence_during_apply_is_a_lost_connection() {
    let stage = Stage::new(
        r#"case $request in
        *'"apply"'*) hello; note 1; sleep 1000 ;;
        *) hello; note 2; finished 3 ;;
        esac"#,
    );
    let sshd = Sshd::start();
    let agent = stage.over(&sshd);
    let stop = async {
        while stage.asked().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        sshd.signal_sessions(Signal::SIGSTOP);
    };
    let request = apply();
    let ((seqs, summary), ()) = tokio::join!(ask(&agent, &request), stop);
    summary.unwrap();
    assert_eq!(seqs, [0, 1, 2, 3]);
    assert!(stage.heard().contains("no sign of life"), "{}", stage.heard());
}

/// The first exec dies before the request arrives: nobody knows the run, so it is sent again, once.
#[tokio::test]
async fn a_request_that_never_arrived_is_sent_again() {
    let unknown = "hello; finished 1 '\"unknownRun\"'";
    let stage = Stage::new(&format!(
        r#"n=$(wc -l <"$dir/asked"); case $n in 1) hello; exit 1 ;; 2) {unknown} ;; *) hello; note 1; finished 2 ;; esac"#
    ));
    let (seqs, summary) = ask(&stage.here(), &apply()).await;
    assert_eq!(summary.unwrap().failure, None);
    assert_eq!(seqs, [0, 1, 2]);
    assert_eq!(stage.asked().len(), 3);
    assert_eq!(stage.asked()[2], apply());

    let stage =
        Stage::new(&format!(r#"case $request in *'"apply"'*) hello; exit 1 ;; *) {unknown} ;; esac"#));
    let (_, summary) = ask(&stage.here(), &apply()).await;
    assert_eq!(summary.unwrap().failure, Some(NodeFailure::UnknownRun));
    assert_eq!(stage.asked().len(), 4);
}

#[tokio::test]
async fn a_run_that_died_is_reported_as_it_is() {
    let stage = Stage::new(
        r#"case $request in *'"apply"'*) hello; note 1; exit 1 ;; *) hello; finished 1 '"died"' ;; esac"#,
    );
    let (seqs, summary) = ask(&stage.here(), &apply()).await;
    assert_eq!(summary.unwrap().failure, Some(NodeFailure::Died));
    assert_eq!(seqs, [0, 1, 1]);
}

#[tokio::test]
async fn blobs_are_stored_by_hash() {
    let stage = Stage::new("hello; finished 1");
    let sshd = Sshd::start();
    let agent = stage.over(&sshd);
    ask(&agent, &facts()).await.1.unwrap();
    let mut blobs = Vec::new();
    for size in [0_usize, 1, 300_000, 5_000_000] {
        let path = stage.dir.path().join(format!("blob-{size}"));
        let bytes = vec![u8::try_from(size % 256).unwrap(); size];
        fs::write(&path, &bytes).unwrap();
        blobs.push((AgentBinary::new(bytes).sha256().to_owned(), path));
    }
    agent.put_all(blobs.clone()).await.unwrap();
    for (sha256, path) in &blobs {
        assert_eq!(fs::read(stage.bin(&format!("put.{sha256}"))).unwrap(), fs::read(path).unwrap());
    }

    let wrong = vec![("0".repeat(64), blobs[1].1.clone()), ("not-a-hash; rm".into(), blobs[1].1.clone())];
    let error = agent.put_all(wrong).await.unwrap_err();
    assert_eq!(error.others.len(), 1);
    let output = [error.output.clone(), error.others[0].output.clone()].concat();
    assert_eq!(output, ["wrong bytes"]);
}

/// Complaints of sudo, said by a sudo of our own that comes first in the PATH.
#[tokio::test]
async fn without_sudo_rights_nothing_is_installed() {
    let stage = Stage::new("hello; finished 1");
    let sshd = Sshd::start();
    let fake = sshd.file("fake");
    fs::create_dir(&fake).unwrap();
    let connector = Arc::new(WithPath { options: sshd.options(), first: fake.clone() });
    let options = |elevate| AgentOptions {
        elevate,
        bin_dir: stage.bin("").display().to_string().trim_end_matches('/').to_owned(),
        ..AgentOptions::default()
    };
    let binary = Arc::new(AgentBinary::new(NODE.into()));
    let agent = |elevate| Agent::new(connector.clone(), binary.clone(), options(elevate)).unwrap();

    let sudo = |script: &str| {
        fs::write(fake.join("sudo"), format!("#!/bin/sh\n{script}\n")).unwrap();
        std::process::Command::new("chmod").arg("755").arg(fake.join("sudo")).status().unwrap();
    };
    sudo("echo 'sudo: a password is required' >&2; exit 1");
    let error = ask(&agent(Some(true)), &facts()).await.1.unwrap_err();
    assert_eq!(error.id(), "sudo-refused");
    assert!(error.hints[0].contains(&format!("{} ALL=(ALL:ALL) NOPASSWD: ALL", me())), "{:?}", error.hints);
    assert!(!stage.bin(binary.sha256()).exists());

    // And one that works: the same line, elevated.
    sudo("[ \"$1\" = -n ] && shift; exec \"$@\"");
    let agent = agent(Some(true));
    ask(&agent, &facts()).await.1.unwrap();
    assert_eq!(agent.execs(), 3);
}

/// Puts a directory in front of the PATH of every command.
struct WithPath {
    options: SshOptions,
    first: PathBuf,
}

struct PathTransport(Arc<dyn Transport>, PathBuf);

impl Connect for WithPath {
    fn connect(&self, patience: Duration) -> BoxFuture<'_, swdt_core::Result<Arc<dyn Transport>>> {
        Box::pin(async move {
            let ssh = SshConnector::new(self.options.clone(), Reporter::silent()).connect(patience).await?;
            Ok(Arc::new(PathTransport(ssh, self.first.clone())) as Arc<dyn Transport>)
        })
    }
}

impl Transport for PathTransport {
    fn exec<'a>(&'a self, command: &'a str) -> BoxFuture<'a, swdt_core::Result<swdt_core::remote::Running>> {
        Box::pin(async move {
            self.0.exec(&format!("PATH={}:$PATH; export PATH; {command}", self.1.display())).await
        })
    }

    fn terminal<'a>(
        &'a self,
        command: Option<&'a str>,
        term: &'a str,
        size: swdt_core::remote::TerminalSize,
    ) -> BoxFuture<'a, swdt_core::Result<swdt_core::remote::Running>> {
        self.0.terminal(command, term, size)
    }

    fn leave<'a>(&'a self, name: &'a str, bytes: Option<&'a [u8]>) -> BoxFuture<'a, swdt_core::Result<()>> {
        self.0.leave(name, bytes)
    }

    fn place(&self) -> &str {
        self.0.place()
    }

    fn user(&self) -> &str {
        self.0.user()
    }

    fn is_alive(&self) -> bool {
        self.0.is_alive()
    }
}
