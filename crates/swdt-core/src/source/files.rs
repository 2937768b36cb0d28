//! Files on this host: the user's own build.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Artifact, Context, Want, recipe::recipe};
use crate::{Error, Result, files::failed, id};

/// The programs of a piece.
pub(super) fn obtain(ctx: &Context, want: &Want, path: &Path) -> Result<Vec<Artifact>> {
    let take = |(name, path): (String, PathBuf)| {
        let blob = ctx.cache.add_file(&path)?;
        Ok(Artifact::new(name, blob, format!("file {}", path.display())))
    };
    places(want, path)?.into_iter().map(take).collect()
}

/// Names of the programs and where they are: the file itself, or those in the directory.
pub(super) fn places(want: &Want, path: &Path) -> Result<Vec<(String, PathBuf)>> {
    let meta = fs::metadata(path).map_err(|error| failed("read", path, &error))?;
    let recipe = recipe(want.piece);
    let names: Vec<_> = recipe.programs(want.platform).map(|program| program.file(want.platform)).collect();
    if meta.is_file() && names.len() > 1 {
        let message = format!(
            "{} is one file, but {} is several programs: {}",
            path.display(),
            want.piece,
            names.join(", ")
        );
        return Err(Error::new(id::SOURCE_LACKS, message).hinted("name the directory they are in"));
    }
    let place = |name: String| {
        let at = if meta.is_file() { path.to_owned() } else { path.join(&name) };
        (name, at)
    };
    Ok(names.into_iter().map(place).collect())
}
