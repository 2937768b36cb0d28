//! Machines stopped and started, without surprise for the cluster: drained before, ready after.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Host, Run};
use crate::{
    Error, ErrorKind, Result,
    event::Reporter,
    id,
    kube::Kube,
    machine::MachineState,
    spec::{Node, OsFamily, Place, Role, Spec},
};

/// How long a node may take to be ready after its machine was started; longer where machines are emulated.
const READY: Duration = Duration::from_mins(3);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// How a node is emptied before its machine stops.
#[derive(Debug, Clone)]
pub struct Drain {
    /// Not at all.
    pub skip: bool,
    /// Also pods that nobody starts again, or whose data are lost.
    pub force: bool,
    /// How long it may take.
    pub timeout: Duration,
}

/// How a machine was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// Were its pods moved away first?
    pub drained: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How a machine was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// Was it seen ready as a node?
    pub ready: bool,
    /// Did we take back a cordon of our own?
    pub uncordoned: bool,
    /// What else there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Stops a machine that swdt made; its pods are moved away first.
pub async fn stop_node(
    host: &Host,
    spec: &Spec,
    node: &Node,
    drain: &Drain,
    reporter: &Reporter,
) -> Result<Stopped> {
    let dir = host.dirs.cluster(&spec.name);
    let _lock = dir.lock(&host.holder("node stop"))?;
    let run = Run::look(host, spec)?;
    let machines = run.machines()?;
    let state = machines.status(node).await?;
    if state == MachineState::Absent {
        return Err(Error::new(id::MACHINE_NOT_MADE, "there is no such machine to stop").on(&node.name));
    }
    let runs = state == MachineState::Running;
    // A machine that is not ours to stop is not ours to empty.
    let emptied = if runs && matches!(node.place, Place::Machine(_)) {
        run.empty(node, drain, reporter).await?
    } else {
        Err("it did not run".to_owned())
    };
    reporter.doing("stopping the machine");
    machines.stop(node).await?;
    Ok(Stopped { drained: emptied.is_ok(), why: emptied.err() })
}

/// Starts a machine that swdt made, and waits until the cluster has its node back.
pub async fn start_node(host: &Host, spec: &Spec, node: &Node, reporter: &Reporter) -> Result<Started> {
    let dir = host.dirs.cluster(&spec.name);
    let _lock = dir.lock(&host.holder("node start"))?;
    let run = Run::look(host, spec)?;
    run.state().whole()?;
    let machines = run.machines()?;
    reporter.doing("starting the machine");
    machines.start(node).await?;
    if !run.has_kubernetes() {
        return Ok(alone("the cluster has no Kubernetes yet"));
    }
    match run.control_plane().await {
        Ok(kube) => settle(&kube, node, run.ready_within(), reporter).await,
        Err(error) if node.role == Role::ControlPlane => Err(error),
        Err(error) => Ok(alone(&format!("whether it is ready cannot be asked: {}", error.message))),
    }
}

fn alone(why: &str) -> Started {
    Started { ready: false, uncordoned: false, why: Some(why.to_owned()) }
}

impl Run<'_> {
    pub(super) fn ready_within(&self) -> Duration {
        READY * self.known().slowness()
    }

    /// Moves pods away; the inner error says why that was not done, which is fine.
    pub(super) async fn empty(
        &self,
        node: &Node,
        drain: &Drain,
        reporter: &Reporter,
    ) -> Result<Result<(), String>> {
        let name = &node.name;
        if drain.skip {
            return Ok(Err("as you asked".to_owned()));
        }
        if !self.has_kubernetes() {
            return Ok(Err("the cluster has no Kubernetes yet".to_owned()));
        }
        if node.role == Role::ControlPlane {
            return Ok(Err(
                "it is the control plane; pods elsewhere go on, but nobody manages them".to_owned()
            ));
        }
        let otherwise = |error: Error| error.hinted("`--no-drain` goes on without asking the cluster");
        let kube = self.control_plane().await.map_err(otherwise)?;
        let Some(status) = kube.node(name).await.map_err(otherwise)? else {
            return Ok(Err("it has not joined the cluster".to_owned()));
        };
        reporter.doing("moving its pods to other nodes");
        // What somebody else cordoned stays theirs.
        if !status.cordoned {
            kube.cordon(name).await.map_err(otherwise)?;
        }
        if let Err(error) = kube.drain(name, drain.timeout, drain.force).await {
            if !status.cordoned {
                kube.uncordon(name).await?;
            }
            let forceable = !drain.force
                && error
                    .output
                    .iter()
                    .any(|line| line.contains("--force") || line.contains("--delete-emptydir-data"));
            let error = if forceable {
                error.hinted(
                    "`--force` also removes pods that nobody starts again, and what they stored on the node",
                )
            } else {
                error.hinted("`--timeout` gives pods more time to go")
            };
            return Err(otherwise(error));
        }
        Ok(Ok(()))
    }
}

/// Waits until the node's kubelet has spoken anew and is ready, and takes back our own cordon.
pub(super) async fn settle(
    kube: &Kube,
    node: &Node,
    within: Duration,
    reporter: &Reporter,
) -> Result<Started> {
    let name = &node.name;
    reporter.doing("waiting until the node is ready");
    let began = Instant::now();
    // What the cluster remembers from before the stop still says ready for a while; a sign of life does not lie.
    let mut first = None;
    let mut last = "the API server does not answer".to_owned();
    while began.elapsed() < within {
        match look(kube, name).await {
            Ok(None) => return Ok(alone("it has not joined the cluster")),
            Ok(Some((status, heartbeat))) => {
                let spoke = *first.get_or_insert_with(|| heartbeat.clone()) != heartbeat;
                if status.ready && spoke {
                    if status.cordoned_by_swdt {
                        kube.uncordon(name).await?;
                    }
                    let theirs = status.cordoned && !status.cordoned_by_swdt;
                    let why = theirs.then(|| "it stays cordoned, because somebody else did that".to_owned());
                    return Ok(Started { ready: true, uncordoned: status.cordoned_by_swdt, why });
                }
                last = status.why.unwrap_or_else(|| "its kubelet gives no sign of life".to_owned());
            }
            Err(error) if error.kind() == ErrorKind::Cluster => {
                last = error.output.last().cloned().unwrap_or(error.message);
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
    let seconds = within.as_secs();
    Err(Error::new(
        id::NODE_NOT_UP,
        format!("the machine runs, but its node is not ready after {seconds} seconds"),
    )
    .on(name)
    .with_output(vec![last])
    .hinted(match node.os {
        OsFamily::Linux => format!("`swdt node exec {name} -- journalctl -u kubelet -n 50` says more"),
        OsFamily::Windows => {
            format!(r"`swdt node exec {name} -- type C:\var\log\kubelet\kubelet.log` says more")
        }
    }))
}

async fn look(kube: &Kube, name: &str) -> Result<Option<(crate::kube::NodeStatus, Option<String>)>> {
    let Some(status) = kube.node(name).await? else { return Ok(None) };
    Ok(Some((status, kube.heartbeat(name).await?)))
}
