//! `destroy`: what was changed is undone, what was made is removed.

use tokio::task::JoinSet;

use super::{NodeRun, Run};
use crate::{
    Result,
    spec::{Node, Place},
    state::Stage,
};

impl Run<'_> {
    /// Undoes and removes; gives how much was kept that force would undo.
    pub(super) async fn destroy(&self, force: bool) -> Result<u64> {
        let names: Vec<String> = self.spec.nodes.iter().map(|node| node.name.clone()).collect();
        self.remember(|state| names.iter().for_each(|name| state.node(name).stage = Stage::Deleting))?;
        let existing: Vec<Node> = {
            let state = self.state();
            let touched =
                |node: &&Node| state.nodes.get(&node.name).is_some_and(|known| known.facts.is_some());
            let not_ours = |node: &&Node| matches!(node.place, Place::Existing { .. });
            self.spec.nodes.iter().filter(not_ours).filter(touched).cloned().collect()
        };
        let mut kept = 0;
        if !existing.is_empty() {
            kept = self.titled("undo", "Undo", self.revert(&existing, force)).await?;
        }
        // The cluster is gone, whatever is left of it; the next one with this name begins anew.
        self.remember(|state| {
            (state.ca_hash, state.authority, state.made_at) = (None, None, None);
            state.nodes.values_mut().for_each(|node| node.phase = None);
        })?;
        self.titled("remove", "Remove", async {
            self.machines()?.destroy_cluster().await?;
            self.remove_snapshots()
        })
        .await?;
        Ok(kept)
    }

    pub(super) async fn revert(&self, nodes: &[Node], force: bool) -> Result<u64> {
        let mut tasks = JoinSet::new();
        for node in nodes {
            let mut node_run = NodeRun::new(self, node)?;
            tasks.spawn(async move {
                let reverted = node_run.revert(force).await;
                (node_run, reverted)
            });
        }
        let nodes = self.gather(tasks).await?;
        for node in &nodes {
            node.done();
            if node.kept > 0 {
                self.reporter.for_node(&node.node.name).warn(
                    "some of it was left as somebody changed it after swdt; `swdt cluster destroy --force` undoes \
                     that too, `swdt cluster destroy` leaves it for good",
                );
            }
        }
        Ok(nodes.iter().map(|node| node.kept).sum())
    }
}
