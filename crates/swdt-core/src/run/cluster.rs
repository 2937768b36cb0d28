//! What concerns the cluster as a whole: tokens for those who join, the smoke test.

use std::sync::{Arc, atomic::Ordering};

use swdt_wire::{ClientConfig, Kind, Resource};

use super::{CreateOptions, Host, NodeRun, Run, Sink, node::Joining};
use crate::{
    Error, Result, id,
    kube::Kube,
    plan::{Known, Phase},
    smoke,
    spec::{OsFamily, Role, Spec},
};

/// Runs the smoke test on a cluster that is there. What failed is in the checks; an error means that they could
/// not be made.
pub async fn smoke_test(host: &Host, spec: &Spec, sink: Sink) -> Result<Vec<smoke::Check>> {
    let run = Run::begin(host, spec, "test smoke", sink)?;
    let mut checks = Vec::new();
    let tried = run.phase("smoke", async {
        let kube = run.control_plane().await?;
        checks = run.try_everything(&kube, &run.known()).await?;
        smoke::verdict(&checks)
    });
    let tried = tried.await;
    let result = run.end(tried);
    // A verdict is an answer.
    if checks.is_empty() { result.map(|()| checks) } else { Ok(checks) }
}

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
        }
        if known.ca_hash.is_none() || known.authority.is_none() {
            let (authority, hash) = kube.authority().await?;
            (known.ca_hash, known.authority) = (Some(hash.clone()), Some(authority.clone()));
            self.remember(|state| (state.ca_hash, state.authority) = (Some(hash), Some(authority)))?;
        }
        let planned = |node: &NodeRun| self.plan(&node.node, known, options).of_phase(phase.id).to_vec();
        if nodes.iter().all(|node| node.all_satisfied(&planned(node))) {
            return Ok(nodes);
        }
        // A member whose other resources differ is no less a member: only who has not joined is forgotten, and joins.
        let joins = |node: &NodeRun| {
            let kubeadm = |it: &Resource| matches!(it.kind, Kind::KubeadmJoin(_)) && !node.found_true(&it.id);
            planned(node).iter().any(kubeadm)
        };
        let joining: Vec<String> =
            nodes.iter().filter(|node| joins(node)).map(|node| node.node.name.clone()).collect();
        if joining.is_empty() {
            return self.apply(phase, nodes, known, options).await;
        }
        kube.forget_nodes(&joining.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        let token = kube.make_token(known.slowness()).await?;
        let kube = Arc::new(kube);
        for node in nodes.iter_mut().filter(|node| joining.contains(&node.node.name)) {
            node.joining = Some(Joining { token: token.value(), kube: kube.clone() });
        }
        let joined = self.apply(phase, nodes, known, options).await;
        // Also after a failure; should even this fail, the token dies by itself soon.
        let deleted = kube.delete_token(&token).await;
        let mut nodes = joined?;
        deleted?;
        for node in &mut nodes {
            node.joining = None;
        }
        Ok(nodes)
    }

    /// The same for the phase `node-net`: programs of the network that run outside pods get tokens of their own,
    /// where the ones they have are none or come to their end.
    pub(super) async fn node_net(
        &self,
        phase: &Phase,
        mut nodes: Vec<NodeRun>,
        known: &Known,
        options: &CreateOptions,
    ) -> Result<Vec<NodeRun>> {
        let kube = self.kube(&nodes)?;
        for node in &mut nodes {
            let planned = self.plan(&node.node, known, options).of_phase(phase.id).to_vec();
            if node.all_satisfied(&planned) {
                continue;
            }
            for resource in &planned {
                if let Kind::ClientConfig(ClientConfig { namespace, account, .. }) = &resource.kind
                    && !node.found_true(&resource.id)
                {
                    let token =
                        kube.account_token(namespace, account, &node.node.name, known.slowness()).await?;
                    node.tokens.insert(resource.id.clone(), token);
                }
            }
        }
        let mut nodes = self.apply(phase, nodes, known, options).await?;
        for node in &mut nodes {
            node.tokens.clear();
        }
        Ok(nodes)
    }

    /// Tells which workloads would wrongly land on Windows nodes. Only after a change: those who keep it so were told.
    pub(super) async fn warn_of_misplaced(&self, nodes: &[NodeRun]) -> Result<()> {
        let windows = self.spec.nodes.iter().any(|node| node.os == OsFamily::Windows);
        if windows && self.writes.load(Ordering::Relaxed) > 0 {
            for misplaced in self.kube(nodes)?.misplaced().await? {
                self.reporter.warn(misplaced.warning());
            }
        }
        Ok(())
    }

    /// The smoke test; told as events, and an error if something failed.
    pub(super) async fn smoke(&self, nodes: &[NodeRun], known: &Known) -> Result<()> {
        smoke::verdict(&self.try_everything(&self.kube(nodes)?, known).await?)
    }

    async fn try_everything(&self, kube: &Kube, known: &Known) -> Result<Vec<smoke::Check>> {
        let image = known.image("agnhost").ok_or_else(|| {
            Error::new(id::CLUSTER_NOT_MADE, "the image of the smoke test is not there")
                .hinted("`swdt cluster create --config FILE --until smoke` brings it")
        })?;
        smoke::run(kube, &self.spec, &image.reference, known.slowness(), &self.reporter).await
    }

    /// kubectl on the control plane.
    fn kube(&self, nodes: &[NodeRun]) -> Result<Kube> {
        let control_plane = nodes.iter().find(|node| node.node.role == Role::ControlPlane);
        let node = control_plane.ok_or_else(|| Error::new(id::INTERNAL, "there is no control plane"))?;
        Ok(Kube::new(node.agent.clone(), &self.spec.name, &self.id))
    }
}
