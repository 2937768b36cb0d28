//! `adopt`: the host lost what it remembered of a cluster; the file and the machines tell it again.
//!
//! From the file: how machines are reached, and what the cluster shall be. From each machine's receipts: that it is of
//! this cluster, which node it is, how far it is, and what was decided for good when the cluster was made. From the
//! control plane: the cluster's authority. Nothing is written on any machine.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use super::{Host, NodeRun, Run, Sink, broken, receipts::Holdings};
use crate::{
    Error, Result, id,
    machine::{MachineState, Reached},
    preflight,
    spec::{Node, Place, Role, Spec},
    state::Stage,
};

/// What `adopt` is asked.
#[derive(Debug, Clone, Default)]
pub struct AdoptOptions {
    /// Nodes of the file that have nothing of the cluster (any more), by name.
    pub without: Vec<String>,
}

/// What was found again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Adopted {
    /// How many changes the receipts of each machine tell of, by node.
    pub changes: BTreeMap<String, usize>,
    /// Nodes whose machines swdt had made, and that are gone.
    pub lost: Vec<String>,
}

/// Remembers a cluster again that its machines and its file tell of. One that is remembered is never touched.
pub async fn adopt(
    host: &Host,
    spec: &Spec,
    config: &[u8],
    options: &AdoptOptions,
    sink: Sink,
) -> Result<Adopted> {
    let dir = host.dirs.cluster(&spec.name);
    let remembered = || {
        let message = format!("the cluster {} is remembered on this host already", spec.name);
        Error::new(id::CLUSTER_KNOWN, message)
            .because("`adopt` is for a host that lost its directory, and overwrites none")
            .hinted(format!("`swdt cluster status --cluster {}` shows it", spec.name))
    };
    if dir.exists() {
        return Err(remembered());
    }
    let fresh = !dir.root().exists();
    let run = Run::begin(host, spec, "adopt", sink)?;
    // Somebody may have been faster, until the lock was ours.
    let result = if dir.exists() { Err(remembered()) } else { run.adopt(config, options).await };
    let mut ended = run.end(result);
    // Who was refused leaves no beginnings of a cluster, nor of its logs.
    if fresh && !dir.exists() {
        dir.remove()?;
        if let Err(error) = &mut ended {
            error.log = None;
            error.others.iter_mut().for_each(|other| other.log = None);
        }
    }
    ended
}

/// A machine of the cluster, and where it was found.
struct Found {
    holdings: Holdings,
    reached: Reached,
}

impl Run<'_> {
    async fn adopt(&self, config: &[u8], options: &AdoptOptions) -> Result<Adopted> {
        self.know_all(&options.without)?;
        let (found, lost) = self.titled("ask", "Ask", self.find(options)).await?;
        if found.is_empty() && lost.is_empty() {
            let message = format!("nothing of the cluster {} is left to be adopted", self.spec.name);
            return Err(Error::new(id::CLUSTER_NONE, message).hinted("make it anew: `swdt cluster create`"));
        }
        self.write_down(config, &found)?;
        self.titled("remember", "Remember", self.authority_again()).await?;
        let changes = found.iter().map(|(name, found)| (name.clone(), found.holdings.live.len())).collect();
        Ok(Adopted { changes, lost })
    }

    /// Every machine of the cluster, or everything that is wrong with the wish.
    async fn find(&self, options: &AdoptOptions) -> Result<(BTreeMap<String, Found>, Vec<String>)> {
        let machines = self.machines()?;
        let (mut there, mut lost, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for node in self.spec.nodes.iter().filter(|node| !options.without.contains(&node.name)) {
            // Ours may be stopped; whoever shall be asked has to run.
            let reached = match (&node.place, machines.status(node).await?) {
                (Place::Existing { .. }, _) => machines.ensure(node).await,
                (Place::Machine(_), MachineState::Absent) => {
                    self.reporter.for_node(&node.name).warn(
                        "a machine that swdt makes is in the directory that was lost, and went with it; \
                         `swdt cluster create` makes it anew, `swdt cluster destroy` removes what is left of it",
                    );
                    lost.push(node.name.clone());
                    continue;
                }
                (Place::Machine(_), _) => machines.start(node).await,
            };
            match reached {
                Ok(reached) => there.push((node.clone(), reached)),
                Err(error) => errors.push(self.failed(&node.name, error)),
            }
        }
        // A machine that swdt made is reached as the state says.
        let places: Vec<_> =
            there.iter().map(|(node, reached)| (node.name.clone(), reached.clone())).collect();
        self.hold(|state| {
            for (name, reached) in places {
                let entry = state.node(&name);
                (entry.endpoint, entry.host_key) = (Some(reached.endpoint), reached.host_key);
            }
        });
        let mut tasks = JoinSet::new();
        for (node, reached) in there {
            let begun = NodeRun::new(self, &node);
            let cluster = self.spec.name.clone();
            tasks.spawn(async move { (node.name.clone(), ask(&cluster, begun, &node, reached).await) });
        }
        let mut found = BTreeMap::new();
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((name, Ok(one))) => drop(found.insert(name, one)),
                Ok((name, Err(error))) => errors.push(self.failed(&name, error)),
                Err(panic) => errors.push(broken(&panic)),
            }
        }
        errors.extend(self.not_this_cluster(&found));
        self.in_order(&mut errors);
        Error::all(errors).map_or(Ok((found, lost)), Err)
    }

    /// Where the file says something else than what the cluster was made from.
    fn not_this_cluster(&self, found: &BTreeMap<String, Found>) -> Vec<Error> {
        let told = found.values().filter_map(|found| found.holdings.told());
        let init = told.filter(|(_, init)| *init).map(|(told, _)| told).next();
        init.map(|told| preflight::changed(&told.over(&self.spec), &self.spec)).unwrap_or_default()
    }

    fn write_down(&self, config: &[u8], found: &BTreeMap<String, Found>) -> Result<()> {
        self.dir.save_spec(&self.spec, config)?;
        self.remember(|state| {
            for node in &self.spec.nodes {
                let entry = state.node(&node.name);
                entry.made = matches!(node.place, Place::Machine(_));
                let Some(Found { holdings, reached }) = found.get(&node.name) else { continue };
                entry.stage = Stage::Ready;
                if entry.made {
                    entry.endpoint = Some(reached.endpoint.clone());
                    entry.host_key.clone_from(&reached.host_key);
                }
                entry.facts.clone_from(&holdings.facts);
                entry.phase = holdings.phase().map(ToOwned::to_owned);
                entry.begun.clone_from(&entry.phase);
                if let Some((told, true)) = holdings.told() {
                    state.made_at = told.address().map(ToOwned::to_owned);
                }
            }
        })
    }

    /// The authority is on the control plane. Without it everything but a join goes, and that asks for it again.
    async fn authority_again(&self) -> Result<()> {
        if self.state().made_at.is_none() {
            return Ok(());
        }
        let asked = async { self.control_plane().await?.authority().await };
        match asked.await {
            Ok((authority, hash)) => {
                self.remember(|state| (state.ca_hash, state.authority) = (Some(hash), Some(authority)))
            }
            Err(error) => {
                self.reporter.warn(format!("the control plane cannot be asked for its authority: {error}"));
                Ok(())
            }
        }
    }
}

/// Is this the machine of that node of that cluster?
async fn ask(cluster: &str, begun: Result<NodeRun>, node: &Node, reached: Reached) -> Result<Found> {
    let mut node_run = begun?;
    let holdings = node_run.holdings().await?;
    match &holdings.cluster {
        Some(other) if other != cluster => {
            return Err(Error::new(
                id::MACHINE_OF_OTHER_CLUSTER,
                format!("this machine is a node of the cluster `{other}`"),
            )
            .because("its receipts name that cluster")
            .hinted(format!(
                "adopt it with the file of `{other}`, or leave it out: `--without {}`",
                node.name
            )));
        }
        Some(_) => {}
        // One that swdt made is ours from its first moment on.
        None if matches!(node.place, Place::Machine(_)) => {}
        None => {
            if holdings.live.is_empty() {
                node_run.leave_no_trace().await?;
            }
            return Err(Error::new(id::MACHINE_NOT_OURS, "this machine is no node of a cluster of swdt")
                .because("it has no receipts: swdt never changed it, or has undone everything")
                .hinted("is the address right?")
                .hinted(format!(
                    "if there is nothing of the cluster on it, leave it out: `--without {}`",
                    node.name
                )));
        }
    }
    if let Some((told, init)) = holdings.told() {
        let other = told.node().filter(|name| *name != node.name);
        if let Some(other) = other {
            return Err(Error::new(
                id::ADOPT_MISMATCH,
                format!("this machine is the node `{other}` of the cluster"),
            )
            .because("that is the name it joined with")
            .hinted(format!("write its address at `{other}`, and that of `{}` here", node.name)));
        }
        if init != (node.role == Role::ControlPlane) {
            let is = if init { "the control plane" } else { "a worker" };
            return Err(Error::new(id::ADOPT_MISMATCH, format!("this machine is {is} of the cluster"))
                .because("that is what its receipts tell")
                .hinted("write its role as it is"));
        }
    }
    Ok(Found { holdings, reached })
}
