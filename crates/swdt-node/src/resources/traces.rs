//! [`Traces`]: what programs leave on the machine by themselves, their data and the kernel settings they change.
//!
//! Nothing is done to the machine: what there was before is written into the receipt, and that is all it takes to
//! take everything else away again.

use swdt_wire::{DirPrior, Prior, Status, Traces};

use super::{Behaviour, Reverted, foreign, path};
#[cfg(unix)]
use super::{
    kubeadm::mounts,
    sysctl::{now as setting, set},
};
use crate::{Ctx, Error, Result, os, receipts::Receipts, state::State};

impl Behaviour for Traces {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let receipts = Receipts::open(State::of(ctx).receipts(), "")?;
        let target = swdt_wire::Kind::Traces(self.clone()).target();
        let recorded = receipts.live_target(&target).is_some_and(|live| covers(&live.prior, self));
        Ok(if recorded {
            Status::Satisfied
        } else {
            Status::Differs("it is not recorded yet what was there before".into())
        })
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        let nothing = Prior::Traces { dirs: Vec::new(), sysctls: Vec::new() };
        self.prior_again(ctx, &nothing)
    }

    fn prior_again(&self, ctx: &Ctx, first: &Prior) -> Result<Prior> {
        let Prior::Traces { mut dirs, mut sysctls } = first.clone() else { return Err(foreign("trace")) };
        for at in &self.dirs {
            if !dirs.iter().any(|known| known.dir.path == *at) {
                let dir = path::capture(ctx, at)?;
                if dir.was.is_some() && !path::is_dir(ctx, at) {
                    return Err(Error::new(format!(
                        "{at} is no directory, and programs of {} need one",
                        self.of
                    ))
                    .hinted(format!("see what it is; then move it away: mv {at} {at}.old")));
                }
                dirs.push(DirPrior { dir, names: ctx.names_in(at) });
            }
        }
        for key in &self.sysctls {
            if !sysctls.iter().any(|(known, _)| known == key) {
                sysctls.push((key.clone(), setting(ctx, key)?));
            }
        }
        Ok(Prior::Traces { dirs, sysctls })
    }

    fn apply(&self, _ctx: &Ctx, _prior: &Prior) -> Result<()> {
        Ok(())
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, _force: bool) -> Result<Reverted> {
        let Prior::Traces { dirs, sysctls } = prior else { return Err(foreign("trace")) };
        for (key, was) in sysctls {
            // A setting that came with a module goes with it.
            if let (Some(was), Some(now)) = (was, setting(ctx, key)?)
                && now != *was
            {
                set(ctx, key, was)?;
            }
        }
        dirs.iter().rev().try_for_each(|dir| empty(ctx, dir))?;
        Ok(Reverted::Yes)
    }
}

/// Only Linux has kernel settings.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
fn setting(_ctx: &Ctx, _key: &str) -> Result<Option<String>> {
    Ok(None)
}

#[cfg(windows)]
fn set(_ctx: &Ctx, key: &str, _value: &str) -> Result<()> {
    Err(Error::new(format!("there is no kernel setting {key} on Windows")))
}

/// Does a receipt tell of everything? An older swdt may have known of less.
fn covers(prior: &Prior, wanted: &Traces) -> bool {
    let Prior::Traces { dirs, sysctls } = prior else { return false };
    wanted.dirs.iter().all(|at| dirs.iter().any(|known| known.dir.path == *at))
        && wanted.sysctls.iter().all(|key| sysctls.iter().any(|(known, _)| known == key))
}

/// Takes away what was not in a directory, and the directory if it was not there.
fn empty(ctx: &Ctx, prior: &DirPrior) -> Result<()> {
    let at = &prior.dir.path;
    let new = ctx.names_in(at).into_iter().filter(|name| !prior.names.contains(name));
    for below in new.map(|name| os::below(at, &name)) {
        #[cfg(unix)]
        mounts::none_at_or_below(ctx, &below)?;
        ctx.remove_tree(&below)?;
    }
    // Programs also change the modes of their directories.
    path::restore(ctx, &prior.dir)
}
