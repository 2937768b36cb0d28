//! One run at a time. The lock is a flock: it dies with its owner, whatever kills it, and a restart
//! leaves nothing behind that would have to be judged stale. The file's text is for messages only.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
    thread::sleep,
    time::Duration,
};

use swdt_wire::Busy;

use crate::{Error, Result, os};

/// [`holder`] takes the lock for a moment, and its owner writes its text a moment after taking it.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// The machine is ours until this is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Takes the lock, or says who has it.
pub fn take(path: &Path, me: &Busy) -> Result<Result<Lock, Busy>> {
    let trouble = |error: &io::Error| Error::io("lock", path, error);
    for _ in 0..TRIES {
        let file = os::private(File::options().read(true).write(true).create(true).truncate(false))
            .open(path)
            .map_err(|error| trouble(&error))?;
        match file.try_lock() {
            // A complete revert removes the file; a lock on what it removed excludes nobody.
            Ok(()) if os::is_at(&file, path) => {
                let text = serde_json::to_vec(me).map_err(|error| Error::new(error.to_string()))?;
                fs::write(os::lock_words(path), text).map_err(|error| trouble(&error))?;
                return Ok(Ok(Lock { _file: file }));
            }
            Ok(()) | Err(TryLockError::WouldBlock) => sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(trouble(&error)),
        }
    }
    let unknown =
        Busy { run: String::new(), cluster: String::new(), who: "somebody".into(), pid: 0, since: 0 };
    Ok(Err(holder(path)?.unwrap_or(unknown)))
}

/// Who holds the lock now.
pub fn holder(path: &Path) -> Result<Option<Busy>> {
    for _ in 0..TRIES {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("open", path, &error)),
        };
        match file.try_lock_shared() {
            Ok(()) => return Ok(None),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", path, &error)),
        }
        if let Ok(text) = fs::read(os::lock_words(path))
            && let Ok(busy) = serde_json::from_slice(&text)
        {
            return Ok(Some(busy));
        }
        sleep(PAUSE);
    }
    Err(Error::new(format!("{} is held by a process that does not say who it is", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(run: &str) -> Busy {
        Busy { run: run.into(), cluster: "one".into(), who: "me@here".into(), pid: 7, since: 1 }
    }

    #[test]
    fn the_second_learns_of_the_first_until_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert_eq!(holder(&path).unwrap(), None);
        let lock = take(&path, &busy("first-with-a-long-name")).unwrap().unwrap();
        assert_eq!(holder(&path).unwrap().unwrap().run, "first-with-a-long-name");
        assert_eq!(take(&path, &busy("second")).unwrap().unwrap_err(), busy("first-with-a-long-name"));
        drop(lock);
        // Other tests start programs: between fork and exec a child holds whatever we held.
        let freed = (0..100).any(|_| {
            holder(&path).unwrap().is_none() || {
                sleep(PAUSE);
                false
            }
        });
        assert!(freed, "nobody holds it any more");
        let _lock = take(&path, &busy("second")).unwrap().unwrap();
        assert_eq!(holder(&path).unwrap(), Some(busy("second")));
    }
}
