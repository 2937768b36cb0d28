//! Which host keys are trusted, and what to say about the others.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use russh::{
    Preferred,
    keys::{Algorithm, HashAlg, PublicKey},
};

use super::known_hosts::{self, Entry};
use crate::{Error, Result, id};

/// Whom to trust at one address.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    /// `admin@10.0.0.4:22`, for people.
    pub(super) place: String,
    /// The name in known_hosts.
    pub(super) name: String,
    /// Is it the node itself, and not a jump host on the way to it?
    pub(super) target: bool,
    /// The only key to accept, if the user named one.
    pub(super) pinned: Option<PublicKey>,
    /// The cluster's own file; decides alone once it records anything for the host.
    pub(super) own: PathBuf,
    /// The user's files.
    pub(super) others: Vec<PathBuf>,
    /// Learn the key of a host of which nothing is recorded.
    pub(super) accept_new: bool,
}

/// What is recorded for a host.
#[derive(Debug, Clone)]
pub(super) struct Trust {
    policy: Policy,
    entries: Vec<Entry>,
    revoked: Vec<Entry>,
    /// Something the user should know.
    pub(super) warnings: Vec<String>,
}

/// What to do about a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the recorded one.
    Trusted,
    /// Nothing is recorded, and the user wants new hosts learned.
    Learn,
}

impl Policy {
    /// Reads the files.
    pub(super) fn read(self) -> Result<Trust> {
        let mut trust =
            Trust { policy: self, entries: Vec::new(), revoked: Vec::new(), warnings: Vec::new() };
        let own = trust.policy.own.clone();
        trust.add(&own)?;
        let decided = !trust.entries.is_empty();
        for file in trust.policy.others.clone() {
            let before = trust.entries.len();
            trust.add(&file)?;
            if decided {
                // Revocations count from everywhere; trust only from the cluster's own file.
                trust.entries.truncate(before);
            }
        }
        Ok(trust)
    }
}

impl Trust {
    fn add(&mut self, file: &Path) -> Result<()> {
        let text = match fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            // A file that cannot be read may hold the very key that must not be contradicted.
            Err(error) => {
                return Err(Error::new(
                    id::KNOWN_HOSTS_FAILED,
                    format!("cannot read the host keys in {}: {error}", file.display()),
                ));
            }
        };
        let found = known_hosts::lookup(&String::from_utf8_lossy(&text), file, &self.policy.name);
        self.warnings.extend(found.warnings);
        for entry in found.entries {
            if entry.revoked { self.revoked.push(entry) } else { self.entries.push(entry) }
        }
        Ok(())
    }

    fn expected(&self) -> impl Iterator<Item = &PublicKey> {
        let recorded = if self.policy.pinned.is_some() { &[][..] } else { &self.entries[..] };
        self.policy.pinned.iter().chain(recorded.iter().map(|entry| &entry.key))
    }

    /// The algorithms to offer: those of the recorded keys, so that a machine with several host keys
    /// shows the one we know; all but SHA-1 when nothing is recorded.
    pub(super) fn algorithms(&self) -> Vec<Algorithm> {
        let expected: Vec<_> = self.expected().map(PublicKey::algorithm).collect();
        let usable = all_algorithms();
        if expected.is_empty() {
            return usable;
        }
        // An RSA key is recorded without the hash that it signs with.
        let same = |a: &Algorithm, b: &Algorithm| {
            a == b || matches!((a, b), (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }))
        };
        usable.into_iter().filter(|usable| expected.iter().any(|expected| same(usable, expected))).collect()
    }

    /// May this key be trusted?
    pub(super) fn judge(&self, offered: &PublicKey) -> Result<Verdict> {
        let same = |key: &PublicKey| key.key_data() == offered.key_data();
        if let Some(entry) = self.revoked.iter().find(|entry| same(&entry.key)) {
            return Err(self.revoked_error(entry, offered));
        }
        if self.expected().any(same) {
            return Ok(Verdict::Trusted);
        }
        if self.expected().next().is_some() {
            return Err(self.changed_error(offered));
        }
        if self.policy.accept_new { Ok(Verdict::Learn) } else { Err(self.unknown_error(offered)) }
    }

    /// Records a key in the cluster's own file.
    pub(super) fn learn(&self, key: &PublicKey) -> Result<()> {
        append(&self.policy.own, &self.policy.name, key).map_err(|error| {
            let file = self.policy.own.display();
            Error::new(id::KNOWN_HOSTS_FAILED, format!("cannot record a host key in {file}: {error}"))
        })
    }

    fn unknown_error(&self, offered: &PublicKey) -> Error {
        let key = openssh(offered);
        let vouch = if self.policy.target {
            format!("write `hostKey: {key}` for this node")
        } else {
            format!("add the line `{} {key}` to ~/.ssh/known_hosts", self.policy.name)
        };
        let mut error = Error::new(
            id::HOST_KEY_UNKNOWN,
            format!("the host key of {} is not known: {}", self.policy.place, describe(offered)),
        )
        .hinted(
            "compare it with what the machine's console says to `ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub`; on Windows \
             they are in C:\\ProgramData\\ssh",
        )
        .hinted(format!("if it is the same, {vouch}, or accept it with `--accept-new-host-keys`"));
        // `hostKey` of a node is its own: the key of a jump host there would lock everybody out.
        error.unknown_host_key = self.policy.target.then_some(key);
        error
    }

    fn changed_error(&self, offered: &PublicKey) -> Error {
        let place = &self.policy.place;
        let (recorded, cure) = if let Some(pinned) = &self.policy.pinned {
            let cure = "if you know that the machine has a new key, correct `hostKey` of this node";
            (format!("the cluster's file expects {}", describe(pinned)), cure.to_owned())
        } else {
            let recorded = self.entries.iter().map(|entry| {
                format!("{}:{} records {}", entry.file.display(), entry.line, describe(&entry.key))
            });
            let file = self.entries.first().map_or(&self.policy.own, |entry| &entry.file);
            let name = &self.policy.name;
            let cure = format!(
                "if you know that the machine has a new key, forget the old one: ssh-keygen -f '{}' -R '{name}'",
                file.display()
            );
            (recorded.collect::<Vec<_>>().join(", "), cure)
        };
        Error::new(
            id::HOST_KEY_CHANGED,
            format!(
                "the host key of {place} has changed: {recorded}, but the machine shows {}",
                describe(offered)
            ),
        )
        .hinted("the machine was installed anew, or the address belongs to another machine now, or somebody stands between you and it")
        .hinted(cure)
    }

    fn revoked_error(&self, entry: &Entry, offered: &PublicKey) -> Error {
        let (file, line) = (entry.file.display(), entry.line);
        Error::new(
            id::HOST_KEY_REVOKED,
            format!(
                "the host key of {} is revoked by {file}:{line}: {}",
                self.policy.place,
                describe(offered)
            ),
        )
        .hinted("somebody may have stolen this key; give the machine a new one")
    }
}

/// Every host key algorithm we speak; `ssh-rsa` proper is SHA-1 and stays out.
pub(super) fn all_algorithms() -> Vec<Algorithm> {
    let usable = |algorithm: &&Algorithm| !matches!(algorithm, Algorithm::Rsa { hash: None });
    Preferred::DEFAULT.key.iter().filter(usable).cloned().collect()
}

/// `ssh-ed25519 SHA256:…`.
pub(super) fn describe(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256))
}

/// `ssh-ed25519 AAAA…`, without comment.
fn openssh(key: &PublicKey) -> String {
    PublicKey::new(key.key_data().clone(), "").to_openssh().unwrap_or_default().trim().to_owned()
}

fn append(file: &Path, name: &str, key: &PublicKey) -> io::Result<()> {
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut options = fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let unfinished = fs::read(file).is_ok_and(|bytes| !bytes.is_empty() && !bytes.ends_with(b"\n"));
    let mut file = options.open(file)?;
    // One write, so that nodes that connect at the same time do not mix their lines.
    let start = if unfinished { "\n" } else { "" };
    file.write_all(format!("{start}{name} {}\n", openssh(key)).as_bytes())?;
    file.sync_all()
}
