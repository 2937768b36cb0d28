//! The runner: the only code that acts. Reads top to bottom as the life of a cluster.
//!
//! * `mod.rs` – what can be asked
//! * `create.rs`, `destroy.rs` – phase by phase
//! * `book.rs` – what a run keeps: its beginning and end, its state, what is known of the machines
//! * `cluster.rs` – what concerns the cluster as a whole: tokens, the smoke test
//! * `fetch.rs` – programs and images
//! * `node.rs` – one node: connect, look, apply, revert; `ending.rs` – how that ended, in words
//! * `receipts.rs` – what a machine tells of itself, and undoing a part
//! * `reach.rs` – a cluster that is there: its API, its kubeconfig
//! * `images.rs` – one more image for the nodes
//! * `update.rs` – nodes come and leave; `difference.rs` – the same, told beforehand
//! * `adopt.rs` – a cluster whose directory was lost is remembered again
//! * `replace.rs` – other programs on a node, and back if they do not work
//! * `snapshot.rs` – all machines saved and put back, with what is remembered of them
//! * `power.rs` – machines stopped and started, without surprise for the cluster
//! * `support.rs` – what helps to find out why a cluster does not work
//! * `doctor.rs` – looks for the rules, and mends what they name
//! * `report.rs` – what is kept of a cluster, for people to look at
//! * `e2e.rs` – tests of Kubernetes' own
//! * `prefetch.rs` – programs and images without a cluster
//! * `probe.rs` – a machine before it is a node
//! * `host.rs` – what the runner needs from the host it runs on

mod adopt;
mod book;
mod cluster;
mod connect;
mod create;
mod destroy;
mod difference;
mod doctor;
pub mod e2e;
mod ending;
pub(crate) mod fetch;
mod host;
mod images;
mod node;
mod power;
mod prefetch;
mod probe;
mod reach;
mod receipts;
mod replace;
mod report;
mod screen;
mod snapshot;
mod support;
mod update;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, atomic::AtomicU64},
    time::Instant,
};

pub use adopt::{AdoptOptions, Adopted, adopt};
pub use cluster::smoke_test;
pub use destroy::DestroyOptions;
pub use difference::{Difference, Leaves, difference};
pub use doctor::{look_ahead, look_at_cluster, look_at_host, look_at_machines, mend};
pub use fetch::{artifacts, used_artifacts};
pub use host::Host;
pub use images::{How, Loaded, load_image};
use node::NodeRun;
pub use power::{Drain, Started, Stopped, start_node, stop_node};
pub use prefetch::{Fetched, fetch};
pub use probe::{Candidate, Seen};
pub use reach::{kube, kubeconfig, readiness};
pub use replace::{ReplaceOptions, Replacement, Swapped, Wish, With, replace};
pub use report::report;
pub use screen::{console, screenshot};
pub use snapshot::{Restored, delete_snapshot, restore_snapshot, save_snapshot, snapshots};
pub use support::{Collected, bundle_name, support_bundle};
pub use update::{UpdateOptions, update};

use crate::{
    Error, Result,
    artifact::Artifacts,
    event::{Event, EventKind, Reporter},
    id,
    interrupt::Interrupt,
    machine::{Context, MachineState, Machines, Recipe},
    pace::Pace,
    plan::{self, Known, NodePlan},
    remote::Transport,
    source::{self, Settings, Sources},
    spec::{Node, Place, Spec},
    state::{ClusterDir, ClusterLock, Dirs, State},
};

/// Where events of a run go, besides the journal.
pub type Sink = Box<dyn FnMut(&Event) + Send>;

/// What `create` is asked.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    /// Stop after this phase.
    pub until: Option<String>,
}

/// Can the machines of a cluster be made on this host? Tells everything that stands against it; of the cluster nothing is
/// written. To read a disc of Windows takes a while, and is reported.
pub async fn can_make(host: &Host, spec: &Spec, reporter: Reporter) -> Result<()> {
    let run = Run { reporter, ..Run::look(host, spec)? };
    run.machines()?.require(&spec.nodes).await
}

/// Makes the cluster, or goes on where an earlier run stopped; both are the same.
pub async fn create(
    host: &Host,
    spec: &Spec,
    config: &[u8],
    options: &CreateOptions,
    sink: Sink,
) -> Result<()> {
    Error::all(source::early(&source::wants::of_cluster(spec)?)).map_or(Ok(()), Err)?;
    let run = Run::begin(host, spec, "create", sink)?;
    let result = run.create(config, options).await;
    run.end(result)
}

/// Looks at every machine and says what differs; changes nothing.
pub async fn check(host: &Host, spec: &Spec, options: &CreateOptions) -> Result<Vec<Looked>> {
    let run = Run::look(host, spec)?;
    let machines = run.machines()?;
    let mut there = Vec::new();
    for node in &spec.nodes {
        if machines.status(node).await? == MachineState::Running {
            there.push(node.clone());
        }
    }
    run.examine(&there, options).await.map(|(looked, _)| looked)
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
pub async fn destroy(host: &Host, spec: &Spec, options: &DestroyOptions, sink: Sink) -> Result<()> {
    let run = Run::begin(host, spec, "destroy", sink)?;
    let result = run.destroy(options).await;
    let dir = run.dir.clone();
    let left = run.end(result)?;
    // What was kept can still be forced, and only this directory knows where.
    if left == 0 { dir.remove() } else { Ok(()) }
}

/// A connection to one machine of a cluster, for its user.
pub async fn transport(host: &Host, spec: &Spec, node: &Node) -> Result<Arc<dyn Transport>> {
    let run = Run::look(host, spec)?;
    let connector = connect::connector(&run, node, &Reporter::silent())?;
    let connected = connector.connect(connect::first_patience(node)).await;
    match connected.map_err(|error| error.on(&node.name)) {
        // "No route to host" is true, but a machine that we stopped ourselves has a better reason.
        Err(_) if machine_states(&host.dirs, spec).await?.get(&node.name) == Some(&MachineState::Stopped) => {
            Err(Error::new(id::MACHINE_STOPPED, "the machine is stopped")
                .on(&node.name)
                .hinted(format!("start it with `swdt node start {}`", node.name)))
        }
        connected => connected,
    }
}

/// What is there of the machines that swdt made for the cluster, by node; changes nothing.
pub async fn machine_states(dirs: &Dirs, spec: &Spec) -> Result<BTreeMap<String, MachineState>> {
    let machines = Machines::new(onlooker(dirs, &spec.name));
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
    /// How often machines were asked something.
    exchanges: Arc<AtomicU64>,
    sources: Arc<Sources>,
    /// What an earlier run resolved and pinned.
    locked: Option<Artifacts>,
    lock: Option<ClusterLock>,
    pace: Pace,
    /// Phases that a look found to have something to do.
    ahead: Mutex<BTreeSet<String>>,
}

impl Run<'_> {
    /// Runs one phase of the visible list, between its two events.
    async fn phase<T>(&self, id: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let title = plan::phase(id).map_or(id, |phase| phase.title);
        self.titled(id, title, work).await
    }

    async fn titled<T>(&self, id: &str, title: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.host.interrupt.check()?;
        self.to_the_end(id, title, Box::pin(work)).await
    }

    /// The same for what must not be left out, whatever the user wishes.
    async fn to_the_end<T>(&self, id: &str, title: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let started = Instant::now();
        let usual_ms = self.pace.usual(id);
        self.reporter.say(EventKind::PhaseStarted { phase: id.into(), title: title.into(), usual_ms });
        let result = work.await?;
        let took_ms = millis(started);
        self.reporter.say(EventKind::PhaseDone { phase: id.into(), took_ms });
        // A phase without work tells nothing about one with work.
        let had_work = took_ms >= WORTH_KNOWING || self.ahead().contains(id);
        if self.persists() && had_work {
            self.pace.learn(id, took_ms);
        }
        Ok(result)
    }

    fn ahead(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.ahead.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The plan of a node with what is known.
    fn plan(&self, node: &Node, known: &Known, options: &CreateOptions) -> NodePlan {
        plan::plan_node(&self.spec, node, known, options.until.as_deref())
    }
}

/// What a provider needs to look at machines; nothing is made with it.
fn onlooker(dirs: &Dirs, cluster: &str) -> Context {
    Context {
        cluster: cluster.to_owned(),
        cluster_dir: dirs.cluster(cluster).root().to_owned(),
        cache_dir: dirs.cache.clone(),
        host_dir: dirs.host(),
        authorized_key: String::new(),
        recipe: Recipe::default(),
        rehearsal: None,
        sources: Settings::new(dirs.cache.clone()),
        windows_program: None,
        program: std::path::PathBuf::new(),
        reporter: Reporter::silent(),
        interrupt: Interrupt::default(),
    }
}

/// Phases that were quicker need no estimate.
const WORTH_KNOWING: u64 = 1000;

/// How long ago that was.
fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn broken(panic: &tokio::task::JoinError) -> Error {
    Error::new(id::INTERNAL, format!("work on a node broke off: {panic}"))
}
