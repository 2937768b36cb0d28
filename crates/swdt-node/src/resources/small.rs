//! A small file that is ours alone: how several kinds keep something over a restart.

use swdt_wire::{PathPrior, Status};

use super::{Reverted, path};
use crate::{Ctx, Result};

/// Mode of such files.
const MODE: u32 = 0o644;

/// Has the file these bytes?
pub(super) fn check(ctx: &Ctx, at: &str, text: &str) -> Result<Status> {
    let differs = |what: &str| Ok(Status::Differs(format!("{at} {what}")));
    match path::look(ctx, at)? {
        None => differs("is missing"),
        Some(meta) if !meta.is_file() => differs("is no plain file"),
        Some(meta) if meta.mode() != MODE => differs("has another mode"),
        Some(meta) if meta.owner() != ctx.owner() => differs("has another owner"),
        Some(_) if ctx.read(at)?.as_deref() != Some(text.as_bytes()) => differs("has other contents"),
        Some(_) => Ok(Status::Satisfied),
    }
}

/// Gives it these bytes, if it has not.
pub(super) fn apply(ctx: &Ctx, at: &str, text: &str) -> Result<()> {
    if check(ctx, at, text)? == Status::Satisfied {
        return Ok(());
    }
    path::no_dir_in_the_way(ctx, at)?;
    path::make_parents(ctx, at)?;
    ctx.write(at, text.as_bytes(), MODE, Some(ctx.owner()))
}

/// Puts back what was there.
pub(super) fn revert(ctx: &Ctx, prior: &PathPrior, text: &str, force: bool) -> Result<Reverted> {
    let ours = check(ctx, &prior.path, text)? == Status::Satisfied;
    path::revert(ctx, prior, ours, force)
}
