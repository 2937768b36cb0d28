//! Room on the disk: whether it is enough, how much is used, and keeping what Go compiled within a bound.

use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{Error, Result, files::free, id};

pub(super) const MIB: u64 = 1024 * 1024;

/// What even a warm build writes: programs, and what the linker puts aside.
const LEAST_MIB: u64 = 1024;

/// Refuses a build for which there is no room, before minutes are spent on it. What Go keeps already need not be
/// made again, so it counts as room.
pub(super) fn enough(cache: &Path, what: &str, cold_mib: u64) -> Result<()> {
    let Some(free) = free(cache) else { return Ok(()) };
    if free / MIB >= cold_mib {
        return Ok(());
    }
    let needed = cold_mib.saturating_sub(size(cache) / MIB).max(LEAST_MIB.min(cold_mib));
    if free / MIB >= needed {
        return Ok(());
    }
    let message = format!(
        "building {what} needs about {needed} MiB, and {} MiB are free at {}",
        free / MIB,
        cache.display()
    );
    Err(Error::new(id::DISK_FULL, message)
        .hinted("`swdt source prune` shows what could go from the cache")
        .hinted("`--cache-dir` keeps it on another disk"))
}

/// A build that stopped because the disk is full says where, and how much is free now.
pub(super) fn explain(error: Error, cache: &Path) -> Error {
    if !error.output.iter().any(|line| line.contains(super::go::NO_SPACE)) {
        return error;
    }
    let free = free(cache).map_or_else(String::new, |free| format!("; {} MiB are free now", free / MIB));
    let message = format!("{}: the disk of {} is full{free}", error.message, cache.display());
    error
        .meaning(id::DISK_FULL)
        .saying(message)
        .hinted("`swdt source prune` shows what could go; `--cache-dir` keeps the cache on another disk")
}

/// Bytes of all files below a directory.
pub(super) fn size(dir: &Path) -> u64 {
    files(dir).iter().map(|(_, meta)| meta.len()).sum()
}

/// Every file below a directory. What vanishes meanwhile is left out.
fn files(dir: &Path) -> Vec<(PathBuf, Metadata)> {
    let (mut found, mut open) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => open.push(entry.path()),
                Ok(meta) => found.push((entry.path(), meta)),
                Err(_) => {}
            }
        }
    }
    found
}

/// Removes the longest unused of Go's compiled packages until no more than `limit` bytes are left; gives what was
/// freed. Go marks what it uses by its time, and makes again what is missing.
pub(super) fn trim(packages: &Path, limit: u64) -> u64 {
    // Directories of one level hold the packages; what lies beside them is Go's own book-keeping.
    let mut entries: Vec<(SystemTime, u64, PathBuf)> = files(packages)
        .into_iter()
        .filter(|(path, _)| path.parent() != Some(packages))
        .map(|(path, meta)| (meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), meta.len(), path))
        .collect();
    let mut left: u64 = entries.iter().map(|(_, size, _)| size).sum();
    let all = left;
    entries.sort();
    for (_, size, path) in entries {
        if left <= limit {
            break;
        }
        if fs::remove_file(&path).is_ok() {
            left -= size;
        }
    }
    all - left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_go_first_and_book_keeping_stays() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, seconds: u64| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, [0; 100]).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        for (name, age) in [("00/old-d", 1), ("01/used-d", 30), ("02/older-a", 2), ("trim.txt", 0)] {
            write(name, age);
        }
        assert_eq!(trim(dir.path(), 300), 0);
        assert_eq!(trim(dir.path(), 150), 200);
        let there = |name: &str| dir.path().join(name).exists();
        assert!(there("01/used-d") && there("trim.txt") && !there("00/old-d") && !there("02/older-a"));
    }

    #[test]
    fn a_build_without_room_is_refused_with_figures() {
        let dir = tempfile::tempdir().unwrap();
        enough(dir.path(), "x", 0).unwrap();
        let error = enough(dir.path(), "x", u64::MAX / MIB).unwrap_err();
        assert_eq!(error.id(), "disk-full");
        assert!(error.message.contains("MiB are free at"), "{error}");
    }
}
