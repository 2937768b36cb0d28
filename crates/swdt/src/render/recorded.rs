//! Runs as they are reported, shortened.

use swdt_core::event::{Event, EventKind};
use swdt_wire::{Kind, Line, Outcome, Resource};

/// Gives events their numbers; `(node, milliseconds, what)`.
fn run(command: &str, nodes: &[&str], what: Vec<(&str, u64, EventKind)>) -> Vec<Event> {
    let started = EventKind::Started {
        run: "20260101t000000-0000".into(),
        command: command.into(),
        cluster: "my-cluster".into(),
        nodes: nodes.iter().map(ToString::to_string).collect(),
    };
    let events = std::iter::once(("", 0, started)).chain(what);
    let event = |(seq, (node, elapsed_ms, kind)): (u64, (&str, u64, EventKind))| Event {
        seq,
        at: "2026-01-01T00:00:00Z".parse().unwrap(),
        elapsed_ms,
        node: Some(node.to_owned()).filter(|node| !node.is_empty()),
        kind,
    };
    (0..).zip(events).map(event).collect()
}

fn phase(id: &str, title: &str) -> EventKind {
    EventKind::PhaseStarted { phase: id.into(), title: title.into(), usual_ms: None }
}

fn over(id: &str, took_ms: u64) -> EventKind {
    EventKind::PhaseDone { phase: id.into(), took_ms }
}

fn doing(what: &str) -> EventKind {
    EventKind::Doing { what: what.into() }
}

fn connected(address: &str) -> EventKind {
    EventKind::Connected { system: "Debian GNU/Linux 12 (bookworm)".into(), address: address.into() }
}

fn began(id: &str) -> EventKind {
    EventKind::ResourceStarted { id: id.into() }
}

fn done(id: &str, outcome: Outcome, writes: u64) -> EventKind {
    EventKind::ResourceDone { id: id.into(), outcome, writes }
}

fn warning(message: &str) -> EventKind {
    EventKind::Warning { message: message.into() }
}

fn node_done(writes: u64) -> EventKind {
    EventKind::NodeDone { writes, execs: 1 }
}

fn finished(ok: bool, writes: u64) -> EventKind {
    EventKind::Finished { ok, writes, error: None }
}

/// The nodes speak in another order than that of the file.
pub(super) fn create() -> Vec<Event> {
    let output =
        EventKind::Output { id: Some("prepare/packages".into()), line: "Unpacking socat …".into() };
    run(
        "create",
        &["cp1", "worker-with-a-name"],
        vec![
            ("", 1, phase("machines", "Machines")),
            ("", 2, doing("building the root of Debian 12")),
            ("worker-with-a-name", 10, doing("making the machine")),
            ("cp1", 11, doing("making the machine")),
            ("cp1", 20, doing("starting the machine")),
            ("", 1600, over("machines", 1599)),
            ("", 1601, phase("connect", "Connect")),
            ("worker-with-a-name", 1602, doing("connecting")),
            ("cp1", 1603, doing("connecting")),
            ("worker-with-a-name", 1700, connected("root@10.0.0.11:22")),
            ("cp1", 1701, connected("root@10.0.0.10:22")),
            ("", 1702, over("connect", 101)),
            ("", 1703, phase("preflight", "Preflight")),
            ("cp1", 1704, warning("1 CPU is little for a control plane")),
            ("", 1705, over("preflight", 2)),
            ("", 1706, phase("prepare", "Prepare")),
            ("cp1", 1707, EventKind::NodePhaseStarted { phase: "prepare".into(), resources: 2 }),
            (
                "worker-with-a-name",
                1707,
                EventKind::NodePhaseStarted { phase: "prepare".into(), resources: 1 },
            ),
            ("cp1", 1710, began("prepare/hosts/cp1")),
            ("worker-with-a-name", 1711, began("prepare/packages")),
            ("worker-with-a-name", 1711, output),
            ("worker-with-a-name", 1713, done("prepare/packages", Outcome::Changed, 12)),
            ("worker-with-a-name", 1713, EventKind::NodePhaseDone { phase: "prepare".into(), took_ms: 6 }),
            ("cp1", 1714, done("prepare/hosts/cp1", Outcome::Changed, 1)),
            ("cp1", 1714, began("prepare/firewall")),
            ("cp1", 1715, done("prepare/firewall", Outcome::Unchanged, 0)),
            ("", 1800, over("prepare", 94)),
            ("cp1", 1801, node_done(1)),
            ("worker-with-a-name", 1801, node_done(12)),
            ("", 1900, finished(true, 13)),
        ],
    )
}

/// The same again, when everything is true.
pub(super) fn again() -> Vec<Event> {
    run(
        "create",
        &["cp1"],
        vec![
            ("", 1, phase("connect", "Connect")),
            ("cp1", 200, connected("root@10.0.0.10:22")),
            ("", 201, over("connect", 200)),
            ("cp1", 250, node_done(0)),
            ("", 256, finished(true, 0)),
        ],
    )
}

pub(super) fn failure() -> Vec<Event> {
    let failed = EventKind::NodeFailed { message: "apt-get ended with 100".into() };
    run(
        "create",
        &["cp1", "w1"],
        vec![
            ("", 1, phase("prepare", "Prepare")),
            ("cp1", 10, began("prepare/packages")),
            ("w1", 11, began("prepare/packages")),
            ("cp1", 900, failed),
            ("w1", 2000, done("prepare/packages", Outcome::Changed, 3)),
            ("", 2100, finished(false, 3)),
        ],
    )
}

pub(super) fn destroy() -> Vec<Event> {
    let kept = Outcome::Kept("somebody changed it since".into());
    let line = Line { path: "/etc/hosts".into(), line: "10.0.0.10 cp1 # swdt a".into() };
    let left = vec![Resource::new("prepare/hosts/cp1", Kind::Line(line))];
    let forgotten = EventKind::Forgotten { why: "no route to host".into(), left };
    run(
        "destroy",
        &["cp1", "w1"],
        vec![
            ("", 1, phase("undo", "Undo")),
            ("cp1", 2, began("prepare/firewall")),
            ("cp1", 3, done("prepare/firewall", kept, 0)),
            ("cp1", 4, done("prepare/hosts/cp1", Outcome::Reverted, 1)),
            ("w1", 4, forgotten),
            ("", 5, over("undo", 4)),
            ("cp1", 5, node_done(1)),
            ("", 6, phase("remove", "Remove")),
            ("", 7, over("remove", 1)),
            ("", 8, finished(true, 1)),
        ],
    )
}

/// Many machines that boot at once.
pub(super) fn many(number: usize) -> Vec<Event> {
    let names: Vec<String> = (1..=number).map(|index| format!("w{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut what = vec![("", 1, phase("machines", "Machines"))];
    what.extend(names.iter().map(|name| (*name, 2, doing("booting"))));
    what.extend([("", 1999, over("machines", 1998)), ("", 2000, finished(true, 0))]);
    run("create", &names, what)
}
