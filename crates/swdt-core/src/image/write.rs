//! The archive that nodes get: OCI, full names, one platform.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    path::Path,
};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::{
    Archive,
    read::{Picked, hex, unusable},
};
use crate::{Result, files::failed};

/// An image in the archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Its full name.
    pub reference: String,
    /// Digest of its manifest, `sha256:…`.
    pub digest: String,
}

impl Archive {
    /// Writes the images of a platform as one archive. What is damaged is found here, before a node has it.
    pub fn pack(&self, platform: &str, to: &Path) -> Result<Vec<Packed>> {
        let images = self.pick(platform)?;
        let file = File::create(to).map_err(|error| failed("write", to, &error))?;
        let mut tar = tar::Builder::new(file);
        let wrong = |error: io::Error| failed("write", to, &error);
        let mut there = BTreeSet::new();
        let mut descriptors = Vec::new();
        let mut packed = Vec::new();
        add(&mut tar, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#).map_err(wrong)?;
        for Picked { name, manifest, media_type, config, layers } in &images {
            for bytes in [config, manifest] {
                let digest = hex(&Sha256::digest(bytes));
                if there.insert(digest.clone()) {
                    add(&mut tar, &format!("blobs/sha256/{digest}"), bytes).map_err(wrong)?;
                }
            }
            for layer in layers {
                if !there.insert(layer.sha256.clone()) {
                    continue;
                }
                let reader = self.tarball.reader(&layer.file).map_err(|why| unusable(&self.path, &why))?;
                let mut reader = Hashing { inner: reader, hash: Sha256::new() };
                let name = format!("blobs/sha256/{}", layer.sha256);
                tar.append_data(&mut header(layer.size), name, &mut reader).map_err(wrong)?;
                if hex(&reader.hash.finalize()) != layer.sha256 {
                    return Err(unusable(&self.path, &format!("the layer {} is damaged", layer.file)));
                }
            }
            let digest = format!("sha256:{}", hex(&Sha256::digest(manifest)));
            let (os, architecture) = platform.split_once('/').unwrap_or((platform, ""));
            descriptors.push(json!({
                "mediaType": media_type,
                "digest": digest,
                "size": manifest.len(),
                "platform": { "os": os, "architecture": architecture },
                "annotations": { "io.containerd.image.name": name.as_str() },
            }));
            packed.push(Packed { reference: name.as_str().to_owned(), digest });
        }
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": descriptors,
        });
        add(&mut tar, "index.json", index.to_string().as_bytes()).map_err(wrong)?;
        tar.into_inner().and_then(|file| file.sync_all()).map_err(wrong)?;
        Ok(packed)
    }
}

fn add(tar: &mut tar::Builder<File>, name: &str, bytes: &[u8]) -> io::Result<()> {
    tar.append_data(&mut header(bytes.len() as u64), name, bytes)
}

/// Without times and owners: the same image gives the same bytes.
fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header
}

/// Hashes what is read through it.
struct Hashing<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}
