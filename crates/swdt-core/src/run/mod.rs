//! The runner: the only code that acts. Reads top to bottom as the life of a cluster.
//!
//! * `mod.rs` – `create` and `destroy`, phase by phase
//! * `cluster.rs` – what concerns the cluster as a whole: tokens, the smoke test
//! * `fetch.rs` – programs and images
//! * `node.rs` – one node: connect, look, apply, revert
//! * `reach.rs` – a cluster that is there: its API, its kubeconfig
//! * `images.rs` – one more image for the nodes
//! * `power.rs` – machines stopped and started, without surprise for the cluster
//! * `prefetch.rs` – programs and images without a cluster
//! * `host.rs` – what the runner needs from the host it runs on

mod cluster;
mod connect;
mod fetch;
mod host;
mod images;
mod node;
mod power;
mod prefetch;
mod reach;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use tokio::task::JoinSet;

pub use cluster::smoke_test;
pub use fetch::{artifacts, used_artifacts};
pub use host::{Host, Interrupt};
pub use images::{How, Loaded, load_image};
use node::NodeRun;
pub use power::{Drain, Started, Stopped, start_node, stop_node};
pub use prefetch::{Fetched, fetch};
pub use reach::{kube, kubeconfig, readiness};

use crate::{
    Error, ErrorKind, Result,
    artifact::Artifacts,
    event::{Event, EventKind, Reporter},
    journal::Journal,
    keys,
    machine::{Context, MachineState, Machines},
    plan::{self, Known, NodePlan, Phase},
    preflight::preflight,
    remote::Transport,
    source::{self, Sources},
    spec::{Node, OsFamily, Place, Spec},
    state::{ClusterDir, ClusterLock, Dirs, LastRun, Stage, State},
};

/// Where events of a run go, besides the journal.
pub type Sink = Box<dyn FnMut(&Event) + Send>;

/// What `create` is asked.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    /// Stop after this phase.
    pub until: Option<String>,
}

/// Makes the cluster, or goes on where an earlier run stopped; both are the same.
pub async fn create(
    host: &Host,
    spec: &Spec,
    config: &[u8],
    options: &CreateOptions,
    sink: Sink,
) -> Result<()> {
    refuse_what_cannot_be_made_yet(spec)?;
    Error::all(source::early(&source::wants::of_cluster(spec)?)).map_or(Ok(()), Err)?;
    let run = Run::begin(host, spec, "create", sink)?;
    let result = run.create(config, options).await;
    run.end(result)
}

/// Looks at every machine and says what differs; changes nothing.
pub async fn check(host: &Host, spec: &Spec, options: &CreateOptions) -> Result<Vec<Looked>> {
    refuse_what_cannot_be_made_yet(spec)?;
    let run = Run::look(host, spec)?;
    let machines = run.machines()?;
    let mut there = Vec::new();
    for node in &spec.nodes {
        if machines.status(node).await? == MachineState::Running {
            there.push(node.clone());
        }
    }
    let (nodes, known) = run.connect(&there, options).await?;
    Ok(nodes
        .into_iter()
        .map(|node| {
            let plan = run.plan(&node.node, &known, options);
            Looked { node: node.node.name.clone(), plan, checked: node.checked }
        })
        .collect())
}

/// What was found on one machine.
pub struct Looked {
    /// The node.
    pub node: String,
    /// What shall be true.
    pub plan: NodePlan,
    /// What is, by resource id.
    pub checked: Vec<swdt_wire::Checked>,
}

/// Undoes every change on machines that were there before, and removes those that swdt made.
pub async fn destroy(host: &Host, spec: &Spec, force: bool, sink: Sink) -> Result<()> {
    let run = Run::begin(host, spec, "destroy", sink)?;
    let result = run.destroy(force).await;
    let gone = result.is_ok();
    let dir = run.dir.clone();
    run.end(result)?;
    if gone { dir.remove() } else { Ok(()) }
}

/// A connection to one machine of a cluster, for its user.
pub async fn transport(host: &Host, spec: &Spec, node: &Node) -> Result<Arc<dyn Transport>> {
    let run = Run::look(host, spec)?;
    let connector = connect::connector(&run, node, &Reporter::silent())?;
    let connected = connector.connect(connect::first_patience(node)).await;
    match connected.map_err(|error| error.on(&node.name)) {
        // "No route to host" is true, but a machine that we stopped ourselves has a better reason.
        Err(_) if machine_states(&host.dirs, spec).await?.get(&node.name) == Some(&MachineState::Stopped) => {
            Err(Error::new(ErrorKind::Machine, "the machine is stopped")
                .on(&node.name)
                .hinted(format!("start it with `swdt node start {}`", node.name)))
        }
        connected => connected,
    }
}

/// What is there of the machines that swdt made for the cluster, by node; changes nothing.
pub async fn machine_states(dirs: &Dirs, spec: &Spec) -> Result<BTreeMap<String, MachineState>> {
    let dir = dirs.cluster(&spec.name);
    let machines = Machines::new(Context {
        cluster: spec.name.clone(),
        cluster_dir: dir.root().to_owned(),
        cache_dir: dirs.cache.clone(),
        host_dir: dirs.host(),
        // Only planted into machines that are made, and none is made here.
        authorized_key: String::new(),
        packages: &[],
        reporter: Reporter::silent(),
    });
    let mut states = BTreeMap::new();
    for node in spec.nodes.iter().filter(|node| matches!(node.place, Place::Machine(_))) {
        states.insert(node.name.clone(), machines.status(node).await?);
    }
    Ok(states)
}

/// One command at work on one cluster.
pub(crate) struct Run<'a> {
    host: &'a Host,
    spec: Arc<Spec>,
    dir: ClusterDir,
    id: String,
    command: &'static str,
    state: Arc<Mutex<State>>,
    reporter: Reporter,
    writes: Arc<AtomicU64>,
    sources: Arc<Sources>,
    /// What an earlier run resolved and pinned.
    locked: Option<Artifacts>,
    lock: Option<ClusterLock>,
}

impl<'a> Run<'a> {
    /// Takes the cluster and opens its journal.
    fn begin(host: &'a Host, spec: &Spec, command: &'static str, sink: Sink) -> Result<Self> {
        let dir = host.dirs.cluster(&spec.name);
        dir.make()?;
        // Commands of the group `cluster` are told without it.
        let typed = if command.contains(' ') { command.to_owned() } else { format!("cluster {command}") };
        let lock = dir.lock(&host.holder(&typed))?;
        let state = dir.load(&spec.name)?;
        let reporter = Journal::open(&dir, sink)?.reporter();
        let run = Self {
            host,
            spec: Arc::new(spec.clone()),
            dir,
            id: host::new_run_id(),
            command,
            state: Arc::new(Mutex::new(state)),
            writes: Arc::default(),
            sources: Arc::new(Sources::new(host.sources.clone(), reporter.clone())?),
            locked: fetch::artifacts(&host.dirs, spec)?,
            reporter,
            lock: Some(lock),
        };
        run.reporter.say(EventKind::Started {
            run: run.id.clone(),
            command: command.to_owned(),
            cluster: spec.name.clone(),
            nodes: spec.nodes.iter().map(|node| node.name.clone()).collect(),
        });
        Ok(run)
    }

    /// Only looks: no journal, nothing remembered.
    pub(crate) fn look(host: &'a Host, spec: &Spec) -> Result<Self> {
        let dir = host.dirs.cluster(&spec.name);
        let state = dir.load(&spec.name)?;
        Ok(Self {
            host,
            spec: Arc::new(spec.clone()),
            dir,
            id: host::new_run_id(),
            command: "look",
            state: Arc::new(Mutex::new(state)),
            reporter: Reporter::silent(),
            writes: Arc::default(),
            sources: Arc::new(Sources::new(host.sources.clone(), Reporter::silent())?),
            locked: fetch::artifacts(&host.dirs, spec)?,
            lock: None,
        })
    }

    /// The one last event, and the last word in the state.
    fn end(self, result: Result<()>) -> Result<()> {
        let result = result.map_err(|error| self.with_logs(error));
        let error = result.as_ref().err().map(ToString::to_string);
        if self.dir.exists() {
            let last =
                LastRun { command: self.command.into(), at: jiff::Timestamp::now(), error: error.clone() };
            self.remember(|state| state.last_run = Some(last))?;
        }
        let writes = self.writes.load(Ordering::Relaxed);
        self.reporter.say(EventKind::Finished { ok: result.is_ok(), writes, error });
        result
    }

    /// Errors of a node say where its log is.
    fn with_logs(&self, mut error: Error) -> Error {
        let log = |error: &mut Error| {
            if let (Some(node), None) = (&error.node, &error.log) {
                error.log = Some(self.dir.log(node)).filter(|log| log.exists());
            }
        };
        log(&mut error);
        error.others.iter_mut().for_each(log);
        error
    }

    async fn create(&self, config: &[u8], options: &CreateOptions) -> Result<()> {
        self.refuse_forgotten_nodes()?;
        self.remember(|state| {
            for node in &self.spec.nodes {
                state.node(&node.name).made = matches!(node.place, Place::Machine(_));
            }
        })?;
        self.dir.save_spec(&self.spec, config)?;

        let until = options.until.as_deref();
        self.phase("machines", self.make_machines()).await?;
        if until == Some("machines") {
            return Ok(());
        }
        let (mut nodes, mut known) = self.phase("connect", self.connect(&self.spec.nodes, options)).await?;
        if until == Some("connect") {
            return Ok(());
        }
        self.phase("preflight", async { self.judge(&known) }).await?;
        if until == Some("preflight") {
            return Ok(());
        }
        for phase in plan::PHASES.iter().skip_while(|phase| phase.id != "preflight").skip(1) {
            match phase.id {
                "fetch" => {
                    let needed = !nodes
                        .iter()
                        .all(|node| node.all_satisfied(&self.all_resources(node, &known, options)));
                    known.artifacts = Some(self.phase(phase.id, self.fetch(needed)).await?);
                }
                "join" => nodes = self.phase(phase.id, self.join(phase, nodes, &mut known, options)).await?,
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

    async fn destroy(&self, force: bool) -> Result<()> {
        let names: Vec<String> = self.spec.nodes.iter().map(|node| node.name.clone()).collect();
        self.remember(|state| names.iter().for_each(|name| state.node(name).stage = Stage::Deleting))?;
        let existing: Vec<Node> = {
            let state = self.state();
            let touched =
                |node: &&Node| state.nodes.get(&node.name).is_some_and(|known| known.facts.is_some());
            let not_ours = |node: &&Node| matches!(node.place, Place::Existing { .. });
            self.spec.nodes.iter().filter(not_ours).filter(touched).cloned().collect()
        };
        if !existing.is_empty() {
            self.titled("undo", "Undo", self.revert(&existing, force)).await?;
        }
        self.titled("remove", "Remove", async { self.machines()?.destroy_cluster().await }).await
    }

    /// Runs one phase of the visible list, between its two events.
    async fn phase<T>(&self, id: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let title = plan::phase(id).map_or(id, |phase| phase.title);
        self.titled(id, title, work).await
    }

    async fn titled<T>(&self, id: &str, title: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        if self.host.interrupt.is_set() {
            return Err(interrupted());
        }
        let started = Instant::now();
        self.reporter.say(EventKind::PhaseStarted { phase: id.into(), title: title.into() });
        let result = work.await?;
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.reporter.say(EventKind::PhaseDone { phase: id.into(), took_ms });
        Ok(result)
    }

    async fn make_machines(&self) -> Result<()> {
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
            tasks.spawn(async move { (node.name.clone(), machines.ensure(&node).await) });
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
        Error::all(errors).map_or(Ok(()), Err)
    }

    /// One exec a node: facts, and a look at everything that shall be true, planned from the facts
    /// remembered of each machine.
    async fn connect(&self, nodes: &[Node], options: &CreateOptions) -> Result<(Vec<NodeRun>, Known)> {
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
                if self.command == "create" {
                    entry.stage = Stage::Ready;
                }
            }
        })?;
        Ok((nodes, self.known()))
    }

    fn judge(&self, known: &Known) -> Result<()> {
        let findings = preflight(&self.spec, known);
        for (node, warning) in findings.warnings {
            self.reporter.for_node(&node).warn(warning);
        }
        Error::all(findings.errors).map_or(Ok(()), Err)
    }

    /// Makes the resources of a phase true on every node, in parallel.
    async fn apply(
        &self,
        phase: &Phase,
        nodes: Vec<NodeRun>,
        known: &Known,
        options: &CreateOptions,
    ) -> Result<Vec<NodeRun>> {
        let mut tasks = JoinSet::new();
        for mut node in nodes {
            let resources = self.plan(&node.node, known, options).of_phase(phase.id).to_vec();
            tasks.spawn(async move {
                let applied = node.make_true(resources).await;
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

    async fn revert(&self, nodes: &[Node], force: bool) -> Result<()> {
        let mut tasks = JoinSet::new();
        for node in nodes {
            let mut node_run = NodeRun::new(self, node)?;
            tasks.spawn(async move {
                let reverted = node_run.revert(force).await;
                (node_run, reverted)
            });
        }
        self.gather(tasks).await?.iter().for_each(NodeRun::done);
        Ok(())
    }

    /// Waits for all nodes; the ones that succeed go on to their end even when another fails.
    async fn gather(&self, mut tasks: JoinSet<(NodeRun, Result<()>)>) -> Result<Vec<NodeRun>> {
        let mut nodes = Vec::new();
        let mut errors = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((node, Ok(()))) => nodes.push(node),
                Ok((node, Err(error))) => errors.push(self.failed(&node.node.name, error)),
                Err(panic) => errors.push(broken(&panic)),
            }
        }
        // The order of the file, not of the finish.
        let place = |name: &str| self.spec.nodes.iter().position(|node| node.name == name);
        nodes.sort_by_key(|node| place(&node.node.name));
        errors.sort_by_key(|error| error.node.as_deref().and_then(place));
        Error::all(errors).map_or(Ok(nodes), Err)
    }

    fn failed(&self, node: &str, error: Error) -> Error {
        if error.kind != ErrorKind::Interrupted {
            self.reporter.for_node(node).say(EventKind::NodeFailed { message: error.message.clone() });
        }
        error.on(node)
    }

    /// The plan of a node with what is known.
    fn plan(&self, node: &Node, known: &Known, options: &CreateOptions) -> NodePlan {
        plan::plan_node(&self.spec, node, known, options.until.as_deref())
    }

    /// What is remembered of the machines.
    fn known(&self) -> Known {
        let state = self.state();
        let mut known = Known::default();
        for (name, node) in &state.nodes {
            known.facts.extend(node.facts.clone().map(|facts| (name.clone(), facts)));
            known.endpoints.extend(node.endpoint.clone().map(|endpoint| (name.clone(), endpoint)));
        }
        known.ca_hash.clone_from(&state.ca_hash);
        known.artifacts.clone_from(&self.locked);
        known
    }

    pub(crate) fn machines(&self) -> Result<Machines> {
        Ok(Machines::new(Context {
            cluster: self.spec.name.clone(),
            cluster_dir: self.dir.root().to_owned(),
            cache_dir: self.host.dirs.cache.clone(),
            host_dir: self.host.dirs.host(),
            authorized_key: keys::ensure(&self.dir.key())?,
            packages: &[],
            reporter: self.reporter.clone(),
        }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Changes the state and writes it, if there is something to change.
    fn remember(&self, change: impl FnOnce(&mut State)) -> Result<()> {
        node::remember(&self.state, self.persists().then_some(&self.dir), change)
    }

    fn persists(&self) -> bool {
        self.lock.is_some()
    }

    /// A node that is in the cluster but no longer in the file needs a decision that is not ours.
    fn refuse_forgotten_nodes(&self) -> Result<()> {
        let state = self.state();
        let errors = state.nodes.keys().filter(|name| self.spec.node(name).is_none()).map(|name| {
            Error::new(ErrorKind::Config, "is part of the cluster, but the file no longer names it")
                .on(name)
                .hinted("put it back into the file, or begin anew with `swdt cluster destroy`")
        });
        Error::all(errors.collect()).map_or(Ok(()), Err)
    }
}

fn refuse_what_cannot_be_made_yet(spec: &Spec) -> Result<()> {
    let windows = spec.nodes.iter().filter(|node| node.os == OsFamily::Windows).map(|node| {
        Error::new(
            ErrorKind::Config,
            "this version of swdt can describe Windows nodes, but not make them yet",
        )
        .on(&node.name)
        .hinted("take the Windows nodes out of the file for now")
    });
    Error::all(windows.collect()).map_or(Ok(()), Err)
}

pub(crate) fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "stopped at your request; everything done so far is kept")
}

fn broken(panic: &tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Internal, format!("work on a node broke off: {panic}"))
}
