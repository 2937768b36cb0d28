//! The node half's own directory: what is in it, and who may have made it.
//!
//! ```text
//! bin/<sha256>           node programs, put there by the host half
//! blobs/<sha256>         bytes resources need
//! prior/<sha256>         bytes that were overwritten
//! manifests/<sha256>     what is in an unpacked archive, so that a look need not unpack it again
//! stamps.json            what large files were like when their digests were known
//! receipts.jsonl         how to undo
//! lock                   who works here now
//! kubeadm.yaml           what kubeadm is told, with the token, while it runs
//! kubeadm.unfinished     kubeadm was started and did not come to a good end
//! runs/<run>/            events.jsonl (the conversation), log (words of a crash), cancel (a wish),
//!                        reserve (room for the last word on a full disk)
//! ```
//!
//! Looking at a machine creates none of this. A complete revert removes all of it; one that kept
//! something leaves what it takes to undo that.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{Ctx, Error, Result, faults, os};

/// How many runs are remembered.
const KEEP_RUNS: usize = 5;

/// An upload that did not move for that long was given up.
const STALE_UPLOAD: Duration = Duration::from_hours(1);

/// The state directory.
#[derive(Debug, Clone)]
pub struct State {
    dir: PathBuf,
}

/// A run's name that may become part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunId(String);

impl RunId {
    /// Lower-case letters, digits and dashes, 64 at most.
    pub fn parse(name: &str) -> Result<Self> {
        let good = (1..=64).contains(&name.len())
            && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if good {
            Ok(Self(name.to_owned()))
        } else {
            Err(Error::new(format!("{name:?} is no name of a run")))
        }
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A SHA-256 that may become part of a path.
pub fn digest(text: &str) -> Result<&str> {
    let good = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if good { Ok(text) } else { Err(Error::new(format!("{text:?} is no SHA-256 in lower-case hex"))) }
}

impl State {
    /// The state directory of a machine.
    pub fn of(ctx: &Ctx) -> Self {
        Self { dir: ctx.state().to_owned() }
    }

    /// The directory itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Is there one?
    pub fn exists(&self) -> bool {
        fs::symlink_metadata(&self.dir).is_ok()
    }

    /// The receipts.
    pub fn receipts(&self) -> PathBuf {
        self.dir.join("receipts.jsonl")
    }

    /// What large files were like when their digests were known.
    pub fn stamps(&self) -> PathBuf {
        self.dir.join("stamps.json")
    }

    /// The lock.
    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// The configuration of a kubeadm that runs.
    pub fn kubeadm_config(&self) -> PathBuf {
        self.dir.join("kubeadm.yaml")
    }

    /// Says that kubeadm was started and did not come to a good end.
    pub fn kubeadm_unfinished(&self) -> PathBuf {
        self.dir.join("kubeadm.unfinished")
    }

    /// Removes what holds a secret and must not outlive the run that wrote it. Whoever holds the lock may ask:
    /// the run that wrote it is gone.
    pub fn remove_secrets(&self) -> Result<()> {
        let config = self.kubeadm_config();
        for path in [crate::disk::temporary(&config), config] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A blob. A node program that is here already need not be sent as one.
    pub fn blob(&self, sha256: &str) -> Result<PathBuf> {
        let name = digest(sha256)?;
        let program = self.dir.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let blob = self.dir.join("blobs").join(name);
        Ok(if program.exists() && !blob.exists() { program } else { blob })
    }

    /// Bytes that were overwritten.
    pub fn prior(&self, sha256: &str) -> Result<PathBuf> {
        Ok(self.dir.join("prior").join(digest(sha256)?))
    }

    /// The directory of a run.
    pub fn run(&self, run: &RunId) -> PathBuf {
        self.dir.join("runs").join(run.as_str())
    }

    /// The events of a run.
    pub fn events(&self, run: &RunId) -> PathBuf {
        self.run(run).join("events.jsonl")
    }

    /// The wish that a run stops.
    pub fn cancel(&self, run: &RunId) -> PathBuf {
        self.run(run).join("cancel")
    }

    /// Refuses a directory in which somebody else could have put something: what is in here is run
    /// and written as root. Nothing there is fine.
    pub fn verify(&self) -> Result<()> {
        let trouble = match os::distrust(&self.dir) {
            Ok(None) => return Ok(()),
            Ok(Some(trouble)) => trouble,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io("look at", &self.dir, &error)),
        };
        Err(Error::new(format!("{} {trouble}, so nothing in it can be trusted", self.dir.display()))
            .hinted("look at what is in it, remove it, and run the same command again"))
    }

    /// Makes the directory, and one below it, where missing; closed to others.
    pub fn ensure(&self, below: &str) -> Result<PathBuf> {
        self.verify()?;
        let path = self.dir.join(below);
        os::make_public_dir(self.dir.parent().unwrap_or(&self.dir))
            .and_then(|()| os::make_private_dir(&self.dir))
            .and_then(|()| os::set_mode(&self.dir, 0o700, None))
            .and_then(|()| os::make_private_dir(&path))
            .map_err(|error| Error::io("create", &path, &error))?;
        Ok(path)
    }

    /// Removes what nobody will ask for again: old runs, uploads given up, other node programs.
    /// Tidiness, so failures are of no interest. The run that asks stays, even if the clock went back.
    pub fn tidy(&self, current: &RunId) {
        let mut runs = entries(&self.dir.join("runs"));
        runs.retain(|(run, _)| *run != self.run(current));
        runs.sort_by_key(|(_, modified)| std::cmp::Reverse(*modified));
        for (run, _) in runs.iter().skip(KEEP_RUNS - 1) {
            let _ = fs::remove_dir_all(run);
        }
        for (blob, modified) in entries(&self.dir.join("blobs")) {
            let upload = blob.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if upload && faults::clock().duration_since(modified).is_ok_and(|age| age > STALE_UPLOAD) {
                let _ = fs::remove_file(blob);
            }
        }
        let bin = self.dir.join("bin");
        let Ok(running) = std::env::current_exe() else { return };
        if running.parent() != Some(&bin) {
            return;
        }
        for (program, _) in entries(&bin) {
            if program != running {
                let _ = fs::remove_file(program);
            }
        }
    }

    /// Removes everything but the conversation and the lock of the run that asks: what it still has to say goes
    /// last. If asked, what it takes to undo stays as well.
    pub fn clear(&self, keep_receipts: bool) -> Result<()> {
        let receipts = [self.receipts(), self.dir.join("prior"), self.dir.join("manifests")];
        for (path, _) in entries(&self.dir) {
            let talk = [self.lock(), os::lock_words(&self.lock()), self.dir.join("runs")].contains(&path);
            let runs = os::RUNNING_PROGRAMS_STAY && path == self.dir.join("bin");
            if talk || runs || (keep_receipts && receipts.contains(&path)) {
                continue;
            }
            remove(&path).map_err(|error| Error::io("remove", &path, &error))?;
        }
        Ok(())
    }

    /// Is nothing left of it but, where those cannot be removed, programs that still run?
    pub fn is_gone(&self) -> bool {
        let programs = self.dir.join("bin");
        let only_programs = || entries(&self.dir).iter().all(|(path, _)| *path == programs);
        !self.exists() || (os::RUNNING_PROGRAMS_STAY && only_programs())
    }

    /// Removes the whole directory.
    pub fn remove(&self) -> Result<()> {
        os::remove_state(&self.dir).map_err(|error| Error::io("remove", &self.dir, &error))
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// What is in a directory, with the time of the last change; nothing if it cannot be read.
pub(crate) fn entries(dir: &Path) -> Vec<(PathBuf, SystemTime)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| {
            let modified = entry.metadata().and_then(|meta| meta.modified());
            (entry.path(), modified.unwrap_or(SystemTime::UNIX_EPOCH))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{
        fs::Permissions,
        os::unix::fs::{MetadataExt, PermissionsExt},
    };

    use super::*;

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for bad in ["", "..", "a/b", "A", "a b", "ä", &"a".repeat(65)] {
            assert!(RunId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(RunId::parse("r-20260731-0a").is_ok());
        assert!(digest(&"a".repeat(64)).is_ok());
        assert!(digest(&"A".repeat(64)).is_err());
        assert!(digest("../../etc/passwd").is_err());
    }

    #[test]
    fn a_directory_others_can_write_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let state = State::of(&Ctx::new(root.path()));
        let path = state.ensure("blobs").unwrap();
        assert!(path.is_dir());
        assert_eq!(fs::metadata(state.dir()).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(state.dir(), Permissions::from_mode(0o770)).unwrap();
        let error = state.ensure("blobs").unwrap_err();
        assert!(error.message.contains("can be written by others"), "{error}");
        state.remove().unwrap();
        std::os::unix::fs::symlink("/tmp", state.dir()).unwrap();
        assert!(state.verify().unwrap_err().message.contains("is no directory"));
    }
}
