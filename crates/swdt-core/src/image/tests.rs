#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{fs, io::Write};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{read::hex, *};

#[test]
fn names_as_people_write_them() {
    let full = |text: &str| Reference::parse(text).unwrap().to_string();
    assert_eq!(full("nginx"), "docker.io/library/nginx:latest");
    assert_eq!(full("me/app:1"), "docker.io/me/app:1");
    assert_eq!(full("localhost:5000/app"), "localhost:5000/app:latest");
    assert_eq!(full("registry.k8s.io/pause:3.10.2"), "registry.k8s.io/pause:3.10.2");
    let digest = format!("quay.io/a/b@sha256:{}", "0f".repeat(32));
    assert_eq!(full(&digest), digest);
    for wrong in ["", "Nginx", "a b", "-rf", "a:b c", "a/../b", "a@sha256:12", "x.io/", "a:", "ä", "a\nb"] {
        assert!(Reference::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_word_is_a_file_or_a_name() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("image.tar");
    fs::write(&file, "").unwrap();
    assert_eq!(Wanted::parse(file.to_str().unwrap()).unwrap(), Wanted::Archive(file));
    assert!(matches!(Wanted::parse("quay.io/a/b:1").unwrap(), Wanted::Reference(_)));
    for missing in ["image.tar", "./image", "/tmp/none", "~/x", "image.tar.gz"] {
        assert!(Wanted::parse(missing).unwrap_err().message.contains("there is no file"), "{missing}");
    }
    assert!(Wanted::parse(temp.path().to_str().unwrap()).unwrap_err().message.contains("is a directory"));
}

fn sha(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn tarball(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

fn config(architecture: &str, layer: &[u8]) -> Vec<u8> {
    let diff = format!("sha256:{}", sha(layer));
    json!({ "os": "linux", "architecture": architecture, "rootfs": { "type": "layers", "diff_ids": [diff] } })
        .to_string()
        .into_bytes()
}

/// What `docker save` wrote for years.
fn docker(architecture: &str, tags: &Value) -> Vec<u8> {
    let layer = tarball(&[("hello", b"hello")]);
    let manifest = json!([{ "Config": "c.json", "RepoTags": tags, "Layers": ["a/layer.tar"] }]).to_string();
    let config = config(architecture, &layer);
    tarball(&[("a/layer.tar", &layer), ("c.json", &config), ("manifest.json", manifest.as_bytes())])
}

/// An OCI archive of an image for two platforms, of which the blobs of one are there.
fn oci(annotations: &Value, spoil: bool) -> Vec<u8> {
    let layer = tarball(&[("hello", b"hello")]);
    let config = config("amd64", &layer);
    let describe = |bytes: &[u8]| json!({ "digest": format!("sha256:{}", sha(bytes)), "size": bytes.len() });
    let manifest = json!({ "schemaVersion": 2, "config": describe(&config), "layers": [describe(&layer)] });
    let manifest = manifest.to_string().into_bytes();
    let mut here = describe(&manifest);
    here["platform"] = json!({ "os": "linux", "architecture": "amd64" });
    let mut elsewhere = describe(b"not here");
    elsewhere["platform"] = json!({ "os": "linux", "architecture": "arm64" });
    let inner = json!({ "schemaVersion": 2, "manifests": [elsewhere, here] }).to_string().into_bytes();
    let mut outer = describe(&inner);
    outer["annotations"] = annotations.clone();
    let index = json!({ "schemaVersion": 2, "manifests": [outer] }).to_string();
    let blob = |bytes: &[u8]| format!("blobs/sha256/{}", sha(bytes));
    let (names, mut wrong) = ([blob(&layer), blob(&config), blob(&manifest), blob(&inner)], layer.clone());
    wrong[0] ^= 1;
    tarball(&[
        ("./index.json", index.as_bytes()),
        (&names[0], if spoil { &wrong } else { &layer }),
        (&names[1], &config),
        (&names[2], &manifest),
        (&names[3], &inner),
    ])
}

/// Packs the archive of these bytes for a platform; says what is in the result, or what is wrong.
fn pack(bytes: &[u8], name: Option<&str>, platform: &str) -> Result<Vec<Packed>, String> {
    let temp = tempfile::tempdir().unwrap();
    let (path, to) = (temp.path().join("given"), temp.path().join("packed.tar"));
    fs::write(&path, bytes).unwrap();
    let name = name.map(|name| Reference::parse(name).unwrap());
    let packed = Archive::open(&path, temp.path(), name)
        .and_then(|archive| archive.pack(platform, &to))
        .map_err(|error| error.message)?;
    // What was packed can be packed again, and is the same.
    let again = temp.path().join("again.tar");
    let other = tempfile::tempdir().unwrap();
    let repacked = Archive::open(&to, other.path(), None).unwrap().pack(platform, &again).unwrap();
    assert_eq!((&repacked, fs::read(&to).unwrap()), (&packed, fs::read(&again).unwrap()));
    Ok(packed)
}

#[test]
fn archives_of_every_maker_become_one_form() {
    let packed = pack(&docker("amd64", &json!(["app:1", "quay.io/me/app:1"])), None, "linux/amd64").unwrap();
    let both: Vec<&str> = packed.iter().map(|image| image.reference.as_str()).collect();
    assert_eq!(both, ["docker.io/library/app:1", "quay.io/me/app:1"]);
    assert_eq!(packed[0].digest, packed[1].digest);

    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&docker("amd64", &json!(["app:1"]))).unwrap();
    assert_eq!(pack(&gzip.finish().unwrap(), None, "linux/amd64").unwrap()[0], packed[0]);

    let named = json!({ "org.opencontainers.image.ref.name": "quay.io/me/app:2" });
    assert_eq!(pack(&oci(&named, false), None, "linux/amd64").unwrap()[0].reference, "quay.io/me/app:2");
    let tag = json!({ "org.opencontainers.image.ref.name": "latest" });
    assert!(pack(&oci(&tag, false), None, "linux/amd64").unwrap_err().contains("has no name"));
    assert_eq!(
        pack(&oci(&tag, false), Some("app:3"), "linux/amd64").unwrap()[0].reference,
        "docker.io/library/app:3"
    );
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let named = json!({ "io.containerd.image.name": "quay.io/me/app:2" });
    let good = docker("amd64", &json!(["app:1"]));
    for (bytes, platform, why) in [
        (b"just text".to_vec(), "linux/amd64", "no tar"),
        (vec![0x1f, 0x8b, 1, 2, 3], "linux/amd64", "damaged"),
        (b"\x28\xb5\x2f\xfd....".to_vec(), "linux/amd64", "compressed by zstd"),
        (tarball(&[("readme", b"hello")]), "linux/amd64", "neither index.json nor manifest.json"),
        (tarball(&[("index.json", b"{")]), "linux/amd64", "index.json in it cannot be read"),
        (tarball(&[("manifest.json", b"[]")]), "linux/amd64", "no image is in it"),
        (
            docker("arm64", &json!(["app:1"])),
            "linux/amd64",
            "app:1 in it is for linux/arm64, not for linux/amd64",
        ),
        (docker("amd64", &json!(["app:1"])), "windows/amd64", "is for linux/amd64, not for windows/amd64"),
        (oci(&named, false), "linux/s390x", "is for linux/arm64, linux/amd64, not for linux/s390x"),
        (oci(&named, false), "linux/arm64", "is missing in it"),
        (oci(&named, true), "linux/amd64", "is damaged"),
        (docker("amd64", &json!([])), "linux/amd64", "has no name"),
        (good[..1100].to_vec(), "linux/amd64", "it ends too early"),
    ] {
        let error = pack(&bytes, None, platform).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
}
