//! `node replace`: other programs on a node of a cluster that runs, and back by itself if they do not work.
//!
//! A replaced program is the same resource with other bytes, so receipts hold and `destroy` undoes it like all else.
//! It is remembered once the node has come back with it: whatever ends this run before, a `create` puts back what was.

mod wish;

use std::{collections::BTreeMap, time::Duration};

use semver::BuildMetadata;
use serde::Serialize;
use swdt_wire::{Content, Kind, Log, Resource, Status, Truth};

use wish::{Meant, Program, meant, placed};
pub use wish::{Wish, With};

use super::{CreateOptions, Drain, Host, NodeRun, Run, Sink, fetch::pinned, power::settle};
use crate::{
    Error, ErrorKind, Result,
    artifact::{Artifact, Artifacts},
    catalog, id,
    interrupt::interrupted,
    kube::{Kube, NodeStatus},
    plan::Known,
    source::{Piece, Want, lock::Lock, wants},
    spec::{ComponentName, Node, Platform, Role, Source, Spec},
};

/// How much of a log a failure carries.
const LAST_LINES: u32 = 20;

/// How a program is replaced.
#[derive(Debug, Clone)]
pub struct ReplaceOptions {
    /// How the node is emptied first.
    pub drain: Drain,
    /// How long it may take to be ready again before everything goes back.
    pub ready_within: Duration,
}

/// What became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    /// The programs, by file.
    pub programs: Vec<Swapped>,
    /// Was anything to do on the machine?
    pub changed: bool,
    /// Were its pods moved away first?
    pub drained: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Is the node ready?
    pub ready: bool,
    /// Version of its kubelet, as the node says.
    pub kubelet: String,
}

/// One program that was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Swapped {
    /// `kubelet.exe`.
    pub file: String,
    /// Digest of what is there now.
    pub sha256: String,
    /// Where that came from.
    pub from: String,
    /// Is it the cluster's own?
    pub own: bool,
}

/// Replaces programs on a node. Without wishes, everything that was replaced becomes the cluster's own again.
pub async fn replace(
    host: &Host,
    spec: &Spec,
    node: &Node,
    wishes: &[Wish],
    options: &ReplaceOptions,
    sink: Sink,
) -> Result<Replacement> {
    // Everything that is wrong with the wish is told before the cluster is taken.
    let meant = Run::look(host, spec)?.what_is_meant(node, wishes)?;
    if meant.is_empty() {
        return Ok(Replacement::default());
    }
    let run = Run::begin(host, spec, "node replace", sink)?;
    let result = run.replace(node, &meant, options).await;
    run.end(result)
}

/// Everything of one replacement that does not change on its way.
struct Swap<'a> {
    node: &'a Node,
    /// The programs that are about to be replaced.
    programs: Vec<&'a Program>,
    /// Nothing that runs uses them.
    tools: bool,
    kube: Kube,
    own: Artifacts,
    ready_within: Duration,
}

type Programs = BTreeMap<String, Artifact>;

impl Run<'_> {
    /// Says which programs are not the cluster's own, and stay so.
    pub(super) fn tell_what_is_replaced(&self) {
        let state = self.state();
        for (name, node) in state.nodes.iter().filter(|(_, node)| !node.replaced.is_empty()) {
            for (file, program) in &node.replaced {
                self.reporter
                    .for_node(name)
                    .warn(format!("keeps the {file} that replaced its own ({})", program.from));
            }
        }
    }

    fn what_is_meant(&self, node: &Node, wishes: &[Wish]) -> Result<Vec<Meant>> {
        let wants = wants::of_node(node, &catalog::defaults(&self.spec.kubernetes)?);
        let programs = placed(&wants, &self.plan(node, &Known::default(), &CreateOptions::default()));
        if !wishes.is_empty() {
            return meant(node, &programs, wishes);
        }
        let state = self.state();
        let replaced = state.nodes.get(&node.name).map(|node| node.replaced.clone()).unwrap_or_default();
        let replaced = programs.into_iter().filter(|program| replaced.contains_key(&program.file));
        Ok(replaced.map(|program| Meant { program, with: With::Own }).collect())
    }

    async fn replace(&self, node: &Node, meant: &[Meant], options: &ReplaceOptions) -> Result<Replacement> {
        let name = &node.name;
        let reporter = self.reporter.for_node(name);
        let kube = self.control_plane().await?;
        let Some(status) = kube.node(name).await? else {
            let message = "it has not joined the cluster, so there is nothing to replace on it yet";
            let hint = "`swdt cluster create` goes on until it has";
            return Err(Error::new(id::PROGRAM_NOT_REPLACEABLE, message).on(name).hinted(hint));
        };
        let fetched = self.titled("fetch", "Fetch", async {
            // What it has now must be at hand: it may have to go back there.
            let own = self.fetch(true).await?;
            let new = self.programs(node, meant, &own).await?;
            Ok((own, new))
        });
        let (own, new) = fetched.await.map_err(|error| error.on(name))?;

        let was = self.state().nodes.get(name).map(|node| node.replaced.clone()).unwrap_or_default();
        let mut becomes = was.clone();
        becomes.extend(new);
        becomes.retain(|file, program| own_of(&own, name, file).is_none_or(|it| it.sha256 != program.sha256));
        let mut back = was;
        for (file, program) in std::mem::take(&mut back) {
            if self.sources.cache().blob(&program.sha256)?.is_some() {
                back.insert(file, program);
            }
        }

        let programs: Vec<&Program> = meant.iter().map(|one| &one.program).collect();
        let tools = programs.iter().all(|program| is_tool(program));
        let swap = Swap { node, programs, tools, kube, own, ready_within: options.ready_within };
        let mut at = NodeRun::new(self, node)?;
        let wanted = self.touched(&swap, &becomes);
        self.titled("connect", "Connect", at.look(wanted.clone())).await.map_err(|error| error.on(name))?;
        let changed = !at.all_satisfied(&wanted);
        let (ready, kubelet) = (status.ready, status.kubelet);
        let mut done = Replacement { changed, ready, kubelet, ..Replacement::default() };
        if changed {
            let emptied = if swap.tools {
                Err("nothing that runs uses it".to_owned())
            } else if node.role == Role::ControlPlane {
                Err("it is the control plane".to_owned())
            } else {
                self.titled("drain", "Drain", self.empty(node, &options.drain, &reporter)).await?
            };
            (done.drained, done.why) = (emptied.is_ok(), emptied.err());
            match self.swapped(&swap, &mut at, wanted).await {
                Ok(now) => (done.ready, done.kubelet) = (now.ready, now.kubelet),
                Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
                Err(error) => return Err(self.way_back(&swap, &mut at, &back, error).await),
            }
        } else if status.cordoned_by_swdt {
            // An earlier run was killed after the swap.
            settle(&swap.kube, node, swap.ready_within, &reporter).await?;
        }
        self.remember(|state| state.node(name).replaced.clone_from(&becomes))?;
        at.done();
        done.programs = swap.programs.iter().filter_map(|program| swap.told(&becomes, program)).collect();
        Ok(done)
    }

    /// The bytes that are wished for, by the names of their files.
    async fn programs(&self, node: &Node, meant: &[Meant], own: &Artifacts) -> Result<Programs> {
        let mut found = Programs::new();
        let mut trees: Vec<(Piece, Source)> = Vec::new();
        for Meant { program, with } in meant {
            let file = &program.file;
            match with {
                With::Path(path) => {
                    let taken = self.sources.take(file, path, Platform::usual(node.os))?;
                    found.insert(file.clone(), pinned(&taken));
                }
                With::Own => {
                    found.extend(own_of(own, &node.name, file).map(|it| (file.clone(), it.clone())));
                }
                With::Checkout(path) => {
                    let tree = (program.piece, Source::Checkout { path: path.clone() });
                    if !trees.contains(&tree) {
                        trees.push(tree);
                    }
                }
            }
        }
        let versions = catalog::defaults(&self.spec.kubernetes)?;
        let mut wanted = Vec::new();
        for want in wants::of_node(node, &versions) {
            if let Some((_, source)) = trees.iter().find(|(piece, _)| *piece == want.piece) {
                let mut version = want.version.clone();
                // A tree of the user's own has nothing of a rehearsal's.
                version.build = BuildMetadata::EMPTY;
                wanted.push(Want { version, source: Some(source.clone()), ..want });
            }
        }
        // What the cluster is made of stays pinned as it was.
        for supply in self.sources.resolve(&wanted, &mut Lock::default()).await? {
            let meant = |file: &str| meant.iter().any(|one| one.program.file == file);
            let built = supply.programs().iter().filter(|built| meant(&built.name));
            found.extend(built.map(|built| (built.name.clone(), pinned(built))));
        }
        Ok(found)
    }

    /// What shall be true with these programs: they themselves, every service, and what each machine can say of it.
    fn touched(&self, swap: &Swap<'_>, replaced: &Programs) -> Vec<Resource> {
        let mut artifacts = swap.own.clone();
        artifacts.replace(&swap.node.name, replaced);
        let known = Known { artifacts: Some(artifacts), ..self.known() };
        let plan = self.plan(swap.node, &known, &CreateOptions::default());
        let is_touched = |resource: &&Resource| match &resource.kind {
            Kind::File(file) => {
                matches!(file.content, Content::Blob(_))
                    && swap.programs.iter().any(|it| it.path == file.path)
            }
            _ if swap.tools => false,
            Kind::Service(service) => !service.newer_than.is_empty(),
            Kind::WindowsService(_) => true,
            Kind::Condition(condition) => matches!(
                condition.what,
                Truth::RuntimeAnswers
                    | Truth::FileExists { .. }
                    | Truth::HnsNetwork { .. }
                    | Truth::Healthy { .. }
            ),
            _ => false,
        };
        plan.resources().filter(is_touched).cloned().collect()
    }

    /// Swaps, and sees whether the node comes back; gives what it says of itself then.
    async fn swapped(&self, swap: &Swap<'_>, at: &mut NodeRun, wanted: Vec<Resource>) -> Result<NodeStatus> {
        self.titled("replace", "Replace", at.make_true(wanted.clone())).await?;
        self.titled("verify", "Verify", async {
            let name = &swap.node.name;
            if !swap.tools {
                let reporter = self.reporter.for_node(name);
                let settled = tokio::select! {
                    settled = settle(&swap.kube, swap.node, swap.ready_within, &reporter) => settled,
                    // The same command goes on from here.
                    () = self.host.interrupt.wait() => return Err(interrupted()),
                };
                if let Err(mut error) = settled {
                    error.hints.clear();
                    let services = services(&wanted, &swap.programs);
                    // Best effort: without a log the failure is still one.
                    if let Ok(logs) = at.logs(services, LAST_LINES).await {
                        error.output.extend(logs.lines.into_values().flatten());
                    }
                    return Err(error);
                }
            }
            // A program may have lived just long enough to be seen ready.
            at.look(wanted.clone()).await?;
            if !at.all_satisfied(&wanted) {
                let differs = at.checked.iter().filter_map(|it| match &it.status {
                    Status::Differs(what) => Some(format!("{}: {what}", it.id)),
                    Status::Satisfied => None,
                });
                let message = "it was ready, and then it was not as it should be";
                return Err(Error::new(id::REPLACEMENT_UNSTABLE, message).with_output(differs.collect()));
            }
            let gone = || Error::new(id::NODE_NOT_UP, "the cluster knows the node no more");
            swap.kube.node(name).await?.ok_or_else(gone)
        })
        .await
    }

    /// Puts back what was there, and tells the failure with how that went.
    async fn way_back(&self, swap: &Swap<'_>, at: &mut NodeRun, back: &Programs, error: Error) -> Error {
        let name = &swap.node.name;
        let mut error = self.failed(name, error);
        let files: Vec<&str> = swap.programs.iter().map(|it| it.file.as_str()).collect();
        let files = files.join(", ");
        let reporter = self.reporter.for_node(name);
        let returned = self.titled("roll-back", "Roll back", async {
            at.make_true(self.touched(swap, back)).await?;
            if swap.tools {
                return Ok(());
            }
            settle(&swap.kube, swap.node, self.ready_within(), &reporter).await.map(drop)
        });
        match returned.await {
            Ok(()) => {
                error.message = format!(
                    "the new {files} did not work, so the old one is back and the node is ready: {}",
                    error.message
                );
                error
            }
            Err(second) => {
                error.message = format!("the new {files} did not work: {}", error.message);
                error
                    .hinted(format!("putting the old one back failed too: {second}"))
                    .hinted("once the machine can be reached, `swdt cluster create` puts it back")
            }
        }
    }
}

impl Swap<'_> {
    fn told(&self, becomes: &Programs, program: &Program) -> Option<Swapped> {
        let file = program.file.clone();
        let replaced = becomes.get(&file);
        let artifact = replaced.or_else(|| own_of(&self.own, &self.node.name, &file))?;
        let (sha256, from) = (artifact.sha256.clone(), artifact.from.clone());
        Some(Swapped { file, sha256, from, own: replaced.is_none() })
    }
}

fn own_of<'a>(own: &'a Artifacts, node: &str, file: &str) -> Option<&'a Artifact> {
    own.programs.get(node)?.get(file)
}

/// Is it one that only people and swdt start? No pod notices another.
fn is_tool(program: &Program) -> bool {
    use ComponentName::{Kubeadm, Kubectl};
    matches!(program.piece, Piece::Component(Kubeadm | Kubectl))
        || matches!(program.file.as_str(), "ctr" | "ctr.exe")
}

/// The logs of the services that run these programs; the kubelet's where none does.
fn services(resources: &[Resource], programs: &[&Program]) -> Vec<Log> {
    let runs = |files: &[String]| programs.iter().any(|it| files.contains(&it.path));
    let mut names: Vec<String> = resources
        .iter()
        .filter_map(|resource| match &resource.kind {
            Kind::Service(it) if runs(&it.newer_than) => {
                Some(it.name.trim_end_matches(".service").to_owned())
            }
            Kind::WindowsService(it) if runs(&it.newer_than) => Some(it.name.clone()),
            _ => None,
        })
        .collect();
    names.dedup();
    if names.is_empty() {
        names.push("kubelet".to_owned());
    }
    names.into_iter().map(Log::Service).collect()
}
