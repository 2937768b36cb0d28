//! What everything of a virtual machine is called, and where it is.
//!
//! ```text
//! /run/swdt/<cluster>/            or below /tmp/swdt-<id>, for users who are not root; gone after a reboot
//!   <machine>.pid .qmp .tty       a machine's process, its door, its serial line
//!   <machine>.net  switch         sockets of the private segment
//!   <machine>.tpm  gateway.…
//! ```

use std::{
    fs,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{arguments::Runtime, process, switch, tpm::Tpm};
use crate::{
    Error, Result, id,
    machine::{
        Context,
        files::{self, failed},
        names::{ClusterNames, machines_dir, short_hash},
    },
};

/// Names and paths of one machine.
#[derive(Debug, Clone)]
pub(super) struct MachineNames {
    /// The node's name, which is the machine's host name.
    pub(super) node: String,
    /// Hash of the cluster's directory and the node.
    pub(super) id: String,
    /// What its process is called.
    pub(super) process: String,
    /// Its tap interface: at most 15 characters.
    pub(super) tap: String,
    /// The address of its network card.
    pub(super) mac: String,
    /// Everything of the machine that is kept.
    pub(super) dir: PathBuf,
    /// Sockets and process ids of the cluster's machines.
    pub(super) run: PathBuf,
}

impl MachineNames {
    pub(super) fn of(ctx: &Context, node: &str) -> Self {
        let id = short_hash(&[&ctx.cluster, &ctx.cluster_dir.to_string_lossy(), node]);
        Self {
            node: node.to_owned(),
            process: format!("swdt-{}-{node}", ctx.cluster),
            tap: format!("st{id}"),
            mac: mac(&id),
            dir: machines_dir(ctx).join(node),
            run: run_dir(ctx),
            id,
        }
    }

    /// What the machine wrote, over its base.
    pub(super) fn disk(&self) -> PathBuf {
        self.dir.join("disk.qcow2")
    }

    /// What it reads at its first start.
    pub(super) fn seed(&self) -> PathBuf {
        self.dir.join("seed.iso")
    }

    /// Its EFI variables.
    pub(super) fn vars(&self) -> PathBuf {
        self.dir.join("vars.fd")
    }

    /// Everything it said on its serial line.
    pub(super) fn console(&self) -> PathBuf {
        self.dir.join("console.log")
    }

    /// What it last showed when it did not come up.
    pub(super) fn screenshot(&self) -> PathBuf {
        self.dir.join("screen.png")
    }

    /// The private host key.
    pub(super) fn host_key(&self) -> PathBuf {
        self.dir.join("ssh_host_ed25519_key")
    }

    /// The ledger entry.
    pub(super) fn ledger(&self) -> PathBuf {
        self.dir.join("machine.json")
    }

    /// Its process.
    pub(super) fn runtime(&self) -> Runtime {
        process::runtime(&self.run, &self.id)
    }

    /// Its port of the private segment.
    pub(super) fn port(&self) -> PathBuf {
        switch::port(&self.run, &self.id)
    }

    /// Its TPM.
    pub(super) fn tpm(&self) -> Tpm {
        Tpm {
            state: self.dir.join("tpm"),
            link: self.run.join(format!("{}.tpm-state", self.id)),
            socket: self.run.join(format!("{}.tpm", self.id)),
            pid: self.run.join(format!("{}.tpm-pid", self.id)),
        }
    }
}

/// An address nobody else in the cluster has, of the range that QEMU's own cards have.
fn mac(id: &str) -> String {
    let hash = Sha256::digest(id.as_bytes());
    format!("52:54:00:{:02x}:{:02x}:{:02x}", hash[0], hash[1], hash[2])
}

/// Where sockets and process ids of a cluster are: a short path, because a socket's address holds 108 bytes.
pub(super) fn run_dir(ctx: &Context) -> PathBuf {
    base().join(ClusterNames::of(ctx).id)
}

/// The same for what belongs to no cluster.
pub(super) fn make_common_run_dir() -> Result<PathBuf> {
    let dir = base();
    make_private(&dir)?;
    Ok(dir)
}

/// Where that is; it may not be there. Not `/run/user/<id>`: that goes when its user logs out, and machines stay.
pub(super) fn base() -> PathBuf {
    let user = nix::unistd::geteuid();
    if user.is_root() { files::HOST.into() } else { format!("/tmp/swdt-{user}").into() }
}

/// Makes the directory of a cluster's sockets. Whoever could enter it could talk to the machines: nobody may.
pub(super) fn make_run_dir(ctx: &Context) -> Result<PathBuf> {
    let dir = run_dir(ctx);
    let base = base();
    make_private(&base)?;
    make_private(&dir)?;
    Ok(dir)
}

fn make_private(dir: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().mode(0o700).create(dir);
    if let Err(error) = made
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(failed("make", dir, &error));
    }
    let meta = fs::symlink_metadata(dir).map_err(|error| failed("look at", dir, &error))?;
    let for_others = meta.mode() & 0o077;
    if meta.is_dir() && meta.uid() == nix::unistd::geteuid().as_raw() && for_others == 0 {
        return Ok(());
    }
    let message = format!("{} is not a directory that only you may enter", dir.display());
    Err(Error::new(id::DIRECTORY_OPEN, message).hinted("remove it; swdt makes it anew"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_others_may_enter_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        make_private(&own).unwrap();
        make_private(&own).unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_private(&own).unwrap_err().message.contains("only you may enter"));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        assert!(make_private(&link).is_err(), "a link may lead anywhere");
    }

    #[test]
    fn cards_have_addresses_of_machines() {
        assert_ne!(mac("00000001"), mac("00000002"));
        assert!(mac("00000001").starts_with("52:54:00:"));
    }
}
