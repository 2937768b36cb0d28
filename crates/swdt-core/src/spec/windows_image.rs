//! What a Windows machine is made from: the user's own media.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a Windows machine is made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowsImage {
    /// The system.
    pub source: WindowsSource,
    /// A file with the key of the edition; none for evaluations.
    pub product_key_file: Option<PathBuf>,
    /// The virtio-win disc. Without it the machine has devices that Windows knows by itself, which are slower.
    pub virtio: Option<PathBuf>,
    /// The package of OpenSSH, for Windows Server before 2025.
    pub openssh: Option<OpenSsh>,
}

/// Where the system comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WindowsSource {
    /// Microsoft's disc.
    Iso {
        /// The file.
        path: PathBuf,
        /// Which of the systems on it, by any of its names; Standard without a desktop if nothing is said.
        edition: Option<String>,
    },
    /// A disk that was sealed by sysprep.
    Vhdx {
        /// The file.
        path: PathBuf,
    },
}

/// A package of OpenSSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenSsh {
    /// The file, an MSI.
    pub path: PathBuf,
    /// What it must be.
    pub sha256: String,
}
