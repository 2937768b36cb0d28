//! Bytes on disk: replaced at once, and told apart by their SHA-256.

use std::{
    fs::{self, File, FileTimes},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sha2::{Digest, Sha256};

use crate::{Error, Result, faults, os};

pub use os::sync_dir;

/// What a file has besides bytes.
#[derive(Debug, Clone, Copy)]
pub struct Attributes {
    /// Permission bits.
    pub mode: u32,
    /// User and group; none leaves them to the system.
    pub owner: Option<(u32, u32)>,
    /// Modification time, seconds and nanoseconds; none is now.
    pub mtime: Option<(i64, i64)>,
}

impl Attributes {
    /// A mode, and nothing else asked for.
    pub fn mode(mode: u32) -> Self {
        Self { mode, owner: None, mtime: None }
    }
}

/// Replaces a file at once: temporary file beside it, fsync, rename, fsync of the directory.
/// A reader sees the old bytes or the new ones, also after a power cut; a link is replaced, not followed.
pub fn replace(
    path: &Path,
    with: &Attributes,
    writer: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<()> {
    let temporary = temporary(path);
    let written = (|| {
        let _ = fs::remove_file(&temporary);
        let mut file = os::private(File::options().write(true).create_new(true)).open(&temporary)?;
        writer(&mut file)?;
        faults::bytes("file", &mut file, 0)?;
        os::dress(&file, &temporary, path, with.mode, with.owner)?;
        if let Some(mtime) = with.mtime.and_then(time) {
            file.set_times(FileTimes::new().set_modified(mtime))?;
        }
        file.sync_all()?;
        // Windows renames no file that is open.
        drop(file);
        faults::write();
        fs::rename(&temporary, path)?;
        sync_dir(parent(path))
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Error::io("write", path, &error)
    })
}

/// Replaces a file at once with these bytes. For the node half's own files, which are not counted
/// as changes of the machine.
pub fn replace_file(path: &Path, bytes: &[u8], mode: u32, owner: Option<(u32, u32)>) -> Result<()> {
    replace(path, &Attributes { mode, owner, mtime: None }, |file| file.write_all(bytes))
}

/// The name under which [`replace`] prepares a file. Always the same for a path, so that whatever a
/// killed run left there can be found.
pub fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    parent(path).join(format!(".{name}.swdt-new"))
}

/// Copies everything and returns the SHA-256 of it.
pub fn copy_hashing(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&buffer[..count]);
        to.write_all(&buffer[..count])?;
    }
}

/// SHA-256 of a file, in lower-case hex.
pub fn sha256_file(path: &Path) -> Result<String> {
    File::open(path)
        .and_then(|mut file| copy_hashing(&mut file, &mut io::sink()))
        .map_err(|error| Error::io("read", path, &error))
}

/// SHA-256 in lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// What the clock says, in seconds since the epoch.
pub fn now() -> u64 {
    faults::clock().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A time before 1970 is not worth keeping.
fn time((seconds, nanos): (i64, i64)) -> Option<SystemTime> {
    Some(UNIX_EPOCH + Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
}
