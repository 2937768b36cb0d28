//! `files` and `bundle`: what lies on this host.

use std::{collections::BTreeMap, fs, path::Path};

use swdt_core::{
    source::{Want, lock::Lock, write_bundle},
    spec::{ComponentName, Platform, Source},
};

use super::{Desk, kubelet, program, sha256, want};

fn files(path: &Path) -> Source {
    Source::Files(BTreeMap::from([(Platform::LinuxAmd64, path.to_owned())]))
}

#[tokio::test]
async fn a_file_is_taken_as_it_is_and_again_when_it_changed() {
    let desk = Desk::new();
    for text in ["one", "two"] {
        let path = desk.write("kubelet", &program(text));
        let found = desk.resolve(&kubelet(files(&path))).await.unwrap();
        assert_eq!(found[0].sha256, sha256(&program(text)));
        assert!(found[0].from.starts_with("file "), "{}", found[0].from);
    }
}

#[tokio::test]
async fn a_directory_holds_what_is_several_programs() {
    let desk = Desk::new();
    let names = ["containerd", "containerd-shim-runc-v2", "ctr"];
    for name in names {
        desk.write(&format!("bin/{name}"), &program(name));
    }
    let want = |path: &Path| want(ComponentName::Containerd, "2.4.2", Some(files(path)));
    let found = desk.resolve(&want(&desk.path().join("bin"))).await.unwrap();
    assert_eq!(found.len(), names.len());
    let error = desk.resolve(&want(&desk.path().join("bin/ctr"))).await.unwrap_err();
    assert!(error.to_string().contains("several programs"), "{error}");
}

#[tokio::test]
async fn a_program_for_another_platform_is_refused() {
    let desk = Desk::new();
    let mut bytes = program("kubelet");
    bytes[18] = 183;
    let path = desk.write("kubelet", &bytes);
    let error = desk.resolve(&kubelet(files(&path))).await.unwrap_err();
    assert_eq!(error.id(), "program-wrong-platform");
    assert!(error.to_string().contains("for linux/arm64, not a program for linux/amd64"), "{error}");
    let error = desk.resolve(&kubelet(files(&desk.write("script", b"#!/bin/sh")))).await.unwrap_err();
    assert!(error.to_string().contains("is a script"), "{error}");
}

#[tokio::test]
async fn a_platform_that_the_source_does_not_name_is_told() {
    let desk = Desk::new();
    let path = desk.write("kubelet", &program("kubelet"));
    let want = Want { platform: Platform::WindowsAmd64, ..kubelet(files(&path)) };
    let error = desk.resolve(&want).await.unwrap_err();
    assert!(error.to_string().contains("has nothing for windows/amd64"), "{error}");
}

/// A bundle with kubelet, made on another host.
async fn bundled(desk: &Desk) -> (Source, Vec<u8>) {
    let (other, bytes) = (Desk::new(), program("kubelet"));
    let want = kubelet(files(&other.write("kubelet", &bytes)));
    let artifacts = other.resolve(&want).await.unwrap();
    let path = desk.path().join("bundle.tar");
    write_bundle(&path, &[(want, artifacts)]).unwrap();
    (Source::Bundle { path }, bytes)
}

#[tokio::test]
async fn a_bundle_brings_what_was_packed() {
    let desk = Desk::new();
    let (source, bytes) = bundled(&desk).await;
    let found = desk.resolve(&kubelet(source.clone())).await.unwrap();
    assert_eq!(fs::read(&found[0].path).unwrap(), bytes);
    let error = desk.resolve(&want(ComponentName::Kubelet, "1.36.1", Some(source))).await.unwrap_err();
    assert!(error.to_string().contains("has no kubelet 1.36.1 for linux/amd64"), "{error}");
}

#[tokio::test]
async fn where_no_source_is_named_a_bundle_comes_first() {
    let desk = Desk::new();
    let (Source::Bundle { path }, _) = bundled(&desk).await else { panic!() };
    let sources = desk.sources_with(|settings| settings.bundles.push(path));
    let want = want(ComponentName::Kubelet, "1.36.3", None);
    let supply = sources.resolve_one(&want, &mut Lock::default()).await.unwrap();
    assert!(supply.programs()[0].from.starts_with("bundle "), "{supply:?}");
}

#[tokio::test]
async fn a_damaged_bundle_is_refused() {
    let desk = Desk::new();
    let (source, _) = bundled(&desk).await;
    let path = desk.path().join("bundle.tar");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(4).position(|bytes| bytes == b"\x7fELF").unwrap();
    bytes[at + 64] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = desk.resolve(&kubelet(source.clone())).await.unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
    fs::write(&path, b"not a bundle").unwrap();
    let error = desk.resolve(&kubelet(source)).await.unwrap_err();
    assert!(error.to_string().contains("is no bundle"), "{error}");
}
