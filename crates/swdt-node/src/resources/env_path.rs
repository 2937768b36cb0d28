//! A directory in everybody's PATH, by a file of login shells.

use swdt_wire::{EnvPath, Prior, Status};

use super::{Behaviour, Reverted, foreign, path, small};
use crate::{Ctx, Error, Result};

impl Behaviour for EnvPath {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        validate(&self.dir)?;
        small::check(ctx, &file(&self.dir), &script(&self.dir))
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        Ok(Prior::EnvPath(path::capture(ctx, &file(&self.dir))?))
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        small::apply(ctx, &file(&self.dir), &script(&self.dir))
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::EnvPath(prior) = prior else { return Err(foreign("directory in PATH")) };
        small::revert(ctx, prior, &script(&self.dir), force)
    }
}

/// The directory becomes part of a shell script, so it may hold nothing a shell would read.
fn validate(dir: &str) -> Result<()> {
    path::absolute(dir)?;
    let plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'.' | b'/' | b'+' | b'-');
    if dir.bytes().all(plain) { Ok(()) } else { Err(Error::new(format!("{dir:?} cannot go into PATH"))) }
}

/// No two directories have one file: a valid one holds no tilde.
fn file(dir: &str) -> String {
    format!("/etc/profile.d/swdt-path-{}.sh", dir.trim_start_matches('/').replace('/', "~"))
}

fn script(dir: &str) -> String {
    format!(
        "# Written by swdt, which removes it when the cluster is destroyed.\n\
         case \":$PATH:\" in\n\
         *:{dir}:*) ;;\n\
         *) PATH=\"$PATH:{dir}\"; export PATH ;;\n\
         esac\n"
    )
}
