//! Images assembled from programs, for clusters whose nodes cannot reach a registry.
//!
//! An OCI archive, made by hand: one or two tar layers, a config, a manifest, and an index that names the image as
//! `ctr -n k8s.io images import` expects it. The same programs give the same bytes. Layers are not compressed: they
//! are imported faster, and no library can change their digests.

mod debian;
mod layer;

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use layer::Layer;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    Artifact, Piece, Sources, blocking,
    cache::{Blob, Cache, Hashing, Key, hex},
    go::platform_words,
};
use crate::{
    Error, Result,
    files::failed,
    id,
    spec::{ComponentName, OsFamily, Platform},
};

/// Raise it when images are made in another way: they are made again.
const FORMAT: u32 = 1;
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What kube-proxy and flannel call. One list for both, so that nodes keep one layer.
const NETWORK: &[&str] = &["nftables", "iptables", "conntrack", "mount", "kmod", "iproute2"];
/// What upstream's tests call inside agnhost.
const TESTS: &[&str] = &["dash", "coreutils", "grep", "curl", "netcat-openbsd", "iproute2"];

/// How an image is made from its program.
struct Recipe {
    /// Where the program lies.
    program: &'static str,
    /// Arguments unless a pod has others.
    args: &'static [&'static str],
    /// Packages of Debian that it needs.
    packages: &'static [&'static str],
}

/// Every image that can be assembled.
fn recipe(piece: Piece) -> Option<Recipe> {
    use ComponentName as C;
    let (program, args, packages): (_, &'static [&'static str], &'static [&'static str]) = match piece {
        Piece::Component(C::KubeApiserver) => ("usr/local/bin/kube-apiserver", &[], &[]),
        Piece::Component(C::KubeControllerManager) => ("usr/local/bin/kube-controller-manager", &[], &[]),
        Piece::Component(C::KubeScheduler) => ("usr/local/bin/kube-scheduler", &[], &[]),
        Piece::Component(C::KubeProxy) => ("usr/local/bin/kube-proxy", &[], NETWORK),
        Piece::Component(C::Etcd) => ("usr/local/bin/etcd", &[], &[]),
        Piece::Component(C::Coredns) => ("coredns", &[], &[]),
        Piece::Component(C::Pause) => ("pause", &[], &[]),
        Piece::Component(C::Flannel) => ("opt/bin/flanneld", &[], NETWORK),
        Piece::Agnhost => ("agnhost", &["pause"], TESTS),
        _ => return None,
    };
    Some(Recipe { program, args, packages })
}

/// The pieces that images can be assembled for.
pub fn pieces() -> impl Iterator<Item = Piece> {
    Piece::all().filter(|piece| recipe(*piece).is_some())
}

impl Sources {
    /// The image of a piece as an OCI archive, from its resolved program. `reference` is the name under which pods
    /// ask for it.
    pub async fn image(
        &self,
        piece: Piece,
        reference: &str,
        platform: Platform,
        program: &Artifact,
    ) -> Result<Artifact> {
        let cannot = |why: &str| {
            Error::new(id::SOURCE_IMPOSSIBLE, format!("no image of {piece} can be assembled: {why}"))
        };
        let recipe = recipe(piece).ok_or_else(|| cannot("it runs on the node itself"))?;
        if platform.os() != OsFamily::Linux {
            return Err(
                cannot("images for Windows need Microsoft's base layers").hinted("let the node pull it")
            );
        }
        let base = match recipe.packages {
            [] => None,
            packages => Some(debian::layer(&self.ctx, packages, platform).await?),
        };
        let image = Image {
            reference: reference.to_owned(),
            platform,
            entrypoint: format!("/{}", recipe.program),
            args: recipe.args,
        };
        let base_digest = base.as_ref().map(|blob| &blob.sha256);
        let key = Key::new(&(
            "image",
            FORMAT,
            reference,
            platform.as_str(),
            recipe.program,
            recipe.args,
            base_digest,
            &program.sha256,
        ))?;
        let name = format!("{piece}.tar");
        if let Some((record, blob)) = self.ctx.cache.recall(&key)? {
            return Ok(Artifact::new(name, blob, record.from));
        }
        self.ctx.reporter.doing(format!("assembling {reference}"));
        let from = match recipe.packages {
            [] => format!("assembled; {}", program.from),
            packages => format!("assembled with Debian's {}; {}", packages.join(", "), program.from),
        };
        let (cache, program) = (self.ctx.cache.clone(), program.path.clone());
        let blob = blocking(move || image.archive(&cache, base.as_ref(), recipe.program, &program)).await?;
        self.ctx.cache.remember(&key, &blob, &from)?;
        Ok(Artifact::new(name, blob, from))
    }
}

/// What an image says about itself.
struct Image {
    reference: String,
    platform: Platform,
    entrypoint: String,
    args: &'static [&'static str],
}

/// A layer as a file.
struct Tar<'a> {
    path: &'a Path,
    sha256: &'a str,
    size: u64,
}

impl Image {
    /// Writes the archive into the store.
    fn archive(&self, cache: &Cache, base: Option<&Blob>, place: &str, program: &Path) -> Result<Blob> {
        let scratch = cache.scratch()?;
        let mut layer = Layer::default();
        layer.dir("tmp", 0o1777);
        layer.file(place, program, 0o755);
        let path = scratch.path().join("layer.tar");
        let wrong = |error: io::Error| failed("write", &path, &error);
        let file = File::create(&path).map_err(wrong)?;
        let (sha256, size, _) = layer.write(Hashing::new(file)).map_err(wrong)?.finish();
        let base = base.map(|blob| Tar { path: &blob.path, sha256: &blob.sha256, size: blob.size });
        let layers: Vec<Tar> = base.into_iter().chain([Tar { path: &path, sha256: &sha256, size }]).collect();

        let target = scratch.path().join("image.tar");
        let wrong = |error: io::Error| failed("write", &target, &error);
        let file = File::create(&target).map_err(wrong)?;
        self.write(&layers, file).map_err(wrong)?;
        cache.adopt(&target)
    }

    fn write(&self, layers: &[Tar], to: impl Write) -> io::Result<()> {
        let (os, architecture) = platform_words(self.platform);
        let config = json!({
            "architecture": architecture,
            "os": os,
            "config": { "Entrypoint": [self.entrypoint], "Cmd": self.args, "Env": [PATH], "WorkingDir": "/" },
            "rootfs": {
                "type": "layers",
                "diff_ids": layers.iter().map(|layer| format!("sha256:{}", layer.sha256)).collect::<Vec<_>>(),
            },
        })
        .to_string();
        let descriptors: Vec<Value> = layers
            .iter()
            .map(|layer| descriptor("application/vnd.oci.image.layer.v1.tar", layer.sha256, layer.size))
            .collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor("application/vnd.oci.image.config.v1+json", &digest(&config), config.len() as u64),
            "layers": descriptors,
        })
        .to_string();
        let mut named = descriptor(
            "application/vnd.oci.image.manifest.v1+json",
            &digest(&manifest),
            manifest.len() as u64,
        );
        named["platform"] = json!({ "architecture": architecture, "os": os });
        named["annotations"] = json!({ "io.containerd.image.name": self.reference });
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [named],
        })
        .to_string();

        let mut tar = tar::Builder::new(to);
        put(&mut tar, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        put(&mut tar, "index.json", index.as_bytes())?;
        put(&mut tar, &blob_name(&digest(&manifest)), manifest.as_bytes())?;
        put(&mut tar, &blob_name(&digest(&config)), config.as_bytes())?;
        for layer in layers {
            let mut header = header(layer.size);
            tar.append_data(&mut header, blob_name(layer.sha256), File::open(layer.path)?)?;
        }
        tar.into_inner()?.flush()
    }
}

fn descriptor(media: &str, sha256: &str, size: u64) -> Value {
    json!({ "mediaType": media, "digest": format!("sha256:{sha256}"), "size": size })
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn blob_name(sha256: &str) -> String {
    format!("blobs/sha256/{sha256}")
}

fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header
}

fn put(tar: &mut tar::Builder<impl Write>, name: &str, bytes: &[u8]) -> io::Result<()> {
    tar.append_data(&mut header(bytes.len() as u64), name, bytes)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, io::Read};

    use super::*;

    fn archive(cache: &Path, program: &[u8]) -> Blob {
        let cache = Cache::new(cache);
        let scratch = cache.scratch().unwrap();
        let path = scratch.path().join("program");
        fs::write(&path, program).unwrap();
        let image = Image {
            reference: "registry.k8s.io/pause:3.10.2".into(),
            platform: Platform::LinuxAmd64,
            entrypoint: "/pause".into(),
            args: &[],
        };
        image.archive(&cache, None, "pause", &path).unwrap()
    }

    fn members(path: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut tar = tar::Archive::new(File::open(path).unwrap());
        let read = |entry: io::Result<tar::Entry<'_, File>>| {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_string_lossy().into_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (name, bytes)
        };
        tar.entries().unwrap().map(read).collect()
    }

    #[test]
    fn the_same_program_gives_the_same_image_anywhere() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let image = archive(one.path(), b"program");
        assert_eq!(image.sha256, archive(two.path(), b"program").sha256);
        assert_ne!(image.sha256, archive(two.path(), b"another").sha256);
    }

    #[test]
    fn every_digest_of_the_archive_is_true() {
        let dir = tempfile::tempdir().unwrap();
        let members = members(&archive(dir.path(), b"program").path);
        for (name, bytes) in members.iter().filter(|(name, _)| name.starts_with("blobs/")) {
            assert_eq!(*name, blob_name(&hex(&Sha256::digest(bytes))));
        }
        let json = |name: &str| serde_json::from_slice::<Value>(&members[name]).unwrap();
        let follow = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
            assert_eq!(descriptor["size"].as_u64().unwrap(), members[&blob_name(&digest)].len() as u64);
            blob_name(&digest)
        };
        let index = json("index.json");
        let named = &index["manifests"][0];
        assert_eq!(named["annotations"]["io.containerd.image.name"], "registry.k8s.io/pause:3.10.2");
        let manifest = json(&follow(named));
        let config = json(&follow(&manifest["config"]));
        let layer = follow(&manifest["layers"][0]);
        assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
        assert_eq!(config["config"]["Entrypoint"][0], "/pause");
        let mut tar = tar::Archive::new(members[&layer].as_slice());
        let entries: Vec<_> = tar
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.path().unwrap().to_string_lossy().into_owned(), entry.header().mode().unwrap())
            })
            .collect();
        assert_eq!(entries, [("pause".to_owned(), 0o755), ("tmp/".to_owned(), 0o1777)]);
    }
}
