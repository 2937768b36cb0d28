//! Names on a disc, twice: as given for Joliet, in eight and three letters for the rest.

use std::collections::BTreeSet;

use crate::{Error, Result};

/// Joliet keeps 64 letters of a name.
const LONGEST: usize = 64;

/// How names are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// `AUTOUNAT.XML;1`.
    Short,
    /// `Autounattend.xml;1` in UCS-2.
    Joliet,
}

impl Names {
    /// A name as it stands in a directory that has others already.
    pub(super) fn encode(self, name: &str, directory: bool, taken: &BTreeSet<Vec<u8>>) -> Vec<u8> {
        let version = if directory { "" } else { ";1" };
        match self {
            Self::Joliet => format!("{name}{version}").encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Short => {
                let candidate = |number| format!("{}{version}", short(name, directory, number)).into_bytes();
                // A directory has fewer names than there are numbers.
                (0..=u32::MAX).map(candidate).find(|name| !taken.contains(name)).unwrap_or_default()
            }
        }
    }
}

/// Eight letters, a dot, three letters; a number at the end of the eight where the name is taken.
fn short(name: &str, directory: bool, number: u32) -> String {
    let plain = |text: &str, length: usize| -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        text.chars().map(letter).take(length).collect()
    };
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !directory => (stem, plain(extension, 3)),
        _ => (name, String::new()),
    };
    let number = if number == 0 { String::new() } else { number.to_string() };
    let stem = plain(stem, 8_usize.saturating_sub(number.len()));
    if directory { format!("{stem}{number}") } else { format!("{stem}{number}.{extension}") }
}

/// Is it a name that every reader takes?
pub(super) fn check(path: &str, name: &str) -> Result<()> {
    let bad = |why: &str| Err(Error::new(format!("{path:?} cannot stand on a disc: {why}")));
    match name {
        "" => bad("a part of it is empty"),
        "." | ".." => bad("it leads elsewhere"),
        _ if name.encode_utf16().count() > LONGEST => bad("a part of it is longer than 64 letters"),
        _ if name.chars().any(|c| c.is_control() || "*/:;?\\".contains(c)) => {
            bad("it has a letter that no disc takes")
        }
        _ if name.chars().any(|c| u32::from(c) > 0xffff) => bad("it has a letter that Joliet lacks"),
        _ => Ok(()),
    }
}

/// The label of a disc: sixteen letters are what Joliet keeps.
pub(super) fn label(label: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if label.is_empty() || label.len() > 16 || !label.chars().all(plain) {
        let message = format!("{label:?} is no label of a disc");
        return Err(Error::new(message).hinted("1 to 16 letters, digits, `_` and `-`"));
    }
    Ok(label.to_owned())
}

/// The label for readers of 1988.
pub(super) fn short_label(label: &str) -> String {
    // Lower case is against the letter of the standard, but cloud-init looks for `cidata` here, and all readers take it.
    label.replace('-', "_")
}

/// Text of a fixed length.
pub(super) fn padded(text: &str, length: usize, joliet: bool) -> Vec<u8> {
    let mut out: Vec<u8> = if joliet {
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    } else {
        text.bytes().collect()
    };
    while out.len() + 2 <= length && joliet {
        out.extend([0, b' ']);
    }
    out.resize(length, if joliet { 0 } else { b' ' });
    out
}
