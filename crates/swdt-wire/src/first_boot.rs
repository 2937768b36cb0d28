//! What a Windows machine does when it starts for the first time: `swdt\first-boot.json` on its seed.
//!
//! The seed is made for one machine and goes when the machine has answered. It is read by the node program that lies
//! beside it, so both are of one version always; the version is for whoever finds an old disc.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::{Blob, Secret};

/// The version of [`FirstBoot`].
pub const FIRST_BOOT_VERSION: u32 = 1;

/// Where it lies on the seed.
pub const FIRST_BOOT_FILE: &str = "swdt/first-boot.json";

/// What every line on the serial port begins with; what follows is one of [`FirstBootWord`], and perhaps more.
pub const FIRST_BOOT_LINE: &str = "swdt: first-boot";

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FirstBoot {
    /// [`FIRST_BOOT_VERSION`].
    pub version: u32,
    /// Who may log in, lines of an `authorized_keys`.
    pub authorized_keys: Vec<String>,
    /// By what the machine is known.
    pub host_key: HostKey,
    /// Its one network card; none where the machine gets its address by itself, or shall have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<FirstNetwork>,
    /// The package of OpenSSH beside this file, where Windows does not bring it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openssh: Option<Blob>,
    /// Becomes a disk that others are made from: nobody can log in, and the machine switches itself off.
    #[serde(default)]
    pub seal: bool,
}

/// A host key of SSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostKey {
    /// The private half, as OpenSSH writes it.
    pub private: Secret,
    /// `ssh-ed25519 AAAA…`.
    pub public: String,
}

/// A network card with a fixed address. Setup has it from its answers; this is for when it did not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FirstNetwork {
    /// Lower-case hex with colons.
    pub mac: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The length of the prefix.
    pub prefix: u8,
    /// The way out.
    pub gateway: Ipv4Addr,
    /// Who answers for names.
    pub dns: Vec<Ipv4Addr>,
}

/// What a line on the serial port says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstBootWord {
    /// The program was started from the seed.
    Started,
    /// A step begins; its name follows.
    Step,
    /// The machine answers.
    Ready,
    /// It is about to become a disk that others are made from.
    Sealing,
    /// It has become one, Windows says so itself, and the machine goes off next. Said several times: nobody can ask again.
    Sealed,
    /// It cannot go on; why follows.
    Failed,
}

impl FirstBootWord {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Started, Self::Step, Self::Ready, Self::Sealing, Self::Sealed, Self::Failed];

    /// As it stands in a line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Step => "step",
            Self::Ready => "ready",
            Self::Sealing => "sealing",
            Self::Sealed => "sealed",
            Self::Failed => "failed",
        }
    }

    /// The whole line, without its end.
    pub fn line(self, more: &str) -> String {
        let more = more.replace(['\r', '\n'], " ");
        format!("{FIRST_BOOT_LINE} {} {more}", self.as_str()).trim_end().to_owned()
    }

    /// Reads a line; nothing if it is no such line.
    pub fn read(line: &str) -> Option<(Self, &str)> {
        // Firmware may have left half a line before ours.
        let at = line.find(FIRST_BOOT_LINE)?;
        let rest = line[at + FIRST_BOOT_LINE.len()..].trim();
        let (word, more) = rest.split_once(' ').unwrap_or((rest, ""));
        Self::ALL.into_iter().find(|it| it.as_str() == word).map(|it| (it, more.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        for word in FirstBootWord::ALL {
            assert_eq!(FirstBootWord::read(&word.line("")), Some((word, "")));
            assert_eq!(FirstBootWord::read(&word.line("a\r\nb\n")), Some((word, "a  b")));
        }
        assert_eq!(
            FirstBootWord::read("\u{1b}[2Jswdt: first-boot step keys\r"),
            Some((FirstBootWord::Step, "keys"))
        );
        for other in ["", "swdt: first-boot", "swdt: first-boot dances", "first-boot ready"] {
            assert_eq!(FirstBootWord::read(other), None, "{other}");
        }
    }
}
