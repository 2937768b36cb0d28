//! Directories of a disc, in the order and with the names of one of its two hierarchies.

use std::collections::{BTreeMap, BTreeSet};

use super::{DATE_SHORT, Names, SECTOR, SECTOR_32, both16, both32, names};
use crate::{Error, Result};

/// Where something lies.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    pub(super) sector: u32,
    pub(super) size: u32,
}

/// What a directory holds, by name.
#[derive(Debug, Default)]
struct Directory {
    directories: BTreeMap<String, Directory>,
    files: BTreeMap<String, usize>,
}

/// All directories, and the numbers of the files in them.
#[derive(Debug, Default)]
pub(super) struct Tree {
    root: Directory,
}

impl Tree {
    pub(super) fn of(paths: &[&str]) -> Result<Self> {
        let mut tree = Self::default();
        for (number, path) in paths.iter().enumerate() {
            let mut parts: Vec<&str> = path.split('/').collect();
            let file = parts.pop().unwrap_or_default();
            let mut directory = &mut tree.root;
            for part in parts {
                names::check(path, part)?;
                directory = directory.directories.entry(part.to_owned()).or_default();
            }
            names::check(path, file)?;
            if directory.files.insert(file.to_owned(), number).is_some() {
                return Err(Error::new(format!("{path:?} stands on the disc twice")));
            }
        }
        tree.root.check("")?;
        Ok(tree)
    }
}

impl Directory {
    /// Windows does not tell `A` from `a`.
    fn check(&self, path: &str) -> Result<()> {
        let mut seen = BTreeSet::new();
        for name in self.directories.keys().chain(self.files.keys()) {
            if !seen.insert(name.to_lowercase()) {
                return Err(Error::new(format!("\"{path}{name}\" stands on the disc twice")));
            }
        }
        self.directories.iter().try_for_each(|(name, directory)| directory.check(&format!("{path}{name}/")))
    }
}

/// One entry of a directory.
#[derive(Debug)]
enum Entry {
    Directory(usize),
    File(usize),
}

/// A directory with its names, in the order of the disc.
#[derive(Debug)]
struct Placed<'a> {
    directory: &'a Directory,
    name: Vec<u8>,
    parent: usize,
    entries: Vec<(Vec<u8>, Entry)>,
    extent: Extent,
}

/// The directories as one of the two volume descriptors shows them.
#[derive(Debug)]
pub(super) struct Hierarchy<'a> {
    directories: Vec<Placed<'a>>,
    path_table: Extent,
}

impl<'a> Hierarchy<'a> {
    pub(super) fn new(tree: &'a Tree, names: Names) -> Self {
        let root = Placed {
            directory: &tree.root,
            name: vec![0],
            parent: 0,
            entries: Vec::new(),
            extent: Extent::default(),
        };
        let mut directories = vec![root];
        let mut next = 0;
        // Breadth first: that is the order of a path table.
        while next < directories.len() {
            let directory = directories[next].directory;
            let mut taken = BTreeSet::new();
            let mut inner = Vec::new();
            for (name, child) in &directory.directories {
                let name = names.encode(name, true, &taken);
                taken.insert(name.clone());
                inner.push((name, Some(child), 0));
            }
            for (name, &number) in &directory.files {
                let name = names.encode(name, false, &taken);
                taken.insert(name.clone());
                inner.push((name, None, number));
            }
            inner.sort_by(|one, other| one.0.cmp(&other.0));
            for (name, child, number) in inner {
                let entry = match child {
                    Some(directory) => {
                        let (entries, extent) = (Vec::new(), Extent::default());
                        directories.push(Placed {
                            directory,
                            name: name.clone(),
                            parent: next,
                            entries,
                            extent,
                        });
                        Entry::Directory(directories.len() - 1)
                    }
                    None => Entry::File(number),
                };
                directories[next].entries.push((name, entry));
            }
            next += 1;
        }
        Self { directories, path_table: Extent::default() }
    }

    /// Gives everything of it a place on the disc.
    pub(super) fn place(&mut self, next: &mut u32) -> Result<()> {
        let entry = |directory: &Placed<'_>| (8 + directory.name.len()).next_multiple_of(2);
        let size: usize = self.directories.iter().map(entry).sum();
        self.path_table = Extent { sector: *next, size: narrow(size)? };
        *next += 2 * narrow(size.div_ceil(SECTOR))?;
        for directory in &mut self.directories {
            let mut size = 0;
            // Its own and its parent's record come first.
            for length in
                [34, 34].into_iter().chain(directory.entries.iter().map(|(name, _)| record_length(name)))
            {
                size = fitting(size, length) + length;
            }
            let size = size.next_multiple_of(SECTOR);
            directory.extent = Extent { sector: *next, size: narrow(size)? };
            *next += narrow(size / SECTOR)?;
        }
        Ok(())
    }

    /// Size and places of the path tables, for the volume descriptor.
    pub(super) fn path_table_fields(&self) -> Vec<u8> {
        let Extent { sector, size } = self.path_table;
        let big = sector + size.div_ceil(SECTOR_32);
        [&both32(size)[..], &sector.to_le_bytes(), &[0; 4], &big.to_be_bytes(), &[0; 4]].concat()
    }

    pub(super) fn root_record(&self) -> Vec<u8> {
        record(&[0], self.directories[0].extent, true)
    }

    /// Both path tables, each in sectors of its own.
    pub(super) fn path_tables(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for big in [false, true] {
            for directory in &self.directories {
                // A disc with 65535 directories would have been refused by `narrow` long before; see `place`.
                let parent = u16::try_from(directory.parent + 1).unwrap_or(u16::MAX);
                let length = u8::try_from(directory.name.len()).unwrap_or(u8::MAX);
                out.extend([length, 0]);
                let sector = directory.extent.sector;
                out.extend(if big { sector.to_be_bytes() } else { sector.to_le_bytes() });
                out.extend(if big { parent.to_be_bytes() } else { parent.to_le_bytes() });
                out.extend(&directory.name);
                out.resize(out.len().next_multiple_of(2), 0);
            }
            out.resize(out.len().next_multiple_of(SECTOR), 0);
        }
        out
    }

    /// All directories, where the files lie there.
    pub(super) fn directories(&self, files: &[Extent]) -> Vec<u8> {
        let mut out = Vec::new();
        for directory in &self.directories {
            let begin = out.len();
            out.extend(record(&[0], directory.extent, true));
            out.extend(record(&[1], self.directories[directory.parent].extent, true));
            for (name, entry) in &directory.entries {
                let record = match entry {
                    Entry::Directory(number) => record(name, self.directories[*number].extent, true),
                    Entry::File(number) => record(name, files[*number], false),
                };
                let at = fitting(out.len() - begin, record.len());
                out.resize(begin + at, 0);
                out.extend(record);
            }
            out.resize(begin + directory.extent.size as usize, 0);
        }
        out
    }
}

fn narrow(size: usize) -> Result<u32> {
    // Path tables count directories in sixteen bits.
    u32::try_from(size)
        .ok()
        .filter(|&size| size < 1 << 19)
        .ok_or_else(|| Error::new("too many directories for a disc"))
}

/// Where a record of that length may begin: none crosses a sector.
fn fitting(at: usize, length: usize) -> usize {
    if at % SECTOR + length > SECTOR { at.next_multiple_of(SECTOR) } else { at }
}

fn record_length(name: &[u8]) -> usize {
    (33 + name.len()).next_multiple_of(2)
}

/// A record of a directory (ECMA-119 9.1).
fn record(name: &[u8], extent: Extent, directory: bool) -> Vec<u8> {
    let length = record_length(name);
    let mut out = vec![u8::try_from(length).unwrap_or(u8::MAX), 0];
    out.extend(both32(extent.sector));
    out.extend(both32(extent.size));
    out.extend(DATE_SHORT);
    out.extend([if directory { 2 } else { 0 }, 0, 0]);
    out.extend(both16(1));
    out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.extend(name);
    out.resize(length, 0);
    out
}
