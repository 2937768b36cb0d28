//! What a program file is for, by its first bytes.

use std::{fs::File, io::Read, path::Path};

use crate::{Error, Result, files::failed, id, spec::Platform};

/// Refuses a program for another platform, which would only fail on the node.
pub(super) fn check(path: &Path, name: &str, wanted: Platform, from: &str) -> Result<()> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| failed("read", path, &error))?;
    file.take(4096).read_to_end(&mut start).map_err(|error| failed("read", path, &error))?;
    let wrong = |what: &str| {
        let message = format!("{name} ({from}) is {what}, not a program for {}", wanted.as_str());
        Err(Error::new(id::PROGRAM_WRONG_PLATFORM, message)
            .hinted("build or choose the file for that platform"))
    };
    match kind(&start) {
        Kind::For(found) if found == wanted => Ok(()),
        Kind::For(found) => wrong(&format!("for {}", found.as_str())),
        Kind::Other(what) => wrong(what),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    For(Platform),
    Other(&'static str),
}

/// `IMAGE_FILE_DLL`.
const DLL: u16 = 0x2000;

fn kind(start: &[u8]) -> Kind {
    let word = |at: usize| start.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let header = |at: usize| start.get(at..at + 4);
    if start.is_empty() {
        return Kind::Other("empty");
    }
    if header(0) == Some(b"\x7fELF") {
        return match word(18) {
            _ if !matches!(word(16), Some(2 | 3)) => Kind::Other("of Linux, but not linked"),
            Some(62) => Kind::For(Platform::LinuxAmd64),
            Some(183) => Kind::For(Platform::LinuxArm64),
            _ => Kind::Other("a Linux program for another processor"),
        };
    }
    if start.starts_with(b"MZ") {
        // The place of the real header stands at 0x3c.
        let at = word(0x3c).map_or(0, usize::from);
        return match (header(at), word(at + 4)) {
            (Some(b"PE\0\0"), Some(0x8664)) if word(at + 22).is_some_and(|flags| flags & DLL != 0) => {
                Kind::Other("a library of Windows")
            }
            (Some(b"PE\0\0"), Some(0x8664)) => Kind::For(Platform::WindowsAmd64),
            _ => Kind::Other("a Windows program for another processor"),
        };
    }
    match start {
        [b'#', b'!', ..] => Kind::Other("a script"),
        [0x1f, 0x8b, ..] => Kind::Other("a compressed archive"),
        [b'<', ..] => Kind::Other("an HTML or XML page"),
        [0xcf | 0xca, 0xfa | 0xfe, ..] => Kind::Other("a macOS program"),
        _ => Kind::Other("no program"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_apart() {
        let mut elf = vec![0; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[18] = 62;
        assert_eq!(kind(&elf), Kind::Other("of Linux, but not linked"));
        elf[16] = 2;
        assert_eq!(kind(&elf), Kind::For(Platform::LinuxAmd64));
        elf[18] = 183;
        assert_eq!(kind(&elf), Kind::For(Platform::LinuxArm64));
        let mut pe = vec![0; 256];
        pe[..2].copy_from_slice(b"MZ");
        pe[0x3c] = 0x80;
        pe[0x80..0x84].copy_from_slice(b"PE\0\0");
        pe[0x84..0x86].copy_from_slice(&0x8664_u16.to_le_bytes());
        assert_eq!(kind(&pe), Kind::For(Platform::WindowsAmd64));
        pe[0x96..0x98].copy_from_slice(&DLL.to_le_bytes());
        assert_eq!(kind(&pe), Kind::Other("a library of Windows"));
        assert_eq!(kind(b"<!doctype html>"), Kind::Other("an HTML or XML page"));
        assert_eq!(kind(b""), Kind::Other("empty"));
        assert_eq!(kind(b"MZ"), Kind::Other("a Windows program for another processor"));
    }
}
