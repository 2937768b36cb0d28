//! One node at work: connect, look, make true, undo.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use swdt_wire::{
    Checked, Facts, Kind, Log, Mode, NodeEvent, NodeEventKind, NodeFailure, Owner, Request, Resource, Secret,
    Status, Summary,
};

use super::{Host, Run, connect, connect::first_patience, ending::fail_on, millis};
use crate::{
    Error, Result,
    event::{EventKind, Reporter, Setback},
    id,
    interrupt::Interrupt,
    kube::Kube,
    plan::{AFTER_CONNECT, AFTER_FETCH, AFTER_INIT},
    remote::Agent,
    source::Sources,
    spec::Node,
    state::{ClusterDir, State},
};

/// How often a phase is begun anew on a machine that restarted or lost the node program meanwhile.
const RESTARTS: u32 = 3;

/// One node of a run, with its connection.
pub(crate) struct NodeRun {
    pub(super) node: Node,
    /// What the machine is, once it was looked at.
    pub(super) facts: Option<Facts>,
    /// What its clock said, and ours at that moment, in seconds since the epoch.
    pub(super) clock: (u64, u64),
    /// What was found when it was last looked at.
    pub(super) checked: Vec<Checked>,
    /// The resources that `checked` is about.
    looked_at: Vec<Resource>,
    pub(super) agent: Agent,
    /// Digest of the image that the machine pulled.
    pub(super) pulled: Option<String>,
    /// What it takes to join, while workers do.
    pub(super) joining: Option<Joining>,
    /// New tokens for programs on the node, by the resource that needs each.
    pub(super) tokens: BTreeMap<String, Secret>,
    sources: Arc<Sources>,
    cluster: String,
    run: String,
    /// A machine takes what it is asked under one name for one thing, whoever asks in this run.
    exchanges: Arc<AtomicU64>,
    pub(super) owner: Owner,
    reporter: Reporter,
    interrupt: Interrupt,
    /// Of this node, and of all nodes together.
    own_writes: u64,
    /// What a revert left as somebody had changed it.
    pub(super) kept: u64,
    /// Does something that was done take effect with a restart only?
    reboot: bool,
    writes: Arc<AtomicU64>,
    state: Arc<Mutex<State>>,
    dir: Option<ClusterDir>,
}

/// What programs of a machine said last.
#[derive(Default)]
pub(super) struct Logs {
    /// By the name of the log.
    pub(super) lines: BTreeMap<String, Vec<String>>,
    /// Why a log could not be read.
    pub(super) unread: BTreeMap<String, String>,
}

/// What it takes to join.
pub(super) struct Joining {
    /// The bootstrap token.
    pub(super) token: Secret,
    /// The control plane.
    pub(super) kube: Arc<Kube>,
}

impl NodeRun {
    pub(super) fn new(run: &Run<'_>, node: &Node) -> Result<Self> {
        let reporter = run.reporter.for_node(&node.name);
        let host: &Host = run.host;
        Ok(Self {
            node: node.clone(),
            facts: None,
            clock: (0, 0),
            checked: Vec::new(),
            looked_at: Vec::new(),
            agent: connect::agent(run, node, &reporter)?,
            pulled: None,
            joining: None,
            tokens: BTreeMap::new(),
            sources: run.sources.clone(),
            cluster: run.spec.name.clone(),
            run: run.id.clone(),
            exchanges: run.exchanges.clone(),
            owner: Owner { who: host.who.clone() },
            reporter,
            interrupt: host.interrupt.clone(),
            own_writes: 0,
            kept: 0,
            reboot: false,
            writes: run.writes.clone(),
            state: run.state.clone(),
            dir: run.persists().then(|| run.dir.clone()),
        })
    }

    /// Facts and the state of these resources, in one exec.
    pub(super) async fn look(&mut self, resources: Vec<Resource>) -> Result<()> {
        let address = self.connect().await?;
        let sendable = resources.into_iter().filter(|resource| !has_placeholder(resource)).collect();
        self.check(sendable).await?;
        let system = self.facts.as_ref().map(|facts| facts.os.name.clone()).unwrap_or_default();
        self.reporter.say(EventKind::Connected { system, address });
        Ok(())
    }

    /// Looks again where the first look was at something else: a plan made before the machine was known.
    pub(super) async fn look_closer(&mut self, resources: Vec<Resource>) -> Result<()> {
        let sendable: Vec<Resource> =
            resources.into_iter().filter(|resource| !has_placeholder(resource)).collect();
        if sendable.iter().all(|resource| self.looked_at.contains(resource)) {
            return Ok(());
        }
        self.check(sendable).await
    }

    /// Logs in, and follows first what an earlier command left at work. Gives the place, for people.
    pub(super) async fn connect(&mut self) -> Result<String> {
        self.reporter.doing("connecting");
        // Where an earlier command left work, the machine may be restarting because of it.
        let patience =
            if self.open_run().is_some() { self.agent.patience() } else { first_patience(&self.node) };
        let transport = self.agent.connect(patience).await?;
        self.follow_open_run().await?;
        Ok(transport.place().to_owned())
    }

    async fn check(&mut self, resources: Vec<Resource>) -> Result<()> {
        let request = self.request(Mode::Check { resources: resources.clone() });
        let mut facts = None;
        let mut clock = (0, 0);
        let mut checked = Vec::new();
        let reporter = self.reporter.clone();
        let summary = self
            .agent
            .request(&request, &mut |event| match event.kind {
                NodeEventKind::Hello { at, .. } => clock = (at, now()),
                NodeEventKind::Facts(found) => facts = Some(*found),
                NodeEventKind::Checked(found) => checked.push(found),
                _ => pass_on(&reporter, event),
            })
            .await?;
        fail_on(&summary)?;
        self.facts = facts;
        self.clock = clock;
        // A look at a few does not make the others unseen: who is a member stays one.
        self.checked.retain(|old| checked.iter().all(|new| new.id != old.id));
        self.checked.extend(checked);
        self.looked_at = resources;
        Ok(())
    }

    /// Makes resources true. Without a word to the machine where a look found them true already.
    pub(super) async fn make_true(&mut self, resources: Vec<Resource>) -> Result<()> {
        if resources.is_empty() || self.all_satisfied(&resources) {
            return Ok(());
        }
        if let Some(unknown) = resources.iter().find(|resource| has_placeholder(resource)) {
            return Err(Error::new(id::INTERNAL, "a value in it is not known yet").at(&unknown.id));
        }
        self.send_missing_blobs(&resources).await?;
        let resources = resources.into_iter().map(|resource| self.with_token(resource)).collect();
        let mode = Mode::Apply { resources, owner: self.owner.clone() };
        let result = self.run_to_the_end(mode).await;
        // Whatever was seen before may be otherwise now.
        self.looked_at.clear();
        result
    }

    /// The same as its part of a phase, told so where there is one.
    pub(super) async fn take_part(&mut self, phase: &str, resources: Vec<Resource>) -> Result<()> {
        if resources.is_empty() || self.all_satisfied(&resources) {
            return Ok(());
        }
        let (phase, resources_in_it) = (phase.to_owned(), resources.len() as u64);
        self.reporter.say(EventKind::NodePhaseStarted { phase: phase.clone(), resources: resources_in_it });
        let began = Instant::now();
        self.make_true(resources).await?;
        self.reporter.say(EventKind::NodePhaseDone { phase, took_ms: millis(began) });
        Ok(())
    }

    pub(super) fn all_satisfied(&self, resources: &[Resource]) -> bool {
        let satisfied: BTreeSet<&str> = self
            .checked
            .iter()
            .filter(|checked| checked.status == Status::Satisfied)
            .map(|checked| checked.id.as_str())
            .collect();
        resources
            .iter()
            .all(|resource| satisfied.contains(resource.id.as_str()) && self.looked_at.contains(resource))
    }

    /// Was this resource true when the machine was last looked at?
    pub(super) fn found_true(&self, id: &str) -> bool {
        self.checked.iter().any(|checked| checked.id == id && checked.status == Status::Satisfied)
    }

    /// Lets the machine pull an image from its registry.
    pub(super) async fn pull(&mut self, reference: &str) -> Result<()> {
        self.connect().await?;
        self.reporter.doing(format!("pulling {reference}"));
        let request = self.request(Mode::Pull { reference: reference.to_owned() });
        let mut answer = None;
        let summary = self
            .agent
            .request(&request, &mut |event| {
                if let NodeEventKind::Answer { code, stdout, stderr } = event.kind {
                    answer = Some((code, stdout, stderr));
                }
            })
            .await?;
        fail_on(&summary)?;
        match answer {
            Some((Some(0), digest, _)) => self.pulled = Some(digest.expose().to_owned()),
            other => {
                let words = other.map(|(_, _, stderr)| stderr).unwrap_or_default();
                let telling = words.lines().filter(|line| !line.contains("level=warning"));
                return Err(Error::new(id::IMAGE_NOT_PULLED, format!("{reference} could not be pulled"))
                    .with_output(telling.map(ToOwned::to_owned).collect())
                    .hinted("is the name right, and can the machine reach the registry?")
                    .hinted("an archive needs no registry: `swdt image load FILE`"));
            }
        }
        Ok(())
    }

    /// The last lines of logs of the machine, by name; and why some could not be read.
    pub(super) async fn logs(&mut self, of: Vec<Log>, lines: u32) -> Result<Logs> {
        self.connect().await?;
        let mut logs = Logs::default();
        for log in &of {
            logs.lines.entry(log.name().to_owned()).or_default();
        }
        let request = self.request(Mode::Logs { of, lines });
        let summary = self
            .agent
            .request(&request, &mut |event| match event.kind {
                NodeEventKind::Output { id, line } => logs.lines.entry(id).or_default().push(line),
                NodeEventKind::Note { id, message } => {
                    logs.unread.insert(id.unwrap_or_default(), message);
                }
                _ => {}
            })
            .await?;
        fail_on(&summary)?;
        Ok(logs)
    }

    /// Did the look find a control plane that kubeadm made?
    pub(super) fn is_control_plane(&self) -> bool {
        let made = |resource: &&Resource| matches!(resource.kind, Kind::KubeadmInit(_));
        self.looked_at.iter().find(made).is_some_and(|resource| self.found_true(&resource.id))
    }

    async fn send_missing_blobs(&mut self, resources: &[Resource]) -> Result<()> {
        if resources.iter().all(|resource| resource.kind.blobs().is_empty()) {
            return Ok(());
        }
        if !resources.iter().all(|resource| self.looked_at.contains(resource)) {
            self.check(resources.to_vec()).await?;
        }
        let ids: BTreeSet<&str> = resources.iter().map(|resource| resource.id.as_str()).collect();
        let of_these = self.checked.iter().filter(|checked| ids.contains(checked.id.as_str()));
        let missing: BTreeSet<&String> = of_these.flat_map(|checked| &checked.missing_blobs).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.reporter.doing(format!("sending {} files", missing.len()));
        let paths = missing.into_iter().map(|sha256| Ok((sha256.clone(), self.path_of(sha256)?)));
        self.agent.put_all(paths.collect::<Result<_>>()?).await
    }

    fn path_of(&self, sha256: &str) -> Result<PathBuf> {
        let blob = self.sources.cache().blob(sha256)?;
        blob.map(|blob| blob.path).ok_or_else(|| {
            let state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let replaced = state.nodes.get(&self.node.name).map(|node| &node.replaced);
            if let Some((file, one)) = replaced.and_then(|all| all.iter().find(|(_, it)| it.sha256 == sha256))
            {
                let message = format!("{file} was replaced ({}), and those bytes are gone", one.from);
                return Error::new(id::REPLACEMENT_GONE, message).hinted(format!(
                    "replace it anew, or take the cluster's own: `swdt node replace {} --reset`",
                    self.node.name
                ));
            }
            Error::new(id::INTERNAL, format!("the bytes of {sha256} are not in the cache"))
        })
    }

    /// The plan never holds a token; only what is sent does.
    fn with_token(&self, mut resource: Resource) -> Resource {
        match &mut resource.kind {
            Kind::KubeadmJoin(join) => {
                join.token = self.joining.as_ref().map(|joining| joining.token.clone());
            }
            Kind::ClientConfig(config) => config.token = self.tokens.get(&resource.id).cloned(),
            _ => {}
        }
        resource
    }

    /// Undoes everything, in reverse.
    pub(super) async fn revert(&mut self, force: bool) -> Result<()> {
        self.connect().await?;
        let mode = Mode::Revert { force, owner: self.owner.clone() };
        self.run_to_the_end(mode).await?;
        self.agent.forget_upload().await?;
        if self.reboot {
            self.reporter.warn("restart the machine when you can: until then it keeps its name and features");
        }
        Ok(())
    }

    /// Sends a request that changes the machine, and sees it through restarts and lost connections.
    pub(super) async fn run_to_the_end(&mut self, mode: Mode) -> Result<()> {
        for attempt in 1.. {
            let request = self.request(mode.clone());
            self.remember_open_run(Some(request.run.clone()))?;
            let mut last = None;
            let summary = self.converse(&request, &mut last).await?;
            self.remember_open_run(None)?;
            self.count(&summary);
            if summary.failure == Some(NodeFailure::Died) && attempt < RESTARTS {
                let (what, message) = if is_restart(&mode, last.as_deref()) {
                    (Setback::Restarted, "the machine was restarted; going on")
                } else {
                    (
                        Setback::Died,
                        "the node program ended unexpectedly (was the machine restarted?); trying again",
                    )
                };
                self.reporter.setback(what, message);
                self.forget_unless_member(&mode).await?;
                continue;
            }
            fail_on(&summary)?;
            break;
        }
        Ok(())
    }

    /// A machine that will be asked to join again must not be known to the cluster. One that has joined must stay
    /// known: its kubelet registers once.
    async fn forget_unless_member(&mut self, mode: &Mode) -> Result<()> {
        let (Some(joining), Mode::Apply { resources, .. }) = (&self.joining, mode) else { return Ok(()) };
        let kube = joining.kube.clone();
        let join = |it: &&Resource| matches!(it.kind, Kind::KubeadmJoin(_));
        let Some(join) = resources.iter().find(join) else { return Ok(()) };
        self.check(vec![join.clone()]).await?;
        if self.found_true(&join.id) { Ok(()) } else { kube.forget_nodes(&[&self.node.name]).await }
    }

    /// The request, and at an interrupt a second word beside it: stop at the next resource.
    /// `last` becomes the resource that was begun last.
    async fn converse(&self, request: &Request, last: &mut Option<String>) -> Result<Summary> {
        let reporter = self.reporter.clone();
        let mut pass = |event: NodeEvent| {
            if let NodeEventKind::Started { id } = &event.kind {
                *last = Some(id.clone());
            }
            pass_on(&reporter, event);
        };
        let conversation = self.agent.request(request, &mut pass);
        tokio::pin!(conversation);
        tokio::select! {
            summary = &mut conversation => return summary,
            () = self.interrupt.wait() => {}
        }
        self.reporter.doing("stopping at the next resource");
        let cancel = Request::new(
            &self.cluster,
            format!("{}-c", request.run),
            Mode::Cancel { run: request.run.clone() },
        );
        let mut ignore = |_| ();
        let asked = self.agent.request(&cancel, &mut ignore);
        let (summary, _) = tokio::join!(conversation, asked);
        summary
    }

    /// A run whose end we have not seen goes on without us; it comes first.
    async fn follow_open_run(&mut self) -> Result<()> {
        let Some(run) = self.open_run() else { return Ok(()) };
        self.reporter.doing("following what an earlier command began");
        let request = self.request(Mode::Attach { run, after: 0 });
        let summary = self.converse(&request, &mut None).await?;
        self.count(&summary);
        // However it ended, the machine is looked at next, and that is the truth.
        self.remember_open_run(None)
    }

    fn open_run(&self) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.nodes.get(&self.node.name).and_then(|node| node.open_run.clone())
    }

    fn count(&mut self, summary: &Summary) {
        self.reboot |= summary.reboot;
        self.own_writes += summary.writes;
        self.kept = summary.kept;
        self.writes.fetch_add(summary.writes, Ordering::Relaxed);
    }

    /// Says that nothing more is asked of this node.
    pub(super) fn done(&self) {
        self.reporter.say(EventKind::NodeDone { writes: self.own_writes, execs: self.agent.execs() });
    }

    fn remember_open_run(&self, run: Option<String>) -> Result<()> {
        remember(&self.state, self.dir.as_ref(), |state| state.node(&self.node.name).open_run = run)
    }

    pub(super) fn request(&self, mode: Mode) -> Request {
        let exchange = self.exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        Request::new(&self.cluster, format!("{}-{exchange}", self.run), mode)
    }
}

/// Did a run end because it restarted the machine, as it was asked to?
fn is_restart(mode: &Mode, last: Option<&str>) -> bool {
    let Mode::Apply { resources, .. } = mode else { return false };
    let last = resources.iter().find(|resource| Some(resource.id.as_str()) == last);
    last.is_some_and(|resource| matches!(resource.kind, Kind::Restart(_)))
}

/// Changes the state and writes it if something changed and somebody remembers.
pub(super) fn remember(
    state: &Mutex<State>,
    dir: Option<&ClusterDir>,
    change: impl FnOnce(&mut State),
) -> Result<()> {
    let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = state.clone();
    change(&mut state);
    match dir {
        Some(dir) if *state != before => dir.save(&state),
        _ => Ok(()),
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn has_placeholder(resource: &Resource) -> bool {
    let unknown = [AFTER_CONNECT, AFTER_FETCH, AFTER_INIT];
    serde_json::to_string(resource)
        .is_ok_and(|text| unknown.iter().any(|placeholder| text.contains(placeholder)))
}

/// Node events become events of the run.
fn pass_on(reporter: &Reporter, event: NodeEvent) {
    reporter.say(match event.kind {
        NodeEventKind::Started { id } => EventKind::ResourceStarted { id },
        NodeEventKind::Output { id, line } => EventKind::Output { id: Some(id), line },
        NodeEventKind::Note { id, message } => EventKind::Warning {
            message: id.map_or_else(|| message.clone(), |id| format!("{id}: {message}")),
        },
        NodeEventKind::Done { id, outcome, writes } => EventKind::ResourceDone { id, outcome, writes },
        NodeEventKind::Hello { .. }
        | NodeEventKind::Facts(_)
        | NodeEventKind::Receipts { .. }
        | NodeEventKind::Checked(_)
        | NodeEventKind::Answer { .. }
        | NodeEventKind::Finished(_) => return,
    });
}
