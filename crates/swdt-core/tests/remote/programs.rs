//! Running programs, over SSH and here.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use swdt_core::remote::{Chunk, ExitStatus, Local, Running, TerminalSize, Transport};

use super::sshd::{Sshd, connect, me};

async fn everything(mut running: Running) -> (String, String, ExitStatus) {
    running.stdin.close().await;
    let said = running.collect(b"", 1 << 20).await;
    (String::from_utf8(said.stdout).unwrap(), String::from_utf8(said.stderr).unwrap(), said.exit)
}

async fn behaves(transport: &dyn Transport) {
    // Streams apart, code true.
    let ended = everything(transport.exec("echo out; echo err >&2; exit 7").await.unwrap()).await;
    assert_eq!(ended, ("out\n".into(), "err\n".into(), ExitStatus::Code(7)));
    let (_, _, exit) = everything(transport.exec("sh -c 'kill -9 $$'").await.unwrap()).await;
    assert!(
        matches!(&exit, ExitStatus::Signal(name) if name == "KILL") || exit == ExitStatus::Code(137),
        "{exit}"
    );
    let (_, _, exit) = everything(transport.exec("/no/such/program").await.unwrap()).await;
    assert_eq!(exit, ExitStatus::Code(127));

    // Output comes when it is said, not at the end.
    let mut running = transport.exec("echo one; read line; echo \"$line\"").await.unwrap();
    assert_eq!(running.output.next().await, Some(Chunk::Stdout(b"one\n".into())));
    running.stdin.write(b"two\n").await.unwrap();
    assert_eq!(running.output.next().await, Some(Chunk::Stdout(b"two\n".into())));
    assert_eq!(running.output.next().await, Some(Chunk::Exit(ExitStatus::Code(0))));
    assert_eq!(running.output.next().await, None);

    // More than any pipe holds, in and out at once.
    let bytes: Vec<u8> = (0..10_u32 << 20).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let said = transport.exec("cat").await.unwrap().collect(&bytes, 20 << 20).await;
    assert!(said.exit.success());
    assert!(said.stdout == bytes);

    // A program that reads nothing does not hold us up.
    let said = transport.exec("exit 3").await.unwrap().collect(&bytes, 1000).await;
    assert_eq!(said.exit, ExitStatus::Code(3));
}

#[tokio::test]
async fn over_ssh() {
    let sshd = Sshd::start();
    let ssh = connect(&sshd.options()).await.unwrap();
    assert_eq!(ssh.place(), format!("{}@127.0.0.1:{}", me(), sshd.port));
    behaves(&ssh).await;
}

#[tokio::test]
async fn here() {
    behaves(&Local::new(me())).await;
}

#[tokio::test]
async fn many_at_once_on_one_connection() {
    let sshd = Sshd::with(&["ed25519"], "MaxSessions 30");
    let ssh = connect(&sshd.options()).await.unwrap();
    let runs = (0..20).map(async |i: u32| {
        let said = ssh.exec("cat").await.unwrap().collect(i.to_string().as_bytes(), 100).await;
        assert_eq!(said.stdout, i.to_string().as_bytes());
    });
    let mut runs: Vec<_> = runs.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        runs.retain_mut(|run| run.as_mut().poll(context).is_pending());
        if runs.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[tokio::test]
async fn a_terminal_has_a_size() {
    let sshd = Sshd::start();
    let ssh = connect(&sshd.options()).await.unwrap();
    let mut shell = ssh.terminal(None, "xterm", TerminalSize { columns: 91, rows: 33 }).await.unwrap();
    shell.stdin.write(b"stty size; read x; stty size; exit 5\n").await.unwrap();
    let mut text = String::new();
    let mut resized = false;
    let exit = loop {
        match shell.output.next().await.unwrap() {
            Chunk::Stdout(bytes) | Chunk::Stderr(bytes) => text += &String::from_utf8_lossy(&bytes),
            Chunk::Exit(exit) => break exit,
        }
        if !resized && text.contains("33 91") {
            resized = true;
            shell.stdin.resize(TerminalSize { columns: 120, rows: 50 });
            tokio::time::sleep(Duration::from_millis(300)).await;
            shell.stdin.write(b"\n").await.unwrap();
        }
    };
    assert!(text.contains("50 120"), "{text}");
    assert_eq!(exit, ExitStatus::Code(5));
}

#[tokio::test]
async fn silence_is_noticed() {
    let sshd = Sshd::start();
    let mut options = sshd.options();
    options.timing.keepalive = Duration::from_millis(200);
    options.timing.missed = 2;
    let ssh = connect(&options).await.unwrap();
    let running = ssh.exec("sleep 1000").await.unwrap();
    let began = Instant::now();
    sshd.signal_sessions(Signal::SIGSTOP);
    let (_, _, exit) = everything(running).await;
    assert_eq!(exit, ExitStatus::Lost("the machine gives no sign of life".into()));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(!ssh.is_alive());
    let error = ssh.exec("true").await.unwrap_err();
    assert!(error.message.contains("is lost: the machine gives no sign of life"), "{error}");
}

#[tokio::test]
async fn silence_is_noticed_during_uploads() {
    let sshd = Sshd::start();
    let mut options = sshd.options();
    options.timing.keepalive = Duration::from_millis(200);
    options.timing.missed = 2;
    let ssh = connect(&options).await.unwrap();
    // So many that their windows together are more than the sockets hold: the writing itself stalls.
    let mut programs = Vec::new();
    for _ in 0..9 {
        let mut running = ssh.exec("cat >/dev/null").await.unwrap();
        running.stdin.write(b"begin").await.unwrap();
        programs.push(running);
    }
    sshd.signal_sessions(Signal::SIGSTOP);
    let mut uploads = tokio::task::JoinSet::new();
    for running in programs {
        uploads.spawn(async move { running.collect(&vec![0; 4 << 20], 1000).await.exit });
    }
    let exits = tokio::time::timeout(Duration::from_secs(15), uploads.join_all()).await;
    for exit in exits.expect("a dead connection went unnoticed") {
        assert!(matches!(exit, ExitStatus::Lost(_)), "{exit}");
    }
}

#[tokio::test]
async fn a_killed_server_is_a_lost_connection() {
    let sshd = Sshd::start();
    let ssh = connect(&sshd.options()).await.unwrap();
    let mut running = ssh.exec("echo up; sleep 1000").await.unwrap();
    assert_eq!(running.output.next().await, Some(Chunk::Stdout(b"up\n".into())));
    sshd.signal_sessions(Signal::SIGKILL);
    assert!(matches!(running.output.next().await, Some(Chunk::Exit(ExitStatus::Lost(_)))));
}

#[tokio::test]
async fn a_program_nobody_listens_to_is_hung_up_on() {
    let sshd = Sshd::start();
    let ssh = connect(&sshd.options()).await.unwrap();
    for transport in [&ssh as &dyn Transport, &Local::new(me())] {
        let marker = sshd.file("marker");
        let _ = std::fs::remove_file(&marker);
        let command = format!(
            "trap 'exit' HUP PIPE; echo up; while sleep .1; do echo x; touch {}; done",
            marker.display()
        );
        let mut running = transport.exec(&command).await.unwrap();
        assert_eq!(running.output.next().await, Some(Chunk::Stdout(b"up\n".into())));
        drop(running);
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let _ = std::fs::remove_file(&marker);
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(!marker.exists(), "{} still runs it", transport.place());
    }
}
