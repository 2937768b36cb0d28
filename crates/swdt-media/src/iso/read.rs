//! Reads such discs: the virtio-win disc is one. Joliet names where the disc has them, the names of 1988 otherwise.

use std::io::{Read, Seek, SeekFrom};

use super::SECTOR;
use crate::{Error, Result};

/// A directory or file larger than this is none of those that are read here.
const LARGEST: u32 = 256 << 20;
/// Descriptors end long before.
const LAST_DESCRIPTOR: u64 = 64;

/// A disc.
#[derive(Debug)]
pub struct Iso<R> {
    reader: R,
    joliet: bool,
    root: Entry,
}

/// What a directory has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, without a version.
    pub name: String,
    /// Is it a directory?
    pub directory: bool,
    /// Bytes.
    pub size: u32,
    sector: u32,
    in_pieces: bool,
}

impl<R: Read + Seek> Iso<R> {
    /// Looks whether this is such a disc, and complete.
    pub fn open(mut reader: R) -> Result<Self> {
        let length = reader.seek(SeekFrom::End(0))?;
        let (mut plain, mut joliet, mut sectors) = (None, None, 0);
        for number in 16..LAST_DESCRIPTOR {
            let Ok(block) = sector(&mut reader, number) else { break };
            if &block[1..6] != b"CD001" {
                break;
            }
            match (block[0], &block[88..90]) {
                (1, _) => {
                    sectors = u32_at(&block, 80);
                    plain = record(&block[156..190], false);
                }
                (2, b"%/") => joliet = record(&block[156..190], true),
                (255, _) => break,
                _ => {}
            }
        }
        let is_joliet = joliet.is_some();
        let Some((root, _)) = joliet.or(plain) else {
            return Err(Error::new("it is no ISO 9660 disc").hinted("is this the right file?"));
        };
        let end = u64::from(sectors) * SECTOR as u64;
        if end > length {
            let missing = (end - length).div_ceil(1 << 20);
            let what = format!("it is not complete: {missing} MiB are missing at its end");
            return Err(Error::cut_short(what));
        }
        Ok(Self { reader, joliet: is_joliet, root })
    }

    /// What a directory has; nothing if there is no such directory. `A` is `a`.
    pub fn list(&mut self, path: &str) -> Result<Option<Vec<Entry>>> {
        match self.find(path)? {
            Some(entry) if entry.directory => self.entries(&entry).map(Some),
            _ => Ok(None),
        }
    }

    /// The bytes of a file; nothing if there is none.
    pub fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>> {
        match self.find(path)? {
            Some(entry) if !entry.directory => self.bytes(&entry).map(Some),
            _ => Ok(None),
        }
    }

    fn find(&mut self, path: &str) -> Result<Option<Entry>> {
        let mut at = self.root.clone();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if !at.directory {
                return Ok(None);
            }
            let found =
                self.entries(&at)?.into_iter().find(|it| it.name.to_lowercase() == part.to_lowercase());
            match found {
                Some(entry) => at = entry,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    fn bytes(&mut self, entry: &Entry) -> Result<Vec<u8>> {
        if entry.size > LARGEST || entry.in_pieces {
            return Err(Error::new(format!("{:?} on it is larger than it can be", entry.name)));
        }
        self.reader.seek(SeekFrom::Start(u64::from(entry.sector) * SECTOR as u64))?;
        let mut bytes = vec![0; entry.size as usize];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Records do not cross sectors; the rest of a sector is zero. The first two are the directory and the one above.
    fn entries(&mut self, directory: &Entry) -> Result<Vec<Entry>> {
        let bytes = self.bytes(directory)?;
        let mut entries = Vec::new();
        for sector in bytes.chunks(SECTOR) {
            let mut rest = sector;
            while let Some((entry, length)) = record(rest, self.joliet) {
                entries.push(entry);
                rest = &rest[length..];
            }
        }
        Ok(entries.into_iter().skip(2).collect())
    }
}

/// A directory record (ECMA-119 9.1) and its length; nothing where there is none, or none that can be believed.
fn record(bytes: &[u8], joliet: bool) -> Option<(Entry, usize)> {
    let length = usize::from(*bytes.first()?);
    let record = bytes.get(..length).filter(|record| record.len() > 33)?;
    let name = record.get(33..33 + usize::from(record[32]))?;
    let name = if joliet {
        let letters = name.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        char::decode_utf16(letters).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    } else {
        String::from_utf8_lossy(name).into_owned()
    };
    let name = name.split(';').next().unwrap_or_default().trim_end_matches('.').to_owned();
    let entry = Entry {
        name,
        directory: record[25] & 2 != 0,
        in_pieces: record[25] & 0x80 != 0,
        sector: u32_at(record, 2),
        size: u32_at(record, 10),
    };
    Some((entry, length))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).unwrap_or(&[0; 4]);
    four.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte))
}

fn sector<R: Read + Seek>(reader: &mut R, number: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; SECTOR];
    reader.seek(SeekFrom::Start(number * SECTOR as u64))?;
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}
