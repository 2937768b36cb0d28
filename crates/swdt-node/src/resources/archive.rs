//! The contents of an archive, unpacked into a directory that others may use as well.

pub(crate) mod manifest;

use std::io;

use swdt_wire::{Archive, PathPrior, Prior, Status};

use super::{Behaviour, Reverted, foreign, path};
use crate::{
    Ctx, Error, Result,
    disk::{self, Attributes},
};
use manifest::{Item, Manifest, Packed, PackedWhat, Stamp, What};

impl Behaviour for Archive {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        path::absolute(&self.into)?;
        let Some(manifest) = Manifest::load(ctx, self)? else {
            return Ok(Status::Differs("not unpacked".into()));
        };
        for item in &manifest.items {
            if !manifest::holds(ctx, item)? {
                return Ok(Status::Differs(format!("{} is missing or different", item.path)));
            }
        }
        Ok(Status::Satisfied)
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        let manifest = Manifest::load_or_build(ctx, self)?;
        let mut paths = Vec::new();
        for item in &manifest.items {
            // A directory that is there stays as it is, so there is nothing to record.
            if item.what != What::Dir || !path::is_dir(ctx, &item.path) {
                in_the_way(ctx, item)?;
                paths.push(path::capture(ctx, &item.path)?);
            }
        }
        Ok(Prior::Archive { paths })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let mut manifest = Manifest::load_or_build(ctx, self)?;
        let mut items = manifest.items.iter();
        manifest::each(ctx, self, &mut |packed| {
            let item = items.next().filter(|item| item.path == packed.path);
            let item = item.ok_or_else(|| Error::new("the archive is another than it was"))?;
            if manifest::holds(ctx, item)? { Ok(()) } else { unpack(ctx, item, packed) }
        })?;
        for item in &mut manifest.items {
            item.stamp = path::look(ctx, &item.path)?.as_ref().map(Stamp::of);
        }
        manifest.save(ctx, self)
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Archive { paths } = prior else { return Err(foreign("archive")) };
        let manifest = Manifest::load(ctx, self)?.unwrap_or(Manifest { items: Vec::new() });
        paths.iter().rev().try_fold(Reverted::Yes, |so_far, prior| {
            Ok(revert_one(ctx, &manifest, prior, force)?.and(so_far))
        })
    }
}

fn revert_one(ctx: &Ctx, manifest: &Manifest, prior: &PathPrior, force: bool) -> Result<Reverted> {
    let ours = match manifest.items.iter().find(|item| item.path == prior.path) {
        Some(item) => manifest::holds(ctx, item)?,
        None => false,
    };
    path::revert(ctx, prior, ours, force)
}

fn in_the_way(ctx: &Ctx, item: &Item) -> Result<()> {
    if item.what != What::Dir {
        return path::no_dir_in_the_way(ctx, &item.path);
    }
    if path::look(ctx, &item.path)?.is_some() {
        return Err(Error::new(format!("{} is no directory, and one must go there", item.path))
            .hinted(format!("see what it is; then move it away: mv {0} {0}.old", item.path)));
    }
    Ok(())
}

fn unpack(ctx: &Ctx, item: &Item, packed: Packed) -> Result<()> {
    in_the_way(ctx, item)?;
    path::make_parents(ctx, &item.path)?;
    let file = |bytes: &mut dyn io::Read| {
        let What::File { sha256, mode, .. } = &item.what else {
            return Err(Error::new("the archive is another than it was"));
        };
        let with = Attributes { mode: *mode, owner: Some(ctx.owner()), mtime: None };
        ctx.replace(&item.path, &with, |file| {
            let copied = disk::copy_hashing(&mut { bytes }, file)?;
            if copied == *sha256 { Ok(()) } else { Err(io::Error::other("the archive is damaged")) }
        })
    };
    match packed.what {
        PackedWhat::Dir => ctx.make_dir(&item.path, 0o755),
        PackedWhat::Symlink { to } => ctx.link(&item.path, &to, ctx.owner()),
        PackedWhat::File { bytes, .. } => file(bytes),
        PackedWhat::Hardlink { to } => {
            let path = ctx.path(&to);
            let mut bytes = std::fs::File::open(&path).map_err(|error| Error::io("read", &path, &error))?;
            file(&mut bytes)
        }
    }
}
