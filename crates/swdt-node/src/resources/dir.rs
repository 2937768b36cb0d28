//! A directory of this mode, owned by root. What is in it is not ours.

use std::fs;

use swdt_wire::{Dir, Prior, Status};

use super::{Behaviour, Reverted, foreign, path};
use crate::{Ctx, Error, Result, os};

impl Behaviour for Dir {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        path::absolute(&self.path)?;
        // A link to a directory is one: /opt may lie on another disk.
        let Ok(meta) = os::stat_target(&ctx.path(&self.path)) else {
            return Ok(Status::Differs("missing".into()));
        };
        if !meta.is_dir() {
            return Ok(Status::Differs("no directory is there".into()));
        }
        let (mode, wanted) = (meta.mode(), os::mode(self.mode, true));
        if mode != wanted {
            return Ok(Status::Differs(format!("mode {mode:04o} instead of {wanted:04o}")));
        }
        let (uid, gid) = meta.owner();
        if (uid, gid) != ctx.owner() {
            return Ok(Status::Differs(format!("owned by {uid}:{gid}")));
        }
        Ok(Status::Satisfied)
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        if self.mode & !path::PERMISSIONS != 0 {
            return Err(Error::new(format!("{:o} is no mode of a directory", self.mode)));
        }
        if path::look(ctx, &self.path)?.is_some_and(|meta| !meta.is_dir()) {
            return Err(Error::new(format!("{} is no directory, and one must go there", self.path))
                .hinted(format!("see what it is; then move it away: mv {0} {0}.old", self.path)));
        }
        Ok(Prior::Dir(path::capture(ctx, &self.path)?))
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        if path::look(ctx, &self.path)?.is_none() {
            path::make_parents(ctx, &self.path)?;
            ctx.make_dir(&self.path, self.mode)?;
        }
        match self.check(ctx)? {
            Status::Satisfied => Ok(()),
            Status::Differs(_) => ctx.set_mode(&self.path, self.mode, ctx.owner()),
        }
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Dir(prior) = prior else { return Err(foreign("directory")) };
        let there = path::look(ctx, &self.path)?.is_some();
        if prior.was.is_some() || !there {
            // Made and not yet given its mode, it is still ours; so only a directory that was there is compared.
            let ours = !there || self.check(ctx)? == Status::Satisfied;
            return path::revert(ctx, prior, ours, force);
        }
        if fs::read_dir(ctx.path(&self.path)).is_ok_and(|mut entries| entries.next().is_some()) {
            return Ok(Reverted::Kept(format!("{} is not empty", self.path)));
        }
        path::restore(ctx, prior)?;
        Ok(Reverted::Yes)
    }
}
