//! Kubeconfigs in files: for their owner only, written whole or not at all, and nobody's file overwritten.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use swdt_wire::Secret;

use super::{Kubeconfig, merge, yaml};
use crate::{Error, Result, files, id};

/// Writes a file of its own. One that is not ours is overwritten only by force.
pub fn write(path: &Path, ours: &Kubeconfig, text: &Secret, force: bool) -> Result<()> {
    let there = read(path)?;
    if there.is_some_and(|text| !is_ours(&text, &ours.name)) && !force {
        return Err(Error::new(
            id::FILE_EXISTS,
            format!("{} is there already, and is not the kubeconfig of this cluster", path.display()),
        )
        .hinted("give another file, add to this one with `--merge FILE`, or overwrite it with `--force`"));
    }
    replace(path, text.expose())
}

/// Puts our entries into a kubeconfig; everything else in it stays.
pub fn merge_into(path: &Path, ours: &Kubeconfig, use_it: bool) -> Result<()> {
    // A link stays a link: what it leads to is changed.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(parent) = path.parent()
        && !parent.exists()
    {
        files::make_private_dir(parent)?;
    }
    let _lock = Lock::take(&path)?;
    let text = read(&path)?.unwrap_or_default();
    let result = merge::merged(&text, ours, use_it).map_err(|why| {
        Error::new(id::KUBECONFIG_UNMERGEABLE, format!("{} cannot be merged into: {why}", path.display()))
            .hinted("nothing was changed; `--output FILE` writes a file of its own")
            .hinted("kubectl reads several: KUBECONFIG=FILE:OTHER")
    })?;
    replace(&path, &result)
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(files::failed("read", path, &error)),
    }
}

/// Does a file hold our cluster and nothing else?
fn is_ours(text: &str, name: &str) -> bool {
    let Ok(Some(root)) = yaml::parse(text) else { return false };
    let root = root.value();
    ["clusters", "contexts", "users"]
        .iter()
        .all(|list| root[list].as_array().is_some_and(|items| items.len() == 1 && items[0]["name"] == name))
}

/// Replaces a file; whoever owned it before owns it again, because `sudo swdt` must not take it away.
fn replace(path: &Path, text: &str) -> Result<()> {
    let wrong = |error: io::Error| files::failed("write", path, &error);
    // `files` flushes the directory too, so it must be named.
    let path = &std::path::absolute(path).map_err(wrong)?;
    let before = fs::metadata(path).ok();
    files::replace(path, text.as_bytes()).map_err(wrong)?;
    #[cfg(unix)]
    if let Some(before) = before {
        use std::os::unix::fs::{MetadataExt, chown};
        let now = fs::metadata(path).map_err(wrong)?;
        if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
            chown(path, Some(before.uid()), Some(before.gid())).map_err(wrong)?;
        }
    }
    #[cfg(not(unix))]
    drop(before);
    Ok(())
}

/// kubectl's own lock on a kubeconfig: a file beside it.
struct Lock(PathBuf);

impl Lock {
    fn take(path: &Path) -> Result<Self> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".lock");
        let lock = path.with_file_name(name);
        match fs::OpenOptions::new().write(true).create_new(true).open(&lock) {
            Ok(_) => Ok(Self(lock)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::new(id::FILE_BUSY, format!("another program is writing {}", path.display()))
                    .hinted(format!("if none is, remove {}", lock.display())))
            }
            Err(error) => Err(files::failed("lock", path, &error)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::{super::example, *};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_our_own_file_is_overwritten() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("k");
        let ours = example();
        write(&path, &ours, &ours.yaml(), false).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, &ours, &ours.json(), false).unwrap();
        assert_eq!(mode(&path), 0o600, "a file that others could read");
        fs::write(&path, "notes").unwrap();
        assert_eq!(write(&path, &ours, &ours.yaml(), false).unwrap_err().id(), "file-exists");
        assert_eq!(fs::read_to_string(&path).unwrap(), "notes");
        write(&path, &ours, &ours.yaml(), true).unwrap();
    }

    #[test]
    fn merging_makes_follows_links_and_waits_for_nobody() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(".kube/config");
        merge_into(&path, &example(), true).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let link = temp.path().join("link");
        symlink(&path, &link).unwrap();
        merge_into(&link, &example(), true).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let lock = temp.path().join(".kube/config.lock");
        assert!(!lock.exists());
        fs::write(&lock, "").unwrap();
        assert_eq!(merge_into(&path, &example(), true).unwrap_err().id(), "file-busy");
        fs::remove_file(&lock).unwrap();
        fs::write(&path, "a: [").unwrap();
        let refused = merge_into(&path, &example(), true).unwrap_err();
        assert!(refused.message.contains("cannot be merged into"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "a: [");
        assert!(!lock.exists());
    }
}
