//! This host: what swdt keeps here, and what it needs.

use std::path::{Path, PathBuf};

use super::super::{machine_states, onlooker};
use crate::{
    Result,
    doctor::{Closed, ClusterSeen, HostFacts, OpenFile, Place as Room},
    machine::MachineState,
    spec::{Connection, OsFamily, Place, Spec},
    state::{Dirs, Midway},
};

const MIB: u64 = 1 << 20;

/// What is known of this host, for the machines of a file if there is one, and for the clusters that are here.
pub async fn look_at_host(dirs: &Dirs, spec: Option<&Spec>, keys: &[PathBuf]) -> Result<HostFacts> {
    let mut host = HostFacts::default();
    let mut contexts = vec![onlooker(dirs, "")];
    for name in dirs.clusters()? {
        let seen = cluster(dirs, &name).await;
        if seen.unreadable.is_none() {
            contexts.push(onlooker(dirs, &name));
            let spec = dirs.cluster(&name).load_spec();
            host.wants_windows |= spec.is_ok_and(|spec| has_windows(&spec));
        }
        host.clusters.push(seen);
    }
    let nodes = spec.map(|spec| spec.nodes.as_slice()).unwrap_or_default();
    for node in nodes {
        if let Place::Machine(machine) = &node.place
            && !host.wanted.contains(&machine.provider)
        {
            host.wanted.push(machine.provider);
        }
    }
    host.wants_windows |= spec.is_some_and(has_windows);
    #[cfg(target_os = "linux")]
    crate::machine::look_at_host(&mut host, nodes, &contexts, &dirs.cache);
    let connections = nodes.iter().map(|node| &node.connection).filter_map(key);
    let own = dirs.clusters()?.into_iter().map(|name| dirs.cluster(&name).key());
    let mut keys: Vec<PathBuf> = keys.iter().cloned().chain(connections).chain(own).collect();
    keys.sort();
    keys.dedup();
    host.open_keys = keys.into_iter().filter_map(open).collect();
    for (what, dir) in [("clusters", &dirs.data), ("roots and downloads", &dirs.cache)] {
        host.closed.extend(closed(dir));
        host.places.extend(crate::files::free(dir).map(|free| Room {
            what,
            path: dir.clone(),
            free_mib: free / MIB,
        }));
    }
    Ok(host)
}

fn has_windows(spec: &Spec) -> bool {
    spec.nodes.iter().any(|node| node.os == OsFamily::Windows)
}

fn key(connection: &Connection) -> Option<PathBuf> {
    connection.key.clone()
}

/// A cluster as its directory and its machines tell.
async fn cluster(dirs: &Dirs, name: &str) -> ClusterSeen {
    let dir = dirs.cluster(name);
    let mut seen = ClusterSeen { name: name.to_owned(), busy: dir.holder(), ..ClusterSeen::default() };
    let read = async {
        let state = dir.load(name)?;
        let spec = dir.load_spec()?;
        let machines = machine_states(dirs, &spec).await?;
        Ok::<_, crate::Error>((state, machines))
    };
    let (state, machines) = match read.await {
        Ok(read) => read,
        Err(error) => {
            seen.unreadable = Some(error.to_string());
            return seen;
        }
    };
    for (node, machine) in machines {
        // A machine that was never reached was never made.
        let made = state.nodes.get(&node).is_some_and(|node| node.facts.is_some());
        match machine {
            MachineState::Absent if made => seen.gone.push(node),
            MachineState::Stopped => seen.stopped.push(node),
            MachineState::Absent | MachineState::Running => {}
        }
    }
    seen.failed = state.last_run.and_then(|run| Some((run.command, run.error?)));
    seen.midway = state.midway.map(|midway| match midway {
        Midway::Saving { .. } => "saving a snapshot was broken off, and machines may be stopped".to_owned(),
        Midway::Restoring { snapshot } => format!("restoring the snapshot {snapshot} was broken off"),
    });
    seen
}

#[cfg(unix)]
fn open(path: PathBuf) -> Option<OpenFile> {
    use std::os::unix::fs::MetadataExt;
    let mode = std::fs::metadata(&path).ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then_some(OpenFile { path, mode })
}

#[cfg(not(unix))]
fn open(_: PathBuf) -> Option<OpenFile> {
    None
}

/// Why a directory cannot be written to; the nearest that is there counts for one that is not.
#[cfg(unix)]
fn closed(dir: &Path) -> Option<Closed> {
    use nix::unistd::{AccessFlags, access};
    let there = dir.ancestors().find(|path| path.exists())?;
    let why = access(there, AccessFlags::W_OK | AccessFlags::X_OK).err()?;
    Some(Closed { path: dir.to_owned(), why: format!("{}: {}", there.display(), why.desc()) })
}

#[cfg(not(unix))]
fn closed(_: &Path) -> Option<Closed> {
    None
}
