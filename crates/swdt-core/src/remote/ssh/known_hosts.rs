//! Reads known_hosts files as OpenSSH does.
//!
//! russh's own reader knows no wildcards, no markers and no tabs, counts lines wrongly, and calls a
//! host "unknown" when only a key of another algorithm is recorded; hence this one.

use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use russh::keys::{PublicKey, ssh_key::known_hosts::HostPatterns};
use sha1::Sha1;

/// A key recorded for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The file.
    pub file: PathBuf,
    /// Its line, counted from one.
    pub line: usize,
    /// Never to be trusted (`@revoked`).
    pub revoked: bool,
    /// The key.
    pub key: PublicKey,
}

/// What a file says about a host.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lookup {
    /// Keys recorded for it.
    pub entries: Vec<Entry>,
    /// Lines that are about the host and of no use.
    pub warnings: Vec<String>,
}

/// The name under which a host is recorded: `host`, or `[host]:port` when the port is not 22.
pub fn name(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    if port == 22 { host } else { format!("[{host}]:{port}") }
}

/// Everything the text of a file says about a name.
pub fn lookup(text: &str, file: &Path, name: &str) -> Lookup {
    let mut found = Lookup::default();
    for (index, line) in text.lines().enumerate() {
        let mut fields = line.split_ascii_whitespace().peekable();
        let marker = fields.next_if(|field| field.starts_with('@'));
        let Some(hosts) = fields.next() else { continue };
        if hosts.starts_with('#') || !matches_hosts(hosts, name) {
            continue;
        }
        let place = || format!("{}:{}", file.display(), index + 1);
        if marker == Some("@cert-authority") {
            found.warnings.push(format!("{}: @cert-authority is not supported and ignored", place()));
            continue;
        }
        let key = [fields.next(), fields.next()].map(Option::unwrap_or_default).join(" ");
        match PublicKey::from_openssh(&key) {
            Ok(key) => {
                // An unknown marker may only take trust away.
                let revoked = marker.is_some();
                found.entries.push(Entry { file: file.to_owned(), line: index + 1, revoked, key });
            }
            Err(error) => {
                found.warnings.push(format!("{}: the key cannot be read ({error}) and is ignored", place()));
            }
        }
    }
    found
}

fn matches_hosts(hosts: &str, name: &str) -> bool {
    match hosts.parse() {
        Ok(HostPatterns::HashedName { salt, hash }) => Hmac::<Sha1>::new_from_slice(&salt)
            .is_ok_and(|mac| mac.chain_update(name.as_bytes()).verify_slice(&hash).is_ok()),
        Ok(HostPatterns::Patterns(patterns)) => {
            let mut matched = false;
            for pattern in patterns {
                match pattern.strip_prefix('!') {
                    Some(pattern) if matches_pattern(pattern, name) => return false,
                    Some(_) => {}
                    None => matched |= matches_pattern(&pattern, name),
                }
            }
            matched
        }
        Err(_) => false,
    }
}

/// `*` is any text, `?` any one character; case does not matter.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_lowercase().into_bytes(), name.as_bytes());
    // One row of the classic table: which prefixes of the name the pattern so far matches.
    let mut row = vec![false; name.len() + 1];
    row[0] = true;
    for byte in pattern {
        if byte == b'*' {
            let first = row.iter().position(|matched| *matched).unwrap_or(row.len());
            row[first..].fill(true);
        } else {
            for end in (1..row.len()).rev() {
                row[end] = row[end - 1] && (byte == b'?' || byte == name[end - 1]);
            }
            row[0] = false;
        }
    }
    row[name.len()]
}
