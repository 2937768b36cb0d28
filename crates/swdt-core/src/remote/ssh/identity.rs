//! Private keys from files.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use russh::keys::{self, PrivateKey, PublicKey, decode_secret_key};
use secrecy::{ExposeSecret, SecretString};

use super::route::KeySources;
use crate::{Error, Result, id};

/// What the files of a login gave.
#[derive(Debug, Default)]
pub(super) struct Identities {
    /// Keys that can sign.
    pub(super) usable: Vec<(PathBuf, Arc<PrivateKey>)>,
    /// Public halves of all keys, the locked ones included: the agent may hold them.
    pub(super) public: Vec<PublicKey>,
    /// Why a key is of no use, to be told if nothing else lets us in.
    pub(super) notes: Vec<String>,
    /// Something the user should know in any case.
    pub(super) warnings: Vec<String>,
}

pub(crate) enum Loaded {
    Usable(Arc<PrivateKey>),
    /// Encrypted, and there is no passphrase.
    Locked(Option<PublicKey>),
}

/// Reads the keys. Slow (decryption is meant to be), so call it off the event loop.
pub(super) fn load(sources: &KeySources, passphrase: Option<&SecretString>) -> Result<Identities> {
    let mut found = Identities::default();
    let named = sources.named.iter().map(|path| (path, true));
    for (path, must) in named.chain(sources.usual.iter().map(|path| (path, false))) {
        let loaded = match read(path, passphrase, must) {
            Ok(None) => continue,
            Ok(Some(loaded)) => loaded,
            Err(error) if must => return Err(error),
            Err(error) => {
                found.notes.push(error.message);
                continue;
            }
        };
        found.warnings.extend(too_open(path));
        match loaded {
            Loaded::Usable(key) => {
                found.public.push(key.public_key().clone());
                found.usable.push((path.clone(), key));
            }
            Loaded::Locked(public) => {
                let public = public.or_else(|| beside(path));
                if must && (sources.agent.is_none() || public.is_none()) {
                    return Err(locked(path));
                }
                found.public.extend(public);
                found.notes.push(format!("the key {} needs a passphrase", path.display()));
            }
        }
    }
    Ok(found)
}

pub(crate) fn read(path: &Path, passphrase: Option<&SecretString>, must: bool) -> Result<Option<Loaded>> {
    let text =
        match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // ssh also takes a public key whose private half is in the agent.
                return match beside(path) {
                    Some(public) => Ok(Some(Loaded::Locked(Some(public)))),
                    None if must => Err(problem(path, "does not exist")
                        .hinted("correct `key:` in the connection of the node")),
                    None => Ok(None),
                };
            }
            Err(error) => {
                return Err(problem(path, &format!("cannot be read: {error}"))
                    .hinted("it must be a private key that belongs to you, with mode 0600"));
            }
        };
    if let Ok(public) = PublicKey::from_openssh(text.trim()) {
        return Ok(Some(Loaded::Locked(Some(public))));
    }
    if let Ok(key) = PrivateKey::from_openssh(&text)
        && key.is_encrypted()
    {
        let Some(passphrase) = passphrase else {
            return Ok(Some(Loaded::Locked(Some(key.public_key().clone()))));
        };
        let key = key.decrypt(passphrase.expose_secret()).map_err(|_| wrong_passphrase(path))?;
        return Ok(Some(Loaded::Usable(Arc::new(key))));
    }
    match decode_secret_key(&text, passphrase.map(ExposeSecret::expose_secret)) {
        Ok(key) => Ok(Some(Loaded::Usable(Arc::new(key)))),
        Err(keys::Error::KeyIsEncrypted) if passphrase.is_none() => Ok(Some(Loaded::Locked(None))),
        Err(_) if text.contains("ENCRYPTED") && passphrase.is_none() => Ok(Some(Loaded::Locked(None))),
        Err(_) if text.contains("ENCRYPTED") => Err(wrong_passphrase(path)),
        Err(error) => Err(problem(path, &format!("is no private key that swdt can use: {error}"))
            .hinted("ed25519, ECDSA and RSA keys in OpenSSH, PKCS#1, PKCS#8 and PuTTY form work")),
    }
}

/// `id_ed25519.pub` beside `id_ed25519`.
fn beside(path: &Path) -> Option<PublicKey> {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    PublicKey::from_openssh(fs::read_to_string(PathBuf::from(name)).ok()?.trim()).ok()
}

fn problem(path: &Path, what: &str) -> Error {
    Error::new(id::SSH_KEY_UNUSABLE, format!("the SSH key {} {what}", path.display()))
}

fn locked(path: &Path) -> Error {
    problem(path, "is encrypted, and no passphrase is known")
        .hinted("name its source with `passwordFrom:` in the connection of the node")
        .hinted(format!("or let an agent hold it: ssh-add {}", path.display()))
}

fn wrong_passphrase(path: &Path) -> Error {
    problem(path, "does not open with the passphrase given")
        .hinted("check what `passwordFrom:` in the connection of the node points to")
}

#[cfg(unix)]
fn too_open(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let mode = fs::metadata(path).ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        let path = path.display();
        format!("others can read the SSH key {path} (mode {mode:04o}); ssh would refuse it: chmod 600 {path}")
    })
}

#[cfg(not(unix))]
fn too_open(_: &Path) -> Option<String> {
    None
}
