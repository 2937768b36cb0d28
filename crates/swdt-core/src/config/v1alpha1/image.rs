//! What the disk of a virtual machine begins as.

use schemars::JsonSchema;
use serde::Deserialize;

use super::SHA256_EXAMPLE;
use crate::spec::LinuxRelease;

/// What the disk of a virtual machine begins as: exactly one of these.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub(in crate::config) struct Image {
    /// The image that the distribution publishes for clouds. It is fetched once and checked.
    #[schemars(example = &"debian-12")]
    pub(in crate::config) cloud: Option<LinuxRelease>,
    /// A disk built from the distribution's packages, for hosts that reach a mirror and nothing else: `debian-12` or
    /// `debian-13`.
    #[schemars(example = &"debian-12")]
    pub(in crate::config) build: Option<LinuxRelease>,
    /// A disk that the distribution's own installer makes, unattended, once: `debian-12` or `debian-13`. Takes long.
    #[schemars(example = &"debian-12")]
    pub(in crate::config) install: Option<LinuxRelease>,
    /// An image to download. It must have cloud-init.
    pub(in crate::config) download: Option<ImageDownload>,
    /// An image on this host, in any format that QEMU reads. It must have cloud-init. Relative to this file; `~/` is your
    /// home directory.
    #[schemars(example = &"~/images/debian-12-genericcloud-amd64.qcow2")]
    pub(in crate::config) file: Option<String>,
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
