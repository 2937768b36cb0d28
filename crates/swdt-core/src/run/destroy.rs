//! `destroy`: what was changed is undone, what was made is removed.

use swdt_wire::{Kind, Resource};
use tokio::task::JoinSet;

use super::{NodeRun, Run, broken};
use crate::{
    Error, ErrorKind, Result,
    event::EventKind,
    id, plan,
    spec::{Node, Place},
    state::Stage,
};

/// What `destroy` is asked.
#[derive(Debug, Clone, Default)]
pub struct DestroyOptions {
    /// Also undo what somebody changed after us.
    pub force: bool,
    /// Nodes whose machines may be given up where they cannot be undone, by name.
    pub forget: Vec<String>,
}

/// What became of machines that were to be undone.
#[derive(Default)]
pub(super) struct Undone {
    /// How much was kept that force would undo.
    kept: u64,
    errors: Vec<Error>,
}

impl Run<'_> {
    /// Undoes and removes all it can, and only then says what it could not; gives how much was kept that force would
    /// undo.
    pub(super) async fn destroy(&self, options: &DestroyOptions) -> Result<u64> {
        self.know_all(&options.forget)?;
        let names: Vec<String> = self.spec.nodes.iter().map(|node| node.name.clone()).collect();
        let existing: Vec<Node> = {
            let state = self.state();
            let touched = |node: &&Node| {
                let known = state.nodes.get(&node.name);
                known.is_some_and(|known| known.facts.is_some() || known.begun.is_some())
            };
            let not_ours = |node: &&Node| matches!(node.place, Place::Existing { .. });
            self.spec.nodes.iter().filter(not_ours).filter(touched).cloned().collect()
        };
        self.remember(|state| {
            let there = state.nodes.iter_mut().filter(|(name, _)| names.contains(name));
            there.for_each(|(_, node)| node.stage = Stage::Deleting);
        })?;
        let mut undone = Undone::default();
        if !existing.is_empty() {
            let giving_up = |node: &str| format!("swdt cluster destroy --force-forget {node}");
            undone = self.titled("undo", "Undo", self.undo(&existing, options, giving_up)).await?;
        }
        // The cluster is gone, whatever is left of it; the next one with this name begins anew.
        self.remember(|state| (state.ca_hash, state.authority, state.made_at) = (None, None, None))?;
        let remove = async {
            self.machines()?.destroy_cluster(&self.spec.nodes).await?;
            self.remove_snapshots()
        };
        undone.errors.extend(self.titled("remove", "Remove", remove).await.err());
        Error::all(undone.errors).map_or(Ok(undone.kept), Err)
    }

    /// The same for a node that leaves a cluster, with the command that gives it up.
    pub(super) async fn revert(&self, node: &Node, giving_up: &str) -> Result<()> {
        let nodes = std::slice::from_ref(node);
        let undone = self.undo(nodes, &DestroyOptions::default(), |_| giving_up.to_owned()).await?;
        Error::all(undone.errors).map_or(Ok(()), Err)
    }

    /// Undoes everything on these machines, each to its end; one that fails hinders no other.
    async fn undo(
        &self,
        nodes: &[Node],
        options: &DestroyOptions,
        giving_up: impl Fn(&str) -> String,
    ) -> Result<Undone> {
        let mut undone = Undone::default();
        let mut tasks = JoinSet::new();
        for node in nodes {
            let begun = NodeRun::new(self, node);
            let (node, force) = (node.clone(), options.force);
            tasks.spawn(async move {
                let work = async {
                    let mut node_run = begun?;
                    node_run.revert(force).await?;
                    Ok(node_run)
                };
                let result = work.await;
                (node, result)
            });
        }
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((_, Ok(node))) => undone.kept += self.over(&node)?,
                Ok((node, Err(error))) if out_of_reach(&error) && options.forget.contains(&node.name) => {
                    self.forget(&node, &error)?;
                }
                Ok((node, Err(error))) => {
                    let error = with_ways_out(error, &giving_up(&node.name));
                    undone.errors.push(self.failed(&node.name, error));
                }
                Err(panic) => undone.errors.push(broken(&panic)),
            }
        }
        self.in_order(&mut undone.errors);
        Ok(undone)
    }

    /// A machine is as it was, but for what somebody changed; nobody has to reach it again for the rest.
    fn over(&self, node: &NodeRun) -> Result<u64> {
        node.done();
        let name = &node.node.name;
        if node.kept > 0 {
            self.reporter.for_node(name).warn(
                "some of it was left as somebody changed it after swdt; `swdt cluster destroy --force` undoes \
                 that too, `swdt cluster destroy` leaves it for good",
            );
            self.remember(|state| state.node(name).phase = None)?;
        } else {
            self.remember(|state| drop(state.nodes.remove(name)))?;
        }
        Ok(node.kept)
    }

    /// Gives a machine up, and says what is on it as far as this host knows.
    pub(super) fn forget(&self, node: &Node, error: &Error) -> Result<()> {
        let begun = {
            let state = self.state();
            let known = state.nodes.get(&node.name);
            known.and_then(|known| known.begun.clone().or_else(|| known.phase.clone()))
        };
        // A machine that was only looked at has the node program, and nothing else.
        let plan = begun.map(|phase| plan::plan_node(&self.spec, node, &self.known(), Some(&phase)));
        let resources = plan.iter().flat_map(plan::NodePlan::resources);
        let left = resources.filter(|it| stays(it)).map(Resource::redacted).collect();
        self.reporter.for_node(&node.name).say(EventKind::Forgotten { why: error.message.clone(), left });
        self.remember(|state| drop(state.nodes.remove(&node.name)))
    }

    /// Whoever is named must be a node.
    pub(super) fn know_all(&self, names: &[String]) -> Result<()> {
        let unknown = names.iter().filter(|name| self.spec.node(name).is_none());
        let there: Vec<&str> = self.spec.nodes.iter().map(|node| node.name.as_str()).collect();
        let errors = unknown.map(|name| {
            let message = format!("the cluster {} has no node `{name}`", self.spec.name);
            Error::new(id::NO_SUCH_NODE, message).hinted(format!("it has: {}", there.join(", ")))
        });
        Error::all(errors.collect()).map_or(Ok(()), Err)
    }
}

/// Is the machine one that cannot be undone from here now: it does not answer, does not let us in, or has become
/// somebody else's?
pub(super) fn out_of_reach(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Connection | ErrorKind::Prerequisite)
}

/// What can be done about a machine that cannot be reached; `giving_up` is the command for one that never will be.
pub(super) fn with_ways_out(error: Error, giving_up: &str) -> Error {
    if !out_of_reach(&error) {
        return error;
    }
    error
        .hinted("everything else was done as far as it could be; when this machine can be reached again, run the same command again")
        .hinted(format!("if it never will be: `{giving_up}` gives it up, and says what stays on it"))
}

/// Does the resource leave something on the machine itself?
pub(super) fn stays(resource: &Resource) -> bool {
    !matches!(resource.kind, Kind::Condition(_) | Kind::Manifest(_) | Kind::Restart(_))
}
