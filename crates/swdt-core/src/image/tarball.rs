//! A tar that can be read here and there; unpacked first when it is compressed.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Component, Path, PathBuf},
};

use flate2::read::GzDecoder;

/// Descriptions in an archive are small; more is an accident or an attack.
const LONGEST_TEXT: u64 = 8 << 20;

/// A tar and where everything in it lies.
pub(super) struct Tarball {
    file: File,
    entries: BTreeMap<PathBuf, Place>,
}

enum Place {
    File { at: u64, size: u64 },
    Link(PathBuf),
}

impl Tarball {
    /// Opens a tar; `scratch` takes what must be unpacked.
    pub(super) fn open(path: &Path, scratch: &Path) -> Result<Self, String> {
        let said = |error: io::Error| error.to_string();
        let mut file = File::open(path).map_err(said)?;
        let mut head = Vec::new();
        file.by_ref().take(512).read_to_end(&mut head).map_err(said)?;
        file.rewind().map_err(said)?;
        if head.starts_with(&[0x1f, 0x8b]) {
            let unpacked = scratch.join("unpacked.tar");
            let mut to = File::create_new(&unpacked).map_err(said)?;
            io::copy(&mut GzDecoder::new(file), &mut to)
                .map_err(|error| format!("it is damaged ({error})"))?;
            return Self::list(File::open(&unpacked).map_err(said)?);
        }
        let compressed = [(&b"\x28\xb5\x2f\xfd"[..], "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh", "bzip2")];
        if let Some((_, name)) = compressed.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(format!("it is compressed by {name}; unpack it first"));
        }
        if head.get(257..262) != Some(b"ustar") {
            return Err("it is no tar".to_owned());
        }
        Self::list(file)
    }

    fn list(file: File) -> Result<Self, String> {
        let damaged = |error: io::Error| format!("it is damaged ({error})");
        let length = file.metadata().map_err(damaged)?.len();
        let mut entries = BTreeMap::new();
        let mut tar = tar::Archive::new(file);
        for entry in tar.entries_with_seek().map_err(damaged)? {
            let entry = entry.map_err(damaged)?;
            let path = plain(&entry.path().map_err(damaged)?);
            let kind = entry.header().entry_type();
            if kind.is_file() {
                let (at, size) = (entry.raw_file_position(), entry.size());
                if at.checked_add(size).is_none_or(|end| end > length) {
                    return Err("it ends too early".to_owned());
                }
                entries.insert(path, Place::File { at, size });
            } else if let Ok(Some(to)) = entry.link_name() {
                // A hard link names its target from the top, a symbolic one from where it is.
                let from = path.parent().filter(|_| kind.is_symlink()).unwrap_or(Path::new(""));
                let to = plain(&from.join(to));
                entries.insert(path, Place::Link(to));
            }
        }
        Ok(Self { file: tar.into_inner(), entries })
    }

    /// Is there such a file?
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Where a file lies; links are followed once, because nobody writes longer chains.
    fn find(&self, name: &str) -> Option<(u64, u64)> {
        let place = match self.entries.get(&plain(Path::new(name)))? {
            Place::Link(to) => self.entries.get(to)?,
            file @ Place::File { .. } => file,
        };
        match place {
            Place::File { at, size } => Some((*at, *size)),
            Place::Link(_) => None,
        }
    }

    /// A file, from its beginning.
    pub(super) fn reader(&self, name: &str) -> Result<impl Read, String> {
        let (at, size) = self.find(name).ok_or_else(|| format!("{name} is missing in it"))?;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at)).map_err(|error| error.to_string())?;
        Ok(file.take(size))
    }

    /// The bytes of a small file.
    pub(super) fn text(&self, name: &str) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        self.reader(name)?
            .take(LONGEST_TEXT + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("{name} cannot be read ({error})"))?;
        if bytes.len() as u64 > LONGEST_TEXT { Err(format!("{name} is too long")) } else { Ok(bytes) }
    }
}

/// `./a/../b` is `b`; nothing leads out.
fn plain(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => result.push(name),
            Component::ParentDir => {
                result.pop();
            }
            _ => {}
        }
    }
    result
}
