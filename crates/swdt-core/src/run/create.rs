//! `create`: phase by phase, from machines to the smoke test.

use std::{sync::atomic::Ordering, time::Instant};

use tokio::task::JoinSet;

use super::{CreateOptions, NodeRun, Run, broken, millis};
use crate::{
    Error, Result,
    event::{EventKind, PhaseAhead},
    id,
    plan::{self, Known, NodePlan, Phase, Work},
    preflight,
    spec::{Node, Place},
    state::Stage,
};

impl Run<'_> {
    pub(super) async fn create(&self, config: &[u8], options: &CreateOptions) -> Result<()> {
        self.refuse_forgotten_nodes()?;
        self.tell_what_is_replaced();
        self.remember(|state| {
            for node in &self.spec.nodes {
                state.node(&node.name).made = matches!(node.place, Place::Machine(_));
            }
        })?;
        // What the cluster was made from is forgotten only for something that it can become.
        let made = self.dir.load_spec().ok();
        let changed = made.map(|made| preflight::changed(&made, &self.spec)).unwrap_or_default();
        if changed.is_empty() {
            self.dir.save_spec(&self.spec, config)?;
        }

        let until = options.until.as_deref();
        self.phase("machines", self.make_machines()).await?;
        if until == Some("machines") {
            return Ok(());
        }
        let (mut nodes, mut known) = self.phase("connect", self.connect(&self.spec.nodes, options)).await?;
        if until == Some("connect") {
            return Ok(());
        }
        let unchanged = changed.is_empty();
        self.phase("preflight", async { self.judge(&nodes, &known, changed) }).await?;
        if !unchanged {
            self.dir.save_spec(&self.spec, config)?;
        }
        if until == Some("preflight") {
            return Ok(());
        }
        self.tell_what_is_ahead(&nodes, &known, options);
        for phase in plan::PHASES.iter().skip_while(|phase| phase.id != "preflight").skip(1) {
            match phase.id {
                "fetch" => {
                    let needed = !nodes
                        .iter()
                        .all(|node| node.all_satisfied(&self.all_resources(node, &known, options)));
                    let own = self.phase(phase.id, self.fetch(needed)).await?;
                    known.artifacts = Some(self.state().with_replaced(own));
                }
                "init" => {
                    nodes = self.phase(phase.id, self.apply(phase, nodes, &known, options)).await?;
                    let at = self.spec.control_planes().next().map(|node| known.address(node));
                    self.remember(|state| state.made_at = at)?;
                }
                "join" => nodes = self.phase(phase.id, self.join(phase, nodes, &mut known, options)).await?,
                "node-net" => {
                    nodes = self.phase(phase.id, self.node_net(phase, nodes, &known, options)).await?;
                }
                "verify" => {
                    nodes = self.phase(phase.id, self.apply(phase, nodes, &known, options)).await?;
                    self.warn_of_misplaced(&nodes).await?;
                }
                // Only after a change: what has not changed was tried when it did.
                "smoke" if self.writes.load(Ordering::Relaxed) > 0 => {
                    self.phase(phase.id, self.smoke(&nodes, &known)).await?;
                }
                "smoke" => {}
                _ => nodes = self.phase(phase.id, self.apply(phase, nodes, &known, options)).await?,
            }
            if until == Some(phase.id) {
                break;
            }
        }
        nodes.iter().for_each(NodeRun::done);
        Ok(())
    }

    pub(super) async fn make_machines(&self) -> Result<()> {
        let made: Vec<Node> =
            self.spec.nodes.iter().filter(|node| matches!(node.place, Place::Machine(_))).cloned().collect();
        if made.is_empty() {
            return Ok(());
        }
        let machines = self.machines()?;
        machines.require(&made).await?;
        let mut tasks = JoinSet::new();
        for node in made {
            let machines = machines.clone();
            let reporter = self.reporter.for_node(&node.name);
            tasks.spawn(async move {
                let (phase, began) = ("machines".to_owned(), Instant::now());
                reporter.say(EventKind::NodePhaseStarted { phase: phase.clone(), resources: 0 });
                let ensured = machines.ensure(&node).await;
                if ensured.is_ok() {
                    reporter.say(EventKind::NodePhaseDone { phase, took_ms: millis(began) });
                }
                (node.name, ensured)
            });
        }
        let mut errors = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((name, Ok(reached))) => {
                    self.remember(|state| {
                        let entry = state.node(&name);
                        entry.endpoint = Some(reached.endpoint);
                        entry.host_key = reached.host_key;
                    })?;
                }
                Ok((name, Err(error))) => errors.push(self.failed(&name, error)),
                Err(panic) => errors.push(broken(&panic)),
            }
        }
        self.together(errors).map_or(Ok(()), Err)
    }

    /// One exec a node: facts, and a look at everything that shall be true, planned from the facts
    /// remembered of each machine.
    pub(super) async fn connect(
        &self,
        nodes: &[Node],
        options: &CreateOptions,
    ) -> Result<(Vec<NodeRun>, Known)> {
        let remembered = self.known();
        let mut tasks = JoinSet::new();
        for node in nodes {
            let resources = self.plan(node, &remembered, options).resources().cloned().collect();
            let mut node_run = NodeRun::new(self, node)?;
            tasks.spawn(async move {
                let looked = node_run.look(resources).await;
                (node_run, looked)
            });
        }
        let nodes = self.gather(tasks).await?;
        self.remember(|state| {
            for node in &nodes {
                let entry = state.node(&node.node.name);
                entry.facts.clone_from(&node.facts);
                entry.open_run = None;
                if matches!(self.command, "create" | "update") {
                    entry.stage = Stage::Ready;
                }
            }
        })?;
        Ok((nodes, self.known()))
    }

    /// Which phases have something to do, as far as a look can tell: for whoever wants to know how long it will take.
    fn tell_what_is_ahead(&self, nodes: &[NodeRun], known: &Known, options: &CreateOptions) {
        let plans: Vec<(&NodeRun, NodePlan)> =
            nodes.iter().map(|node| (node, self.plan(&node.node, known, options))).collect();
        let has_work = |phase: &&Phase| match phase.work {
            Work::Nodes(_) => plans.iter().any(|(node, plan)| !node.all_satisfied(plan.of_phase(phase.id))),
            // What the host does once anything is to be done.
            Work::Host => plan::order(Some(phase.id)) > plan::order(Some("preflight")),
        };
        let until = plan::order(options.until.as_deref()).unwrap_or(plan::PHASES.len());
        let ahead: Vec<&Phase> = plan::PHASES.iter().take(until + 1).filter(has_work).collect();
        if ahead.iter().any(|phase| matches!(phase.work, Work::Nodes(_))) {
            self.ahead().extend(ahead.iter().map(|phase| phase.id.to_owned()));
            let one = |phase: &&Phase| PhaseAhead {
                phase: phase.id.to_owned(),
                usual_ms: self.pace.usual(phase.id),
            };
            self.reporter.say(EventKind::Ahead { phases: ahead.iter().map(one).collect() });
        }
    }

    /// Finds every reason not to go on; `changed` is one if there is a cluster already.
    pub(super) fn judge(&self, nodes: &[NodeRun], known: &Known, changed: Vec<Error>) -> Result<()> {
        let made_at = self.state().made_at.clone();
        let stands = made_at.is_some() || nodes.iter().any(NodeRun::is_control_plane);
        let mut errors = if stands { changed } else { Vec::new() };
        errors.extend(made_at.and_then(|made_at| preflight::moved(&self.spec, known, &made_at)));
        let clocks = nodes.iter().map(|it| (it.node.name.clone(), it.clock)).collect();
        let findings = preflight::preflight(&self.spec, known, &clocks);
        for (node, warning) in findings.warnings {
            self.reporter.for_node(&node).warn(warning);
        }
        errors.extend(findings.errors);
        Error::all(errors).map_or(Ok(()), Err)
    }

    /// Makes the resources of a phase true on every node, in parallel.
    pub(super) async fn apply(
        &self,
        phase: &Phase,
        nodes: Vec<NodeRun>,
        known: &Known,
        options: &CreateOptions,
    ) -> Result<Vec<NodeRun>> {
        self.remember(|state| {
            for node in &nodes {
                let begun = &mut state.node(&node.node.name).begun;
                if plan::order(begun.as_deref()) < plan::order(Some(phase.id)) {
                    *begun = Some(phase.id.to_owned());
                }
            }
        })?;
        let mut tasks = JoinSet::new();
        for mut node in nodes {
            let (phase, resources) =
                (phase.id, self.plan(&node.node, known, options).of_phase(phase.id).to_vec());
            tasks.spawn(async move {
                let applied = node.take_part(phase, resources).await;
                (node, applied)
            });
        }
        let nodes = self.gather(tasks).await?;
        self.remember(|state| {
            for node in &nodes {
                state.node(&node.node.name).phase = Some(phase.id.to_owned());
            }
        })?;
        Ok(nodes)
    }

    /// A node that is in the cluster but no longer in the file needs a decision that is not ours.
    pub(super) fn refuse_forgotten_nodes(&self) -> Result<()> {
        let state = self.state();
        let errors = state.nodes.keys().filter(|name| self.spec.node(name).is_none()).map(|name| {
            // Nobody leaves a cluster that is not one yet.
            let instead = if state.made_at.is_some() {
                format!("let it leave: `swdt cluster update --config FILE --prune {name}`")
            } else {
                format!("begin anew: `swdt cluster destroy {}`", self.spec.name)
            };
            Error::new(id::NODE_NOT_IN_FILE, "is part of the cluster, but the file no longer names it")
                .on(name)
                .because("a line that is missing may be a mistake, and whatever runs there would go")
                .hinted(format!("put it back into the file, or {instead}"))
        });
        Error::all(errors.collect()).map_or(Ok(()), Err)
    }
}
