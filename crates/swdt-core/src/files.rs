//! Files of our own on the host: private, and written whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{Error, Result, id};

/// Replaces a file: temporary file beside it, fsync, rename, fsync of the directory. Nobody else can
/// read it, not even for a moment.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Two threads may replace one file at the same moment.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{count}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = private().write(true).truncate(true).open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        path.parent().map_or(Ok(()), sync_dir)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Opens a file to append to, made if there is none; nobody else can read it.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    private().append(true).open(path)
}

/// How to open a file of our own, made if there is none; nobody else can read it.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Windows flushes the directory with the file.
#[cfg(not(unix))]
pub(crate) fn sync_dir(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Is what a file says meant for this version of swdt? `known` is the newest schema that is understood; a file
/// without one is of the first. Looked at before anything else of it: a newer file may say what cannot be read here.
pub(crate) fn refuse_newer(path: &Path, text: &[u8], known: u32) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Envelope {
        schema: u32,
    }
    match serde_json::from_slice(text) {
        Ok(Envelope { schema }) if schema > known => {
            let message = format!(
                "{} was written by a newer swdt (schema {schema}, this one knows {known})",
                path.display()
            );
            Err(Error::new(id::WRITTEN_BY_NEWER, message).hinted("use that version of swdt, or a newer one"))
        }
        // Whoever needs the file says what is wrong with it.
        _ => Ok(()),
    }
}

/// Makes a directory and its parents; nobody else may enter it, not even for a moment.
pub(crate) fn make_private_dir(path: &Path) -> Result<()> {
    let cannot = |error: io::Error| failed("create", path, &error);
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(cannot)?;
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if !(error.kind() == io::ErrorKind::AlreadyExists && path.is_dir()) => {
            return Err(cannot(error));
        }
        _ => {}
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
            .map_err(|error| failed("protect", path, &error))?;
    }
    Ok(())
}

/// Bytes that are free for this user where a path is; none where that cannot be known.
#[cfg(unix)]
pub(crate) fn free(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|path| path.exists())?;
    let stat = nix::sys::statvfs::statvfs(there).ok()?;
    // The types differ between systems.
    #[allow(clippy::useless_conversion, reason = "narrower on some systems")]
    Some(u64::from(stat.blocks_available()).saturating_mul(u64::from(stat.fragment_size())))
}

#[cfg(not(unix))]
pub(crate) fn free(_path: &Path) -> Option<u64> {
    None
}

/// Removes a directory with everything in it; one that is not there is fine.
pub(crate) fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A failed operation on one of our own files.
pub(crate) fn failed(doing: &str, path: &Path, error: &io::Error) -> Error {
    let failed = Error::new(id::FILE_FAILED, format!("cannot {doing} {}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::StorageFull => failed.hinted("free some space on this file system"),
        io::ErrorKind::PermissionDenied => failed.hinted(format!("run as a user who may {doing} it")),
        _ => failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_do_not_take_each_others_files_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("note");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|_| replace(&path, b"whole").unwrap()));
            }
        });
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
    }
}
