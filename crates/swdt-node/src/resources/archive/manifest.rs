//! What an archive puts where: read from the archive once, then kept, so that a later look needs
//! neither the archive nor, while nothing was touched, the bytes of the files.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read},
    path::PathBuf,
};

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use swdt_wire::{Archive, ArchiveFormat, Kind};
use tar::EntryType;

use crate::resources::path;
use crate::{
    Ctx, Error, Result, disk,
    os::{self, Stat},
    state::State,
};

/// The contents of an archive, as they shall be on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) items: Vec<Item>,
}

/// One path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// Absolute, on the machine.
    pub(crate) path: String,
    pub(super) what: What,
    /// The file on disk when its bytes were last known to be right.
    pub(super) stamp: Option<Stamp>,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum What {
    Dir,
    File { sha256: String, size: u64, mode: u32 },
    Symlink { to: String },
}

/// Changes whenever somebody touches a file: modification, change, inode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stamp(i64, i64, i64, i64, u64);

impl Stamp {
    pub(super) fn of(meta: &Stat) -> Self {
        let (modified, changed) = (meta.modified(), meta.changed());
        Self(modified.0, modified.1, changed.0, changed.1, meta.identity())
    }
}

/// One entry of an archive that is to be unpacked.
pub(super) struct Packed<'a> {
    pub(super) path: String,
    pub(super) what: PackedWhat<'a>,
}

/// What an entry holds.
pub(super) enum PackedWhat<'a> {
    Dir,
    File {
        bytes: &'a mut dyn Read,
        mode: u32,
    },
    /// A second name of an earlier file.
    Hardlink {
        to: String,
    },
    Symlink {
        to: String,
    },
}

impl Manifest {
    /// The manifest kept of an archive.
    pub(crate) fn load(ctx: &Ctx, archive: &Archive) -> Result<Option<Self>> {
        let path = kept_at(ctx, archive);
        match fs::read(&path) {
            // One that cannot be read is made anew.
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &path, &error)),
        }
    }

    /// The manifest kept, or else read from the archive and kept.
    pub(crate) fn load_or_build(ctx: &Ctx, archive: &Archive) -> Result<Self> {
        if let Some(manifest) = Self::load(ctx, archive)? {
            return Ok(manifest);
        }
        let blob = State::of(ctx).blob(&archive.blob.sha256)?;
        if disk::sha256_file(&blob)? != archive.blob.sha256 {
            return Err(Error::new(format!("{} is damaged", blob.display())));
        }
        let mut items: Vec<Item> = Vec::new();
        each(ctx, archive, &mut |packed| {
            let what = match packed.what {
                PackedWhat::Dir => What::Dir,
                PackedWhat::Symlink { to } => What::Symlink { to },
                PackedWhat::File { bytes, mode } => {
                    let mut size = Counter(0);
                    let sha256 = disk::copy_hashing(&mut { bytes }, &mut size)
                        .map_err(|error| Error::new(format!("cannot read the archive: {error}")))?;
                    What::File { sha256, size: size.0, mode }
                }
                PackedWhat::Hardlink { to } => {
                    let earlier = items.iter().find(|item| item.path == to).map(|item| item.what.clone());
                    earlier.ok_or_else(|| {
                        Error::new(format!(
                            "the archive links {} to {to}, which it does not hold",
                            packed.path
                        ))
                    })?
                }
            };
            items.push(Item { path: packed.path, what, stamp: None });
            Ok(())
        })?;
        if items.is_empty() {
            return Err(Error::new("nothing in the archive is to be unpacked"));
        }
        let manifest = Self { items };
        manifest.save(ctx, archive)?;
        Ok(manifest)
    }

    /// Keeps it. One of the node half's own files, so no write to the machine.
    pub(super) fn save(&self, ctx: &Ctx, archive: &Archive) -> Result<()> {
        State::of(ctx).ensure("manifests")?;
        let text = serde_json::to_vec(self).map_err(|error| Error::new(error.to_string()))?;
        disk::replace_file(&kept_at(ctx, archive), &text, 0o600, None)
    }
}

fn kept_at(ctx: &Ctx, archive: &Archive) -> PathBuf {
    let target = Kind::Archive(archive.clone()).target();
    State::of(ctx).dir().join("manifests").join(disk::sha256_hex(target.as_bytes()))
}

/// Reads an archive from front to back. Refuses whatever would end outside of its directory.
pub(super) fn each(ctx: &Ctx, it: &Archive, take: &mut dyn FnMut(Packed) -> Result<()>) -> Result<()> {
    let blob = State::of(ctx).blob(&it.blob.sha256)?;
    let file = File::open(&blob).map_err(|error| Error::io("read", &blob, &error))?;
    let read: Box<dyn Read> = match it.format {
        ArchiveFormat::Tar => Box::new(file),
        ArchiveFormat::TarGz => Box::new(MultiGzDecoder::new(file)),
    };
    let trouble = |error: io::Error| Error::new(format!("cannot read the archive: {error}"));
    let mut archive = tar::Archive::new(read);
    let mut seen = HashSet::new();
    let mut links = HashSet::new();
    for entry in archive.entries().map_err(trouble)? {
        let mut entry = entry.map_err(trouble)?;
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let Some(name) = place(it, &entry.path_bytes())? else { continue };
        if kind != EntryType::Directory && !seen.insert(name.clone()) {
            return Err(refused(&name, "is in it twice"));
        }
        if above(&name).any(|dir| links.contains(dir)) {
            return Err(refused(&name, "lies behind a link of the same archive"));
        }
        let target = || {
            let bytes = entry.link_name_bytes().unwrap_or_default().into_owned();
            String::from_utf8(bytes).map_err(|_| refused(&name, "points to a name that is no UTF-8"))
        };
        let mode = entry.header().mode().map_err(trouble)?;
        let what = match kind {
            EntryType::Directory => PackedWhat::Dir,
            EntryType::Symlink => {
                let to = target()?;
                stays_inside(&name, &to)?;
                links.insert(name.clone());
                PackedWhat::Symlink { to }
            }
            EntryType::Link => {
                let to = place(it, target()?.as_bytes())?
                    .ok_or_else(|| refused(&name, "is a link to something that is not unpacked"))?;
                PackedWhat::Hardlink { to: at(it, &to) }
            }
            // Set-id bits, and writing by others, are nothing an archive can ask for.
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                PackedWhat::File { bytes: &mut entry, mode: mode & 0o755 }
            }
            _ => return Err(refused(&name, "is neither file nor directory nor link")),
        };
        take(Packed { path: at(it, &name), what })?;
    }
    Ok(())
}

/// Where an entry goes, below the directory of the archive; none when it is not wanted.
fn place(it: &Archive, name: &[u8]) -> Result<Option<String>> {
    let text = String::from_utf8_lossy(name);
    if text.starts_with('/') {
        return Err(refused(&text, "has an absolute path"));
    }
    if std::str::from_utf8(name).is_err() || text.contains('\0') {
        return Err(refused(&text, "has a name that is no UTF-8"));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(refused(&text, "has a path that leads upwards"));
    }
    let strip = usize::try_from(it.strip).unwrap_or(usize::MAX);
    if parts.len() <= strip {
        return Ok(None);
    }
    let name = parts[strip..].join("/");
    let wanted =
        it.only.is_empty()
            || it.only.iter().map(|only| only.trim_start_matches("./").trim_end_matches('/')).any(|only| {
                name == only || name.strip_prefix(only).is_some_and(|rest| rest.starts_with('/'))
            });
    Ok(wanted.then_some(name))
}

fn at(it: &Archive, name: &str) -> String {
    os::below(&it.into, name)
}

/// The directories above a relative name.
fn above(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').map(|(end, _)| &name[..end])
}

/// A link may point to a neighbour, but not out of the directory.
fn stays_inside(name: &str, to: &str) -> Result<()> {
    let mut depth = name.matches('/').count();
    let outside = || refused(name, "points out of its directory");
    if to.starts_with('/') || to.is_empty() {
        return Err(outside());
    }
    for part in to.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.checked_sub(1).ok_or_else(outside)?,
            _ => depth += 1,
        }
    }
    Ok(())
}

fn refused(name: &str, why: &str) -> Error {
    Error::new(format!("the archive is refused: {name:?} {why}"))
}

/// Counts bytes.
struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Is it there, as it shall be? Reads bytes only where a stamp cannot tell.
pub(super) fn holds(ctx: &Ctx, item: &Item) -> Result<bool> {
    let Some(meta) = path::look(ctx, &item.path)? else { return Ok(false) };
    match &item.what {
        What::Dir => Ok(path::is_dir(ctx, &item.path)),
        What::Symlink { to } => Ok(meta.is_symlink() && path::link_target(ctx, &item.path)? == *to),
        What::File { sha256, size, mode } => {
            let alike = meta.is_file()
                && meta.len() == *size
                && meta.mode() == os::mode(*mode, false)
                && meta.owner() == ctx.owner();
            Ok(alike
                && (item.stamp.as_ref() == Some(&Stamp::of(&meta))
                    || disk::sha256_file(&ctx.path(&item.path))? == *sha256))
        }
    }
}
