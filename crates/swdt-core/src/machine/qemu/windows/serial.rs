//! What stands on the serial line: lines of the firmware (OVMF) and of our own program.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use swdt_wire::FirstBootWord;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// The firmware starts a disc.
    StartsDisc,
    /// The firmware starts what is on the disk.
    StartsDisk,
    /// What was on the disc came back: nobody pressed a key.
    DiscRefused,
    /// The firmware found nothing to start.
    NothingToStart,
    /// Our program speaks.
    FirstBoot(FirstBootWord, String),
}

/// Reads one line.
fn understand(line: &str) -> Option<Said> {
    if let Some((word, more)) = FirstBootWord::read(line) {
        return Some(Said::FirstBoot(word, more.to_owned()));
    }
    // `BdsDxe: starting Boot0002 "UEFI QEMU DVD-ROM QM00003 " from PciRoot(0x0)/…`
    let said = line.split("BdsDxe: ").nth(1)?;
    let disc = said.contains("DVD-ROM") || said.contains("CD-ROM");
    // Programs of the firmware itself: its shell, its menu.
    let own = said.contains("EFI Internal Shell") || said.contains("UiApp") || said.contains("BootManager");
    if said.starts_with("starting ") {
        return Some(match (own, disc) {
            (true, _) => Said::NothingToStart,
            (false, true) => Said::StartsDisc,
            (false, false) => Said::StartsDisk,
        });
    }
    if said.starts_with("No bootable option or device was found") {
        return Some(Said::NothingToStart);
    }
    (said.starts_with("failed to start ") && disc).then_some(Said::DiscRefused)
}

/// Bytes of a line. Those that we know are much shorter.
const LONGEST: usize = 64 * 1024;

/// The log of a serial line, read as it grows.
#[derive(Debug)]
pub(super) struct Serial {
    path: PathBuf,
    at: u64,
    rest: Vec<u8>,
}

impl Serial {
    /// From its beginning.
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), at: 0, rest: Vec::new() }
    }

    /// What was said since the last call. A log that is not there yet says nothing.
    pub(super) fn more(&mut self) -> Vec<Said> {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.at))?;
            file.read_to_end(&mut bytes)
        });
        self.at += read.unwrap_or(0) as u64;
        self.rest.extend(bytes);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = self.rest.split_off(whole);
        let lines = std::mem::replace(&mut self.rest, rest);
        // A machine that never ends its line says nothing to us, however long it speaks.
        if self.rest.len() > LONGEST {
            self.rest.clear();
        }
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| line.len() <= LONGEST);
        lines.filter_map(|line| understand(&String::from_utf8_lossy(line))).collect()
    }
}

/// What becomes of these bytes on the line, for a fuzzer.
#[cfg(feature = "fuzz")]
pub(crate) fn hear(bytes: &[u8], dir: &Path) -> String {
    let path = dir.join("console.log");
    std::fs::write(&path, bytes).expect("a file of our own");
    let mut serial = Serial::of(&path);
    let said = serial.more();
    assert!(serial.rest.len() <= LONGEST, "the rest grows");
    assert!(serial.more().is_empty(), "nothing is said twice");
    said.iter().map(|said| format!("{said:?} ")).take(4).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[test]
    fn lines_of_the_firmware_and_of_our_program() {
        let path = "from PciRoot(0x0)/Pci(0x1F,0x2)/Sata(0x0,0xFFFF,0x0)";
        for (line, said) in [
            ("BdsDxe: failed to load Boot0001 \"UEFI QEMU HARDDISK QM00001 \": Not Found", None),
            ("BdsDxe: loading Boot0002 \"UEFI QEMU DVD-ROM QM00003 \"", None),
            (
                "\u{1b}[2J\u{1b}[01;01HBdsDxe: starting Boot0002 \"UEFI QEMU DVD-ROM QM00003 \"",
                Some(Said::StartsDisc),
            ),
            (
                "BdsDxe: failed to start Boot0002 \"UEFI QEMU DVD-ROM QM00003 \": Time out",
                Some(Said::DiscRefused),
            ),
            ("BdsDxe: starting Boot0001 \"UEFI QEMU HARDDISK QM00001 \"", Some(Said::StartsDisk)),
            ("BdsDxe: starting Boot0005 \"Windows Boot Manager\"", Some(Said::StartsDisk)),
            ("BdsDxe: starting Boot0001 \"UEFI Misc Device\"", Some(Said::StartsDisk)),
            ("BdsDxe: starting Boot0004 \"EFI Internal Shell\"", Some(Said::NothingToStart)),
            ("swdt: first-boot step keys", Some(Said::FirstBoot(FirstBootWord::Step, "keys".into()))),
            ("Press any key to boot from CD or DVD......", None),
        ] {
            assert_eq!(understand(line), said, "{line}");
            if line.contains("Boot000") {
                assert_eq!(understand(&format!("{line} {path}")), said, "{line}");
            }
        }
    }

    #[test]
    fn a_log_is_read_as_it_grows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console.log");
        let mut serial = Serial::of(&path);
        assert!(serial.more().is_empty());
        fs::write(&path, "swdt: first-boot started 1\r\nswdt: first-bo").unwrap();
        assert_eq!(serial.more(), [Said::FirstBoot(FirstBootWord::Started, "1".into())]);
        fs::File::options().append(true).open(&path).unwrap().write_all(b"ot ready\r\n").unwrap();
        assert_eq!(serial.more(), [Said::FirstBoot(FirstBootWord::Ready, String::new())]);
        assert!(serial.more().is_empty());
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console.log");
        let mut serial = Serial::of(&path);
        let mut log = fs::File::options().create(true).append(true).open(&path).unwrap();
        for _ in 0..3 {
            log.write_all(&vec![b'x'; LONGEST]).unwrap();
            assert!(serial.more().is_empty());
            assert!(serial.rest.len() <= LONGEST, "{}", serial.rest.len());
        }
        log.write_all(b"\nswdt: first-boot ready\n").unwrap();
        assert_eq!(serial.more(), [Said::FirstBoot(FirstBootWord::Ready, String::new())]);
    }
}
