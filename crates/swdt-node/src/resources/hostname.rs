//! The machine's name, now and after a restart.

use swdt_wire::{Hostname, Prior, Status};

use super::{Behaviour, Reverted, foreign, path};
use crate::{Ctx, Error, Result};

/// Where systemd reads it at boot.
const FILE: &str = "/etc/hostname";

impl Behaviour for Hostname {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        validate(&self.name)?;
        path::no_dir_in_the_way(ctx, FILE)?;
        let kept = kept(ctx)?;
        if kept != self.name {
            return Ok(Status::Differs(format!("{FILE} says {kept:?}")));
        }
        let live = live(ctx)?;
        if ctx.live() && live != self.name {
            return Ok(Status::Differs(format!("the machine is called {live:?}")));
        }
        Ok(Status::Satisfied)
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        Ok(Prior::Hostname { file: path::capture(ctx, FILE)?, live: live(ctx)? })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        if kept(ctx)? != self.name {
            path::make_parents(ctx, FILE)?;
            let mode = match path::look(ctx, FILE)? {
                Some(meta) if meta.is_file() => meta.mode(),
                _ => 0o644,
            };
            ctx.write(FILE, format!("{}\n", self.name).as_bytes(), mode, Some(ctx.owner()))?;
        }
        if live(ctx)? != self.name {
            set_live(ctx, &self.name)?;
        }
        Ok(())
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Hostname { file, live: was } = prior else { return Err(foreign("hostname")) };
        let kept = path::revert(ctx, file, kept(ctx)? == self.name, force)?;
        let now = live(ctx)?;
        if now == *was {
            return Ok(kept);
        }
        if now != self.name && !force {
            return Ok(
                kept.and(Reverted::Kept(format!("the machine was renamed to {now:?} after swdt named it")))
            );
        }
        set_live(ctx, was)?;
        Ok(kept)
    }
}

/// A name that kubeadm and DNS take.
pub(crate) fn validate(name: &str) -> Result<()> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    };
    if name.len() <= 63 && name.split('.').all(label) {
        return Ok(());
    }
    Err(Error::new(format!("{name:?} is no name a machine can have"))
        .hinted("use lower-case letters, digits and dashes, 63 at most"))
}

/// The name in the file: the first line that is no comment.
fn kept(ctx: &Ctx) -> Result<String> {
    let text = ctx.read_trimmed(FILE)?.unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(line.unwrap_or_default().to_owned())
}

/// The kernel's name; a scratch root has none.
fn live(ctx: &Ctx) -> Result<String> {
    if !ctx.live() {
        return Ok(String::new());
    }
    let name = nix::unistd::gethostname()
        .map_err(|error| Error::new(format!("cannot read the hostname: {error}")))?;
    Ok(name.to_string_lossy().into_owned())
}

fn set_live(ctx: &Ctx, name: &str) -> Result<()> {
    if !ctx.live() {
        return Ok(());
    }
    ctx.count_write();
    nix::unistd::sethostname(name).map_err(|error| Error::new(format!("cannot set the hostname: {error}")))
}
