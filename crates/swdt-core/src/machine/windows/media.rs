//! The user's own media, looked at before anything is made. Nothing here is ever downloaded: the licence is between the
//! user and Microsoft.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use swdt_media::{
    Error as Trouble,
    answer::ProductKey,
    virtio::{self, DriverFile},
    windows::{self, Edition},
};

use crate::{
    Error, ErrorKind, Result,
    spec::{OpenSsh, WindowsImage, WindowsSource},
};

const OPENSSH: &str = "Windows Server before 2025 brings no SSH server; download \
     https://github.com/PowerShell/Win32-OpenSSH/releases/download/10.0.0.0p2-Preview/OpenSSH-Win64-v10.0.0.0.msi \
     and name it: `openssh: {path: …, sha256: ddec9c53864280759cf9f74791cefd387100e3946aa849a1c138a4ed1b96b7d9}`";

/// What every MSI begins with.
const MSI: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// Media that can be installed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Media {
    /// Microsoft's disc.
    Disc {
        /// The file.
        iso: PathBuf,
        /// The system on it that was chosen.
        edition: Edition,
        /// Firmware with UEFI can start it.
        uefi: bool,
    },
    /// A disk on which a system waits for its first start. What system that is shows only then.
    Disk {
        /// The file.
        vhdx: PathBuf,
    },
}

/// Media, and what goes onto the seed beside the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// What to install from.
    pub media: Media,
    /// None for evaluations.
    pub product_key: Option<ProductKey>,
    /// Drivers that the disc lacks; none where devices need none.
    pub drivers: Vec<DriverFile>,
    /// The package of OpenSSH, its bytes as wanted.
    pub openssh: Option<PathBuf>,
}

/// Looks at everything an image names; tells all that is wrong with it at once.
pub fn look(image: &WindowsImage) -> Result<Looked> {
    let mut errors = Vec::new();
    let media = media(&image.source).map_err(|error| errors.push(error)).ok();
    let key = image.product_key_file.as_deref().map(product_key).transpose();
    let product_key = key.map_err(|error| errors.push(error)).ok().flatten();
    let edition = match &media {
        Some(Media::Disc { edition, .. }) => Some(edition),
        _ => None,
    };
    let release = edition.map(|edition| edition.release);
    if product_key.is_some() && edition.is_some_and(|edition| edition.evaluation) {
        let message = "image.productKeyFile: the disc is an evaluation, which takes no product key";
        errors.push(Error::new(ErrorKind::Config, message).hinted("remove `productKeyFile`"));
    }
    let drivers = match (&image.virtio, release) {
        (Some(path), Some(release)) => open("virtio", path)
            .and_then(|file| virtio::drivers(file, release).map_err(|error| told("virtio", path, &error))),
        _ => Ok(Vec::new()),
    };
    let drivers = drivers.map_err(|error| errors.push(error)).unwrap_or_default();
    if let Some(package) = &image.openssh {
        errors.extend(openssh(package).err());
    } else if release.is_some_and(|release| !release.has_openssh()) {
        errors.push(Error::new(ErrorKind::Config, "the image names no OpenSSH").hinted(OPENSSH));
    }
    match media {
        Some(media) if errors.is_empty() => {
            let openssh = image.openssh.as_ref().map(|package| package.path.clone());
            Ok(Looked { media, product_key, drivers, openssh })
        }
        _ => Err(Error::all(errors)
            .unwrap_or_else(|| Error::new(ErrorKind::Internal, "nothing is wrong with the media"))),
    }
}

fn media(source: &WindowsSource) -> Result<Media> {
    match source {
        WindowsSource::Iso { path, edition } => {
            let file = open("iso", path)?;
            let disc = windows::look(BufReader::new(file)).map_err(|error| told("iso", path, &error))?;
            let edition = disc.choose(edition.as_deref()).map_err(|error| told("iso", path, &error))?.clone();
            Ok(Media::Disc { iso: path.clone(), edition, uefi: disc.uefi })
        }
        WindowsSource::Vhdx { path } => {
            let mut head = [0; 8];
            let read = open("vhdx", path)?.read_exact(&mut head);
            if read.is_ok() && (&head == b"vhdxfile" || &head == b"conectix") {
                return Ok(Media::Disk { vhdx: path.clone() });
            }
            let message = format!("{} is no VHDX and no dynamic VHD", path.display());
            Err(Error::new(ErrorKind::Config, message)
                .hinted("`vhdx` names a disk that was sealed by sysprep"))
        }
    }
}

/// The package must be one, and the one that was meant.
fn openssh(package: &OpenSsh) -> Result<()> {
    let path = &package.path;
    let mut head = [0; 8];
    let read = open("openssh", path)?.read_exact(&mut head);
    if read.is_err() || head != MSI {
        let message = format!("{} is no installer package (MSI)", path.display());
        return Err(Error::new(ErrorKind::Config, message).hinted(OPENSSH));
    }
    let found = super::seed::blob(path)?.1.sha256;
    if package.sha256.to_lowercase() == found {
        return Ok(());
    }
    let message = format!("{} has the SHA-256 {found}, and not the one that was named", path.display());
    Err(Error::new(ErrorKind::Download, message).hinted("download it once more, or mend `openssh.sha256`"))
}

/// The first line of a file.
fn product_key(path: &Path) -> Result<ProductKey> {
    let mut text = String::new();
    // What is no text leaves none, and that is no key.
    let _ = BufReader::new(open("productKeyFile", path)?).take(1024).read_line(&mut text);
    ProductKey::new(text.trim()).map_err(|error| told("productKeyFile", path, &error))
}

fn open(field: &str, path: &Path) -> Result<File> {
    File::open(path).map_err(|error| {
        let told = Error::new(
            ErrorKind::Prerequisite,
            format!("image.{field}: {} cannot be read: {error}", path.display()),
        );
        if field == "iso" { told.hinted(windows::EVALUATIONS) } else { told }
    })
}

fn told(field: &str, path: &Path, error: &Trouble) -> Error {
    about(&format!("{field}: {}", path.display()), error)
}

fn about(what: &str, error: &Trouble) -> Error {
    let told = Error::new(ErrorKind::Config, format!("image.{what}: {error}"));
    match error.hint() {
        Some(hint) => told.hinted(hint),
        None => told,
    }
}
