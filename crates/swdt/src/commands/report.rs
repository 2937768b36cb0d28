//! `swdt cluster report`

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use swdt_core::{Error, Result, id, run};

use super::chosen;
use crate::{
    args::{Format, Global, ReportPlace},
    host, out,
    render::{Volume, bytes},
    report,
};

pub(super) fn run(global: &Global, place: &ReportPlace, format: Format) -> Result<()> {
    let host = host::host(global, false)?;
    let spec = host.dirs.cluster(&chosen(global, &host.dirs)?).load_spec()?;
    let report = run::report(&host, &spec)?;
    let text = if format.json() {
        serde_json::json!(report).to_string() + "\n"
    } else {
        report::page(&report, env!("CARGO_PKG_VERSION"))
    };
    let path = match &place.output {
        Some(path) => path.clone(),
        None if format.json() => {
            out::raw(text.as_bytes());
            return Ok(());
        }
        None => PathBuf::from(format!("swdt-{}.html", spec.name)),
    };
    write(&path, place.force, text.as_bytes())?;
    if global.volume() != Volume::Quiet {
        let what = if format.json() { "the report as JSON" } else { "the report, for any browser" };
        out::error_line(&format!("{}: {what}, {}", path.display(), bytes(text.len() as u64)));
    }
    Ok(())
}

/// Whole or not at all: written beside it, and put in place only when it is complete.
fn write(path: &Path, force: bool, bytes: &[u8]) -> Result<()> {
    let path = host::absolute(path)?;
    let taken = || {
        Error::new(id::FILE_EXISTS, format!("{} is there already", path.display()))
            .hinted("choose another name with --output, or overwrite it with --force")
    };
    let failed = |error: &io::Error| {
        Error::new(id::OUTPUT_NOT_WRITTEN, format!("cannot write {}: {error}", path.display()))
            .hinted("name a file with --output, in a directory that is there and that you may write to")
    };
    if path.is_dir() {
        return Err(failed(&io::ErrorKind::IsADirectory.into()));
    }
    // A device would be replaced by a file.
    if path.exists() && !path.is_file() {
        return Err(failed(&io::Error::other("it is no file")));
    }
    if path.exists() && !force {
        return Err(taken());
    }
    let beside = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(beside).map_err(|error| failed(&error))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(|error| failed(&error))?;
    // Somebody may have made the file meanwhile.
    let kept = if force { file.persist(&path) } else { file.persist_noclobber(&path) };
    kept.map(drop).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => taken(),
        _ => failed(&error.error),
    })
}
