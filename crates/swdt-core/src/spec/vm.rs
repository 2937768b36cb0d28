//! Virtual machines: what they are made of.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WindowsImage;

/// What a virtual machine is besides its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VmSpec {
    /// What its disk begins as.
    pub image: Image,
    /// How large its disk is, in GiB; it takes what is written.
    pub disk_gib: u64,
    /// What it starts with.
    pub firmware: Firmware,
    /// What it is plugged into; what fits the user when nothing is said.
    pub wiring: Option<Wiring>,
}

/// What a disk begins as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Image {
    /// What the distribution publishes for clouds.
    Cloud(LinuxRelease),
    /// Built from the distribution's packages.
    Build(LinuxRelease),
    /// Installed by the distribution's own installer.
    Install(LinuxRelease),
    /// One of these three from another server.
    Mirror {
        /// Which of them.
        #[serde(default)]
        way: Way,
        /// Of which system.
        release: LinuxRelease,
        /// The address that takes the place of the distribution's own.
        url: String,
    },
    /// A download, with the SHA-256 or SHA-512 that it must have.
    Url {
        /// Where it is.
        url: String,
        /// In lower-case hex.
        checksum: String,
    },
    /// A file on this host.
    File(PathBuf),
    /// Windows, from the user's own media.
    Windows(Box<WindowsImage>),
}

impl Image {
    /// Of a system that is known by name: how its disk comes about, and the server in place of the distribution's own.
    pub fn by_name(&self) -> Option<(Way, LinuxRelease, Option<&str>)> {
        match self {
            Self::Cloud(release) => Some((Way::Cloud, *release, None)),
            Self::Build(release) => Some((Way::Build, *release, None)),
            Self::Install(release) => Some((Way::Install, *release, None)),
            Self::Mirror { way, release, url } => Some((*way, *release, Some(url))),
            Self::Url { .. } | Self::File(_) | Self::Windows(_) => None,
        }
    }

    /// Does the disk come about so?
    pub fn is_made_by(&self, way: Way) -> bool {
        self.by_name().is_some_and(|(it, ..)| it == way)
    }
}

/// How the disk of a system that is known by name comes about.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Way {
    /// The distribution publishes it for clouds.
    #[default]
    Cloud,
    /// It is built from the distribution's packages.
    Build,
    /// The distribution's own installer makes it.
    Install,
}

/// Systems that are known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LinuxRelease {
    /// Debian bookworm.
    #[serde(rename = "debian-12")]
    Debian12,
    /// Debian trixie.
    #[serde(rename = "debian-13")]
    Debian13,
    /// Ubuntu noble.
    #[serde(rename = "ubuntu-24.04")]
    Ubuntu2404,
    /// Ubuntu resolute.
    #[serde(rename = "ubuntu-26.04")]
    Ubuntu2604,
    /// Fedora.
    #[serde(rename = "fedora-44")]
    Fedora44,
}

impl LinuxRelease {
    /// Every release.
    pub const ALL: &[Self] =
        &[Self::Debian12, Self::Debian13, Self::Ubuntu2404, Self::Ubuntu2604, Self::Fedora44];

    /// Its name as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debian12 => "debian-12",
            Self::Debian13 => "debian-13",
            Self::Ubuntu2404 => "ubuntu-24.04",
            Self::Ubuntu2604 => "ubuntu-26.04",
            Self::Fedora44 => "fedora-44",
        }
    }
}

/// What a virtual machine starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Firmware {
    /// BIOS: needs nothing more on the host.
    Bios,
    /// UEFI.
    Uefi,
    /// UEFI that starts only what is signed, and a TPM.
    SecureBoot,
}

/// What a virtual machine is plugged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wiring {
    /// A bridge of this host: fast, and the host reaches the machine by its address. Needs root.
    Bridge,
    /// A private segment: the host reaches the machine through a port of its own. Needs no rights.
    Segment,
}
