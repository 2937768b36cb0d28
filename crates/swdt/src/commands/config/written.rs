//! Where a file goes: written whole or not at all, and never over another one unasked.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use owo_colors::OwoColorize;
use swdt_core::{Error, Result, config, id, spec::Spec};

use crate::{host, render::count};

/// What a file or a pipe holds, up to a byte more than a cluster file may have: a device may have no end.
pub(super) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a directory"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(config::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why a file cannot be read.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Error {
    let told = Error::new(id::CONFIG_UNREADABLE, format!("cannot read {}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::InvalidInput => told.hinted("give the path of a file that describes a cluster"),
        _ => told,
    }
}

/// A place for a file, as it was when it was looked at.
pub(super) struct Place {
    path: PathBuf,
    /// What is there.
    there: Option<Vec<u8>>,
    /// What shall be changed.
    from: Option<String>,
    /// What is there is what shall be changed, or may be replaced.
    free: bool,
}

impl Place {
    /// Looks what is there.
    pub(super) fn look(output: &Path, from: Option<&Path>, force: bool) -> Result<Self> {
        let path = match fs::canonicalize(output) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => host::absolute(output)?,
            Err(error) => return Err(unreadable(output, &error)),
        };
        let parent = path.parent().unwrap_or(Path::new("/"));
        if !parent.is_dir() {
            let message = format!("there is no directory {}", parent.display());
            return Err(
                Error::new(id::OUTPUT_NOT_WRITTEN, message).hinted("make it first, or write elsewhere")
            );
        }
        let text = |from: &Path| {
            let bytes = bytes(from).map_err(|error| unreadable(from, &error))?;
            if bytes.len() > config::MAX_BYTES {
                let message =
                    format!("{} is too large: at most {} bytes are read", from.display(), config::MAX_BYTES);
                return Err(Error::new(id::FILE_NOT_TEXT, message).hinted("is this the right file?"));
            }
            String::from_utf8(bytes).map_err(|_| {
                Error::new(id::FILE_NOT_TEXT, format!("{} is not text in UTF-8", from.display()))
            })
        };
        let changed = from.map(text).transpose()?;
        let there = match fs::metadata(&path) {
            Ok(there) if there.is_file() => Some(bytes(&path).map_err(|error| unreadable(&path, &error))?),
            Ok(there) => {
                let what = if there.is_dir() { "it is a directory" } else { "it is no plain file" };
                let message = format!("cannot write {}: {what}", output.display());
                return Err(Error::new(id::OUTPUT_NOT_WRITTEN, message)
                    .hinted("name a file, for example `--output my-cluster.yaml`"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let same = from.is_some_and(|from| fs::canonicalize(from).is_ok_and(|from| from == path));
        let free = there.is_none() || force || same;
        Ok(Self { path, there, from: changed, free })
    }

    /// The text that shall be changed.
    pub(super) fn text(&self) -> Option<&str> {
        self.from.as_deref()
    }

    /// Is something there that nobody wanted changed?
    pub(super) fn replaces(&self) -> bool {
        !self.free
    }

    pub(super) fn refuse_to_replace(&self) -> Result<()> {
        if self.free {
            return Ok(());
        }
        Err(Error::new(id::FILE_EXISTS, format!("{} is there already", self.path.display()))
            .hinted("--force replaces it, --from changes it, --output writes elsewhere"))
    }

    /// Writes beside it and puts it there in one step. What came or changed there meanwhile is somebody's, and stays.
    pub(super) fn write(&self, text: &str) -> Result<PathBuf> {
        let now = bytes(&self.path).ok();
        if now != self.there {
            let message = format!("somebody else wrote {} meanwhile", self.path.display());
            let beside = self.path.with_extension("new.yaml");
            put(&beside, text, false)?;
            return Err(Error::new(id::FILE_BUSY, message)
                .hinted(format!("what you said is in {}; compare the two", beside.display())));
        }
        put(&self.path, text, now.is_some())?;
        Ok(self.path.clone())
    }
}

/// Writes a file beside its place, and puts it there whole.
fn put(path: &Path, text: &str, replace: bool) -> Result<()> {
    let write = || -> io::Result<()> {
        let parent = path.parent().unwrap_or(Path::new("/"));
        let mut builder = tempfile::Builder::new();
        // As any file that is made: the user's umask decides who may read it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.prefix(".swdt-").tempfile_in(parent)?;
        file.write_all(text.as_bytes())?;
        if replace {
            file.as_file().set_permissions(fs::metadata(path)?.permissions())?;
        }
        file.as_file().sync_all()?;
        let put = if replace { file.persist(path) } else { file.persist_noclobber(path) };
        put.map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| {
        Error::new(id::OUTPUT_NOT_WRITTEN, format!("cannot write {}: {error}", path.display()))
            .hinted("nothing was changed; --output names another place")
    })
}

/// What was written, and what to do with it.
pub(super) fn told(path: &Path, spec: &Spec) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).unwrap_or(path).display().to_string();
    let swdt = host::program();
    let nodes = count(spec.nodes.len() as u64, "node");
    let next = [
        (format!("{swdt} cluster plan --config {path}"), "what will be made true"),
        (format!("{swdt} cluster create --config {path}"), "makes it"),
    ];
    let width = next.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let lines = next.map(|(command, why)| format!("  {command:width$}   {}", format!("# {why}").dimmed()));
    format!("wrote {path}: cluster {}, {nodes}\n\nTry next:\n{}", spec.name, lines.join("\n"))
}
