//! The private segment of a cluster, for hosts where swdt is not root: a switch of our own, and a QEMU without a machine
//! as the way out. Machines reach each other and the world; the host reaches them through ports of its own loopback.
//!
//! Both are processes that outlive us. Whoever finds one dead starts it again; machines do not notice more than a lost
//! frame.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    time::Duration,
};

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

use super::{
    arguments::Line,
    names::{MachineNames, make_run_dir, run_dir},
    process::{self, QEMU},
    qmp::Qmp,
    switch,
};
use crate::{
    Error, Result, id,
    machine::{Context, files, patience::patience},
};

/// How long the switch may take to be there.
const START: Duration = Duration::from_secs(10);
/// Ports of the loopback that are given out; below what kernels use for connections.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// Who answers for names: the host's own resolver, through the gateway.
const DNS: u8 = 3;
/// What of a machine is reached from the host.
const SSH: u16 = 22;
const API: u16 = 6443;

/// The id of the gateway's process.
const GATEWAY: &str = "gateway";

/// The name of the hidden command that runs the switch.
pub const SWITCH_COMMAND: &str = "machine-switch";

/// Ports of the host by which machines are reached; a machine keeps its own until it is destroyed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Forwards {
    schema: u32,
    /// By node.
    nodes: BTreeMap<String, Forward>,
}

/// Ports of the host's loopback that lead to one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Forward {
    /// To its SSH.
    pub(super) ssh: u16,
    /// To its API server.
    pub(super) api: u16,
    to: Ipv4Addr,
}

impl Forward {
    fn ports(self) -> [(u16, u16); 2] {
        [(self.ssh, SSH), (self.api, API)]
    }

    /// As QEMU writes them.
    fn rules(self) -> [String; 2] {
        self.ports().map(|(port, inside)| format!("tcp:127.0.0.1:{port}-{}:{inside}", self.to))
    }
}

fn file(ctx: &Context) -> PathBuf {
    ctx.cluster_dir.join("forwards.json")
}

/// One change at a time.
fn lock(ctx: &Context) -> Result<std::fs::File> {
    files::lock(&ctx.cluster_dir.join("forwards.lock"))
}

/// Who answers for names on the segment.
pub(super) fn dns(network: Ipv4Net) -> Ipv4Addr {
    let [a, b, c, _] = network.network().octets();
    Ipv4Addr::new(a, b, c, DNS)
}

/// The segment, up; gives where the host reaches the machine.
pub(super) fn ensure(
    ctx: &Context,
    names: &MachineNames,
    network: Ipv4Net,
    gateway: Ipv4Addr,
    address: Ipv4Addr,
) -> Result<Forward> {
    let dir = make_run_dir(ctx)?;
    let _lock = lock(ctx)?;
    let mut forwards = load(ctx)?;
    let known = forwards.nodes.get(&names.node).copied().filter(|known| known.to == address);
    let forward = if let Some(forward) = known {
        forward
    } else {
        let mut taken: Vec<u16> = forwards.nodes.values().flat_map(|node| [node.ssh, node.api]).collect();
        let mut next = || free_port(&names.id, &taken).inspect(|port| taken.push(*port));
        Forward { ssh: next()?, api: next()?, to: address }
    };
    forwards.nodes.insert(names.node.clone(), forward);
    if known.is_none() {
        files::write_json(&file(ctx), &forwards)?;
    }
    start_switch(ctx, &dir)?;
    let runtime = process::runtime(&dir, GATEWAY);
    if !process::runs(&runtime) {
        start_gateway(ctx, &dir, network, gateway, &forwards)?;
    } else if known.is_none() {
        let mut qmp = Qmp::connect(&runtime.qmp)?;
        for rule in forward.rules() {
            let answer = qmp.monitor(&format!("hostfwd_add out {rule}"))?;
            if !answer.is_empty() {
                return Err(Error::new(id::SWITCH_FAILED, format!("the gateway: {answer}")));
            }
        }
    }
    Ok(forward)
}

fn load(ctx: &Context) -> Result<Forwards> {
    Ok(files::read_json(&file(ctx))?.unwrap_or(Forwards { schema: 1, ..Forwards::default() }))
}

/// A port nobody listens on, the same one for the same machine if possible.
fn free_port(id: &str, taken: &[u16]) -> Result<u16> {
    let count = PORTS.end - PORTS.start;
    let first = u32::from_str_radix(id, 16).unwrap_or_default() % u32::from(count);
    let first = u16::try_from(first).unwrap_or_default();
    (0..count)
        .map(|step| PORTS.start + (first + step) % count)
        .find(|port| !taken.contains(port) && free(*port))
        .ok_or_else(|| {
            let message = format!("no port from {} to {} is free on this host", PORTS.start, PORTS.end - 1);
            Error::new(id::ADDRESS_IN_USE, message)
        })
}

/// Machines keep their ports; while the gateway was away, somebody else may have come.
fn ports_are_free(forwards: &Forwards) -> Result<()> {
    let taken = forwards.nodes.iter().flat_map(|(node, forward)| {
        let taken = forward.ports().into_iter().filter(|(port, _)| !free(*port));
        taken.map(move |(port, _)| {
            let message =
                format!("another program listens on port {port} of the loopback, which leads to the machine");
            Error::new(id::ADDRESS_IN_USE, message)
                .on(node)
                .hinted(format!("`ss --listening --tcp --processes 'sport = {port}'` tells which; end it"))
        })
    });
    Error::all(taken.collect()).map_or(Ok(()), Err)
}

fn free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn switch_name(ctx: &Context) -> String {
    ctx.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn start_switch(ctx: &Context, dir: &Path) -> Result<()> {
    if process::find(&switch_name(ctx), dir).is_some() {
        return Ok(());
    }
    let socket = dir.join(switch::SOCKET);
    files::remove_file(&socket)?;
    process::spawn_session(std::process::Command::new(&ctx.program).arg(SWITCH_COMMAND).arg(dir))?;
    patience(START, || socket.exists().then_some(())).ok_or_else(|| {
        Error::new(
            id::SWITCH_FAILED,
            format!(
                "the switch of the machines did not start: {} {SWITCH_COMMAND} {}",
                ctx.program.display(),
                dir.display()
            ),
        )
    })
}

fn start_gateway(
    ctx: &Context,
    dir: &Path,
    network: Ipv4Net,
    gateway: Ipv4Addr,
    forwards: &Forwards,
) -> Result<()> {
    ports_are_free(forwards)?;
    let runtime = process::runtime(dir, GATEWAY);
    files::remove_file(&runtime.pid)?;
    files::remove_file(&runtime.qmp)?;
    files::remove_file(&dir.join(switch::GATEWAY))?;
    process::detached(QEMU, &arguments(&ctx.cluster, dir, network, gateway, forwards))
        .map_err(|error| error.meaning(id::SWITCH_FAILED).saying("QEMU did not start the machines' way out"))
}

/// A QEMU without a machine: a network card that is a router, and a cable to the switch.
fn arguments(
    cluster: &str,
    dir: &Path,
    network: Ipv4Net,
    gateway: Ipv4Addr,
    forwards: &Forwards,
) -> Vec<String> {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let runtime = process::runtime(dir, GATEWAY);
    let (net, host, dns) = (network.to_string(), gateway.to_string(), dns(network).to_string());
    let rules: Vec<_> = forwards.nodes.values().flat_map(|forward| forward.rules()).collect();
    let mut user = vec![
        ("", "user"),
        ("id", "out"),
        ("net", net.as_str()),
        ("host", host.as_str()),
        ("dns", dns.as_str()),
    ];
    user.extend(rules.iter().map(|rule| ("hostfwd", rule.as_str())));
    let name = format!("swdt-{cluster}-gateway");
    let mut line = Line::default();
    line.word("-nodefaults").word("-no-user-config").option("-name", &[("", &name), ("process", &name)]);
    line.option("-machine", &[("", "none")]).option("-display", &[("", "none")]);
    line.option("-netdev", &user);
    line.option(
        "-netdev",
        &[
            ("", "dgram"),
            ("id", "in"),
            ("local.type", "unix"),
            ("local.path", &text(dir.join(switch::GATEWAY))),
            ("remote.type", "unix"),
            ("remote.path", &text(dir.join(switch::SOCKET))),
        ],
    );
    for (id, netdev) in [("h0", "out"), ("h1", "in")] {
        line.option("-netdev", &[("", "hubport"), ("id", id), ("hubid", "0"), ("netdev", netdev)]);
    }
    let qmp = text(runtime.qmp);
    line.option(
        "-chardev",
        &[("", "socket"), ("id", "qmp"), ("path", &qmp), ("server", "on"), ("wait", "off")],
    );
    line.option("-mon", &[("chardev", "qmp"), ("mode", "control")]);
    line.word("-daemonize").word("-pidfile").word(&text(runtime.pid));
    line.words
}

/// Takes a machine off the segment.
pub(super) fn forget(ctx: &Context, names: &MachineNames) -> Result<()> {
    files::remove_file(&names.port())?;
    if !file(ctx).exists() {
        return Ok(());
    }
    let _lock = lock(ctx)?;
    let mut forwards = load(ctx)?;
    if let Some(forward) = forwards.nodes.remove(&names.node) {
        let runtime = process::runtime(&run_dir(ctx), GATEWAY);
        // A gateway that does not answer keeps a port that leads nowhere, until it is ended with the cluster.
        if process::runs(&runtime)
            && let Ok(mut qmp) = Qmp::connect(&runtime.qmp)
        {
            for (port, _) in forward.ports() {
                let _ = qmp.monitor(&format!("hostfwd_remove out tcp:127.0.0.1:{port}"));
            }
        }
        files::write_json(&file(ctx), &forwards)?;
    }
    Ok(())
}

/// Ends the segment.
pub(super) fn remove(ctx: &Context) -> Result<()> {
    let dir = run_dir(ctx);
    process::kill_found(QEMU, &process::runtime(&dir, GATEWAY).pid)?;
    process::kill_found(&switch_name(ctx), &dir)?;
    files::remove_file(&file(ctx))?;
    files::remove_file(&ctx.cluster_dir.join("forwards.lock"))?;
    match std::fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(files::failed("remove", &dir, &error))
        }
        _ => Ok(()),
    }
}

/// What is left of the segment, for people to read.
pub(super) fn traces(ctx: &Context) -> Vec<String> {
    let dir = run_dir(ctx);
    let mut found = Vec::new();
    let gateway = process::find(QEMU, &process::runtime(&dir, GATEWAY).pid);
    found.extend(gateway.map(|pid| format!("process {pid} (gateway)")));
    found.extend(process::find(&switch_name(ctx), &dir).map(|pid| format!("process {pid} (switch)")));
    found.extend(dir.exists().then(|| format!("directory {}", dir.display())));
    found.extend(file(ctx).exists().then(|| format!("file {}", file(ctx).display())));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_is_a_qemu_without_a_machine() {
        let mut forwards = Forwards { schema: 1, ..Forwards::default() };
        let forward = |ssh, last| Forward { ssh, api: ssh + 1, to: Ipv4Addr::new(10, 213, 0, last) };
        forwards.nodes.insert("cp1".into(), forward(20_000, 10));
        forwards.nodes.insert("w1".into(), forward(20_002, 11));
        let network = "10.213.0.0/24".parse().unwrap();
        let words =
            arguments("c1", Path::new("/run/swdt/c1"), network, Ipv4Addr::new(10, 213, 0, 1), &forwards);
        insta::assert_snapshot!(words.join(" ").replace(" -", "\n-"));
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let first = free_port("00000007", &[]).unwrap();
        let held = TcpListener::bind((Ipv4Addr::LOCALHOST, first)).unwrap();
        let second = free_port("00000007", &[]).unwrap();
        assert_ne!(first, second);
        let forward = Forward { ssh: first, api: second, to: Ipv4Addr::new(10, 213, 0, 10) };
        let forwards = Forwards { schema: 1, nodes: BTreeMap::from([("cp1".to_owned(), forward)]) };
        let error = ports_are_free(&forwards).unwrap_err();
        assert!(error.message.contains(&format!("port {first} of the loopback")), "{error}");
        assert_eq!((error.node.as_deref(), error.others.len()), (Some("cp1"), 0));
        drop(held);
        ports_are_free(&forwards).unwrap();
        assert_ne!(free_port("00000007", &[first]).unwrap(), first);
    }
}
