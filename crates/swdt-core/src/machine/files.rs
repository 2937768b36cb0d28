//! Files that survive a kill: written whole or not at all; removed only when nothing is mounted below.

use std::{
    fs::{self, File, OpenOptions},
    io::ErrorKind as Io,
    path::Path,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, Result, files::refuse_newer, id};

/// The error of something done to a path.
pub(super) fn failed(what: &str, path: &Path, source: &std::io::Error) -> Error {
    Error::new(id::MACHINE_FILE_FAILED, format!("cannot {what} {}: {source}", path.display()))
}

/// Makes a directory and its parents.
pub(super) fn make_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| failed("make", path, &error))
}

/// The same; nobody else may enter the directory itself.
#[cfg(target_os = "linux")]
pub(super) fn make_private_dir(path: &Path) -> Result<()> {
    crate::files::make_private_dir(path)
}

/// Makes a file of its owner alone, if there is none, for a program that would make one for others, too.
#[cfg(target_os = "linux")]
pub(super) fn make_private(path: &Path) -> Result<()> {
    let made = crate::files::append(path);
    made.map(drop).map_err(|error| failed("make", path, &error))
}

/// Writes a file of its owner alone, whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    crate::files::replace(path, bytes).map_err(|error| failed("write", path, &error))
}

/// The version of our own files about machines; none of them had to name it yet.
const SCHEMA: u32 = 1;

/// Writes a value as JSON, whole or not at all.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::new(id::INTERNAL, format!("{}: {error}", path.display())))?;
    bytes.push(b'\n');
    write_whole(path, &bytes)
}

/// Reads a value, if the file is there.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == Io::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path, &error)),
    };
    refuse_newer(path, &bytes, SCHEMA)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        Error::new(id::MACHINE_RECORD_UNREADABLE, format!("cannot understand {}: {error}", path.display()))
    })
}

/// Removes a file; one that is not there is fine.
pub(super) fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != Io::NotFound => Err(failed("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Bytes that a tree takes on the disk. What vanishes meanwhile takes none.
#[cfg(target_os = "linux")]
pub(super) fn size(path: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let gone = |error: &std::io::Error| error.kind() == Io::NotFound;
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if gone(&error) => return Ok(0),
        Err(error) => return Err(failed("look at", path, &error)),
    };
    let mut sum = meta.blocks() * 512;
    if meta.is_dir() {
        match fs::read_dir(path) {
            Ok(entries) => {
                for entry in entries.flatten() {
                    sum += size(&entry.path())?;
                }
            }
            Err(error) if gone(&error) => {}
            Err(error) => return Err(failed("read", path, &error)),
        }
    }
    Ok(sum)
}

/// Names in a directory, sorted; none if it is not there.
pub(super) fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Does a name end so?
pub(super) fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}

/// Waits until nobody else holds the lock; it is held while the value lives, and by every child that
/// inherits it.
pub(super) fn lock(path: &Path) -> Result<File> {
    let file = open_lock(path)?;
    file.lock().map_err(|error| failed("lock", path, &error))?;
    Ok(file)
}

/// Where root keeps what is of the host and not of a data directory; nobody else may put anything there.
#[cfg(target_os = "linux")]
pub(super) const HOST: &str = "/run/swdt";

/// The same for what there is once on the host, whatever data directories there are. For root.
#[cfg(target_os = "linux")]
pub(super) fn lock_of_host(what: &str) -> Result<File> {
    make_private_dir(Path::new(HOST))?;
    lock(&Path::new(HOST).join(format!("{what}.lock")))
}

/// The same without waiting: nothing when somebody else holds it.
#[cfg(target_os = "linux")]
pub(super) fn try_lock(path: &Path) -> Result<Option<File>> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(failed("lock", path, &error)),
    }
}

fn open_lock(path: &Path) -> Result<File> {
    path.parent().map_or(Ok(()), make_dir)?;
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
    file.map_err(|error| failed("open", path, &error))
}
