//! `url` and `release`: checked, resumed, followed, refused.

use std::{collections::BTreeMap, fs};

use sha2::{Digest, Sha512};
use swdt_core::{
    source::lock::Lock,
    spec::{ComponentName, Download, Platform, Source},
};

use super::{
    Desk, hex, kubelet, program,
    server::{Page, Server},
    sha256, want,
};

fn url(server: &Server, path: &str, bytes: &[u8]) -> Source {
    let download = Download { url: server.url(path), sha256: sha256(bytes) };
    Source::Url(BTreeMap::from([(Platform::LinuxAmd64, download)]))
}

fn mirror(server: &Server) -> Source {
    Source::Release { mirror: Some(server.url("")) }
}

#[tokio::test]
async fn a_download_with_the_right_checksum_is_kept_and_not_fetched_again() {
    let (desk, server, bytes) = (Desk::new(), Server::start(), program("kubelet"));
    server.put("/kubelet", &bytes);
    let want = kubelet(url(&server, "/kubelet", &bytes));
    let found = desk.resolve(&want).await.unwrap();
    assert_eq!(found[0].name, "kubelet");
    assert_eq!(found[0].sha256, sha256(&bytes));
    assert_eq!(found[0].size, bytes.len() as u64);
    assert_eq!(fs::read(&found[0].path).unwrap(), bytes);
    desk.resolve(&want).await.unwrap();
    assert_eq!(server.asked(), ["/kubelet"]);
}

#[tokio::test]
async fn a_wrong_checksum_is_refused_and_nothing_is_kept() {
    let (desk, server, bytes) = (Desk::new(), Server::start(), program("kubelet"));
    let refused = async || desk.resolve(&kubelet(url(&server, "/kubelet", &bytes))).await.unwrap_err();
    server.put("/kubelet", b"\x7fELF but not the right one");
    assert!(refused().await.to_string().contains("has checksum"));
    server.put("/kubelet", b"<!DOCTYPE html><html><head><title>\n Please log in</title>");
    let error = refused().await;
    assert_eq!(error.id(), "download-refused");
    assert!(error.to_string().contains("an HTML page, \u{201c}Please log in\u{201d}"), "{error}");
    let kept =
        |dir: &str| fs::read_dir(desk.path().join("cache/artifacts").join(dir)).map_or(0, Iterator::count);
    assert_eq!((kept("sha256"), kept("partial")), (0, 0));
    server.put("/kubelet", &bytes);
    desk.resolve(&kubelet(url(&server, "/kubelet", &bytes))).await.unwrap();
}

/// Addresses that begin with http go through HTTP_PROXY, unless NO_PROXY names their host.
#[tokio::test]
async fn proxies_are_used_and_left_out() {
    let (desk, server, bytes) = (Desk::new(), Server::start(), program("kubelet"));
    let download = Download { url: "http://mirror.example/kubelet".into(), sha256: sha256(&bytes) };
    let want = kubelet(Source::Url(BTreeMap::from([(Platform::LinuxAmd64, download)])));
    let behind = desk.sources_with(|settings| settings.http_proxy = Some(server.url("")));
    // This proxy opens no way; that it was asked to is what counts.
    behind.resolve_one(&want, &mut Lock::default()).await.unwrap_err();
    assert_eq!(server.asked(), ["mirror.example:80"]);

    let (desk, direct) = (Desk::new(), Server::start());
    direct.put("/kubelet", &bytes);
    let sources = desk.sources_with(|settings| {
        settings.http_proxy = Some("http://127.0.0.1:9".into());
        settings.no_proxy = Some("127.0.0.1".into());
    });
    let want = kubelet(url(&direct, "/kubelet", &bytes));
    sources.resolve_one(&want, &mut Lock::default()).await.unwrap();
}

#[tokio::test]
async fn a_page_in_place_of_checksums_is_told() {
    let (desk, server) = (Desk::new(), Server::start());
    server.put("/v1.36.3/bin/linux/amd64/kubelet.sha512", b"<html><body>Welcome to the guest network</body>");
    let error = desk.resolve(&kubelet(mirror(&server))).await.unwrap_err();
    assert!(error.to_string().contains("Welcome to the guest network"), "{error}");
}

/// Told before a server is asked for anything else, and all at once.
#[tokio::test]
async fn a_program_for_another_platform_is_refused_wherever_it_comes_from() {
    let (desk, server) = (Desk::new(), Server::start());
    let mut arm = program("kubelet");
    arm[18] = 183;
    server.put("/kubelet", &arm);
    let file = desk.write("kubelet", &arm);
    let files = Source::Files(BTreeMap::from([(Platform::LinuxAmd64, file)]));
    let early = swdt_core::source::early(&[kubelet(files.clone())]);
    assert!(early[0].to_string().contains("is for linux/arm64, not a program for linux/amd64"), "{early:?}");
    let wants = [kubelet(url(&server, "/kubelet", &arm)), kubelet(files)];
    let error = desk.sources().resolve(&wants, &mut Lock::default()).await.unwrap_err();
    for error in std::iter::once(&error).chain(&error.others) {
        assert_eq!(error.id(), "program-wrong-platform");
        assert!(error.to_string().contains("is for linux/arm64, not a program for linux/amd64"), "{error}");
    }
    assert_eq!(error.others.len(), 1);
}

#[tokio::test]
async fn what_does_not_exist_is_told() {
    let (desk, server) = (Desk::new(), Server::start());
    let error = desk.resolve(&kubelet(url(&server, "/nothing", b"x"))).await.unwrap_err();
    assert!(error.to_string().contains("does not exist (404)"), "{error}");
}

#[tokio::test]
async fn redirects_are_followed() {
    let (desk, server, bytes) = (Desk::new(), Server::start(), program("kubelet"));
    server.put("/there", &bytes);
    server.page("/here", Page { location: Some(server.url("/there")), ..Page::default() });
    desk.resolve(&kubelet(url(&server, "/here", &bytes))).await.unwrap();
}

#[tokio::test]
async fn a_download_that_breaks_off_goes_on_where_it_was() {
    let (desk, server, bytes) = (Desk::new(), Server::start(), program(&"kubelet".repeat(1000)));
    let page = Page { body: bytes.clone(), etag: Some("\"one\""), cut: Some((2, 1000)), ..Page::default() };
    server.page("/kubelet", page);
    desk.resolve(&kubelet(url(&server, "/kubelet", &bytes))).await.unwrap();
    assert_eq!(server.asked(), ["/kubelet", "/kubelet bytes=1000-", "/kubelet bytes=2000-"]);
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_not_glued_to_the_old_one() {
    let (desk, server) = (Desk::new(), Server::start());
    let (old, new) = (program(&"old".repeat(1000)), program(&"new".repeat(1000)));
    // Breaks off as often as it is tried.
    let page = Page { body: old.clone(), etag: Some("\"old\""), cut: Some((4, 100)), ..Page::default() };
    server.page("/kubelet", page);
    let error = desk.resolve(&kubelet(url(&server, "/kubelet", &old))).await.unwrap_err();
    assert!(error.hints[0].contains("goes on where it stopped"), "{error:?}");
    server.page("/kubelet", Page { body: new.clone(), etag: Some("\"new\""), ..Page::default() });
    desk.resolve(&kubelet(url(&server, "/kubelet", &new))).await.unwrap();
    assert_eq!(server.asked().last().unwrap(), "/kubelet bytes=400-");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_asked_once_a_run_and_nothing_shadows_it() {
    let desk = Desk::new();
    let nowhere = || Source::Release { mirror: Some("http://127.0.0.1:9".into()) };
    let wants = [kubelet(nowhere()), want(ComponentName::Kubectl, "1.36.3", Some(nowhere()))];
    let error = desk.sources().resolve(&wants, &mut Lock::default()).await.unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:9 cannot be reached"), "{error}");
    assert_eq!(error.others.len(), 1);
    let tries = desk.said.lock().unwrap().iter().filter(|line| line.starts_with("fetching")).count();
    assert_eq!(tries, 1, "{:?}", desk.said);
    assert!(!desk.said("building"));
}

#[tokio::test]
async fn a_release_of_kubernetes_is_checked_by_its_sha512() {
    let (desk, server, bytes) = (Desk::new(), Server::start(), program("kubelet"));
    let path = "/v1.36.3/bin/linux/amd64/kubelet";
    let sum = hex(&Sha512::digest(&bytes));
    server.put(path, &bytes);
    let error = desk.resolve(&kubelet(mirror(&server))).await.unwrap_err();
    assert!(error.to_string().contains("kubelet.sha512 does not exist"), "{error}");
    server.put(&format!("{path}.sha512"), sum.as_bytes());
    let found = desk.resolve(&kubelet(mirror(&server))).await.unwrap();
    assert_eq!(fs::read(&found[0].path).unwrap(), bytes);
    let asked = server.asked().len();
    desk.resolve(&kubelet(mirror(&server))).await.unwrap();
    assert_eq!(server.asked().len(), asked);
}

#[tokio::test]
async fn programs_are_taken_out_of_an_archive_that_is_fetched_once() {
    let (desk, server) = (Desk::new(), Server::start());
    let names = ["containerd", "ctr", "containerd-shim-runc-v2"];
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for name in names {
        let bytes = program(name);
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        tar.append_data(&mut header, format!("bin/{name}"), bytes.as_slice()).unwrap();
    }
    let bytes = tar.into_inner().unwrap().finish().unwrap();
    let path = "/containerd/containerd/releases/download/v2.4.2/containerd-2.4.2-linux-amd64.tar.gz";
    server.put(path, &bytes);
    let sums = format!("{}  containerd-2.4.2-linux-amd64.tar.gz\n", sha256(&bytes));
    server.put(&format!("{path}.sha256sum"), sums.as_bytes());
    let found = desk.resolve(&want(ComponentName::Containerd, "2.4.2", Some(mirror(&server)))).await.unwrap();
    assert_eq!(found.iter().map(|artifact| artifact.name.as_str()).collect::<Vec<_>>(), names);
    assert_eq!(server.asked().len(), 2);
}

/// No file of checksums is known for flannel, and the catalog has no digest.
#[tokio::test]
async fn what_has_no_checksum_is_not_used() {
    let (desk, server) = (Desk::new(), Server::start());
    let want = want(ComponentName::Flannel, "0.26.7", Some(mirror(&server)));
    let error = desk.resolve(&want).await.unwrap_err();
    assert!(error.to_string().contains("no checksum of"), "{error}");
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn two_runs_that_want_the_same_fetch_it_once() {
    let (desk, server, bytes) = (Desk::new(), Server::start(), program(&"kubelet".repeat(100_000)));
    server.put("/kubelet", &bytes);
    let want = kubelet(url(&server, "/kubelet", &bytes));
    let (one, two, three) = tokio::join!(desk.resolve(&want), desk.resolve(&want), desk.resolve(&want));
    assert_eq!(one.unwrap(), two.unwrap());
    three.unwrap();
    assert_eq!(server.asked(), ["/kubelet"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_of_the_cache_that_was_torn_is_fetched_again() {
    use std::os::unix::fs::PermissionsExt;
    let (desk, server, bytes) = (Desk::new(), Server::start(), program("kubelet"));
    server.put("/kubelet", &bytes);
    let want = kubelet(url(&server, "/kubelet", &bytes));
    let found = desk.resolve(&want).await.unwrap();
    fs::set_permissions(&found[0].path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&found[0].path, &bytes[..10]).unwrap();
    let again = desk.resolve(&want).await.unwrap();
    assert_eq!(fs::read(&again[0].path).unwrap(), bytes);
    assert_eq!(server.asked().len(), 2);
}
