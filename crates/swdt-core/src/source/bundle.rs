//! Bundles: programs packed earlier, for use without a network.
//!
//! A tar file: `bundle.json` first, which says what is in it, then `sha256/<digest>` for each program.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    path::Path,
};

use semver::Version;
use serde::{Deserialize, Serialize};

use super::{Artifact, Context, Piece, Want};
use crate::{Error, Result, files::failed, id, spec::Platform};

/// The version of `bundle.json`. Older bundles must stay readable.
const SCHEMA: u32 = 1;
const INDEX: &str = "bundle.json";

#[derive(Serialize, Deserialize)]
pub(crate) struct Index {
    schema: u32,
    entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    piece: Piece,
    platform: Platform,
    version: Version,
    name: String,
    sha256: String,
    size: u64,
}

/// Packs what was resolved. The same programs give the same bytes.
pub fn write(path: &Path, resolved: &[(Want, Vec<Artifact>)]) -> Result<()> {
    let wrong = |error: io::Error| failed("write", path, &error);
    let entries = resolved.iter().flat_map(|(want, artifacts)| {
        artifacts.iter().map(|artifact| Entry {
            piece: want.piece,
            platform: want.platform,
            version: want.version.clone(),
            name: artifact.name.clone(),
            sha256: artifact.sha256.clone(),
            size: artifact.size,
        })
    });
    let index = Index { schema: SCHEMA, entries: entries.collect() };
    let text = serde_json::to_vec_pretty(&index)
        .map_err(|error| Error::new(id::INTERNAL, format!("bundle: {error}")))?;
    let temporary = path.with_extension("tmp");
    let mut tar = tar::Builder::new(File::create(&temporary).map_err(wrong)?);
    append(&mut tar, INDEX, text.len() as u64, text.as_slice()).map_err(wrong)?;
    let mut packed = BTreeSet::new();
    for artifact in resolved.iter().flat_map(|(_, artifacts)| artifacts) {
        if packed.insert(&artifact.sha256) {
            let bytes = File::open(&artifact.path).map_err(|error| failed("read", &artifact.path, &error))?;
            append(&mut tar, &format!("sha256/{}", artifact.sha256), artifact.size, bytes).map_err(wrong)?;
        }
    }
    tar.into_inner().and_then(|file| file.sync_all()).map_err(wrong)?;
    std::fs::rename(&temporary, path).map_err(wrong)
}

fn append(tar: &mut tar::Builder<File>, name: &str, size: u64, bytes: impl Read) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    tar.append_data(&mut header, name, bytes)
}

/// The programs of a want; none when the bundle does not have them.
pub(super) fn obtain(ctx: &Context, want: &Want, path: &Path) -> Result<Option<Vec<Artifact>>> {
    let bad = |why: String| {
        Error::new(id::BUNDLE_UNREADABLE, format!("{} is no bundle that can be read: {why}", path.display()))
            .hinted("make it again; if it was copied, compare its checksum")
    };
    let file = File::open(path).map_err(|error| failed("read", path, &error))?;
    let mut tar = tar::Archive::new(file);
    let mut members = tar.entries_with_seek().map_err(|error| bad(error.to_string()))?;
    let first = members.next().ok_or_else(|| bad("it is empty".to_owned()))?;
    let first = first.map_err(|error| bad(error.to_string()))?;
    let index: Index = serde_json::from_reader(first).map_err(|error| bad(error.to_string()))?;
    if index.schema > SCHEMA {
        return Err(bad(format!("it was written by a newer swdt (schema {})", index.schema)));
    }
    let ours = |entry: &Entry| {
        entry.piece == want.piece && entry.platform == want.platform && entry.version == want.version
    };
    let entries: Vec<Entry> = index.entries.into_iter().filter(ours).collect();
    if entries.is_empty() {
        return Ok(None);
    }
    let wanted: BTreeSet<_> = entries.iter().map(|entry| format!("sha256/{}", entry.sha256)).collect();
    for member in members {
        let member = member.map_err(|error| bad(error.to_string()))?;
        let name = member.path().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(sha256) = wanted.get(&name).and_then(|name| name.strip_prefix("sha256/")) else { continue };
        if ctx.cache.blob(sha256)?.is_none() && ctx.cache.add(member)?.sha256 != sha256 {
            return Err(bad(format!("{name} is damaged")));
        }
    }
    let from = format!("bundle {}", path.display());
    let take = |entry: Entry| {
        let blob =
            ctx.cache.blob(&entry.sha256)?.ok_or_else(|| bad(format!("{} is not in it", entry.name)))?;
        Ok(Artifact::new(entry.name, blob, from.clone()))
    };
    entries.into_iter().map(take).collect::<Result<_>>().map(Some)
}
