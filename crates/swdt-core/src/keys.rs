//! Key pairs that swdt makes: for its own login, and for machines whose host key it plants.

use std::{fs, path::Path};

use russh::keys::ssh_key::{LineEnding, PrivateKey, private::Ed25519Keypair};

use crate::{
    Error, ErrorKind, Result,
    state::{file_error, replace_file},
};

/// The ed25519 key in this file, made if there is none; gives the public half, `ssh-ed25519 AAAA…`.
pub fn ensure(path: &Path) -> Result<String> {
    let broken = |error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Internal, format!("key {}: {error}", path.display()))
    };
    if !path.exists() {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| broken(&error))?;
        let key = PrivateKey::from(Ed25519Keypair::from_seed(&seed));
        let text = key.to_openssh(LineEnding::LF).map_err(|error| broken(&error))?;
        replace_file(path, text.as_bytes())?;
    }
    let text = fs::read_to_string(path).map_err(|error| file_error("read", path, &error))?;
    let key = PrivateKey::from_openssh(text).map_err(|error| broken(&error))?;
    key.public_key().to_openssh().map_err(|error| broken(&error))
}
