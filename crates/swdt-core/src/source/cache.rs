//! The content-addressed store under every source.
//!
//! ```text
//! <cache>/artifacts/
//!   sha256/<digest>     bytes, read-only, under the name of what they are
//!   checked/<digest>    size and time of the bytes when they were last hashed
//!   records/<key>.json  which bytes these inputs gave
//!   locks/<key>         held while somebody makes what the key names
//!   partial/<key>       downloads that may go on
//!   scratch/<pid>-<n>/  work in progress, and a lock beside it
//! ```
//!
//! Everything gets its name by rename, so a killed process leaves no half file under a good name.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    Error, Result,
    event::Reporter,
    files::{self, failed, make_private_dir},
    id,
};

/// The version of records. Raise it when the meaning of inputs changes: old results are made again.
const RECORD_SCHEMA: u32 = 1;

/// The lock that everybody shares who relies on what is in the store.
const IN_USE: &str = "in-use";

/// Big enough that hashing, not calling, takes the time.
const BUFFER: usize = 256 * 1024;

/// The store.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    go: PathBuf,
}

/// Bytes in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Where they are.
    pub path: PathBuf,
    /// SHA-256 in lower-case hex.
    pub sha256: String,
    /// How many.
    pub size: u64,
}

/// What some inputs gave, earlier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    schema: u32,
    /// The inputs in clear, for people who look.
    pub inputs: serde_json::Value,
    /// SHA-256 of what came out.
    pub sha256: String,
    /// How it was made, in words.
    pub from: String,
}

/// Names what some inputs give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    inputs: serde_json::Value,
    id: String,
}

impl Key {
    /// The key of these inputs. Whatever can change the outcome belongs into them.
    pub fn new(inputs: &impl Serialize) -> Result<Self> {
        let inputs = serde_json::to_value(inputs)
            .map_err(|error| Error::new(id::INTERNAL, format!("inputs: {error}")))?;
        let id = hex(&Sha256::digest(inputs.to_string()));
        Ok(Self { inputs, id })
    }

    /// The name of files that belong to it.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Held while somebody makes or uses something; given back when dropped or when the process ends.
#[derive(Debug)]
pub struct Held {
    _file: File,
}

/// A directory for work in progress, removed when dropped. Whoever dies without that loses the lock beside it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    lock: PathBuf,
    _held: File,
}

impl Scratch {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_file(&self.lock);
    }
}

/// Size and time of a blob when it was last hashed.
#[derive(PartialEq, Serialize, Deserialize)]
struct Stamp {
    size: u64,
    modified_ns: u128,
}

impl Cache {
    /// The store in a cache directory.
    pub fn new(cache: &Path) -> Self {
        Self { root: cache.join("artifacts"), go: cache.join("go") }
    }

    /// Where Go keeps modules and compiled packages.
    pub fn go(&self) -> &Path {
        &self.go
    }

    /// A file of the store's own; its directory is made.
    fn place(&self, dir: &str, name: &str) -> Result<PathBuf> {
        let dir = self.root.join(dir);
        if !dir.is_dir() {
            make_private_dir(&dir)?;
        }
        Ok(dir.join(name))
    }

    /// Where a download that may go on is kept.
    pub fn partial(&self, key: &Key) -> Result<PathBuf> {
        self.place("partial", key.id())
    }

    /// The bytes with this digest, if they are there and still the same.
    pub fn blob(&self, sha256: &str) -> Result<Option<Blob>> {
        let path = self.place("sha256", sha256)?;
        let Some(now) = stamp(&path)? else { return Ok(None) };
        let checked = self.place("checked", sha256)?;
        let before = fs::read(&checked).ok().and_then(|bytes| serde_json::from_slice::<Stamp>(&bytes).ok());
        if before.as_ref() != Some(&now) {
            if digest_of(&path)? != sha256 {
                // Somebody wrote to it, or the disk lies: it is not what its name says.
                remove(&path)?;
                return Ok(None);
            }
            self.checked(sha256, &now)?;
        }
        Ok(Some(Blob { path, sha256: sha256.to_owned(), size: now.size }))
    }

    fn checked(&self, sha256: &str, stamp: &Stamp) -> Result<()> {
        let text = serde_json::to_vec(stamp).unwrap_or_default();
        let path = self.place("checked", sha256)?;
        files::replace(&path, &text).map_err(|error| failed("write", &path, &error))
    }

    /// Takes a copy of bytes into the store.
    pub fn add(&self, mut bytes: impl Read) -> Result<Blob> {
        let scratch = self.scratch()?;
        let path = scratch.path().join("bytes");
        let mut file = File::create(&path).map_err(|error| failed("create", &path, &error))?;
        io::copy(&mut bytes, &mut file).map_err(|error| failed("write", &path, &error))?;
        drop(file);
        self.adopt(&path)
    }

    /// Takes a copy of a file into the store.
    pub fn add_file(&self, path: &Path) -> Result<Blob> {
        let file = File::open(path).map_err(|error| failed("read", path, &error))?;
        self.add(file)
    }

    /// Moves a file of our own, on the same file system, into the store.
    pub fn adopt(&self, path: &Path) -> Result<Blob> {
        let wrong = |error: io::Error| failed("keep", path, &error);
        let sha256 = digest_of(path)?;
        let target = self.place("sha256", &sha256)?;
        protect(path).map_err(wrong)?;
        File::open(path).and_then(|file| file.sync_all()).map_err(wrong)?;
        fs::rename(path, &target).map_err(wrong)?;
        let Some(now) = stamp(&target)? else { return Err(failed("keep", &target, &gone())) };
        self.checked(&sha256, &now)?;
        Ok(Blob { path: target, sha256, size: now.size })
    }

    /// What these inputs gave earlier, if the bytes are still there.
    pub fn recall(&self, key: &Key) -> Result<Option<(Record, Blob)>> {
        let path = self.place("records", &format!("{}.json", key.id()))?;
        let Ok(bytes) = fs::read(&path) else { return Ok(None) };
        // A record that cannot be read is no record: the work is done again.
        let Ok(record) = serde_json::from_slice::<Record>(&bytes) else { return Ok(None) };
        if record.schema != RECORD_SCHEMA || record.inputs != key.inputs {
            return Ok(None);
        }
        Ok(self.blob(&record.sha256)?.map(|blob| (record, blob)))
    }

    /// Remembers what these inputs gave.
    pub fn remember(&self, key: &Key, blob: &Blob, from: &str) -> Result<()> {
        let record = Record {
            schema: RECORD_SCHEMA,
            inputs: key.inputs.clone(),
            sha256: blob.sha256.clone(),
            from: from.to_owned(),
        };
        let path = self.place("records", &format!("{}.json", key.id()))?;
        let text = serde_json::to_vec_pretty(&record).unwrap_or_default();
        files::replace(&path, &text).map_err(|error| failed("write", &path, &error))
    }

    /// Waits until nobody else makes what the key names. Look again afterwards: they may have made it.
    pub async fn hold(&self, key: &Key, what: &str, reporter: &Reporter) -> Result<Held> {
        let (cache, key) = (self.clone(), key.clone());
        let waiting = format!("waiting for another swdt that makes {what}");
        let reporter = reporter.clone();
        super::blocking(move || cache.hold_here(&key, || reporter.doing(waiting))).await
    }

    /// The same in code that may block.
    pub fn hold_here(&self, key: &Key, waiting: impl FnOnce()) -> Result<Held> {
        let path = self.place("locks", key.id())?;
        let file = File::create(&path).map_err(|error| failed("open", &path, &error))?;
        if file.try_lock().is_err() {
            waiting();
            file.lock().map_err(|error| failed("lock", &path, &error))?;
        }
        Ok(Held { _file: file })
    }

    /// Keeps everything in the store as long as it is held; many can hold it.
    pub(super) fn in_use(&self) -> Result<Held> {
        let path = self.place("locks", IN_USE)?;
        let file = File::create(&path).map_err(|error| failed("open", &path, &error))?;
        file.lock_shared().map_err(|error| failed("lock", &path, &error))?;
        Ok(Held { _file: file })
    }

    /// Held while things are removed; none while anybody uses the store.
    pub(super) fn alone(&self) -> Result<Option<Held>> {
        let path = self.place("locks", IN_USE)?;
        let file = File::create(&path).map_err(|error| failed("open", &path, &error))?;
        Ok(file.try_lock().is_ok().then_some(Held { _file: file }))
    }

    /// The directory of the store.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A directory for work in progress.
    pub fn scratch(&self) -> Result<Scratch> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.sweep();
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = self.place("scratch", &name)?;
        let lock = path.with_extension("lock");
        let held = File::create(&lock).map_err(|error| failed("create", &lock, &error))?;
        held.lock().map_err(|error| failed("lock", &lock, &error))?;
        make_private_dir(&path)?;
        Ok(Scratch { path, lock, _held: held })
    }

    /// Removes what killed processes left in progress: nobody holds its lock.
    fn sweep(&self) {
        let entries = fs::read_dir(self.root.join("scratch")).into_iter().flatten().flatten();
        for lock in entries.map(|entry| entry.path()).filter(|path| path.extension().is_some()) {
            if File::open(&lock).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = fs::remove_dir_all(lock.with_extension(""));
                let _ = fs::remove_file(&lock);
            }
        }
    }
}

/// SHA-256 of a file.
pub(crate) fn digest_of(path: &Path) -> Result<String> {
    let mut file = File::open(path).map_err(|error| failed("read", path, &error))?;
    let mut hash = Hashing::new(io::sink());
    copy(&mut file, &mut hash).map_err(|error| failed("read", path, &error))?;
    Ok(hash.finish().0)
}

/// Copies with a buffer that suits big files.
pub(super) fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<u64> {
    let mut buffer = vec![0; BUFFER];
    let mut all = 0;
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(all);
        }
        to.write_all(&buffer[..count])?;
        all += count as u64;
    }
}

/// A writer that knows the digest and the length of what went through.
pub(super) struct Hashing<W> {
    inner: W,
    hash: Sha256,
    size: u64,
}

impl<W: Write> Hashing<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new(), size: 0 }
    }

    /// Digest, length, and the writer again.
    pub(super) fn finish(self) -> (String, u64, W) {
        (hex(&self.hash.finalize()), self.size, self.inner)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn stamp(path: &Path) -> Result<Option<Stamp>> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path, &error)),
    };
    let modified = meta.modified().map_err(|error| failed("read", path, &error))?;
    let modified_ns = modified.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    Ok(Some(Stamp { size: meta.len(), modified_ns }))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Programs are run from the store and nobody shall write there.
#[cfg(unix)]
fn protect(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o555))
}

#[cfg(not(unix))]
fn protect(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn gone() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_killed_is_swept_and_what_is_at_work_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path());
        let mine = cache.scratch().unwrap();
        let dead = cache.place("scratch", "1-1").unwrap();
        fs::create_dir(&dead).unwrap();
        fs::write(dead.with_extension("lock"), "").unwrap();
        cache.scratch().unwrap();
        assert!(mine.path().is_dir());
        assert!(!dead.exists() && !dead.with_extension("lock").exists());
    }

    #[test]
    fn a_record_whose_bytes_are_gone_or_that_was_torn_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path());
        let key = Key::new(&("inputs", 1)).unwrap();
        let blob = cache.add(&b"bytes"[..]).unwrap();
        cache.remember(&key, &blob, "a test").unwrap();
        assert_eq!(cache.recall(&key).unwrap().unwrap().1, blob);
        fs::remove_file(&blob.path).unwrap();
        assert!(cache.recall(&key).unwrap().is_none());
        cache.add(&b"bytes"[..]).unwrap();
        assert!(cache.recall(&key).unwrap().is_some());
        let record = cache.place("records", &format!("{}.json", key.id())).unwrap();
        fs::write(&record, &fs::read(&record).unwrap()[..20]).unwrap();
        assert!(cache.recall(&key).unwrap().is_none());
        assert!(cache.recall(&Key::new(&("inputs", 2)).unwrap()).unwrap().is_none());
    }
}
