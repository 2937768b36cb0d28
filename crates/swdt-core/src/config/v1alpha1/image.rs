//! What the disk of a virtual machine begins as.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Number;

use super::SHA256_EXAMPLE;
use crate::spec::LinuxRelease;

/// What the disk of a virtual machine begins as: for Linux exactly one of `cloud`, `build`, `install`, `download` and
/// `file`; for Windows an `iso` or a `vhdx`, and what belongs to it.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct Image {
    /// The image that the distribution publishes for clouds. It is fetched once and checked.
    #[schemars(example = &"debian-12")]
    pub(in crate::config) cloud: Option<LinuxRelease>,
    /// Beside `cloud`: the address of a mirror with the same layout, in place of `https://cloud.debian.org/images/cloud`,
    /// `https://cloud-images.ubuntu.com/releases` or `https://download.fedoraproject.org/pub/fedora/linux/releases`.
    /// Beside `build` and `install`: a mirror of Debian's packages, in place of `http://deb.debian.org/debian`; the same
    /// server has `/debian-security`. Machines keep it.
    #[schemars(example = &"https://mirror.example.com/debian-cloud")]
    pub(in crate::config) mirror: Option<String>,
    /// A disk built from Debian's packages, for hosts that reach a mirror and nothing else.
    #[schemars(example = &"debian-12")]
    pub(in crate::config) build: Option<DebianRelease>,
    /// A disk that Debian's own installer makes, unattended, once. Takes long.
    #[schemars(example = &"debian-12")]
    pub(in crate::config) install: Option<DebianRelease>,
    /// An image to download. It must have cloud-init.
    pub(in crate::config) download: Option<ImageDownload>,
    /// An image on this host, in any format that QEMU reads. It must have cloud-init. Relative to this file; `~/` is your
    /// home directory.
    #[schemars(example = &"~/images/debian-12-genericcloud-amd64.qcow2")]
    pub(in crate::config) file: Option<String>,
    /// Windows: Microsoft's disc. Relative to this file; `~/` is your home directory. It is never downloaded for you.
    #[schemars(example = &"~/iso/windows-server-2022.iso")]
    pub(in crate::config) iso: Option<String>,
    /// Windows: which of the systems on the disc, by its number or any of its names. `Standard` without a desktop when
    /// nothing is said.
    #[schemars(example = &"Datacenter")]
    pub(in crate::config) edition: Option<Edition>,
    /// Windows: a file with the product key on its first line. An evaluation has none. The key never stands in this file.
    #[schemars(example = &"~/.config/swdt/windows.key")]
    pub(in crate::config) product_key_file: Option<String>,
    /// Windows: the virtio-win disc, for faster devices. Without it the machine has SATA and an Intel card.
    #[schemars(example = &"~/iso/virtio-win.iso")]
    pub(in crate::config) virtio: Option<String>,
    /// Windows: the package of OpenSSH, for Windows Server before 2025.
    pub(in crate::config) openssh: Option<OpenSsh>,
    /// Windows: a disk that sysprep sealed, in place of a disc.
    #[schemars(example = &"~/images/windows-server-2025.vhdx")]
    pub(in crate::config) vhdx: Option<String>,
}

/// One of the systems on a disc. A number is taken without quotes, too.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(in crate::config) enum Edition {
    Name(String),
    Number(Number),
}

impl Edition {
    pub(in crate::config) fn text(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

impl JsonSchema for Edition {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Edition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"] })
    }
}

/// Systems that disks can be made of here.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(in crate::config) enum DebianRelease {
    /// Debian bookworm.
    #[serde(rename = "debian-12")]
    Debian12,
    /// Debian trixie.
    #[serde(rename = "debian-13")]
    Debian13,
}

impl From<DebianRelease> for LinuxRelease {
    fn from(release: DebianRelease) -> Self {
        match release {
            DebianRelease::Debian12 => Self::Debian12,
            DebianRelease::Debian13 => Self::Debian13,
        }
    }
}

/// A package of OpenSSH.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct OpenSsh {
    /// The MSI. Relative to this file; `~/` is your home directory.
    #[schemars(required, example = &"~/iso/OpenSSH-Win64-v10.0.0.0.msi")]
    pub(in crate::config) path: Option<String>,
    /// The SHA-256 that it must have: 64 hexadecimal digits.
    #[schemars(required, example = &SHA256_EXAMPLE, regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    pub(in crate::config) sha256: Option<String>,
}

/// An image to download, with one of the checksums.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct ImageDownload {
    /// Where it is.
    #[schemars(required, example = &"https://example.com/node.qcow2")]
    pub(in crate::config) url: Option<String>,
    /// The SHA-256 that it must have: 64 hexadecimal digits.
    #[schemars(example = &SHA256_EXAMPLE, regex(pattern = r"^[0-9a-fA-F]{64}$"))]
    pub(in crate::config) sha256: Option<String>,
    /// The SHA-512 that it must have: 128 hexadecimal digits.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{128}$"))]
    pub(in crate::config) sha512: Option<String>,
}
