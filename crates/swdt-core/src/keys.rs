//! SSH keys that swdt makes itself: for logging in, and for machines to be known by.

use std::path::Path;

use russh::keys::{
    Algorithm, PrivateKey,
    key::safe_rng,
    ssh_key::{self, LineEnding},
};

use crate::{
    Error, Result,
    files::{self, failed},
    id,
};

/// The ed25519 key in a file, made if there is none; gives the public half, `ssh-ed25519 AAAA…`.
pub fn ensure(path: &Path) -> Result<String> {
    let broken = |error| broken(path, &error);
    if !path.exists() {
        path.parent().map_or(Ok(()), files::make_private_dir)?;
        let key = PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519).map_err(broken)?;
        let text = key.to_openssh(LineEnding::LF).map_err(broken)?;
        files::replace(path, text.as_bytes()).map_err(|error| failed("write", path, &error))?;
    }
    public(path)
}

/// The public half of the ed25519 key in a file.
pub(crate) fn public(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(|error| failed("read", path, &error))?;
    let public = PrivateKey::from_openssh(text).and_then(|key| key.public_key().to_openssh());
    public.map_err(|error| broken(path, &error))
}

fn broken(path: &Path, error: &ssh_key::Error) -> Error {
    Error::new(id::RECORD_UNREADABLE, format!("key {}: {error}", path.display()))
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
