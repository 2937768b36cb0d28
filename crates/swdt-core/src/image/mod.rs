//! Images that the user brings: references, and archives of `docker save`, `podman save`, `buildah`, `skopeo`.
//!
//! Whatever the archive, nodes get one form of it: an OCI archive with the full name, for their platform alone,
//! every digest checked on this host.
//!
//! * `mod.rs` – names
//! * `tarball.rs` – a tar that can be read here and there
//! * `read.rs` – what images an archive holds
//! * `write.rs` – the archive that nodes get

pub(crate) mod read;
mod tarball;
mod write;

use std::{
    fmt,
    path::{Path, PathBuf},
};

pub use read::Archive;
pub use write::Packed;

use crate::{Error, Result, id};

/// What shall be on the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A file of this host.
    Archive(PathBuf),
    /// Something the nodes pull themselves.
    Reference(Reference),
}

impl Wanted {
    /// From one word: a file if there is one, a reference otherwise.
    pub fn parse(word: &str) -> Result<Self> {
        let path = Path::new(word);
        if path.is_file() {
            return Ok(Self::Archive(path.to_owned()));
        }
        let usage = |message: String| Error::new(id::INPUT_UNREADABLE, message);
        if path.is_dir() {
            return Err(usage(format!("{word} is a directory")).hinted("give the archive of an image: a tar"));
        }
        let file = word.starts_with(['.', '/', '~'])
            || [".tar", ".gz", ".tgz", ".oci", ".zst"].iter().any(|end| word.ends_with(end));
        if file {
            return Err(usage(format!("there is no file {word}"))
                .hinted("`docker save -o FILE NAME` or `podman save` makes one"));
        }
        Reference::parse(word).map(Self::Reference)
    }
}

/// The full name of an image: `registry.k8s.io/pause:3.10.2`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference(String);

impl Reference {
    /// From what people write; `nginx` is `docker.io/library/nginx:latest`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::new(
                id::ARGUMENT_INVALID,
                format!("`{text}` is neither a file nor the name of an image: {why}"),
            )
            .hinted("a name looks like registry.k8s.io/pause:3.10.2")
        };
        let (rest, digest) = text.split_once('@').map_or((text, None), |(rest, digest)| (rest, Some(digest)));
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (rest, None),
        };
        let (domain, path) = match name.split_once('/') {
            Some((first, path)) if first.contains(['.', ':']) || first == "localhost" => {
                (first, path.to_owned())
            }
            Some(_) => ("docker.io", name.to_owned()),
            None => ("docker.io", format!("library/{name}")),
        };
        let host = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
        if !domain.starts_with(|c: char| c.is_ascii_alphanumeric()) || !domain.chars().all(host) {
            return Err(wrong("the name of the registry cannot be one"));
        }
        let part = |part: &str| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            part.starts_with(plain)
                && part.ends_with(plain)
                && part.chars().all(|c| plain(c) || "._-".contains(c))
        };
        if !path.split('/').all(part) {
            return Err(wrong("names have lower-case letters, digits, `.`, `_`, `-` and `/`"));
        }
        let word = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if tag.is_some_and(|tag| {
            tag.is_empty() || tag.len() > 128 || !tag.chars().all(word) || tag.starts_with(['.', '-'])
        }) {
            return Err(wrong("what follows the colon is no tag"));
        }
        let hex = |digest: &str| {
            digest.len() == 64 && digest.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
        };
        if digest.is_some_and(|digest| !digest.strip_prefix("sha256:").is_some_and(hex)) {
            return Err(wrong("what follows the `@` is no digest `sha256:…`"));
        }
        let mut full = format!("{domain}/{path}");
        match (tag, digest) {
            (None, None) => full.push_str(":latest"),
            (Some(tag), _) => full.extend([":", tag]),
            (None, Some(_)) => {}
        }
        full.extend(digest.iter().flat_map(|digest| ["@", digest]));
        Ok(Self(full))
    }

    /// The name in full.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
