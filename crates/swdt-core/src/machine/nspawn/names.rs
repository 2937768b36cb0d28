//! What everything is called: one place for every path and every kernel-side name.
//!
//! Kernel-side names carry a hash of the cluster's directory, so two clusters of the same name under
//! different data directories never meet, and are made anew from the directory alone after any kill.

use std::path::{Path, PathBuf};

use crate::machine::{
    Context,
    names::{machines_dir, short_hash},
};

/// Directories inside the machine that need a real file system: overlay on overlay is refused by the
/// kernel, and databases want no copy-up.
pub(super) const VOLUMES: &[(&str, &str)] =
    &[("containerd", "/var/lib/containerd"), ("kubelet", "/var/lib/kubelet"), ("etcd", "/var/lib/etcd")];

/// Names and paths of one machine.
#[derive(Debug, Clone)]
pub(super) struct MachineNames {
    /// The node's name, which is the machine's host name.
    pub(super) node: String,
    /// What nspawn calls it; short, because the link's name is made of it.
    pub(super) machine: String,
    /// The host's end of its network cable, as nspawn names it.
    pub(super) link: String,
    /// Its cgroup in every hierarchy.
    pub(super) cgroup: String,
    /// Everything of the machine that is a file.
    pub(super) dir: PathBuf,
}

impl MachineNames {
    pub(super) fn of(ctx: &Context, node: &str) -> Self {
        let id = short_hash(&[&ctx.cluster, &ctx.cluster_dir.to_string_lossy(), node]);
        let machine = format!("sw{id}");
        Self {
            node: node.to_owned(),
            link: format!("vb-{machine}"),
            cgroup: format!("swdt-{}-{node}-{id}", ctx.cluster),
            dir: machines_dir(ctx).join(node),
            machine,
        }
    }

    /// What the machine itself wrote.
    pub(super) fn upper(&self) -> PathBuf {
        self.dir.join("upper")
    }

    /// Scratch space of the overlay.
    pub(super) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// The machine's file system as it sees it.
    pub(super) fn merged(&self) -> PathBuf {
        self.dir.join("merged")
    }

    /// Real directories that are bound over the overlay.
    pub(super) fn volumes(&self) -> PathBuf {
        self.dir.join("volumes")
    }

    /// The machine's console.
    pub(super) fn console(&self) -> PathBuf {
        self.dir.join("console.log")
    }

    /// The script that runs the machine.
    pub(super) fn launcher(&self) -> PathBuf {
        self.dir.join("launch.sh")
    }

    /// The private host key.
    pub(super) fn host_key(&self) -> PathBuf {
        self.dir.join("ssh_host_ed25519_key")
    }

    /// The ledger entry.
    pub(super) fn ledger(&self) -> PathBuf {
        self.dir.join("machine.json")
    }

    /// What nspawn keeps of a machine outside our directories and forgets when it is killed.
    pub(super) fn nspawn_leftovers(&self) -> [PathBuf; 2] {
        [
            Path::new("/run/systemd/nspawn/propagate").join(&self.machine),
            Path::new("/run/systemd/nspawn/unix-export").join(&self.machine),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::names::ClusterNames;

    #[test]
    fn names_fit_the_kernel_and_never_meet() {
        let context = |cluster: &str, dir: &str| Context {
            cluster: cluster.into(),
            cluster_dir: dir.into(),
            ..crate::machine::tests::context(Path::new("/nowhere"))
        };
        let (one, two) = (context("a-b", "/x"), context("a", "/x"));
        assert!(ClusterNames::of(&one).bridge.len() <= 15);
        assert!(MachineNames::of(&one, "a-long-name-of-a-node").link.len() <= 15);
        assert_ne!(MachineNames::of(&one, "c").cgroup, MachineNames::of(&two, "b-c").cgroup);
        assert_ne!(ClusterNames::of(&one).id, ClusterNames::of(&context("a-b", "/y")).id);
    }
}
