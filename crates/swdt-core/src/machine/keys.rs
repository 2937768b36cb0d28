//! SSH keys that swdt makes itself: for logging in, and for machines to be known by.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
};

use russh::keys::{
    Algorithm, PrivateKey,
    key::safe_rng,
    ssh_key::{self, LineEnding},
};

use super::files::{self, failed};
use crate::{Error, ErrorKind, Result};

/// The ed25519 key in a file, made if there is none; gives the public half, `ssh-ed25519 AAAA…`.
pub fn ensure(path: &Path) -> Result<String> {
    let broken =
        |error: ssh_key::Error| Error::new(ErrorKind::Machine, format!("key {}: {error}", path.display()));
    if !path.exists() {
        path.parent().map_or(Ok(()), files::make_dir)?;
        let key = PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519).map_err(broken)?;
        let text = key.to_openssh(LineEnding::LF).map_err(broken)?;
        write_secret(path, text.as_bytes()).map_err(|error| failed("write", path, &error))?;
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed("read", path, &error))?;
    PrivateKey::from_openssh(text).and_then(|key| key.public_key().to_openssh()).map_err(broken)
}

/// Never readable by others, not even for a moment; whole or not at all.
fn write_secret(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file: File = options.open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys/id_ed25519");
        let first = ensure(&path).unwrap();
        assert!(first.starts_with("ssh-ed25519 AAAA"), "{first}");
        assert_eq!(ensure(&path).unwrap(), first);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
