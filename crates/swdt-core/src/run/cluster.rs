//! What concerns the cluster as a whole: tokens for those who join, the smoke test.

use swdt_wire::Resource;

use super::{CreateOptions, NodeRun, Run};
use crate::{
    Error, ErrorKind, Result,
    event::EventKind,
    kube::Kube,
    plan::{Known, Phase},
    smoke,
    spec::Role,
};

impl Run<'_> {
    pub(super) fn all_resources(
        &self,
        node: &NodeRun,
        known: &Known,
        options: &CreateOptions,
    ) -> Vec<Resource> {
        self.plan(&node.node, known, options).resources().cloned().collect()
    }

    /// Joins the workers that have not joined, with a token that exists only meanwhile.
    pub(super) async fn join(
        &self,
        phase: &Phase,
        mut nodes: Vec<NodeRun>,
        known: &mut Known,
        options: &CreateOptions,
    ) -> Result<Vec<NodeRun>> {
        let kube = self.kube(&nodes)?;
        // The first time after `kubeadm init`.
        if known.ca_hash.is_none() {
            kube.delete_kubeadms_token().await?;
            let hash = kube.ca_hash().await?;
            known.ca_hash = Some(hash.clone());
            self.remember(|state| state.ca_hash = Some(hash))?;
        }
        let planned = |node: &NodeRun| self.plan(&node.node, known, options).of_phase(phase.id).to_vec();
        if nodes.iter().all(|node| node.all_satisfied(&planned(node))) {
            return Ok(nodes);
        }
        let token = kube.make_token().await?;
        for node in &mut nodes {
            node.token = Some(token.value());
        }
        let joined = self.apply(phase, nodes, known, options).await;
        // Also after a failure; should even this fail, the token dies by itself soon.
        let deleted = kube.delete_token(&token).await;
        let mut nodes = joined?;
        deleted?;
        for node in &mut nodes {
            node.token = None;
        }
        Ok(nodes)
    }

    /// The smoke test; told as events, and an error if something failed.
    pub(super) async fn smoke(&self, nodes: &[NodeRun], known: &Known) -> Result<()> {
        let image = known
            .image("agnhost")
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the image of the smoke test was not fetched"))?;
        let checks = smoke::run(&self.kube(nodes)?, &self.spec, &image.reference, &self.reporter).await?;
        for check in &checks {
            self.reporter.say(EventKind::Tried {
                name: check.name.clone(),
                ok: check.ok,
                seen: check.seen.clone(),
                took_ms: check.took_ms,
            });
        }
        smoke::verdict(&checks)
    }

    /// kubectl on the control plane.
    fn kube(&self, nodes: &[NodeRun]) -> Result<Kube> {
        let control_plane = nodes.iter().find(|node| node.node.role == Role::ControlPlane);
        let node =
            control_plane.ok_or_else(|| Error::new(ErrorKind::Internal, "there is no control plane"))?;
        Ok(Kube::new(node.agent.clone(), &self.spec.name, &self.id))
    }
}
