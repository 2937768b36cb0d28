//! A cluster that is there: its API, its kubeconfig.

use std::time::Duration;

use tokio::{net::TcpStream, time::timeout};

use super::{Host, Run, connect, machine_states};
use crate::{
    Error, Result, id,
    kube::{Kube, Kubeconfig, NodeStatus},
    machine::MachineState,
    plan,
    spec::{Node, Place, Spec},
};

/// How long `status` may take to ask; somebody waits for it.
const SHORTLY: Duration = Duration::from_secs(5);
/// How long an API server may take to accept a connection.
const KNOCK: Duration = Duration::from_secs(1);

/// kubectl on the control plane.
pub async fn kube(host: &Host, spec: &Spec) -> Result<Kube> {
    Run::look(host, spec)?.control_plane().await
}

/// The nodes as the cluster sees them, if that can be asked soon; none when there is no Kubernetes yet.
pub async fn readiness(host: &Host, spec: &Spec) -> Result<Option<Vec<NodeStatus>>> {
    let run = Run::look(host, spec)?;
    if !run.has_kubernetes() {
        return Ok(None);
    }
    let ask = async { run.control_plane().await?.nodes(SHORTLY).await };
    let late = |_| Error::new(id::CONTROL_PLANE_SILENT, "the control plane does not answer");
    timeout(SHORTLY, ask).await.map_err(late)?.map(Some)
}

/// A kubeconfig for this host; and the address of an API server that does not answer here.
pub async fn kubeconfig(host: &Host, spec: &Spec) -> Result<(Kubeconfig, Option<String>)> {
    let run = Run::look(host, spec)?;
    let view = ["config", "view", "--raw", "--flatten", "-o=json"];
    let view = run.control_plane().await?.must(&view, None).await?;
    let node = run.control_plane_node()?;
    // The first address is in the server's certificate. Where only the second one answers, the certificate is
    // checked by the name that is in every one of ours.
    let inside = run.known().address(node);
    let outside = match &node.place {
        Place::Existing { address, .. } => address.clone(),
        Place::Machine(_) => inside.clone(),
    };
    let server = |address: &str| {
        let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        format!("https://{address}:{}", plan::kubeadm::API_PORT)
    };
    if let Some(port) = run.known().endpoints.get(&node.name).and_then(|endpoint| endpoint.api) {
        let server = format!("https://127.0.0.1:{port}");
        return Ok((Kubeconfig::new(&spec.name, &view, &server, Some(&spec.endpoint))?, None));
    }
    let make = |address: &str, tls_name| Kubeconfig::new(&spec.name, &view, &server(address), tls_name);
    if answers(&inside).await {
        return Ok((make(&inside, None)?, None));
    }
    if outside != inside && answers(&outside).await {
        return Ok((make(&outside, Some(&spec.endpoint))?, None));
    }
    Ok((make(&inside, None)?, Some(server(&inside))))
}

async fn answers(address: &str) -> bool {
    matches!(timeout(KNOCK, TcpStream::connect((address, plan::kubeadm::API_PORT))).await, Ok(Ok(_)))
}

impl Run<'_> {
    /// kubectl on the control plane's machine, which must run and let us in.
    pub(super) async fn control_plane(&self) -> Result<Kube> {
        let node = self.control_plane_node()?;
        if !self.has_kubernetes() {
            let message = format!("the cluster {} has no Kubernetes yet", self.spec.name);
            return Err(Error::new(id::CLUSTER_NOT_MADE, message)
                .hinted("`swdt cluster create --config FILE` goes on until it has"));
        }
        let states = machine_states(&self.host.dirs, &self.spec).await?;
        if states.get(&node.name) == Some(&MachineState::Stopped) {
            return Err(Error::new(id::MACHINE_STOPPED, "the machine of the control plane is stopped")
                .on(&node.name)
                .hinted(format!("start it with `swdt node start {}`", node.name)));
        }
        let agent = connect::agent(self, node, &self.reporter.for_node(&node.name))?;
        agent.connect(connect::first_patience(node)).await.map_err(|error| error.on(&node.name))?;
        Ok(Kube::new(agent, &self.spec.name, &self.id))
    }

    fn control_plane_node(&self) -> Result<&Node> {
        let node = self.spec.control_planes().next();
        node.ok_or_else(|| Error::new(id::INTERNAL, "there is no control plane"))
    }

    /// Did an earlier run get as far as `kubeadm init`?
    pub(super) fn has_kubernetes(&self) -> bool {
        let state = self.state();
        let reached = self
            .spec
            .control_planes()
            .filter_map(|node| plan::order(state.nodes.get(&node.name)?.phase.as_deref()))
            .max();
        state.ca_hash.is_some() || reached >= plan::order(Some("init"))
    }
}
