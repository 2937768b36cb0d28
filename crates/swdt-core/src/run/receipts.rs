//! What a machine's receipts tell of it, and undoing a part of it.

use swdt_wire::{Facts, Kind, Mode, NodeEventKind, Resource};

use super::{NodeRun, ending::fail_on};
use crate::{
    Result,
    plan::{PHASES, kubeadm::Told},
};

/// What a machine is and has of swdt.
pub(super) struct Holdings {
    pub(super) facts: Option<Facts>,
    /// The cluster it belongs to.
    pub(super) cluster: Option<String>,
    /// What is not undone on it.
    pub(super) live: Vec<Resource>,
}

impl Holdings {
    /// The furthest phase that left something.
    pub(super) fn phase(&self) -> Option<&'static str> {
        let left = |id: &str| self.live.iter().any(|it| it.id.split('/').next() == Some(id));
        PHASES.iter().rev().map(|phase| phase.id).find(|id| left(id))
    }

    /// What kubeadm was told there, and whether that made the control plane.
    pub(super) fn told(&self) -> Option<(Told, bool)> {
        self.live.iter().find_map(|resource| match &resource.kind {
            Kind::KubeadmInit(init) => Some((Told::read(&init.config), true)),
            Kind::KubeadmJoin(join) => Some((Told::read(&join.config), false)),
            _ => None,
        })
    }
}

impl NodeRun {
    /// Asks the machine what is on it of swdt. Writes nothing.
    pub(super) async fn holdings(&mut self) -> Result<Holdings> {
        self.connect().await?;
        let request = self.request(Mode::Receipts);
        let mut holdings = Holdings { facts: None, cluster: None, live: Vec::new() };
        let summary = self
            .agent
            .request(&request, &mut |event| match event.kind {
                NodeEventKind::Facts(found) => holdings.facts = Some(*found),
                NodeEventKind::Receipts { cluster, live } => {
                    (holdings.cluster, holdings.live) = (cluster, live);
                }
                _ => {}
            })
            .await?;
        fail_on(&summary)?;
        Ok(holdings)
    }

    /// Undoes these resources alone.
    pub(super) async fn revert_some(&mut self, ids: &[String]) -> Result<()> {
        self.connect().await?;
        let mode = Mode::RevertSome { ids: ids.to_vec(), owner: self.owner.clone() };
        self.run_to_the_end(mode).await
    }

    /// Whoever only looked takes the node program away again that it brought, if it is all there is of us.
    pub(super) async fn leave_no_trace(&mut self) -> Result<()> {
        if self.holdings().await?.live.is_empty() {
            let request = self.request(Mode::Revert { force: false, owner: self.owner.clone() });
            // Somebody who works there needs it, and says so: fine.
            self.agent.request(&request, &mut |_| ()).await?;
        }
        Ok(())
    }
}
