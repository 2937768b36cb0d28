//! A file of a disc: where its pieces lie, and reading them as one.

use std::io::{self, Read, Seek, SeekFrom};

use super::{Address, Block, SECTOR, Tag, Udf, broken};
use crate::Result;

/// An install.wim of 8 GB has nine pieces; each may be a gigabyte.
const MOST_DESCRIPTORS: usize = 4096;

/// A file, located.
#[derive(Debug)]
pub(super) struct File {
    pub(super) directory: bool,
    pub(super) size: u64,
    pieces: Vec<Piece>,
}

/// A piece of a file, in bytes.
#[derive(Debug)]
enum Piece {
    /// It lies on the disc, there.
    At(u64, u64),
    /// It was never written: zeros.
    Hole(u64),
    /// It is so small that it lies in its own entry.
    Inside(Vec<u8>),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::At(_, length) | Self::Hole(length) => *length,
            Self::Inside(bytes) => bytes.len() as u64,
        }
    }
}

/// Finds the pieces of the file whose entry is there (4/14.9, 4/14.17).
pub(super) fn locate<R: Read + Seek>(disc: &mut Udf<R>, address: Address) -> Result<File> {
    let entry = disc.block(address)?;
    let lengths_at = match entry.tag() {
        Some(tag) if tag == Tag::File as u16 => 168,
        Some(tag) if tag == Tag::ExtendedFile as u16 => 208,
        _ => return Err(broken("a file has no entry")),
    };
    let (skip, length) = (entry.u32(lengths_at) as usize, entry.u32(lengths_at + 4) as usize);
    let at = lengths_at.saturating_add(8).saturating_add(skip);
    let descriptors = entry.slice(at, length)?.to_vec();
    let size = entry.u64(56);
    let pieces = match entry.u16(34) & 7 {
        0 => pieces(disc, descriptors, 8, address.partition)?,
        1 => pieces(disc, descriptors, 16, address.partition)?,
        3 => vec![Piece::Inside(descriptors)],
        _ => return Err(broken("a file lies on it in no known way")),
    };
    if pieces.iter().map(Piece::length).sum::<u64>() < size {
        return Err(broken("a file is shorter than it says"));
    }
    Ok(File { directory: entry.u8(27) == 4, size, pieces })
}

/// Reads allocation descriptors of either length, and those they continue in.
fn pieces<R: Read + Seek>(
    disc: &mut Udf<R>,
    descriptors: Vec<u8>,
    width: usize,
    partition: u16,
) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut block = Block { bytes: descriptors };
    let mut at = 0;
    // Counted are descriptors, not pieces: a chain of blocks that leads in a circle has no piece at all.
    for _ in 0..MOST_DESCRIPTORS {
        if at + width > block.bytes.len() {
            break;
        }
        let (length, kind) = (u64::from(block.u32(at) & 0x3fff_ffff), block.u32(at) >> 30);
        let address = match width {
            8 => Address { block: block.u32(at + 4), partition },
            _ => block.address(at),
        };
        at += width;
        if length == 0 {
            break;
        }
        match kind {
            0 => pieces.push(Piece::At(disc.sector(address)? * SECTOR, length)),
            3 => {
                let next = disc.block(address)?.expect(Tag::AllocationExtent)?;
                let bytes = next.slice(24, next.u32(20) as usize)?.to_vec();
                (block, at) = (Block { bytes }, 0);
            }
            _ => pieces.push(Piece::Hole(length)),
        }
    }
    Ok(pieces)
}

/// Reads a file of a disc, here and there.
#[derive(Debug)]
pub struct FileReader<'a, R> {
    reader: &'a mut R,
    file: File,
    position: u64,
}

impl<'a, R: Read + Seek> FileReader<'a, R> {
    pub(super) fn new(reader: &'a mut R, file: File) -> Self {
        Self { reader, file, position: 0 }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.file.size
    }
}

impl<R: Read + Seek> Read for FileReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.file.size.saturating_sub(self.position);
        let mut begin = 0;
        for piece in &self.file.pieces {
            let (offset, length) = (self.position.saturating_sub(begin), piece.length());
            begin += length;
            if self.position >= begin || left == 0 {
                continue;
            }
            let most = (length - offset).min(left).min(buffer.len() as u64);
            let buffer = &mut buffer[..usize::try_from(most).unwrap_or(usize::MAX)];
            match piece {
                Piece::At(start, _) => {
                    self.reader.seek(SeekFrom::Start(start + offset))?;
                    self.reader.read_exact(buffer)?;
                }
                Piece::Hole(_) => buffer.fill(0),
                Piece::Inside(bytes) => {
                    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                    buffer.copy_from_slice(&bytes[offset..][..buffer.len()]);
                }
            }
            self.position += buffer.len() as u64;
            return Ok(buffer.len());
        }
        Ok(0)
    }
}

impl<R: Read + Seek> Seek for FileReader<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.file.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const RECORDED: u32 = 0;
    const NOT_ALLOCATED: u32 = 2;
    const CONTINUED: u32 = 3;

    /// An allocation descriptor: what it is, how many bytes, and in which block.
    type Descriptor = (u32, u32, u32);

    /// The two forms of descriptors: their number in an entry, and their length.
    const FORMS: [(u8, usize); 2] = [(0, 8), (1, 16)];

    fn bytes_of(descriptors: &[Descriptor], width: usize) -> Vec<u8> {
        let one = |(kind, length, block): &Descriptor| {
            let mut bytes = [(kind << 30 | length).to_le_bytes(), block.to_le_bytes()].concat();
            bytes.resize(width, 0);
            bytes
        };
        descriptors.iter().flat_map(one).collect()
    }

    /// A block with that tag, in which these bytes stand.
    fn block(tag: Tag, parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut block = vec![0; 2048];
        block[..2].copy_from_slice(&(tag as u16).to_le_bytes());
        block[4] = block[0].wrapping_add(block[1]);
        for (at, part) in parts {
            block[*at..at + part.len()].copy_from_slice(part);
        }
        block
    }

    fn entry(size: u64, (form, width): (u8, usize), descriptors: &[Descriptor]) -> Vec<u8> {
        let descriptors = bytes_of(descriptors, width);
        let length = u32::try_from(descriptors.len()).unwrap().to_le_bytes();
        let parts: &[(usize, &[u8])] =
            &[(27, &[5]), (34, &[form]), (56, &size.to_le_bytes()), (172, &length), (176, &descriptors)];
        block(Tag::File, parts)
    }

    fn continued(width: usize, descriptors: &[Descriptor]) -> Vec<u8> {
        let descriptors = bytes_of(descriptors, width);
        let length = u32::try_from(descriptors.len()).unwrap().to_le_bytes();
        block(Tag::AllocationExtent, &[(20, &length), (24, &descriptors)])
    }

    /// The file whose entry is the first of these blocks.
    fn read(blocks: &[Vec<u8>]) -> Result<Vec<u8>> {
        let root = Address { partition: 0, block: 0 };
        let mut disc = Udf { reader: Cursor::new(blocks.concat()), partitions: vec![0], root };
        let file = locate(&mut disc, root)?;
        let mut bytes = Vec::new();
        FileReader::new(&mut disc.reader, file).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Pieces in no order, with a hole, whose list goes on in one block after the other; the last has one of them only.
    #[test]
    fn pieces_lie_anywhere_and_their_list_goes_on_elsewhere() {
        for form in FORMS {
            let size = 3 * SECTOR + 100;
            let bytes = read(&[
                entry(size, form, &[(RECORDED, 2048, 5), (CONTINUED, 2048, 1)]),
                continued(form.1, &[(NOT_ALLOCATED, 2048, 0), (RECORDED, 2048, 4), (CONTINUED, 2048, 2)]),
                continued(form.1, &[(RECORDED, 100, 3)]),
                vec![3; 2048],
                vec![4; 2048],
                vec![5; 2048],
            ]);
            let expected = [vec![5; 2048], vec![0; 2048], vec![4; 2048], vec![3; 100]].concat();
            assert!(bytes.unwrap() == expected, "{form:?}");
        }
    }

    #[test]
    fn a_list_that_leads_in_a_circle_or_nowhere_is_damage() {
        for form in FORMS {
            let begun = entry(SECTOR, form, &[(CONTINUED, 2048, 1)]);
            let circle = continued(form.1, &[(CONTINUED, 2048, 1), (RECORDED, 2048, 0)]);
            let empty = continued(form.1, &[]);
            let ended = continued(form.1, &[(RECORDED, 0, 0), (RECORDED, 2048, 0)]);
            for next in [circle, empty, ended, vec![0; 2048]] {
                let why = read(&[begun.clone(), next]).unwrap_err().to_string();
                assert!(why.starts_with("the disc is damaged: "), "{form:?}: {why}");
            }
        }
    }
}
