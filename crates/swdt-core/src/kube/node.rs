//! Nodes as the cluster sees them: ready or not, cordoned and by whom, drained.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::Kube;
use crate::{Error, Result, id};

/// Says on a node that swdt cordoned it, and nobody else.
const CORDONED: &str = "swdt.dev/cordoned";

/// A node as the cluster sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Does it say `Ready`?
    pub ready: bool,
    /// Why not, as it says itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Are new pods kept away?
    pub cordoned: bool,
    /// Did swdt do that?
    pub cordoned_by_swdt: bool,
    /// Version of its kubelet.
    pub kubelet: String,
}

impl NodeStatus {
    pub(crate) fn read(node: &Value) -> Self {
        let conditions = node["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let condition = conditions.iter().find(|condition| condition["type"] == "Ready");
        let ready = condition.is_some_and(|condition| condition["status"] == "True");
        let why =
            condition.and_then(|condition| condition["message"].as_str()).unwrap_or("it said nothing yet");
        Self {
            name: node["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            ready,
            why: (!ready).then(|| why.to_owned()),
            cordoned: node["spec"]["unschedulable"] == true,
            cordoned_by_swdt: node["metadata"]["annotations"][CORDONED].is_string(),
            kubelet: node["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

impl Kube {
    /// Deletes what the cluster knows of nodes that are about to join: kubeadm refuses a name that is ready, and so it
    /// still is for a while after a machine was reset or replaced.
    pub async fn forget_nodes(&self, names: &[&str]) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let delete = ["delete", "node", "--ignore-not-found", "--"];
        self.must(&[delete.as_slice(), names].concat(), None).await.map(|_| ())
    }

    /// All nodes; an API server that does not answer is waited for so long.
    pub async fn nodes(&self, patience: Duration) -> Result<Vec<NodeStatus>> {
        let timeout = format!("--request-timeout={}s", patience.as_secs().max(1));
        let answer = self.must(&["get", "nodes", "-o=json", &timeout], None).await?;
        let list: Value = serde_json::from_str(answer.expose()).unwrap_or_default();
        Ok(list["items"].as_array().into_iter().flatten().map(NodeStatus::read).collect())
    }

    /// One node; none when the cluster does not know it.
    pub(crate) async fn node(&self, name: &str) -> Result<Option<NodeStatus>> {
        let get = ["get", "node", name, "-o=json", "--ignore-not-found", "--request-timeout=10s"];
        let answer = self.must(&get, None).await?;
        Ok(serde_json::from_str(answer.expose()).ok().map(|node: Value| NodeStatus::read(&node)))
    }

    /// Keeps new pods away from a node, and writes there in the same breath that it was us.
    pub(crate) async fn cordon(&self, name: &str) -> Result<()> {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        self.patch(
            name,
            &json!({ "metadata": { "annotations": { CORDONED: now } }, "spec": { "unschedulable": true } }),
        )
        .await
    }

    /// Takes back [`Kube::cordon`].
    pub(crate) async fn uncordon(&self, name: &str) -> Result<()> {
        self.patch(
            name,
            &json!({ "metadata": { "annotations": { CORDONED: null } }, "spec": { "unschedulable": null } }),
        )
        .await
    }

    async fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        let patch = patch.to_string();
        let arguments = ["patch", "node", name, "--type=merge", "--field-manager=swdt", "-p", &patch];
        self.must(&arguments, None).await.map(|_| ())
    }

    /// Moves pods away from a node. By force also those that nobody starts again, or whose data are lost.
    pub(crate) async fn drain(&self, name: &str, timeout: Duration, force: bool) -> Result<()> {
        let timeout = format!("--timeout={}s", timeout.as_secs().max(1));
        let mut arguments = vec!["drain", name, "--ignore-daemonsets", &timeout];
        if force {
            arguments.extend(["--force", "--delete-emptydir-data"]);
        }
        let answer = self.ask(&arguments, None).await?;
        if answer.code == Some(0) {
            return Ok(());
        }
        let told = answer.stderr.lines().filter(|line| !line.starts_with("Warning: ignoring DaemonSet"));
        let told: Vec<String> = told.map(ToOwned::to_owned).collect();
        let first = &told[told.len().saturating_sub(12)..];
        Err(Error::new(id::DRAIN_FAILED, "the node could not be drained, so it was left running")
            .on(name)
            .with_output(first.to_vec()))
    }

    /// When the node's kubelet last gave a sign of life, in its own words.
    pub(crate) async fn heartbeat(&self, name: &str) -> Result<Option<String>> {
        let get = [
            "get",
            "lease",
            name,
            "-n=kube-node-lease",
            "--ignore-not-found",
            "-o=jsonpath={.spec.renewTime}",
            "--request-timeout=10s",
        ];
        let answer = self.must(&get, None).await?;
        Ok(Some(answer.expose().to_owned()).filter(|time| !time.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_as_the_cluster_tells() {
        let node = json!({
            "metadata": { "name": "w1", "annotations": { CORDONED: "2026-01-01T00:00:00Z" } },
            "spec": { "unschedulable": true },
            "status": {
                "conditions": [
                    { "type": "MemoryPressure", "status": "False" },
                    { "type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status." },
                ],
                "nodeInfo": { "kubeletVersion": "v1.36.3" },
            },
        });
        let status = NodeStatus::read(&node);
        assert_eq!((status.ready, status.cordoned, status.cordoned_by_swdt), (false, true, true));
        assert_eq!(status.why.as_deref(), Some("Kubelet stopped posting node status."));
        let fresh = NodeStatus::read(&json!({ "metadata": { "name": "w2" } }));
        assert_eq!((fresh.ready, fresh.cordoned, fresh.cordoned_by_swdt), (false, false, false));
    }
}
