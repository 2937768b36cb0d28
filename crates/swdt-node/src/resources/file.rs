//! A file with these bytes, this mode, owned by root.

use swdt_wire::{Content, File, Prior, Status};

#[cfg(unix)]
use super::service;
use super::{Behaviour, Reverted, foreign, path};
use crate::{Ctx, Error, Result, disk::Attributes, os, stamps, state::State};

impl Behaviour for File {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        path::absolute(&self.path)?;
        let differs = |what: String| Ok(Status::Differs(what));
        let Some(meta) = path::look(ctx, &self.path)? else { return differs("missing".into()) };
        if !meta.is_file() {
            return differs(
                if meta.is_dir() { "a directory is there" } else { "no plain file is there" }.into(),
            );
        }
        let same = match &self.content {
            Content::Text(text) => same_bytes(ctx, &self.path, meta.len(), text)?,
            Content::Secret(secret) => same_bytes(ctx, &self.path, meta.len(), secret.expose())?,
            Content::Blob(blob) => meta.len() == blob.size && stamps::sha256(ctx, &self.path)? == blob.sha256,
        };
        if !same {
            return differs("other contents".into());
        }
        let (mode, wanted) = (meta.mode(), os::mode(self.mode, false));
        if mode != wanted {
            return differs(format!("mode {mode:04o} instead of {wanted:04o}"));
        }
        let (uid, gid) = meta.owner();
        if (uid, gid) != ctx.owner() {
            return differs(format!("owned by {uid}:{gid}"));
        }
        Ok(Status::Satisfied)
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        path::no_dir_in_the_way(ctx, &self.path)?;
        Ok(Prior::File(path::capture(ctx, &self.path)?))
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        if self.mode & !path::PERMISSIONS != 0 {
            return Err(Error::new(format!("{:o} is no mode of a file", self.mode)));
        }
        path::no_dir_in_the_way(ctx, &self.path)?;
        path::make_parents(ctx, &self.path)?;
        match &self.content {
            Content::Text(text) => ctx.write(&self.path, text.as_bytes(), self.mode, Some(ctx.owner())),
            Content::Secret(secret) => {
                ctx.write(&self.path, secret.expose().as_bytes(), self.mode, Some(ctx.owner()))
            }
            Content::Blob(blob) => {
                #[cfg(windows)]
                super::windows::service::release(ctx, &self.path)?;
                let with = Attributes { mode: self.mode, owner: Some(ctx.owner()), mtime: None };
                path::write_verified(
                    ctx,
                    &self.path,
                    &with,
                    &State::of(ctx).blob(&blob.sha256)?,
                    &blob.sha256,
                )
            }
        }
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::File(prior) = prior else { return Err(foreign("file")) };
        // A receipt does not hold a secret, so its bytes cannot be compared; and nobody edits a token.
        let secret = matches!(self.content, Content::Secret(_));
        let ours = secret || self.check(ctx)? == Status::Satisfied;
        let reverted = path::revert(ctx, prior, ours, force)?;
        // Also if it was put back before: a run may have been killed right after.
        #[cfg(unix)]
        if service::holds_units(&self.path) {
            service::reload(ctx)?;
        }
        Ok(reverted)
    }
}

fn same_bytes(ctx: &Ctx, path: &str, size: u64, wanted: &str) -> Result<bool> {
    Ok(size == wanted.len() as u64 && ctx.read(path)?.as_deref() == Some(wanted.as_bytes()))
}
