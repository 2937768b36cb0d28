//! What `update` would do, told beforehand: by the file, and by the machines, which are asked.

use std::collections::{BTreeMap, BTreeSet};

use tokio::task::JoinSet;

use super::{CreateOptions, Host, Looked, NodeRun, Run, fetch, update};
use crate::{
    Error, Result,
    machine::MachineState,
    plan::Known,
    preflight,
    spec::{Node, Place, Spec},
};

/// What is between a cluster and its file.
#[derive(Default)]
pub struct Difference {
    /// Nodes that the cluster does not have yet.
    pub comes: Vec<String>,
    /// Nodes that are to go.
    pub leaves: Vec<Leaves>,
    /// What was found on the machines of those who come and who stay; nothing of machines that are not there yet.
    pub looked: Vec<Looked>,
    /// What those who stay have for the sake of those who leave, by node: ids of resources that are undone.
    pub undone: BTreeMap<String, Vec<String>>,
    /// Why `update` would refuse. By what is wrong in the file alone, no machine is asked.
    pub refused: Option<Error>,
}

/// A node that is to go.
pub struct Leaves {
    /// Which.
    pub node: String,
    /// How many changes are undone on its machine; none where the machine itself is removed.
    pub changes: Option<usize>,
}

/// What `update` would do, or nothing when there is no cluster yet. Changes nothing.
pub async fn difference(
    host: &Host,
    spec: &Spec,
    prune: &[String],
    options: &CreateOptions,
) -> Result<Option<Difference>> {
    let mut run = Run::look(host, spec)?;
    if run.state().made_at.is_none() {
        return Ok(None);
    }
    let made = run.dir.load_spec()?;
    let (leaving, mut errors) = update::leaving(&made, spec, prune, &run.state().left);
    errors.extend(preflight::changed(&made, spec));
    errors.extend(preflight::reconfigured(&made, spec));
    let comes = spec.nodes.iter().filter(|node| made.node(&node.name).is_none());
    let mut difference =
        Difference { comes: comes.map(|node| node.name.clone()).collect(), ..Difference::default() };
    difference.refused = Error::all(errors);
    if difference.refused.is_some() {
        difference.leaves =
            leaving.into_iter().map(|node| Leaves { node: node.name, changes: None }).collect();
        return Ok(Some(difference));
    }
    // What a newcomer gets is not known yet; what the others have is.
    run.locked = fetch::remembered(&host.dirs, spec);
    difference.leaves = run.ask_leaving(&leaving).await?;
    let mut stay = made.clone();
    stay.nodes.retain(|node| spec.node(&node.name).is_some());
    let superfluous = update::superfluous(&made, &stay, &run.known()).into_iter();
    difference.undone = superfluous.map(|(node, ids)| (node.name, ids)).collect();
    let machines = run.machines()?;
    let mut there = Vec::new();
    for node in &spec.nodes {
        if machines.status(node).await? == MachineState::Running {
            there.push(node.clone());
        }
    }
    let (looked, refused) = run.examine(&there, options).await?;
    (difference.looked, difference.refused) = (looked, refused);
    Ok(Some(difference))
}

impl Run<'_> {
    /// Looks at machines and at everything that shall be true on them; gives also why they could not be nodes.
    pub(super) async fn examine(
        &self,
        nodes: &[Node],
        options: &CreateOptions,
    ) -> Result<(Vec<Looked>, Option<Error>)> {
        let strangers: BTreeSet<String> = {
            let state = self.state();
            let met = |node: &&Node| state.nodes.get(&node.name).is_some_and(|known| known.facts.is_some());
            nodes.iter().filter(|node| !met(node)).map(|node| node.name.clone()).collect()
        };
        let (nodes, known) = self.connect(nodes, options).await?;
        let refused = self.judge(&nodes, &known, Vec::new()).err();
        let mut tasks = JoinSet::new();
        for mut node in nodes {
            let resources = self.all_resources(&node, &known, options);
            let stranger = strangers.contains(&node.node.name);
            tasks.spawn(async move {
                let looked = node.look_closer(resources).await;
                // Who only looks leaves nothing behind.
                let left = if stranger { node.leave_no_trace().await } else { Ok(()) };
                (node, looked.and(left))
            });
        }
        let nodes = self.gather(tasks).await?;
        let looked = nodes.into_iter().map(|node| self.looked(node, &known, options)).collect();
        Ok((looked, refused))
    }

    fn looked(&self, node: NodeRun, known: &Known, options: &CreateOptions) -> Looked {
        let plan = self.plan(&node.node, known, options);
        Looked { node: node.node.name.clone(), plan, checked: node.checked }
    }

    /// Those who leave must be reached to be undone, so they are asked now.
    async fn ask_leaving(&self, leaving: &[Node]) -> Result<Vec<Leaves>> {
        let mut leaves = Vec::new();
        let mut errors = Vec::new();
        for node in leaving {
            let changes = match node.place {
                Place::Machine(_) => Ok(None),
                Place::Existing { .. } => match NodeRun::new(self, node) {
                    Ok(mut node_run) => node_run.holdings().await.map(|holdings| Some(holdings.live.len())),
                    Err(error) => Err(error),
                },
            };
            match changes {
                Ok(changes) => leaves.push(Leaves { node: node.name.clone(), changes }),
                Err(error) => errors.push(error.on(&node.name)),
            }
        }
        Error::all(errors).map_or(Ok(leaves), Err)
    }
}
