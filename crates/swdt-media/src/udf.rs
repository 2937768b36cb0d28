//! Reads UDF, the file system of every Windows disc, without mounting anything.
//!
//! ```text
//! sector 256  anchor ─► volume descriptors ─► partition, logical volume
//!                                                  └► file set ─► root ─► entries ─► files
//! ```
//!
//! UDF 1.02 to 2.01 on plain partitions is what Windows discs are. Section numbers below are ECMA-167's. Whoever wants
//! more finds words, not a guess: virtual, sparable and metadata partitions are refused by name.

mod descriptor;
mod file;

use std::io::{Read, Seek, SeekFrom};

pub use file::FileReader;

use crate::{Error, Result};
use descriptor::{Block, Tag};

const SECTOR: u64 = 2048;
const ANCHOR: u64 = 256;
/// A directory of a disc has some hundred entries; this is a megabyte of them.
const LARGEST_DIRECTORY: u64 = 1 << 20;

/// A disc.
#[derive(Debug)]
pub struct Udf<R> {
    reader: R,
    /// Where the partitions begin, in sectors, by their numbers in addresses.
    partitions: Vec<u64>,
    root: Address,
}

/// Where a block is: a partition and a block in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Address {
    partition: u16,
    block: u32,
}

/// What a directory has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Is it a directory?
    pub directory: bool,
    address: Address,
}

impl<R: Read + Seek> Udf<R> {
    /// Looks whether this is such a disc, and complete.
    pub fn open(mut reader: R) -> Result<Self> {
        let length = reader.seek(SeekFrom::End(0))?;
        if !recognised(&mut reader, length)? {
            return Err(Error::new("it is no UDF disc")
                .hinted("every Windows Server ISO is one; is this the right file?"));
        }
        let anchor = read_block(&mut reader, ANCHOR)?.expect(Tag::Anchor)?;
        let sequence = (u64::from(anchor.u32(20)), u64::from(anchor.u32(16)) / SECTOR);
        let volume = descriptor::volume(&mut reader, sequence)?;
        if let Some(end) = volume.end().filter(|&end| end > length) {
            let missing = (end - length).div_ceil(1 << 20);
            let what = format!("it is not complete: {missing} MiB are missing at its end");
            return Err(Error::cut_short(what));
        }
        let mut disc = Self { reader, partitions: volume.starts(), root: volume.file_set };
        let file_set = disc.block(volume.file_set)?.expect(Tag::FileSet)?;
        disc.root = file_set.address(400);
        Ok(disc)
    }

    /// What a directory has; nothing if there is no such directory. Names are told apart as Windows does it: `A` is `a`.
    pub fn list(&mut self, path: &str) -> Result<Option<Vec<Entry>>> {
        let Some(address) = self.find(path)? else { return Ok(None) };
        self.entries(address).map(Some)
    }

    /// Opens a file; nothing if there is none.
    pub fn file(&mut self, path: &str) -> Result<Option<FileReader<'_, R>>> {
        let Some(address) = self.find(path)? else { return Ok(None) };
        let file = file::locate(self, address)?;
        if file.directory {
            return Ok(None);
        }
        Ok(Some(FileReader::new(&mut self.reader, file)))
    }

    fn find(&mut self, path: &str) -> Result<Option<Address>> {
        let mut address = self.root;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let entries = self.entries(address)?;
            let found = entries.iter().find(|entry| entry.name.to_lowercase() == part.to_lowercase());
            match found {
                Some(entry) => address = entry.address,
                None => return Ok(None),
            }
        }
        Ok(Some(address))
    }

    fn entries(&mut self, address: Address) -> Result<Vec<Entry>> {
        let file = file::locate(self, address)?;
        if !file.directory || file.size > LARGEST_DIRECTORY {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        FileReader::new(&mut self.reader, file).read_to_end(&mut bytes)?;
        descriptor::entries(bytes)
    }

    /// Reads a block of a partition.
    fn block(&mut self, address: Address) -> Result<Block> {
        let sector = self.sector(address)?;
        read_block(&mut self.reader, sector)
    }

    fn sector(&self, address: Address) -> Result<u64> {
        let start = self.partitions.get(usize::from(address.partition));
        let start = start.ok_or_else(|| broken("it points into a partition that is not there"))?;
        Ok(start + u64::from(address.block))
    }
}

/// The volume recognition sequence: one of its sectors says `NSR02` or `NSR03` (2/9.1).
fn recognised<R: Read + Seek>(reader: &mut R, length: u64) -> Result<bool> {
    for sector in (16..32).take_while(|sector| (sector + 1) * SECTOR <= length) {
        let block = read_block(reader, sector)?;
        if matches!(&block.bytes[1..6], b"NSR02" | b"NSR03") {
            return Ok(length > (ANCHOR + 1) * SECTOR);
        }
    }
    Ok(false)
}

fn read_block<R: Read + Seek>(reader: &mut R, sector: u64) -> Result<Block> {
    let mut bytes = vec![0; 2048];
    reader.seek(SeekFrom::Start(sector.saturating_mul(SECTOR)))?;
    reader.read_exact(&mut bytes)?;
    Ok(Block { bytes })
}

fn broken(why: &str) -> Error {
    Error::new(format!("the disc is damaged: {why}")).hinted("download or copy it once more")
}
