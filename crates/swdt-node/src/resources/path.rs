//! What is at a path: recorded before it is changed, and put back.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use swdt_wire::{Inode, InodeKind, PathPrior};

use super::Reverted;
use crate::{
    Ctx, Error, Result,
    disk::{self, Attributes},
    os::{self, Stat},
    state::State,
};

/// Permission bits of a mode.
pub const PERMISSIONS: u32 = 0o7777;

/// Refuses paths that could mean another place than they say.
pub fn absolute(path: &str) -> Result<()> {
    if os::is_plain(path) { Ok(()) } else { Err(Error::new(format!("{path:?} is no plain absolute path"))) }
}

/// What is there now; a link is not followed.
pub fn look(ctx: &Ctx, path: &str) -> Result<Option<Stat>> {
    let path = ctx.path(path);
    match os::stat(&path) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io("look at", &path, &error)),
    }
}

/// Is there a directory, or a link to one?
pub fn is_dir(ctx: &Ctx, path: &str) -> bool {
    fs::metadata(ctx.path(path)).is_ok_and(|meta| meta.is_dir())
}

/// A file must be able to go there.
pub fn no_dir_in_the_way(ctx: &Ctx, path: &str) -> Result<()> {
    if look(ctx, path)?.is_some_and(|meta| meta.is_dir()) {
        return Err(Error::new(format!("{path} is a directory, and a file must go there"))
            .hinted(format!("see what is in it; then move it away: mv {path} {path}.old")));
    }
    Ok(())
}

/// Records what is there, and keeps the bytes of a file.
pub fn capture(ctx: &Ctx, path: &str) -> Result<PathPrior> {
    absolute(path)?;
    let was = match look(ctx, path)? {
        None => None,
        Some(meta) => {
            let (uid, gid) = meta.owner();
            Some(Inode { mode: meta.mode(), uid, gid, what: what(ctx, path, &meta)? })
        }
    };
    Ok(PathPrior { path: path.to_owned(), was, parents: missing_parents(ctx, path) })
}

fn what(ctx: &Ctx, path: &str, meta: &Stat) -> Result<InodeKind> {
    if meta.is_dir() {
        return Ok(InodeKind::Dir);
    }
    if meta.is_symlink() {
        return Ok(InodeKind::Symlink { to: link_target(ctx, path)? });
    }
    if !meta.is_file() {
        return Err(Error::new(format!("{path} is neither file nor directory nor link")));
    }
    Ok(InodeKind::File { sha256: keep(ctx, path)?, mtime: meta.modified() })
}

/// Copies a file into the store of prior bytes.
fn keep(ctx: &Ctx, path: &str) -> Result<String> {
    let state = State::of(ctx);
    state.ensure("prior")?;
    let from = ctx.path(path);
    let sha256 = disk::sha256_file(&from)?;
    let to = state.prior(&sha256)?;
    if !to.exists() {
        disk::replace(&to, &Attributes::mode(0o600), |file| {
            let copied = disk::copy_hashing(&mut File::open(&from)?, file)?;
            if copied == sha256 {
                Ok(())
            } else {
                Err(io::Error::other(format!("{path} changes while it is read")))
            }
        })?;
    }
    Ok(sha256)
}

/// Where a link points.
pub fn link_target(ctx: &Ctx, path: &str) -> Result<String> {
    let path = ctx.path(path);
    let to = fs::read_link(&path).map_err(|error| Error::io("read", &path, &error))?;
    to.into_os_string()
        .into_string()
        .map_err(|to| Error::new(format!("{} points to {}, which is no UTF-8", path.display(), to.display())))
}

/// Directories above a path that do not exist, outermost first.
fn missing_parents(ctx: &Ctx, path: &str) -> Vec<String> {
    let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
    let mut missing: Vec<String> = above.take_while(|dir| !is_dir(ctx, dir)).map(str::to_owned).collect();
    missing.reverse();
    missing
}

/// Creates the directories above a path.
pub fn make_parents(ctx: &Ctx, path: &str) -> Result<()> {
    missing_parents(ctx, path).iter().try_for_each(|dir| ctx.make_dir(dir, 0o755))
}

/// The bytes a file had; through a link, those of the file it points to. None when there was nothing to read.
pub fn prior_bytes(ctx: &Ctx, prior: &PathPrior) -> Result<Option<Vec<u8>>> {
    match prior.was.as_ref().map(|was| &was.what) {
        None | Some(InodeKind::Dir) => Ok(None),
        Some(InodeKind::Symlink { to }) => {
            let dir = Path::new(&prior.path).parent().unwrap_or(Path::new("/"));
            let to = dir.join(to);
            ctx.read(&to.to_string_lossy())
        }
        Some(InodeKind::File { sha256, .. }) => {
            let path = State::of(ctx).prior(sha256)?;
            fs::read(&path).map(Some).map_err(|error| Error::io("read", &path, &error))
        }
    }
}

/// Is it as it was? Times do not count.
pub fn is_prior(ctx: &Ctx, prior: &PathPrior) -> Result<bool> {
    let (meta, was) = match (look(ctx, &prior.path)?, &prior.was) {
        (None, None) => return Ok(true),
        (Some(meta), Some(was)) => (meta, was),
        _ => return Ok(false),
    };
    if meta.owner() != (was.uid, was.gid) {
        return Ok(false);
    }
    let same_mode = meta.mode() == was.mode;
    Ok(match &was.what {
        InodeKind::Dir => meta.is_dir() && same_mode,
        InodeKind::Symlink { to } => meta.is_symlink() && link_target(ctx, &prior.path)? == *to,
        InodeKind::File { sha256, .. } => {
            meta.is_file() && same_mode && disk::sha256_file(&ctx.path(&prior.path))? == *sha256
        }
    })
}

/// Puts back what was there, whatever is there now. Directories that hold something stay.
pub fn restore(ctx: &Ctx, prior: &PathPrior) -> Result<()> {
    let path = prior.path.as_str();
    if !is_prior(ctx, prior)? {
        match &prior.was {
            None if look(ctx, path)?.is_some_and(|meta| meta.is_dir()) => remove_dir(ctx, path)?,
            None => ctx.remove_file(path)?,
            Some(was) => put_back(ctx, path, was)?,
        }
    }
    // A run killed in the middle of a write left this.
    let temporary = disk::temporary(&ctx.path(path));
    if fs::symlink_metadata(&temporary).is_ok() {
        ctx.count_write();
        fs::remove_file(&temporary).map_err(|error| Error::io("remove", &temporary, &error))?;
    }
    prior.parents.iter().rev().try_for_each(|dir| remove_dir(ctx, dir))
}

fn remove_dir(ctx: &Ctx, path: &str) -> Result<()> {
    if !ctx.remove_empty_dir(path)? {
        ctx.note(format!("{path} was made by swdt, but something else is in it now; it stays"));
    }
    Ok(())
}

fn put_back(ctx: &Ctx, path: &str, was: &Inode) -> Result<()> {
    let owner = (was.uid, was.gid);
    let there = look(ctx, path)?;
    match &was.what {
        InodeKind::Dir if there.is_some_and(|meta| meta.is_dir()) => ctx.set_mode(path, was.mode, owner),
        InodeKind::Dir => {
            make_parents(ctx, path)?;
            ctx.remove_file(path)?;
            ctx.make_dir(path, was.mode)?;
            ctx.set_mode(path, was.mode, owner)
        }
        InodeKind::Symlink { to } => {
            make_parents(ctx, path)?;
            no_dir_in_the_way(ctx, path)?;
            ctx.link(path, to, owner)
        }
        InodeKind::File { sha256, mtime } => {
            make_parents(ctx, path)?;
            no_dir_in_the_way(ctx, path)?;
            let with = Attributes { mode: was.mode, owner: Some(owner), mtime: Some(*mtime) };
            write_verified(ctx, path, &with, &State::of(ctx).prior(sha256)?, sha256)
        }
    }
}

/// Replaces a file by a copy of one of our stores, provided its bytes are still what its name says.
pub fn write_verified(ctx: &Ctx, path: &str, with: &Attributes, from: &Path, sha256: &str) -> Result<()> {
    let mut source = File::open(from).map_err(|error| Error::io("read", from, &error))?;
    ctx.replace(path, with, |file| {
        let copied = disk::copy_hashing(&mut source, file)?;
        file.flush()?;
        if copied == sha256 {
            Ok(())
        } else {
            Err(io::Error::other(format!("{} is damaged", from.display())))
        }
    })
}

/// The way back for one path. `ours` says that what is there now is what we made of it; anything
/// else was somebody's wish, and stays unless `force`.
pub fn revert(ctx: &Ctx, prior: &PathPrior, ours: bool, force: bool) -> Result<Reverted> {
    if ours || force || is_prior(ctx, prior)? {
        restore(ctx, prior)?;
        return Ok(Reverted::Yes);
    }
    let how = if look(ctx, &prior.path)?.is_some() { "changed" } else { "removed" };
    Ok(Reverted::Kept(format!("{} was {how} after swdt wrote it", prior.path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_absolute_paths_are_taken() {
        for bad in ["", "/", "etc/hosts", "/etc/../root", "/etc//hosts", "/etc/./hosts", "/etc/", "/a\0b"] {
            assert!(absolute(bad).is_err(), "{bad:?}");
        }
        absolute("/etc/hosts").unwrap();
    }

    #[test]
    fn what_somebody_changed_stays_unless_forced() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        fs::write(root.path().join("f"), "before").unwrap();
        let prior = capture(&ctx, "/f").unwrap();
        fs::write(root.path().join("f"), "somebody").unwrap();
        assert!(
            matches!(revert(&ctx, &prior, false, false).unwrap(), Reverted::Kept(why) if why.contains("changed"))
        );
        assert_eq!(revert(&ctx, &prior, false, true).unwrap(), Reverted::Yes);
        assert_eq!(fs::read(root.path().join("f")).unwrap(), b"before");
    }
}
