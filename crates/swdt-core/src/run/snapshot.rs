//! All machines of a cluster saved and put back at once, with what is remembered of them.
//!
//! Machines are shut down for it. The copy then is of one moment over all nodes, with every database closed, and what
//! a system only keeps in memory (a registry, for one) is on the disk. A frozen machine would be away for as long, and
//! would come back as after a power cut.

use std::{collections::BTreeSet, sync::Arc};

use serde::Serialize;

use super::{Host, Run, Sink, broken, power::settle};
use crate::{
    Error, Result, files, id,
    machine::{MachineState, Machines},
    snapshot::{Draft, Manifest, Name, SNAPSHOT_SCHEMA, SavedNode, Shelf, Snapshot},
    spec::{Node, Place, Role, Spec},
    state::{Dirs, Midway},
};

pub(super) const RESTORE: &str = "cluster snapshot restore";
const SAVE: &str = "cluster snapshot save";
const DELETE: &str = "cluster snapshot delete";
const MIB: u64 = 1024 * 1024;
/// What is left free besides: machines that start write too.
const SPARE_MIB: u64 = 256;

/// What a restore did.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// The snapshot.
    pub snapshot: Manifest,
    /// Nodes that came after it and were removed.
    pub removed: Vec<String>,
}

/// Saves all machines of a cluster. Those that ran run again at the end, whatever happened.
pub async fn save_snapshot(host: &Host, spec: &Spec, name: &Name, sink: Sink) -> Result<Manifest> {
    refuse_strangers(&spec.nodes)?;
    Shelf::of(&host.dirs.cluster(&spec.name)).vacant(name)?;
    let run = Run::begin(host, spec, SAVE, sink)?;
    let result = run.save(name).await;
    run.end(result)
}

/// Makes a cluster what it was; machines that came later are removed if that is wished.
pub async fn restore_snapshot(
    host: &Host,
    cluster: &str,
    name: &Name,
    remove_later: bool,
    sink: Sink,
) -> Result<Restored> {
    let spec = Shelf::of(&host.dirs.cluster(cluster)).get(name)?.spec()?;
    let run = Run::begin(host, &spec, RESTORE, sink)?;
    let result = run.restore(name, remove_later).await;
    run.end(result)
}

/// Removes a snapshot; says whether there was one.
pub fn delete_snapshot(host: &Host, cluster: &str, name: &Name) -> Result<bool> {
    let dir = host.dirs.cluster(cluster);
    let _lock = dir.lock(&host.holder(DELETE))?;
    match dir.load(cluster)?.midway {
        Some(Midway::Restoring { snapshot }) if snapshot == name.as_str() => {
            let message =
                format!("restoring `{name}` was broken off, and only this snapshot can mend the cluster");
            Err(Error::new(id::SNAPSHOT_NEEDED, message)
                .hinted(format!("`swdt cluster snapshot restore {name}` goes on; delete it after that")))
        }
        _ => Shelf::of(&dir).remove(name),
    }
}

/// All snapshots of a cluster, the oldest first; and what a command about them was in the middle of when it was killed.
pub fn snapshots(dirs: &Dirs, cluster: &str) -> Result<(Vec<Manifest>, Option<Midway>)> {
    let dir = dirs.cluster(cluster);
    let kept = Shelf::of(&dir);
    let mut found = Vec::new();
    for name in kept.names()? {
        found.push(kept.get(&name)?.manifest);
    }
    found.sort_by_key(|manifest| manifest.at);
    Ok((found, dir.load(cluster)?.midway))
}

impl Run<'_> {
    async fn save(&self, name: &Name) -> Result<Manifest> {
        let kept = Shelf::of(&self.dir);
        kept.vacant(name)?;
        let machines = self.machines()?;
        let running = self.running(&machines).await?;
        room(&kept, self.size_of(&machines).await?)?;
        self.remember(|state| state.midway = Some(Midway::Saving { running: running.clone() }))?;
        let saved = self.save_stopped(&kept, name, &machines, &running).await;
        let started = self.to_the_end("start", "Start", self.start(&machines, &running)).await;
        self.remember(|state| state.midway = None)?;
        match (saved, started) {
            (Ok(manifest), Ok(())) => Ok(manifest),
            (Ok(_), Err(error)) => Err(error.hinted(format!("the snapshot {name} was made, and is whole"))),
            (Err(mut error), started) => {
                error.others.extend(started.err());
                Err(error)
            }
        }
    }

    /// Nodes whose machines run, or ran when an earlier save was killed. Every node must have a machine.
    async fn running(&self, machines: &Machines) -> Result<BTreeSet<String>> {
        let mut running = match &self.state().midway {
            Some(Midway::Saving { running }) => running.clone(),
            _ => BTreeSet::new(),
        };
        let mut absent = Vec::new();
        for node in &self.spec.nodes {
            match machines.status(node).await? {
                MachineState::Running => drop(running.insert(node.name.clone())),
                MachineState::Stopped => {}
                MachineState::Absent => absent.push(
                    Error::new(id::MACHINE_NOT_MADE, "has no machine yet")
                        .on(&node.name)
                        .hinted("`swdt cluster create` goes on making the cluster"),
                ),
            }
        }
        Error::all(absent).map_or(Ok(running), Err)
    }

    async fn size_of(&self, machines: &Machines) -> Result<u64> {
        let mut sum = 0;
        for node in &self.spec.nodes {
            sum += machines.size(node).await?;
        }
        Ok(sum)
    }

    async fn save_stopped(
        &self,
        kept: &Shelf,
        name: &Name,
        machines: &Machines,
        running: &BTreeSet<String>,
    ) -> Result<Manifest> {
        self.titled("stop", "Stop", self.stop(machines)).await?;
        let draft = kept.begin()?;
        match self.titled("copy", "Copy", self.copy(&draft, name, machines, running)).await {
            Ok(manifest) => draft.finish(&manifest).map(|()| manifest),
            Err(error) => {
                // The first error counts; what stays is removed by the next command about snapshots.
                let _ = draft.discard();
                Err(error)
            }
        }
    }

    async fn copy(
        &self,
        draft: &Draft,
        name: &Name,
        machines: &Machines,
        running: &BTreeSet<String>,
    ) -> Result<Manifest> {
        let nodes = &self.spec.nodes;
        let at = jiff::Timestamp::now();
        let sizes = at_once(nodes, |node| {
            let (machines, to) = (machines.clone(), draft.machine(&node.name));
            async move { machines.save(&node, to).await }
        })
        .await?;
        let nodes = nodes.iter().zip(&sizes).map(|(node, size)| SavedNode {
            name: node.name.clone(),
            role: node.role,
            running: running.contains(&node.name),
            size: *size,
        });
        Ok(Manifest {
            schema: SNAPSHOT_SCHEMA,
            name: name.clone(),
            cluster: self.spec.name.clone(),
            at,
            kubernetes: self.spec.kubernetes.to_string(),
            size: sizes.iter().sum(),
            nodes: nodes.collect(),
        })
    }

    async fn restore(&self, name: &Name, remove_later: bool) -> Result<Restored> {
        let kept = Shelf::of(&self.dir);
        let snapshot = kept.get(name)?;
        let machines = self.machines()?;
        let later = self.later(name, remove_later)?;
        let wrong = at_once(&self.spec.nodes, |node| {
            let (machines, from) = (machines.clone(), snapshot.machine(&node.name));
            async move { machines.check_saved(&node, from).await }
        });
        wrong.await?;
        // What is there now goes first.
        room(&kept, snapshot.manifest.size.saturating_sub(self.size_of(&machines).await?))?;

        self.titled("restore", "Put back", self.put_back(&snapshot, &machines, &later)).await?;
        let nodes = &snapshot.manifest.nodes;
        let running = nodes.iter().filter(|node| node.running).map(|node| node.name.clone()).collect();
        self.to_the_end("start", "Start", self.start(&machines, &running)).await?;
        let removed = later.into_iter().map(|node| node.name).collect();
        Ok(Restored { snapshot: snapshot.manifest, removed })
    }

    /// Nodes that came after the snapshot, if they may go.
    fn later(&self, name: &Name, remove: bool) -> Result<Vec<Node>> {
        let now = self.dir.load_spec()?;
        let yours = |node: &&Node| matches!(node.place, Place::Existing { .. });
        let errors = now.nodes.iter().filter(yours).map(|node| {
            let message = "joined after the snapshot, and its machine is not swdt's to put back or remove";
            Error::new(id::SNAPSHOT_OLDER, message).on(&node.name).hinted(format!(
                "take it out of the file and let it leave first: `swdt cluster update --config FILE --prune {}`",
                node.name
            ))
        });
        Error::all(errors.collect()).map_or(Ok(()), Err)?;
        let later: Vec<Node> =
            now.nodes.into_iter().filter(|node| self.spec.node(&node.name).is_none()).collect();
        if later.is_empty() || remove {
            return Ok(later);
        }
        let names: Vec<&str> = later.iter().map(|node| node.name.as_str()).collect();
        let message = format!("the snapshot {name} knows nothing of {}, made after it", names.join(", "));
        Err(Error::new(id::SNAPSHOT_OLDER, message)
            .hinted("`--yes` removes what came later, with its machines"))
    }

    /// From the first removal to the last word about it, the cluster counts as broken.
    async fn put_back(&self, snapshot: &Snapshot, machines: &Machines, later: &[Node]) -> Result<()> {
        let name = snapshot.manifest.name.to_string();
        self.remember(|state| state.midway = Some(Midway::Restoring { snapshot: name }))?;
        // First, because others may need their addresses.
        at_once(later, |node| {
            let machines = machines.clone();
            async move { machines.destroy(&node).await }
        })
        .await?;
        at_once(&self.spec.nodes, |node| {
            let (machines, from) = (machines.clone(), snapshot.machine(&node.name));
            async move { machines.restore(&node, from).await }
        })
        .await?;
        snapshot.put_back(&self.dir)?;
        let state = snapshot.state()?;
        self.remember(|now| *now = state)
    }

    /// Shuts down what runs.
    async fn stop(&self, machines: &Machines) -> Result<()> {
        let stopped = at_once(&self.spec.nodes, |node| {
            let machines = machines.clone();
            async move {
                match machines.status(&node).await? {
                    MachineState::Running => machines.stop(&node).await,
                    MachineState::Stopped | MachineState::Absent => Ok(()),
                }
            }
        });
        stopped.await.map(drop)
    }

    /// Starts machines, and waits until the cluster has its nodes back: every kubelet renews its lease by itself, however
    /// long ago it expired.
    async fn start(&self, machines: &Machines, names: &BTreeSet<String>) -> Result<()> {
        let nodes: Vec<Node> =
            self.spec.nodes.iter().filter(|node| names.contains(&node.name)).cloned().collect();
        at_once(&nodes, |node| {
            let machines = machines.to_the_end();
            async move { machines.start(&node).await }
        })
        .await?;
        // Without a control plane there is nobody to ask.
        if !self.has_kubernetes() || !nodes.iter().any(|node| node.role == Role::ControlPlane) {
            return Ok(());
        }
        let (kube, within) = (Arc::new(self.control_plane().await?), self.ready_within());
        at_once(&nodes, |node| {
            let (kube, reporter) = (kube.clone(), self.reporter.for_node(&node.name));
            async move {
                let started = settle(&kube, &node, within, &reporter).await?;
                if let Some(why) = started.why {
                    reporter.doing(why);
                }
                Ok(())
            }
        })
        .await
        .map(drop)
    }

    /// Snapshots go with their cluster.
    pub(super) fn remove_snapshots(&self) -> Result<()> {
        let kept = Shelf::of(&self.dir);
        let names = kept.names()?;
        for name in &names {
            kept.remove(name)?;
        }
        if !names.is_empty() {
            let names: Vec<String> = names.into_iter().map(String::from).collect();
            self.reporter.warn(format!("its snapshots went with the cluster: {}", names.join(", ")));
        }
        Ok(())
    }
}

/// The same with every node at the same time; results in their order, or every error.
async fn at_once<T, F>(nodes: &[Node], work: impl Fn(Node) -> F) -> Result<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let tasks: Vec<_> = nodes.iter().map(|node| tokio::spawn(work(node.clone()))).collect();
    let (mut results, mut errors) = (Vec::new(), Vec::new());
    for task in tasks {
        match task.await {
            Ok(Ok(result)) => results.push(result),
            Ok(Err(error)) => errors.push(error),
            Err(panic) => errors.push(broken(&panic)),
        }
    }
    Error::all(errors).map_or(Ok(results), Err)
}

/// Refuses machines that nobody here can save, all of them by name.
fn refuse_strangers(nodes: &[Node]) -> Result<()> {
    let strangers: Vec<&str> =
        nodes.iter().filter(|node| !Machines::has_snapshots(node)).map(|node| node.name.as_str()).collect();
    if strangers.is_empty() {
        return Ok(());
    }
    let message = format!(
        "swdt takes snapshots of machines that it made; these were there before: {}",
        strangers.join(", ")
    );
    Err(Error::new(id::MACHINE_YOURS, message)
        .hinted("shut all machines of the cluster down and save them together, with what runs them")
        .hinted("or let swdt make them: `machine: {}` in place of `address`"))
}

/// Refuses what there is no room for, before anything is stopped.
fn room(kept: &Shelf, bytes: u64) -> Result<()> {
    let place = kept.tidy()?;
    let needed = bytes / MIB + SPARE_MIB;
    match files::free(place) {
        Some(free) if free / MIB < needed => {
            let message =
                format!("{needed} MiB are needed, and {} MiB are free at {}", free / MIB, place.display());
            Err(Error::new(id::DISK_FULL, message)
                .hinted("free some space; `swdt cluster snapshot list` shows what snapshots take"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec::Spec;

    fn spec(nodes: &str) -> Spec {
        let text = format!(
            "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: c}}\nkubernetes: {{version: 1.36.3}}\n\
             nodes:\n{nodes}"
        );
        crate::config::load("c.yaml", text.as_bytes(), None, Path::new("/")).unwrap()
    }

    #[test]
    fn machines_that_are_not_ours_are_all_named() {
        let mixed = spec(
            "  - {name: cp1, role: control-plane, machine: {provider: nspawn}}\n  \
             - {name: w1, address: 192.0.2.1}\n  - {name: w2, address: 192.0.2.2}\n",
        );
        let error = refuse_strangers(&mixed.nodes).unwrap_err();
        assert_eq!(error.id(), "machine-yours");
        assert!(error.message.ends_with("there before: w1, w2"), "{error}");
        #[cfg(target_os = "linux")]
        refuse_strangers(&mixed.nodes[..1]).unwrap();
    }

    #[test]
    fn too_little_room_is_told_before_anything_is_stopped() {
        let temp = tempfile::tempdir().unwrap();
        let dirs = Dirs { data: temp.path().into(), cache: temp.path().into() };
        let kept = Shelf::of(&dirs.cluster("c"));
        room(&kept, 0).unwrap();
        let error = room(&kept, u64::MAX).unwrap_err();
        assert_eq!(error.id(), "disk-full");
        assert!(error.message.contains("MiB are free at"), "{error}");
    }
}
