//! Files on this host: the user's own build.

use std::{fs, path::Path};

use super::{Artifact, Context, Want, recipe::recipe};
use crate::{Error, ErrorKind, Result, files::failed};

/// The programs of a piece: the file itself, or those in the directory.
pub(super) fn obtain(ctx: &Context, want: &Want, path: &Path) -> Result<Vec<Artifact>> {
    let meta = fs::metadata(path).map_err(|error| failed("read", path, &error))?;
    let programs: Vec<_> = recipe(want.piece).programs(want.platform).collect();
    if meta.is_file() && programs.len() > 1 {
        let names: Vec<_> = programs.iter().map(|program| program.file(want.platform)).collect();
        let message = format!(
            "{} is one file, but {} is several programs: {}",
            path.display(),
            want.piece,
            names.join(", ")
        );
        return Err(Error::new(ErrorKind::Config, message).hinted("name the directory they are in"));
    }
    let take = |file: String| {
        let path = if meta.is_file() { path.to_owned() } else { path.join(&file) };
        let blob = ctx.cache.add_file(&path)?;
        Ok(Artifact::new(file, blob, format!("file {}", path.display())))
    };
    programs.iter().map(|program| take(program.file(want.platform))).collect()
}
