//! One layer of an image as a tar file: sorted, without times and owners, so that the same content is the same bytes.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// What lies at a path of the layer.
#[derive(Debug, Clone)]
enum Entry {
    Dir(u32),
    Bytes(Vec<u8>, u32),
    File(PathBuf, u32),
    Link(String),
}

/// A layer in the making. Paths are relative to the root of the image.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    entries: BTreeMap<String, Entry>,
}

impl Layer {
    /// A directory.
    pub(super) fn dir(&mut self, path: &str, mode: u32) {
        self.put(path, Entry::Dir(mode));
    }

    /// A file of this host.
    pub(super) fn file(&mut self, path: &str, from: &Path, mode: u32) {
        self.put(path, Entry::File(from.to_owned(), mode));
    }

    /// A symbolic link.
    pub(super) fn link(&mut self, path: &str, to: &str) {
        self.put(path, Entry::Link(to.to_owned()));
    }

    /// A symbolic link where there is nothing yet.
    pub(super) fn link_if_absent(&mut self, path: &str, to: &str) {
        if !self.entries.contains_key(path) {
            self.link(path, to);
        }
    }

    /// Is there something at this path?
    pub(super) fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    /// Everything of another tar file that is wanted; devices and times are left behind.
    pub(super) fn take(&mut self, tar: impl Read, wanted: impl Fn(&str) -> bool) -> io::Result<()> {
        for entry in tar::Archive::new(tar).entries()? {
            let mut entry = entry?;
            let path = clean(&entry.path()?)?;
            if path.is_empty() || !wanted(&path) {
                continue;
            }
            let mode = entry.header().mode()? & 0o7777;
            let target = entry.link_name()?.map(|to| to.to_string_lossy().into_owned());
            match (entry.header().entry_type(), target) {
                (tar::EntryType::Directory, _) => self.put(&path, Entry::Dir(mode)),
                (tar::EntryType::Symlink, Some(to)) => self.put(&path, Entry::Link(to)),
                (tar::EntryType::Link, Some(to)) => {
                    // Another name of a file that came before.
                    if let Some(same) = self.entries.get(&clean(Path::new(&to))?).cloned() {
                        self.put(&path, same);
                    }
                }
                (kind, _) if kind.is_file() => {
                    let mut bytes = Vec::new();
                    entry.read_to_end(&mut bytes)?;
                    self.put(&path, Entry::Bytes(bytes, mode));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Puts an entry, and the directories above it if they are not there.
    fn put(&mut self, path: &str, entry: Entry) {
        for (at, _) in path.match_indices('/') {
            self.entries.entry(path[..at].to_owned()).or_insert(Entry::Dir(0o755));
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// Writes the tar file.
    pub(super) fn write<W: Write>(&self, to: W) -> io::Result<W> {
        let mut tar = tar::Builder::new(to);
        for (path, entry) in &self.entries {
            let mut header = tar::Header::new_gnu();
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(0);
            match entry {
                Entry::Dir(mode) => {
                    header.set_entry_type(tar::EntryType::Directory);
                    header.set_mode(*mode);
                    tar.append_data(&mut header, format!("{path}/"), io::empty())?;
                }
                Entry::Link(target) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_mode(0o777);
                    tar.append_link(&mut header, path, target)?;
                }
                Entry::Bytes(bytes, mode) => {
                    header.set_mode(*mode);
                    header.set_size(bytes.len() as u64);
                    tar.append_data(&mut header, path, bytes.as_slice())?;
                }
                Entry::File(from, mode) => {
                    let file = File::open(from)?;
                    header.set_mode(*mode);
                    header.set_size(file.metadata()?.len());
                    tar.append_data(&mut header, path, file)?;
                }
            }
        }
        tar.into_inner()
    }
}

/// `./usr/bin/` is `usr/bin`; nothing may point out of the image.
fn clean(path: &Path) -> io::Result<String> {
    use std::path::Component;
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            Component::CurDir | Component::RootDir => {}
            _ => return Err(io::Error::other(format!("strange path {}", path.display()))),
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_making_does_not_matter() {
        let (mut one, mut two) = (Layer::default(), Layer::default());
        one.dir("tmp", 0o1777);
        one.link("usr/sbin/iptables", "xtables-nft-multi");
        two.link("usr/sbin/iptables", "xtables-nft-multi");
        two.dir("tmp", 0o1777);
        let (one, two) = (one.write(Vec::new()).unwrap(), two.write(Vec::new()).unwrap());
        assert_eq!(one, two);
        let mut archive = tar::Archive::new(one.as_slice());
        let paths: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(paths, ["tmp/", "usr/", "usr/sbin/", "usr/sbin/iptables"]);
    }

    #[test]
    fn times_and_owners_of_another_tar_are_left_behind() {
        let make = |time: u64, name: &str| {
            let mut tar = tar::Builder::new(Vec::new());
            let mut header = tar::Header::new_gnu();
            header.set_mtime(time);
            header.set_uid(time);
            header.set_size(1);
            header.set_mode(0o755);
            tar.append_data(&mut header, name, &b"x"[..]).unwrap();
            let mut link = tar::Header::new_gnu();
            link.set_entry_type(tar::EntryType::Link);
            link.set_size(0);
            link.set_mode(0o755);
            tar.append_link(&mut link, "b/y", name).unwrap();
            tar.into_inner().unwrap()
        };
        let layer = |time, name: &str| {
            let mut layer = Layer::default();
            layer.take(make(time, name).as_slice(), |path| !path.starts_with('c')).unwrap();
            layer.write(Vec::new()).unwrap()
        };
        assert_eq!(layer(1, "a/x"), layer(2, "./a/x"));
        assert!(layer(1, "a/x") != layer(1, "c/x"));
    }
}
