//! What images an archive holds, as `index.json` (OCI) or `manifest.json` (docker save) tells.

use std::{
    fmt::Write,
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Reference, tarball::Tarball};
use crate::{Error, Result, id};

const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Indices may hold indices, but nobody goes deeper than this.
const DEEPEST: usize = 3;

/// The archive of one or several images.
pub struct Archive {
    pub(super) path: PathBuf,
    pub(super) tarball: Tarball,
    images: Vec<Found>,
}

/// An image in an archive, by the name it has there.
struct Found {
    name: Option<Reference>,
    form: Form,
}

enum Form {
    /// The descriptor in the index.
    Oci(Value),
    /// The entry in `manifest.json`.
    Docker(Value),
}

/// An image for one platform, with everything checked but its layers.
pub(crate) struct Picked {
    pub(super) name: Reference,
    pub(super) manifest: Vec<u8>,
    pub(super) media_type: String,
    pub(super) config: Vec<u8>,
    pub(super) layers: Vec<Layer>,
}

/// A layer: its file in the archive and the digest it must have, without `sha256:`.
pub(super) struct Layer {
    pub(super) file: String,
    pub(super) sha256: String,
    pub(super) size: u64,
}

impl Archive {
    /// Reads an archive. `name` is for an image that has none.
    pub fn open(path: &Path, scratch: &Path, name: Option<Reference>) -> Result<Self> {
        let wrong = |why: String| unusable(path, &why);
        let tarball = Tarball::open(path, scratch).map_err(wrong)?;
        let mut images = if tarball.has("index.json") {
            in_index(&tarball)
        } else if tarball.has("manifest.json") {
            in_manifest(&tarball)
        } else {
            Err("it holds neither index.json nor manifest.json".to_owned())
        }
        .map_err(wrong)?;
        match (name, images.as_mut_slice()) {
            (_, []) => return Err(wrong("no image is in it".to_owned())),
            (Some(name), [only]) => only.name = Some(name),
            (Some(_), several) => {
                let message = format!("{} holds {} images", path.display(), several.len());
                return Err(Error::new(id::ARGUMENTS_CONFLICT, message).hinted("`--as` names one image only"));
            }
            (None, images) if images.iter().any(|image| image.name.is_none()) => {
                return Err(
                    wrong("an image in it has no name".to_owned()).hinted("give it one with `--as NAME:TAG`")
                );
            }
            _ => {}
        }
        Ok(Self { path: path.to_owned(), tarball, images })
    }

    /// The images for a platform, `linux/amd64`.
    pub(crate) fn pick(&self, platform: &str) -> Result<Vec<Picked>> {
        let pick = |image: &Found| {
            let name = image.name.clone().ok_or("an image in it has no name")?;
            match &image.form {
                Form::Oci(descriptor) => self.oci(name, descriptor, platform, 0),
                Form::Docker(entry) => self.docker(name, entry, platform),
            }
        };
        self.images.iter().map(pick).collect::<Result<_, String>>().map_err(|why| unusable(&self.path, &why))
    }

    fn oci(
        &self,
        name: Reference,
        descriptor: &Value,
        platform: &str,
        depth: usize,
    ) -> Result<Picked, String> {
        let bytes = self.blob(descriptor)?;
        let manifest: Value = json_of(&bytes, "a manifest")?;
        if let Some(manifests) = manifest["manifests"].as_array() {
            let of = |descriptor: &Value| platform_of(&descriptor["platform"]);
            let fits = manifests.iter().find(|descriptor| of(descriptor).as_deref() == Some(platform));
            return match fits {
                Some(descriptor) if depth < DEEPEST => self.oci(name, descriptor, platform, depth + 1),
                Some(_) => Err("its indices are nested too deeply".to_owned()),
                None => {
                    let all: Vec<String> =
                        manifests.iter().filter_map(of).filter(|it| it != "unknown/unknown").collect();
                    Err(format!("{name} in it is for {}, not for {platform}", all.join(", ")))
                }
            };
        }
        let config = self.blob(&manifest["config"])?;
        fits(&name, &config, platform)?;
        let layers = manifest["layers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let layers = layers.iter().map(|layer| {
            let sha256 = sha256_of(layer)?.to_owned();
            let file = format!("blobs/sha256/{sha256}");
            if !self.tarball.has(&file) {
                return Err(format!("the layer {file} is missing in it"));
            }
            Ok(Layer { file, sha256, size: layer["size"].as_u64().unwrap_or_default() })
        });
        let layers = layers.collect::<Result<_, String>>()?;
        let media_type = manifest["mediaType"].as_str().or_else(|| descriptor["mediaType"].as_str());
        let media_type = media_type.unwrap_or(OCI_MANIFEST).to_owned();
        Ok(Picked { name, manifest: bytes, media_type, config, layers })
    }

    /// docker's own form has no manifest, so it gets one.
    fn docker(&self, name: Reference, entry: &Value, platform: &str) -> Result<Picked, String> {
        let config =
            self.tarball.text(entry["Config"].as_str().ok_or("an image in it has no configuration")?)?;
        fits(&name, &config, platform)?;
        let files = entry["Layers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let (mut layers, mut descriptors) = (Vec::new(), Vec::new());
        for file in files {
            let file = file.as_str().ok_or("the list of layers cannot be read")?;
            let (sha256, size) =
                digest(self.tarball.reader(file)?).map_err(|error| format!("{file}: {error}"))?;
            let mut magic = Vec::new();
            self.tarball.reader(file)?.take(2).read_to_end(&mut magic).map_err(|error| error.to_string())?;
            let packed = if magic == [0x1f, 0x8b] { "+gzip" } else { "" };
            descriptors.push(json!({
                "mediaType": format!("application/vnd.oci.image.layer.v1.tar{packed}"),
                "digest": format!("sha256:{sha256}"),
                "size": size,
            }));
            layers.push(Layer { file: file.to_owned(), sha256, size });
        }
        check_layers(&config, &descriptors)?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": format!("sha256:{}", hex(&Sha256::digest(&config))),
                "size": config.len(),
            },
            "layers": descriptors,
        });
        let manifest = manifest.to_string().into_bytes();
        Ok(Picked { name, manifest, media_type: OCI_MANIFEST.to_owned(), config, layers })
    }

    /// The bytes a descriptor speaks of, which must have its digest.
    fn blob(&self, descriptor: &Value) -> Result<Vec<u8>, String> {
        let sha256 = sha256_of(descriptor)?;
        let bytes = self.tarball.text(&format!("blobs/sha256/{sha256}"))?;
        if hex(&Sha256::digest(&bytes)) == sha256 {
            Ok(bytes)
        } else {
            Err(format!("{sha256} in it is damaged"))
        }
    }
}

fn in_index(tarball: &Tarball) -> Result<Vec<Found>, String> {
    let index: Value = json_of(&tarball.text("index.json")?, "index.json")?;
    let descriptors = index["manifests"].as_array().ok_or("its index.json names no manifests")?;
    let found = |descriptor: &Value| {
        let annotation = |key: &str| descriptor["annotations"][key].as_str();
        let named = annotation("io.containerd.image.name")
            // A tag alone names nothing.
            .or_else(|| {
                annotation("org.opencontainers.image.ref.name").filter(|name| name.contains(['/', ':']))
            });
        let name = named.map(Reference::parse).transpose().map_err(|error| error.message)?;
        Ok(Found { name, form: Form::Oci(descriptor.clone()) })
    };
    descriptors.iter().map(found).collect()
}

fn in_manifest(tarball: &Tarball) -> Result<Vec<Found>, String> {
    let entries: Value = json_of(&tarball.text("manifest.json")?, "manifest.json")?;
    let mut images = Vec::new();
    for entry in entries.as_array().ok_or("its manifest.json is no list")? {
        let tags = entry["RepoTags"].as_array().map(Vec::as_slice).unwrap_or_default();
        for tag in tags.iter().filter_map(Value::as_str) {
            let name = Reference::parse(tag).map_err(|error| error.message)?;
            images.push(Found { name: Some(name), form: Form::Docker(entry.clone()) });
        }
        if tags.is_empty() {
            images.push(Found { name: None, form: Form::Docker(entry.clone()) });
        }
    }
    Ok(images)
}

/// The configuration names the layers by the digests of what is in them.
fn check_layers(config: &[u8], descriptors: &[Value]) -> Result<(), String> {
    let config: Value = json_of(config, "a configuration")?;
    let inside = config["rootfs"]["diff_ids"].as_array().map(Vec::as_slice).unwrap_or_default();
    let same = |(layer, inside): (&Value, &Value)| {
        layer["mediaType"].as_str().is_some_and(|kind| kind.ends_with("gzip")) || layer["digest"] == *inside
    };
    if inside.len() == descriptors.len() && descriptors.iter().zip(inside).all(same) {
        Ok(())
    } else {
        Err("its layers are not those of its configuration: it is damaged".to_owned())
    }
}

/// Is the image made for the platform?
fn fits(name: &Reference, config: &[u8], platform: &str) -> Result<(), String> {
    let config: Value = json_of(config, "a configuration")?;
    match platform_of(&config) {
        Some(made) if made == platform => Ok(()),
        Some(made) => Err(format!("{name} in it is for {made}, not for {platform}")),
        None => Err(format!("{name} in it does not say for which platform it is")),
    }
}

fn platform_of(value: &Value) -> Option<String> {
    Some(format!("{}/{}", value["os"].as_str()?, value["architecture"].as_str()?))
}

fn sha256_of(descriptor: &Value) -> Result<&str, String> {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    let hex = |text: &&str| text.len() == 64 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    digest.strip_prefix("sha256:").filter(hex).ok_or_else(|| format!("`{digest}` in it is no digest"))
}

fn json_of(bytes: &[u8], what: &str) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|_| format!("{what} in it cannot be read"))
}

/// SHA-256 and size of what a reader gives.
fn digest(mut from: impl Read) -> io::Result<(String, u64)> {
    let mut hash = Hasher(Sha256::new());
    let size = io::copy(&mut from, &mut hash)?;
    Ok((hex(&hash.0.finalize()), size))
}

struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn unusable(path: &Path, why: &str) -> Error {
    Error::new(id::IMAGE_ARCHIVE_INVALID, format!("{} cannot be loaded: {why}", path.display()))
}
