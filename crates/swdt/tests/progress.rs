//! A run on a terminal: what moves, what keys do, and what Ctrl-C leaves behind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

mod common;

use std::{fs, net::TcpListener};

use common::{Swdt, pty::Terminal};

/// A machine that lets everybody in and never says a word, so that a run stays where it is.
fn mute() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = format!(
        "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nkubernetes: {{version: 1.36.3}}\nnodes:\n  \
         - {{name: cp1, role: control-plane, address: 127.0.0.1, connection: {{user: root, port: {port}}}}}\n"
    );
    (listener, config)
}

#[test]
fn a_run_on_a_terminal_moves_listens_and_gives_it_back() {
    let (_listener, text) = mute();
    let swdt = Swdt::new();
    let config = swdt.config(&text);
    fs::create_dir_all(swdt.data()).unwrap();
    fs::write(
        swdt.data().join("pace.json"),
        r#"{"schema":1,"took":{"create, 1 existing linux":{"connect":[61000]}}}"#,
    )
    .unwrap();
    let mut terminal = Terminal::start(&swdt.command(&["cluster", "create", "--config", &config]), 80, 24);
    assert!(terminal.echoes());
    // Long enough for the time to be worth a word; what it took before is on record.
    terminal.until_all(&[
        "create demo · 1 node",
        "✓ Machines",
        "Connect",
        "s of about 1 min",
        "cp1   connecting",
    ]);
    terminal.until_all(&["l shows output, Ctrl-C stops safely"]);
    assert!(!terminal.echoes(), "keys are not shown");
    terminal.keys("l\r\rxyz");
    terminal.resize(40, 24);
    terminal.until("Ctrl…");
    let screen = terminal.screen();
    assert_eq!(screen.matches("create demo").count(), 1, "{screen}");
    assert!(!screen.contains("xyz"), "{screen}");

    terminal.keys("\u{3}");
    terminal.until("stopping at the next safe point");
    assert!(!terminal.screen().contains("^C"), "{}", terminal.screen());
    terminal.keys("\u{3}");
    terminal.until("left; machines finish the step");
    assert_eq!(terminal.end(), 130);
    assert!(terminal.echoes(), "the terminal is as it was");
    let screen = terminal.screen();
    assert!(!screen.contains("connecting"), "nothing that moves stays: {screen}");
}

#[test]
fn without_history_nothing_is_said_of_the_time_ahead_and_without_colours_there_are_none() {
    let (_listener, text) = mute();
    let mut swdt = Swdt::new();
    let config = swdt.config(&text);
    swdt.set("NO_COLOR", "1");
    let mut terminal = Terminal::start(&swdt.command(&["cluster", "create", "--config", &config]), 80, 24);
    terminal.until_all(&["Connect      3 s", "· l shows output"]);
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!bytes.contains("about") && !bytes.contains("left"), "{bytes}");
    assert!(!bytes.contains("\u{1b}[3") && !bytes.contains("\u{1b}[1m"), "{bytes}");
    terminal.keys("\u{3}\u{3}");
    assert_eq!(terminal.end(), 130);
    assert!(terminal.echoes());
}
