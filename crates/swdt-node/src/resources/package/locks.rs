//! Waiting for locks of package managers, and saying who holds them.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::{Ctx, Error, Result};

/// Unattended upgrades on a first boot have been seen to take minutes.
pub(super) const PATIENCE: Duration = Duration::from_mins(5);

/// A process that holds a lock.
#[derive(Debug, PartialEq, Eq)]
struct Holder {
    pid: u32,
    command: String,
}

/// Waits until none of the lock files is held.
pub(super) fn wait(ctx: &Ctx, files: &[&str], patience: Duration) -> Result<()> {
    let begin = Instant::now();
    let mut told = false;
    while let Some((file, holder)) = files.iter().find_map(|file| Some((file, holder(ctx, file)?))) {
        let Holder { pid, command } = holder;
        if begin.elapsed() >= patience {
            return Err(Error::new(format!(
                "{file} is still locked by `{command}` (pid {pid}) after {} s",
                patience.as_secs()
            ))
            .hinted("let it finish (or stop it if it hangs), then run the same command again"));
        }
        if !told {
            ctx.note(format!("waiting for `{command}` (pid {pid}), which holds {file}"));
            told = true;
        }
        thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

/// Who holds a lock on a file? `/proc/locks` knows inodes only, and its device numbers are wrong on
/// overlayfs and btrfs; so a candidate counts when it has the file open.
fn holder(ctx: &Ctx, file: &str) -> Option<Holder> {
    let path = fs::canonicalize(ctx.path(file)).ok()?;
    let inode = fs::metadata(&path).ok()?.ino();
    let locks = ctx.read_trimmed("/proc/locks").ok()??;
    let pid = candidates(&locks, inode).into_iter().find(|&pid| has_open(pid, &path))?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned();
    Some(Holder { pid, command })
}

fn has_open(pid: u32, path: &Path) -> bool {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .is_ok_and(|files| files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to == path)))
}

/// Processes that hold a write lock on this inode: `1: POSIX  ADVISORY  WRITE 2216 fe:00:5505 0 EOF`.
/// Lines with `->` only wait.
pub(crate) fn candidates(locks: &str, inode: u64) -> Vec<u32> {
    locks
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, _, _, "WRITE", pid, file, ..] = fields[..] else { return None };
            (file.rsplit(':').next()?.parse() == Ok(inode)).then(|| pid.parse().ok())?
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_lock() {
        let locks = "\
1: POSIX  ADVISORY  WRITE 2216 fe:00:5505 0 EOF
1: -> POSIX  ADVISORY  WRITE 2300 fe:00:5505 0 EOF
2: FLOCK  ADVISORY  WRITE 118 00:19:77 0 EOF
3: POSIX  ADVISORY  READ 500 fe:00:5505 128 128
4: OFDLCK ADVISORY  WRITE -1 fe:00:5505 0 EOF";
        assert_eq!(candidates(locks, 5505), [2216]);
        assert_eq!(candidates(locks, 55), [0; 0]);
    }

    #[test]
    fn a_lock_held_too_long_names_its_holder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let Ok(mut child) = std::process::Command::new("flock").args([&path, "sleep", "30"]).spawn() else {
            return;
        };
        let ctx = Ctx::new("/");
        let begin = Instant::now();
        while holder(&ctx, &path).is_none() && begin.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(10));
        }
        let error = wait(&ctx, &[&path], Duration::ZERO).unwrap_err();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            error.message.contains(&format!("locked by `flock {path} sleep 30` (pid {})", child.id())),
            "{error}"
        );
    }

    #[test]
    fn a_file_nobody_holds_is_not_waited_for() {
        let ctx = Ctx::new("/");
        wait(&ctx, &["/etc/passwd", "/nowhere"], Duration::ZERO).unwrap();
        assert!(ctx.take_notes().is_empty());
    }
}
