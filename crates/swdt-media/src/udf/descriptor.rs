//! The descriptors of UDF: blocks that begin with a tag.

use std::io::{Read, Seek};

use super::{Address, Entry, SECTOR, broken, read_block};
use crate::{Error, Result};

/// What a block says it is (3/7.2.1, 4/7.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Tag {
    Anchor = 2,
    Partition = 5,
    LogicalVolume = 6,
    Terminator = 8,
    FileSet = 256,
    FileIdentifier = 257,
    AllocationExtent = 258,
    File = 261,
    ExtendedFile = 266,
}

/// A block of the disc. Reading beyond its end gives zeros.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
}

impl Block {
    pub(super) fn expect(self, tag: Tag) -> Result<Self> {
        if self.tag() == Some(tag as u16) {
            Ok(self)
        } else {
            Err(broken("a part of it is not what it should be"))
        }
    }

    /// The number of the tag, where its checksum is right.
    pub(super) fn tag(&self) -> Option<u16> {
        let tag = self.bytes.get(..16)?;
        let sum = tag
            .iter()
            .enumerate()
            .filter(|&(at, _)| at != 4)
            .fold(0_u8, |sum, (_, byte)| sum.wrapping_add(*byte));
        // A sector of zeros has a right checksum and no meaning.
        (sum == tag[4]).then(|| self.u16(0)).filter(|&number| number != 0)
    }

    pub(super) fn u8(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    pub(super) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    pub(super) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    pub(super) fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    /// The place in a long allocation descriptor (4/14.14.2).
    pub(super) fn address(&self, at: usize) -> Address {
        Address { block: self.u32(at + 4), partition: self.u16(at + 8) }
    }

    pub(super) fn slice(&self, at: usize, length: usize) -> Result<&[u8]> {
        let end = at.checked_add(length).ok_or_else(|| broken("a length in it cannot be"))?;
        self.bytes.get(at..end).ok_or_else(|| broken("a length in it cannot be"))
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }
}

/// What the volume descriptors say.
pub(super) struct Volume {
    /// Number, first sector and sectors of each partition.
    partitions: Vec<(u16, u64, u64)>,
    /// Which of them an address means, by its number.
    maps: Vec<u16>,
    pub(super) file_set: Address,
}

impl Volume {
    /// Where each partition that an address can name begins.
    pub(super) fn starts(&self) -> Vec<u64> {
        let start = |number: &u16| self.partitions.iter().find(|it| it.0 == *number).map(|it| it.1);
        self.maps.iter().filter_map(start).collect()
    }

    /// Where the last partition ends, in bytes.
    pub(super) fn end(&self) -> Option<u64> {
        self.partitions.iter().map(|(_, start, sectors)| (start + sectors) * SECTOR).max()
    }
}

/// Reads the volume descriptor sequence: where it begins, and its length, in sectors.
pub(super) fn volume<R: Read + Seek>(reader: &mut R, (start, sectors): (u64, u64)) -> Result<Volume> {
    let mut partitions = Vec::new();
    let mut logical = None;
    // Sixteen is the standard's least; nobody writes many more.
    for sector in start..start + sectors.min(64) {
        let block = read_block(reader, sector)?;
        match block.tag() {
            Some(tag) if tag == Tag::Terminator as u16 => break,
            Some(tag) if tag == Tag::Partition as u16 => {
                partitions.push((block.u16(22), u64::from(block.u32(188)), u64::from(block.u32(192))));
            }
            Some(tag) if tag == Tag::LogicalVolume as u16 => logical = Some(block),
            _ => {}
        }
    }
    let logical = logical.ok_or_else(|| broken("it has no logical volume"))?;
    if u64::from(logical.u32(212)) != SECTOR {
        return Err(
            Error::new("it is no UDF disc of 2048-byte blocks").hinted("is it a copy of a hard disk?")
        );
    }
    Ok(Volume { partitions, maps: maps(&logical)?, file_set: logical.address(248) })
}

/// The partition maps of a logical volume (3/10.7).
fn maps(logical: &Block) -> Result<Vec<u16>> {
    let mut at = 440;
    let mut maps = Vec::new();
    for _ in 0..logical.u32(268).min(8) {
        match (logical.u8(at), logical.u8(at + 1)) {
            (1, 6) => maps.push(logical.u16(at + 4)),
            (2, 64) => {
                let kind = logical.slice(at + 5, 23)?;
                let kind = String::from_utf8_lossy(kind).trim_end_matches('\0').to_owned();
                return Err(Error::new(format!(
                    "it is a UDF disc of a kind that swdt does not read ({kind})"
                ))
                .hinted("Microsoft's own discs are plain; was this one made anew by another program?"));
            }
            _ => return Err(broken("it has a partition of no known kind")),
        }
        at += 6;
    }
    Ok(maps)
}

/// The entries of a directory (4/14.4), without the parent and what was deleted.
pub(super) fn entries(bytes: Vec<u8>) -> Result<Vec<Entry>> {
    const PARENT: u8 = 8;
    const DELETED: u8 = 4;
    const DIRECTORY: u8 = 2;
    let mut entries = Vec::new();
    let mut at = 0;
    let block = Block { bytes };
    while at + 38 <= block.bytes.len() {
        let entry = Block { bytes: block.slice(at, 38)?.to_vec() }.expect(Tag::FileIdentifier)?;
        let (what, name_length, use_length) =
            (entry.u8(18), usize::from(entry.u8(19)), usize::from(entry.u16(36)));
        let name = block.slice(at + 38 + use_length, name_length)?;
        if what & (PARENT | DELETED) == 0 {
            entries.push(Entry {
                name: name_of(name),
                directory: what & DIRECTORY != 0,
                address: entry.address(20),
            });
        }
        at += (38 + use_length + name_length).next_multiple_of(4);
    }
    Ok(entries)
}

/// A name in OSTA's compressed Unicode: eight or sixteen bits a letter.
fn name_of(bytes: &[u8]) -> String {
    match bytes.split_first() {
        Some((8, letters)) => letters.iter().map(|&letter| char::from(letter)).collect(),
        Some((16, letters)) => {
            let letters = letters.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(letters).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        _ => String::new(),
    }
}
