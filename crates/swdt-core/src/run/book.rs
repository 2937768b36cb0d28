//! What a run keeps: its beginning and end, its state, what is known of the machines.

use std::sync::{Arc, Mutex, atomic::Ordering};

use swdt_wire::Blob;
use tokio::task::JoinSet;

use super::{NodeRun, Run, Sink, broken, fetch, host, host::Host, node};
use crate::{
    Error, ErrorKind, Result,
    event::{EventKind, Reporter},
    id,
    journal::Journal,
    keys,
    machine::{Context, Machines, Recipe},
    pace::Pace,
    plan::{self, Known},
    source::Sources,
    spec::Spec,
    state::{LastRun, State},
};

/// Commands for a cluster whose machines are of different times.
const MENDING: &[&str] = &[super::snapshot::RESTORE, "destroy"];

impl<'a> Run<'a> {
    /// Takes the cluster and opens its journal.
    pub(super) fn begin(host: &'a Host, spec: &Spec, command: &'static str, sink: Sink) -> Result<Self> {
        let dir = host.dirs.cluster(&spec.name);
        dir.make()?;
        // Commands of the group `cluster` are told without it.
        let typed = if command.contains(' ') { command.to_owned() } else { format!("cluster {command}") };
        let lock = dir.lock(&host.holder(&typed))?;
        let (state, lost) = match dir.load(&spec.name) {
            // Who takes everything away can do without: everything may be there.
            Err(error) if command == "destroy" && error.is(id::RECORD_UNREADABLE) => {
                let mut state = State::new(&spec.name);
                let last = plan::PHASES.last().map(|phase| phase.id.to_owned());
                spec.nodes.iter().for_each(|node| state.node(&node.name).begun.clone_from(&last));
                (state, Some(error.message))
            }
            loaded => (loaded?, None),
        };
        if !MENDING.contains(&command) {
            state.whole()?;
        }
        let reporter = Journal::open(&dir, sink)?.reporter();
        let run = Self {
            host,
            spec: Arc::new(spec.clone()),
            dir,
            id: host::new_run_id(),
            command,
            state: Arc::new(Mutex::new(state)),
            writes: Arc::default(),
            exchanges: Arc::default(),
            sources: Arc::new(Sources::new(host.sources.of(spec), reporter.clone())?),
            locked: fetch::artifacts(&host.dirs, spec)?,
            reporter,
            lock: Some(lock),
            pace: Pace::of(&host.dirs, command, spec),
            ahead: Mutex::default(),
        };
        run.reporter.say(EventKind::Started {
            run: run.id.clone(),
            command: command.to_owned(),
            cluster: spec.name.clone(),
            nodes: spec.nodes.iter().map(|node| node.name.clone()).collect(),
        });
        if let Some(lost) = lost {
            run.reporter.warn(lost);
        }
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
            exchanges: Arc::default(),
            sources: Arc::new(Sources::new(host.sources.of(spec), Reporter::silent())?),
            locked: fetch::artifacts(&host.dirs, spec)?,
            lock: None,
            pace: Pace::of(&host.dirs, "look", spec),
            ahead: Mutex::default(),
        })
    }

    /// The one last event, and the last word in the state.
    pub(super) fn end<T>(self, result: Result<T>) -> Result<T> {
        let result = result.map_err(|error| self.with_logs(error));
        let error = result.as_ref().err().map(Error::summary);
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
    pub(super) fn with_logs(&self, mut error: Error) -> Error {
        let log = |error: &mut Error| {
            if let (Some(node), None) = (&error.node, &error.log) {
                error.log = Some(self.dir.log(node)).filter(|log| log.exists());
            }
        };
        log(&mut error);
        error.others.iter_mut().for_each(log);
        error
    }

    /// Waits for all nodes; the ones that succeed go on to their end even when another fails.
    pub(super) async fn gather(&self, mut tasks: JoinSet<(NodeRun, Result<()>)>) -> Result<Vec<NodeRun>> {
        let mut nodes = Vec::new();
        let mut errors = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((node, Ok(()))) => nodes.push(node),
                Ok((node, Err(error))) => errors.push(self.failed(&node.node.name, error)),
                Err(panic) => errors.push(broken(&panic)),
            }
        }
        nodes.sort_by_key(|node| self.place(&node.node.name));
        self.together(errors).map_or(Ok(nodes), Err)
    }

    /// What went wrong on nodes, in the order of the file. The user's own wish to stop is told once, and after the rest.
    pub(super) fn together(&self, errors: Vec<Error>) -> Option<Error> {
        let (wishes, mut errors): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|error| error.kind() == ErrorKind::Interrupted);
        self.in_order(&mut errors);
        errors.extend(wishes.into_iter().reduce(|mut first, other| {
            first.hints.extend(other.hints);
            first.node = None;
            first
        }));
        Error::all(errors)
    }

    /// Where the file names a node; what ends in any order is told in that of the file.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.spec.nodes.iter().position(|node| node.name == name)
    }

    pub(super) fn in_order(&self, errors: &mut [Error]) {
        errors.sort_by_key(|error| error.node.as_deref().and_then(|name| self.place(name)));
    }

    pub(super) fn failed(&self, node: &str, error: Error) -> Error {
        if error.kind() != ErrorKind::Interrupted {
            self.reporter.for_node(node).say(EventKind::NodeFailed { message: error.message.clone() });
        }
        error.on(node)
    }

    /// What is remembered of the machines.
    pub(super) fn known(&self) -> Known {
        let state = self.state();
        let mut known = Known::default();
        for (name, node) in &state.nodes {
            known.facts.extend(node.facts.clone().map(|facts| (name.clone(), facts)));
            known.endpoints.extend(node.endpoint.clone().map(|endpoint| (name.clone(), endpoint)));
        }
        known.ca_hash.clone_from(&state.ca_hash);
        known.authority.clone_from(&state.authority);
        let agent = self.host.agents.windows.as_ref();
        known.windows_agent =
            agent.map(|agent| Blob { sha256: agent.sha256().to_owned(), size: agent.size() });
        known.artifacts = self.locked.clone().map(|artifacts| state.with_replaced(artifacts));
        known
    }

    pub(crate) fn machines(&self) -> Result<Machines> {
        let key = self.dir.key();
        // Who only looks makes nothing; without a key no machine was made.
        let authorized_key = if self.persists() {
            keys::ensure(&key)?
        } else if key.exists() {
            keys::public(&key)?
        } else {
            String::new()
        };
        Ok(Machines::new(Context {
            cluster: self.spec.name.clone(),
            cluster_dir: self.dir.root().to_owned(),
            cache_dir: self.host.dirs.cache.clone(),
            host_dir: self.host.dirs.host(),
            authorized_key,
            recipe: Recipe::default(),
            rehearsal: self.host.rehearsal,
            sources: self.host.sources.of(&self.spec),
            windows_program: self.host.agents.windows.as_ref().map(|agent| agent.bytes()),
            program: self.host.program.clone(),
            reporter: self.reporter.clone(),
            interrupt: self.host.interrupt.clone(),
        }))
    }

    pub(super) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Changes the state and writes it, if there is something to change.
    pub(super) fn remember(&self, change: impl FnOnce(&mut State)) -> Result<()> {
        node::remember(&self.state, self.persists().then_some(&self.dir), change)
    }

    /// Changes what this run knows, and writes nothing yet.
    pub(super) fn hold(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
    }

    pub(super) fn persists(&self) -> bool {
        self.lock.is_some()
    }
}
