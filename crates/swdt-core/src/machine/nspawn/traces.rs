//! What of a machine or a cluster is to be found on the host: destroy is done when there is nothing.

use std::{os::unix::fs::MetadataExt, path::PathBuf};

use super::{cgroup::Hierarchies, mounts, names::MachineNames, network};
use crate::machine::Context;

/// What is left of a machine, for people to read.
pub(super) fn of_machine(groups: &Hierarchies, names: &MachineNames) -> Vec<String> {
    let mut found = Vec::new();
    let mut say = |what: &str, name: &dyn std::fmt::Display| found.push(format!("{what} {name}"));
    for pid in groups.processes(&names.cgroup) {
        say("process", &pid);
    }
    for dir in groups.dirs(&names.cgroup).iter().filter(|dir| dir.exists()) {
        say("cgroup", &dir.display());
    }
    for point in mounts::below(&names.dir) {
        say("mount", &point.display());
    }
    if network::link_exists(&names.link) {
        say("link", &names.link);
    }
    for path in names.nspawn_leftovers().iter().chain([&names.dir]).filter(|path| path.exists()) {
        say("directory", &path.display());
    }
    found
}

/// What is left of a cluster and of these nodes of it, for people to read.
pub(super) fn of_cluster(ctx: &Context, nodes: &[&str]) -> Vec<String> {
    let groups = Hierarchies::find();
    let machines = nodes.iter().flat_map(|node| of_machine(&groups, &MachineNames::of(ctx, node)));
    machines.chain(network::traces(ctx)).collect()
}

/// The lock nspawn keeps on a mounted file system, and forgets when it is killed.
pub(super) fn nspawn_lock(names: &MachineNames) -> Option<PathBuf> {
    let merged = names.merged();
    let meta = mounts::below(&merged).contains(&merged).then(|| merged.metadata().ok())??;
    Some(format!("/run/systemd/nspawn/locks/inode-{}:{}", meta.dev(), meta.ino()).into())
}
