//! [`KubeadmInit`] and [`KubeadmJoin`]: a control plane, or a member of the cluster, made by kubeadm.
//!
//! kubeadm takes many steps, and the files it leaves look complete long before it is through. So a mark in
//! our own directory says that it was started (or is being undone) and did not come to a good end:
//!
//! * files and no mark: it stands, whether the kubelet runs or not; a resource of its own sees to that. If a
//!   file is missing, somebody took it away from a cluster that works; that is an error, for making it anew
//!   would throw the cluster's data away.
//! * a mark: `kubeadm reset` and all our own cleaning, then kubeadm from the beginning. Nothing is lost, since
//!   nobody was told of a cluster that was never finished.
//! * neither: kubeadm. Remains of a cluster that is not ours are refused before the first receipt.

pub(crate) mod hints;
mod work;

#[cfg(unix)]
mod leftover;
#[cfg(unix)]
mod linux;
#[cfg(unix)]
pub(crate) mod mounts;
#[cfg(unix)]
pub(crate) mod packets;
#[cfg(unix)]
mod reset;
#[cfg(unix)]
mod traces;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use linux as system;
#[cfg(windows)]
use windows as system;

use swdt_wire::{KubeadmJoin, PathPrior, Prior, Status};
#[cfg(unix)]
pub use traces::SIGNS as CLUSTER_SIGNS;

use super::{Behaviour, Reverted, foreign, path};
use crate::{Ctx, Error, Result};
use system::MEMBER;
use work::Work;

/// How far kubeadm got.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Nothing,
    Unfinished,
    /// Finished once, and these files are gone since.
    Damaged(Vec<&'static str>),
    Stands,
}

impl Behaviour for KubeadmJoin {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        status(ctx, &MEMBER, "not a member of the cluster")
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        system::prior(ctx)
    }

    fn apply(&self, ctx: &Ctx, prior: &Prior) -> Result<()> {
        let config = with_token(self)?;
        apply(ctx, prior, &MEMBER, &Work { arguments: &["join"], config: &config, ignore: &self.ignore })
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, _force: bool) -> Result<Reverted> {
        revert(ctx, prior)
    }
}

/// Of these paths, what is absent and what is an empty directory. A machine with signs of another cluster is refused.
fn nothing_yet(
    ctx: &Ctx,
    signs: &[&str],
    paths: impl IntoIterator<Item = &'static str>,
) -> Result<(Vec<String>, Vec<PathPrior>)> {
    if let Some(sign) = signs.iter().find(|sign| path::look(ctx, sign).is_ok_and(|there| there.is_some())) {
        return Err(Error::new(format!(
            "{sign} is there: this machine is, or was, in a cluster that swdt did not make"
        ))
        .hinted("if that cluster is not needed any more, run `kubeadm reset` on the machine, then the same command again"));
    }
    let (mut absent, mut empty) = (Vec::new(), Vec::new());
    for at in paths {
        match path::look(ctx, at)? {
            None => absent.push(at.to_owned()),
            Some(meta) if meta.is_dir() && ctx.names_in(at).is_empty() => empty.push(path::capture(ctx, at)?),
            Some(_) => {}
        }
    }
    Ok((absent, empty))
}

/// The configuration with the token in its place. A token that could be more than a word of YAML is none.
fn with_token(join: &KubeadmJoin) -> Result<String> {
    let Some(token) = &join.token else {
        return Err(Error::new("this machine must join, and the request holds no token")
            .hinted("this is a mistake in swdt: report it"));
    };
    let token = token.expose();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.') {
        return Err(Error::new("what the request holds is no bootstrap token")
            .hinted("this is a mistake in swdt: report it"));
    }
    Ok(join.config.replace("TOKEN", token))
}

fn status(ctx: &Ctx, files: &[&'static str], nothing: &str) -> Result<Status> {
    Ok(Status::Differs(match standing(ctx, files) {
        Standing::Stands => return Ok(Status::Satisfied),
        Standing::Nothing => nothing.into(),
        Standing::Unfinished => "kubeadm was interrupted".into(),
        Standing::Damaged(missing) => format!("{} is missing", missing.join(", ")),
    }))
}

fn standing(ctx: &Ctx, files: &[&'static str]) -> Standing {
    if work::unfinished(ctx) {
        return Standing::Unfinished;
    }
    let missing: Vec<_> = files.iter().copied().filter(|file| !ctx.path(file).exists()).collect();
    if missing.len() == files.len() {
        return Standing::Nothing;
    }
    if !missing.is_empty() {
        return Standing::Damaged(missing);
    }
    Standing::Stands
}

fn apply(ctx: &Ctx, prior: &Prior, files: &[&'static str], work: &Work) -> Result<()> {
    match standing(ctx, files) {
        Standing::Stands => Ok(()),
        Standing::Damaged(missing) => Err(Error::new(format!(
            "kubeadm was through with this machine, but now {} is missing",
            missing.join(", ")
        ))
        .hinted(
            "put it back (`kubeadm init phase` makes single files), or destroy the cluster and create it anew; \
             swdt does not do that by itself, because the cluster's data would be lost",
        )),
        Standing::Nothing => work.run(ctx),
        Standing::Unfinished => {
            ctx.say("kubeadm was interrupted: beginning again");
            system::undo(ctx, prior)?;
            work.run(ctx)
        }
    }
}

fn revert(ctx: &Ctx, prior: &Prior) -> Result<Reverted> {
    if !matches!(prior, Prior::Kubeadm { .. }) {
        return Err(foreign("member of a cluster"));
    }
    // Killed halfway, the rest must not be taken for a machine that nothing happened to.
    work::mark(ctx)?;
    system::undo(ctx, prior)?;
    work::unmark(ctx)?;
    Ok(Reverted::Yes)
}
