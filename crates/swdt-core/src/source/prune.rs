//! Making room: what Go keeps, and artifacts that no cluster uses.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{Cache, cache::Record, space::size};
use crate::{Error, Result, files::failed, id};

/// What may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// What Go keeps.
    Go,
    /// Artifacts that no cluster uses.
    Artifacts,
    /// Both.
    Everything,
}

/// Something that can go, and be made again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Prunable {
    /// What it is, in words.
    pub what: String,
    /// Files and directories.
    #[serde(skip)]
    paths: Vec<PathBuf>,
    /// How many.
    pub count: usize,
    /// Bytes.
    pub size: u64,
}

impl Prunable {
    fn new(what: &str, paths: Vec<PathBuf>) -> Self {
        let size = paths.iter().map(|path| {
            fs::metadata(path).map_or(0, |meta| if meta.is_dir() { size(path) } else { meta.len() })
        });
        Self { what: what.to_owned(), size: size.sum(), count: paths.len(), paths }
    }
}

impl Cache {
    /// What can go; `used` are the digests of artifacts that stay.
    pub fn prunable(&self, scope: Scope, used: &BTreeSet<String>) -> Vec<Prunable> {
        let mut found = Vec::new();
        if scope != Scope::Artifacts {
            found.push(Prunable::new("packages that Go compiled", children(&self.go().join("build"))));
            found.push(Prunable::new("modules that Go downloaded", children(&self.go().join("mod"))));
        }
        if scope != Scope::Go {
            let unused = |path: &PathBuf| {
                path.file_name().is_some_and(|name| !used.contains(&*name.to_string_lossy()))
            };
            let blobs = children(&self.root().join("sha256")).into_iter().filter(unused).collect();
            found.push(Prunable::new("artifacts that no cluster uses", blobs));
            found.push(Prunable::new("downloads that broke off", children(&self.root().join("partial"))));
        }
        found.retain(|one| one.count > 0);
        found
    }

    /// Removes what can go, unless somebody uses the cache; gives what was removed.
    pub fn prune(&self, scope: Scope, used: &BTreeSet<String>) -> Result<Vec<Prunable>> {
        let Some(_alone) = self.alone()? else {
            return Err(Error::new(id::CACHE_BUSY, "another swdt fetches or builds with this cache")
                .hinted("wait for it to end; nothing was removed"));
        };
        // Looked at anew: what was shown may be used by now.
        let found = self.prunable(scope, used);
        for path in found.iter().flat_map(|one| &one.paths) {
            remove(path)?;
        }
        if scope != Scope::Go {
            self.forget()?;
        }
        Ok(found)
    }

    /// Removes what is remembered of bytes that are gone.
    fn forget(&self) -> Result<()> {
        let there = |sha256: &str| self.root().join("sha256").join(sha256).exists();
        for path in children(&self.root().join("records")) {
            let record = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok());
            if record.is_none_or(|record| !there(&record.sha256)) {
                remove(&path)?;
            }
        }
        for path in children(&self.root().join("checked")) {
            if path.file_name().is_some_and(|name| !there(&name.to_string_lossy())) {
                remove(&path)?;
            }
        }
        Ok(())
    }
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn remove(path: &Path) -> Result<()> {
    let is_dir = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let removed = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", path, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::cache::Key;

    #[test]
    fn what_a_cluster_uses_stays_and_what_is_at_work_is_not_disturbed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path());
        let (one, two) = (cache.add(&b"one"[..]).unwrap(), cache.add(&b"other"[..]).unwrap());
        let (first, second) = (Key::new(&1).unwrap(), Key::new(&2).unwrap());
        cache.remember(&first, &one, "a test").unwrap();
        cache.remember(&second, &two, "a test").unwrap();
        fs::create_dir_all(cache.go().join("build/00")).unwrap();
        fs::write(cache.go().join("build/00/x-d"), [0; 10]).unwrap();
        let used = BTreeSet::from([one.sha256.clone()]);

        let shown: Vec<_> = cache.prunable(Scope::Everything, &used).iter().map(|one| one.size).collect();
        assert_eq!(shown, [10, 5]);
        let held = cache.in_use().unwrap();
        assert_eq!(cache.prune(Scope::Everything, &used).unwrap_err().id(), "cache-busy");
        assert!(two.path.exists());
        drop(held);
        cache.prune(Scope::Go, &used).unwrap();
        assert!(two.path.exists() && !cache.go().join("build/00").exists());
        cache.prune(Scope::Everything, &used).unwrap();
        assert!(cache.recall(&first).unwrap().is_some() && cache.recall(&second).unwrap().is_none());
        assert_eq!(children(&dir.path().join("artifacts/records")).len(), 1);
        assert_eq!(cache.prunable(Scope::Everything, &used), []);
    }
}
