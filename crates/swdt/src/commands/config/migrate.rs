//! `swdt config migrate`

use std::path::Path;

use swdt_core::{Error, Result, config, id};

use super::written::Place;
use crate::{args::Global, out, render::Volume};

pub(in super::super) fn run(global: &Global, file: &Path, output: Option<&Path>) -> Result<()> {
    let place = Place::look(output.unwrap_or(file), Some(file), false)?;
    let migrated = config::migrate(place.text().unwrap_or_default())?;
    match output {
        None => out::raw(migrated.text.as_bytes()),
        Some(path) if place.replaces() => {
            return Err(Error::new(id::FILE_EXISTS, format!("{} is there already", path.display()))
                .hinted(format!("name another file, or {} itself", file.display())));
        }
        Some(_) => drop(place.write(&migrated.text)?),
    }
    if global.volume() != Volume::Quiet {
        out::error_line(&match migrated.versions.as_slice() {
            [only] => format!("{} is of {only}, which is the newest; nothing was to do", file.display()),
            versions => format!("{}: {}", file.display(), versions.join(" -> ")),
        });
    }
    Ok(())
}
