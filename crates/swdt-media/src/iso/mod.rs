//! Writes discs that Linux, Windows and cloud-init read: ISO 9660 with Joliet names. Reads them too.
//!
//! ```text
//! sector 16  primary volume descriptor      names like AUTOUNAT.XML, for readers of 1988
//!        17  Joliet volume descriptor       the names as given; what everybody reads today
//!        18  end of descriptors
//!        19  path tables of both, directories of both, then the files, once
//! ```
//!
//! The same tree gives the same bytes: all dates are one date. Files may lie on disk, they are copied through.

mod names;
mod read;
mod tree;

use std::{
    fs,
    io::{self, BufWriter, Read, Write},
    path::PathBuf,
};

pub use read::{Entry, Iso};

use crate::{Error, Result};
use names::Names;
use tree::{Extent, Hierarchy, Tree};

const SECTOR: usize = 2048;
const SECTOR_32: u32 = 2048;

/// What a file on the disc holds.
#[derive(Debug, Clone)]
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What lies there when the disc is written.
    File(PathBuf),
}

/// A disc before it is written.
#[derive(Debug, Clone)]
pub struct Disc {
    label: String,
    files: Vec<(String, Content)>,
}

impl Disc {
    /// An empty disc. The label is what a reader knows it by, such as `cidata`.
    pub fn new(label: &str) -> Self {
        Self { label: label.to_owned(), files: Vec::new() }
    }

    /// Puts a file onto it; `/` parts directories, which are made.
    pub fn add(&mut self, path: &str, content: Content) {
        self.files.push((path.to_owned(), content));
    }

    /// Writes the disc.
    pub fn write(&self, to: impl Write) -> Result<()> {
        let sizes =
            self.files.iter().map(|(path, content)| size(path, content)).collect::<Result<Vec<_>>>()?;
        let paths: Vec<&str> = self.files.iter().map(|(path, _)| path.as_str()).collect();
        let tree = Tree::of(&paths)?;
        let label = names::label(&self.label)?;

        let mut primary = Hierarchy::new(&tree, Names::Short);
        let mut joliet = Hierarchy::new(&tree, Names::Joliet);
        let mut next = 19;
        primary.place(&mut next)?;
        joliet.place(&mut next)?;
        let files: Vec<Extent> = sizes
            .iter()
            .map(|&size| {
                let extent = Extent { sector: next, size };
                next += size.div_ceil(SECTOR_32);
                extent
            })
            .collect();

        let mut out = BufWriter::new(to);
        out.write_all(&vec![0; 16 * SECTOR])?;
        out.write_all(&descriptor(1, &label, next, &primary))?;
        out.write_all(&descriptor(2, &label, next, &joliet))?;
        out.write_all(&terminator())?;
        for hierarchy in [&primary, &joliet] {
            out.write_all(&hierarchy.path_tables())?;
            out.write_all(&hierarchy.directories(&files))?;
        }
        for ((path, content), extent) in self.files.iter().zip(&files) {
            copy(path, content, extent.size, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

fn size(path: &str, content: &Content) -> Result<u32> {
    let size = match content {
        Content::Bytes(bytes) => bytes.len() as u64,
        Content::File(file) => fs::metadata(file).map_err(|error| unreadable(path, file, &error))?.len(),
    };
    u32::try_from(size)
        .map_err(|_| Error::new(format!("{path} is larger than 4 GiB, which this disc cannot hold")))
}

fn unreadable(path: &str, file: &std::path::Path, error: &io::Error) -> Error {
    Error::new(format!("{path} of the disc comes from {}, which cannot be read: {error}", file.display()))
}

/// Copies a file and fills its last sector.
fn copy(path: &str, content: &Content, size: u32, out: &mut impl Write) -> Result<()> {
    let copied = match content {
        Content::Bytes(bytes) => {
            out.write_all(bytes)?;
            bytes.len() as u64
        }
        Content::File(file) => {
            let source = fs::File::open(file).map_err(|error| unreadable(path, file, &error))?;
            io::copy(&mut source.take(u64::from(size)), out)?
        }
    };
    if copied != u64::from(size) {
        return Err(Error::new(format!("{path} changed while it was written to the disc")));
    }
    let rest = (SECTOR - size as usize % SECTOR) % SECTOR;
    Ok(out.write_all(&vec![0; rest])?)
}

/// A volume descriptor (ECMA-119 8.4, 8.5).
fn descriptor(kind: u8, label: &str, sectors: u32, hierarchy: &Hierarchy<'_>) -> Vec<u8> {
    let joliet = kind == 2;
    let text = |text: &str, length: usize| names::padded(text, length, joliet);
    let mut out = Vec::with_capacity(SECTOR);
    out.push(kind);
    out.extend(b"CD001\x01\x00");
    out.extend(text("", 32));
    out.extend(text(&if joliet { label.to_owned() } else { names::short_label(label) }, 32));
    out.extend([0; 8]);
    out.extend(both32(sectors));
    // What makes it Joliet: UCS-2, level 3.
    out.extend(if joliet { *b"%/E" } else { [0; 3] });
    out.extend([0; 29]);
    out.extend([both16(1), both16(1), both16(2048)].concat());
    out.extend(hierarchy.path_table_fields());
    out.extend(hierarchy.root_record());
    // Volume set, publisher, preparer, application; then three names of files.
    out.extend(text("", 128));
    out.extend(text("", 128));
    out.extend(text("", 128));
    out.extend(text("SWDT", 128));
    for _ in 0..3 {
        out.extend(text("", 37));
    }
    out.extend([DATE_LONG, DATE_LONG, NO_DATE, NO_DATE].concat());
    out.extend([1, 0]);
    out.resize(SECTOR, 0);
    out
}

/// One date for everything: what is on the disc matters, not when it was written.
const DATE_LONG: [u8; 17] = *b"2026010100000000\0";
const NO_DATE: [u8; 17] = *b"0000000000000000\0";
const DATE_SHORT: [u8; 7] = [126, 1, 1, 0, 0, 0, 0];

fn terminator() -> Vec<u8> {
    let mut out = b"\xffCD001\x01".to_vec();
    out.resize(SECTOR, 0);
    out
}

/// Both byte orders, as the standard wants it.
fn both32(value: u32) -> Vec<u8> {
    [value.to_le_bytes(), value.to_be_bytes()].concat()
}

fn both16(value: u16) -> Vec<u8> {
    [value.to_le_bytes(), value.to_be_bytes()].concat()
}
