//! A run on a terminal: what moves, what keys do, and what Ctrl-C leaves behind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

mod common;

use std::{fs, net::TcpListener, process::Command};

use common::{Swdt, pty::Terminal};

/// A run that waits for minutes, because an earlier one left work on a machine that does not answer.
fn waiting(swdt: &Swdt) -> Command {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = swdt.config(&format!(
        "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nkubernetes: {{version: 1.36.3}}\nnodes:\n  \
         - {{name: cp1, role: control-plane, address: 127.0.0.1, connection: {{user: root, port: {port}}}}}\n"
    ));
    let create = ["cluster", "create", "--config", &config];
    swdt.run(&create).fails(7, &["refused the connection"]);
    let path = swdt.data().join("clusters/demo/state.json");
    let mut state: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    state["nodes"]["cp1"]["openRun"] = "left".into();
    fs::write(&path, state.to_string()).unwrap();
    swdt.command(&create)
}

#[test]
fn a_run_on_a_terminal_moves_listens_and_gives_it_back() {
    let swdt = Swdt::new();
    let command = waiting(&swdt);
    fs::write(
        swdt.data().join("pace.json"),
        r#"{"schema":1,"took":{"create, 1 existing linux":{"connect":[61000]}}}"#,
    )
    .unwrap();
    let mut terminal = Terminal::start(&command, 80, 24);
    assert!(terminal.echoes());
    // Long enough for the time to be worth a word; what it took before is on record.
    terminal.until_all(&[
        "create demo · 1 node",
        "✓ Machines",
        "Connect",
        "s of about 1 min",
        "cp1   waiting for SSH",
    ]);
    terminal.until_all(&["l shows output, Ctrl-C stops safely"]);
    assert!(!terminal.echoes(), "keys are not shown");
    terminal.keys("l\r\rxyz");
    terminal.until("stops safely");
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
    assert!(!screen.contains("waiting"), "nothing that moves stays: {screen}");
}

#[test]
fn without_history_nothing_is_said_of_the_time_ahead_and_without_colours_there_are_none() {
    let mut swdt = Swdt::new();
    swdt.set("NO_COLOR", "1");
    let command = waiting(&swdt);
    let mut terminal = Terminal::start(&command, 80, 24);
    terminal.until_all(&["waiting for SSH", "s · l shows output"]);
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!bytes.contains("about") && !bytes.contains("left"), "{bytes}");
    assert!(!bytes.contains("\u{1b}[3") && !bytes.contains("\u{1b}[1m"), "{bytes}");
    // Here, and not where the end is looked at: pieces of lines that were drawn while the screen got narrower may stay.
    terminal.resize(40, 24);
    terminal.until("stops s…");
    terminal.keys("\u{3}");
    terminal.until("stopping at the next safe point");
    // Whoever ends processes politely is heard, too: the terminal would stay without echo otherwise.
    terminal.signal("TERM");
    assert_eq!(terminal.end(), 130);
    assert!(terminal.echoes());
}
