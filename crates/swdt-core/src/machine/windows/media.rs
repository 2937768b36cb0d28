//! The user's own media, looked at before anything is made. Nothing here is ever downloaded: the licence is between the
//! user and Microsoft.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use swdt_media::{
    Error as Trouble,
    answer::ProductKey,
    virtio::{self, DriverFile},
    windows::{self, Edition, Release},
};

use crate::{
    Error, Result, id,
    spec::{OpenSsh, WindowsImage, WindowsSource},
};

const OPENSSH: &str = "Windows Server before 2025 brings no SSH server; download \
     https://github.com/PowerShell/Win32-OpenSSH/releases/download/10.0.0.0p2-Preview/OpenSSH-Win64-v10.0.0.0.msi \
     and name it: `openssh: {path: …, sha256: ddec9c53864280759cf9f74791cefd387100e3946aa849a1c138a4ed1b96b7d9}`";

const VIRTIO: &str = "download \
     https://fedorapeople.org/groups/virt/virtio-win/direct-downloads/stable-virtio/virtio-win.iso, or remove `virtio`: \
     devices are slower then";
const SEALED: &str = "`vhdx` names a disk that was sealed by sysprep";

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

/// Looks at everything an image names, for a machine with or without UEFI; tells all that is wrong with it at once.
pub fn look(image: &WindowsImage, uefi: bool) -> Result<Looked> {
    let mut errors = Vec::new();
    let (media, release) = media(&image.source);
    let media = media.map_err(|error| errors.push(error)).ok();
    if let Some(Media::Disc { iso, uefi: false, .. }) = &media
        && uefi
    {
        let message = format!("image.iso: {} cannot be started by UEFI", iso.display());
        errors.push(Error::new(id::FIRMWARE_MISMATCH, message).hinted("write `firmware: bios`"));
    }
    let key = image.product_key_file.as_deref().map(product_key).transpose();
    let product_key = key.map_err(|error| errors.push(error)).ok().flatten();
    let evaluation = matches!(&media, Some(Media::Disc { edition, .. }) if edition.evaluation);
    if product_key.is_some() && evaluation {
        let message = "image.productKeyFile: the disc is an evaluation, which takes no product key";
        errors.push(Error::new(id::WINDOWS_MEDIA_INVALID, message).hinted("remove `productKeyFile`"));
    }
    let drivers = match (&image.virtio, release) {
        (Some(path), Some(release)) => open("virtio", path)
            .and_then(|file| virtio::drivers(file, release).map_err(|error| told("virtio", path, &error))),
        // For which Windows is not known; but whether it is there.
        (Some(path), None) => open("virtio", path).map(|_| Vec::new()),
        (None, _) => Ok(Vec::new()),
    };
    let drivers = drivers.map_err(|error| errors.push(error)).unwrap_or_default();
    if let Some(package) = &image.openssh {
        errors.extend(openssh(package).err());
    } else if release.is_some_and(|release| !release.has_openssh()) {
        let message = "image.openssh: the disc brings no SSH server, and the image names none";
        errors.push(Error::new(id::OPENSSH_MISSING, message).hinted(OPENSSH));
    }
    match media {
        Some(media) if errors.is_empty() => {
            let openssh = image.openssh.as_ref().map(|package| package.path.clone());
            Ok(Looked { media, product_key, drivers, openssh })
        }
        _ => {
            Err(Error::all(errors)
                .unwrap_or_else(|| Error::new(id::INTERNAL, "nothing is wrong with the media")))
        }
    }
}

/// What an image is made from, and which Windows that is, where it can be told: also when none of its editions is meant.
fn media(source: &WindowsSource) -> (Result<Media>, Option<Release>) {
    match source {
        WindowsSource::Iso { path, edition } => {
            let file = match open("iso", path) {
                Ok(file) => BufReader::new(file),
                Err(error) => return (Err(error), None),
            };
            let disc = match windows::look(file) {
                Ok(disc) => disc,
                Err(error) => return (Err(told("iso", path, &error)), None),
            };
            let chosen = disc.choose(edition.as_deref()).map_err(|error| told("iso", path, &error));
            let release =
                chosen.as_ref().ok().copied().or(disc.editions.first()).map(|edition| edition.release);
            let media = |edition: &Edition| Media::Disc {
                iso: path.clone(),
                edition: edition.clone(),
                uefi: disc.uefi,
            };
            (chosen.map(media), release)
        }
        WindowsSource::Vhdx { path } => (disk(path), None),
    }
}

fn disk(path: &Path) -> Result<Media> {
    let mut head = [0; 8];
    let read = open("vhdx", path)?.read_exact(&mut head);
    if read.is_ok() && (&head == b"vhdxfile" || &head == b"conectix") {
        return Ok(Media::Disk { vhdx: path.to_owned() });
    }
    let message = format!("image.vhdx: {} is no VHDX and no dynamic VHD", path.display());
    Err(Error::new(id::WINDOWS_MEDIA_INVALID, message).hinted(SEALED))
}

/// The package must be one, and the one that was meant.
fn openssh(package: &OpenSsh) -> Result<()> {
    let path = &package.path;
    let mut head = [0; 8];
    let read = open("openssh", path)?.read_exact(&mut head);
    if read.is_err() || head != MSI {
        let message = format!("image.openssh: {} is no installer package (MSI)", path.display());
        return Err(Error::new(id::WINDOWS_MEDIA_INVALID, message).hinted(OPENSSH));
    }
    let found = super::seed::blob(path)?.1.sha256;
    if package.sha256.to_lowercase() == found {
        return Ok(());
    }
    let message =
        format!("image.openssh: {} has the SHA-256 {found}, and not the one that was named", path.display());
    Err(Error::new(id::WINDOWS_MEDIA_INVALID, message)
        .hinted("download it once more, or mend `openssh.sha256`"))
}

/// The first line of a file.
fn product_key(path: &Path) -> Result<ProductKey> {
    let mut text = String::new();
    // What is no text leaves none, and that is no key.
    let _ = BufReader::new(open("productKeyFile", path)?).take(1024).read_line(&mut text);
    ProductKey::new(text.trim()).map_err(|error| told("productKeyFile", path, &error))
}

fn open(field: &str, path: &Path) -> Result<File> {
    let invalid = |why: String| {
        Error::new(id::WINDOWS_MEDIA_INVALID, format!("image.{field}: {} {why}", path.display()))
    };
    // A pipe would be waited for when it is opened.
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Err(invalid("is no file".to_owned()));
    }
    File::open(path).map_err(|error| {
        let told = invalid(format!("cannot be read: {error}"));
        if error.kind() != io::ErrorKind::NotFound {
            return told;
        }
        told.hinted(match field {
            "iso" => windows::EVALUATIONS,
            "vhdx" => SEALED,
            "virtio" => VIRTIO,
            "openssh" => OPENSSH,
            _ => "the key stands on the first line of that file; for an evaluation, remove `productKeyFile`",
        })
    })
}

fn told(field: &str, path: &Path, error: &Trouble) -> Error {
    about(&format!("{field}: {}", path.display()), error)
}

fn about(what: &str, error: &Trouble) -> Error {
    let entry = if error.is_cut_short() { id::DISC_TRUNCATED } else { id::WINDOWS_MEDIA_INVALID };
    let told = Error::new(entry, format!("image.{what}: {error}"));
    match error.hint() {
        Some(hint) => told.hinted(hint),
        None => told,
    }
}
