//! Reads which systems a WIM holds: the list that Windows Setup shows. The systems themselves are never unpacked.

use std::io::{Read, Seek, SeekFrom};

use quick_xml::{
    Reader,
    escape::unescape,
    events::{BytesStart, Event},
};

use crate::{Error, Result};

const HEADER: usize = 208;
/// The XML of Microsoft's discs has some ten kilobytes.
const LARGEST_XML: u64 = 16 << 20;

/// One system of a WIM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// Its number, from one.
    pub index: u32,
    /// `Windows Server 2022 SERVERSTANDARDCORE`.
    pub name: String,
    /// `Windows Server 2022 Standard Evaluation`, as Setup shows it.
    pub display_name: String,
    /// `ServerStandardEval`.
    pub edition: String,
    /// `Server Core`, `Server` or `Client`.
    pub installation: String,
    /// `en-US`.
    pub language: String,
    /// 9 is amd64, 12 is arm64.
    pub architecture: u32,
    /// 20348.
    pub build: u32,
    /// What its files take when they are unpacked, in bytes.
    pub size: u64,
}

/// Lists the systems of a WIM.
pub fn images<R: Read + Seek>(reader: &mut R) -> Result<Vec<Image>> {
    let mut header = [0; HEADER];
    reader.seek(SeekFrom::Start(0))?;
    reader.read_exact(&mut header)?;
    if !header.starts_with(b"MSWIM\0\0\0") {
        return Err(Error::new("it is no Windows image (WIM)"));
    }
    let number =
        |at: usize| header[at..at + 8].iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
    // The top byte holds flags.
    let (size, offset) = (number(72) & 0x00ff_ffff_ffff_ffff, number(80));
    if size > LARGEST_XML {
        return Err(Error::new("its list of systems is larger than any can be"));
    }
    reader.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    reader.read_exact(&mut bytes)?;
    let letters = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let text: String =
        char::decode_utf16(letters).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    read(text.trim_start_matches('\u{feff}'))
}

fn read(text: &str) -> Result<Vec<Image>> {
    let broken =
        |why: &dyn std::fmt::Display| Error::new(format!("its list of systems cannot be read: {why}"));
    let mut reader = Reader::from_str(text);
    let mut path: Vec<String> = Vec::new();
    let mut images: Vec<Image> = Vec::new();
    loop {
        match reader.read_event().map_err(|error| broken(&error))? {
            Event::Start(start) => {
                path.push(start.name().as_ref().to_owned());
                if path.join("/") == "WIM/IMAGE" {
                    images.push(Image { index: index(&start).unwrap_or(0), ..Image::default() });
                }
            }
            Event::End(_) => drop(path.pop()),
            Event::Text(text) => take(&mut images, &path, &text),
            Event::GeneralRef(name) => {
                let escaped = format!("&{};", &*name);
                take(&mut images, &path, &unescape(&escaped).map_err(|error| broken(&error))?);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    Ok(images)
}

fn index(start: &BytesStart<'_>) -> Option<u32> {
    let value = start.try_get_attribute("INDEX").ok()??.value;
    value.parse().ok()
}

fn take(images: &mut [Image], path: &[String], text: &str) {
    if let Some(image) = images.last_mut() {
        image.take(&path.join("/"), text);
    }
}

impl Image {
    fn take(&mut self, path: &str, text: &str) {
        let number = || text.trim().parse().unwrap_or(0);
        let bytes = || text.trim().parse().unwrap_or(0);
        match path {
            "WIM/IMAGE/NAME" => self.name.push_str(text),
            "WIM/IMAGE/TOTALBYTES" => self.size = bytes(),
            "WIM/IMAGE/DISPLAYNAME" => self.display_name.push_str(text),
            "WIM/IMAGE/WINDOWS/EDITIONID" => self.edition.push_str(text),
            "WIM/IMAGE/WINDOWS/INSTALLATIONTYPE" => self.installation.push_str(text),
            "WIM/IMAGE/WINDOWS/LANGUAGES/DEFAULT" => self.language.push_str(text),
            "WIM/IMAGE/WINDOWS/ARCH" => self.architecture = number(),
            "WIM/IMAGE/WINDOWS/VERSION/BUILD" => self.build = number(),
            _ => {}
        }
    }
}
