//! Official downloads, checked against the checksums published beside them.
//!
//! A mirror is a base address that takes the place of the server's: of `https://dl.k8s.io` for Kubernetes, of
//! `https://github.com` for everything else.

use std::{fs::File, io::Read, path::Path};

use flate2::read::GzDecoder;
use semver::Version;

use super::{
    Artifact, Context, Piece, Want, blocking,
    cache::{Blob, Cache, Key},
    go::platform_words,
    http::{Checksum, Http},
    recipe::{Program, recipe},
};
use crate::{
    Error, Result, catalog,
    files::failed,
    id,
    spec::{ComponentName, OsFamily, Platform},
};

const KUBERNETES: &str = "https://dl.k8s.io";
const GITHUB: &str = "https://github.com";

/// A file to download and how it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Offer {
    /// Where it is.
    url: String,
    /// Where its checksum is published; some projects have one file for all of a release.
    sums: Option<String>,
    /// Programs lie in it under these names; none when it is the program itself.
    archive: bool,
}

/// What is offered for a program; none where a project publishes no programs.
fn offer(
    piece: Piece,
    program: &Program,
    version: &Version,
    platform: Platform,
    mirror: Option<&str>,
) -> Option<Offer> {
    use ComponentName as C;
    let (os, arch) = platform_words(platform);
    let github = mirror.unwrap_or(GITHUB).trim_end_matches('/');
    let release =
        |project: &str, file: &str| format!("{github}/{project}/releases/download/v{version}/{file}");
    let beside = |url: String, suffix: &str| {
        let sums = Some(format!("{url}{suffix}"));
        Offer { url, sums, archive: true }
    };
    let kubernetes = mirror.unwrap_or(KUBERNETES).trim_end_matches('/');
    let component = match piece {
        Piece::Component(component) => component,
        Piece::E2e => {
            let url = format!("{kubernetes}/v{version}/kubernetes-test-{os}-{arch}.tar.gz");
            return Some(beside(url, ".sha512"));
        }
        // agnhost comes as an image only; the plugin of flannel in releases of its own project.
        Piece::Agnhost | Piece::FlannelPlugin => return None,
    };
    Some(match component {
        C::Kubeadm
        | C::Kubelet
        | C::Kubectl
        | C::KubeProxy
        | C::KubeApiserver
        | C::KubeControllerManager
        | C::KubeScheduler => {
            let url = format!("{kubernetes}/v{version}/bin/{os}/{arch}/{}", program.file(platform));
            Offer { archive: false, ..beside(url, ".sha512") }
        }
        C::Containerd => beside(
            release("containerd/containerd", &format!("containerd-{version}-{os}-{arch}.tar.gz")),
            ".sha256sum",
        ),
        C::Runc if platform.os() == OsFamily::Linux => Offer {
            url: release("opencontainers/runc", &format!("runc.{arch}")),
            sums: Some(release("opencontainers/runc", "runc.sha256sum")),
            archive: false,
        },
        C::Crictl => beside(
            release("kubernetes-sigs/cri-tools", &format!("crictl-v{version}-{os}-{arch}.tar.gz")),
            ".sha256",
        ),
        C::CniPlugins => beside(
            release("containernetworking/plugins", &format!("cni-plugins-{os}-{arch}-v{version}.tgz")),
            ".sha256",
        ),
        C::Etcd if platform.os() == OsFamily::Linux => Offer {
            url: release("etcd-io/etcd", &format!("etcd-v{version}-{os}-{arch}.tar.gz")),
            sums: Some(release("etcd-io/etcd", "SHA256SUMS")),
            archive: true,
        },
        C::Coredns => {
            beside(release("coredns/coredns", &format!("coredns_{version}_{os}_{arch}.tgz")), ".sha256")
        }
        // No file of checksums is known: usable only when the catalog has the digest.
        C::Flannel => Offer {
            url: release("flannel-io/flannel", &format!("flannel-v{version}-{os}-{arch}.tar.gz")),
            sums: None,
            archive: true,
        },
        // The shim for Windows is published as a part of containerd only.
        C::Runc | C::Etcd | C::Pause | C::Hcsshim => return None,
    })
}

/// Programs that were downloaded earlier; none unless all of them are there.
pub(super) fn recall(ctx: &Context, want: &Want, mirror: Option<&str>) -> Result<Option<Vec<Artifact>>> {
    let mut found = Vec::new();
    for program in recipe(want.piece).programs(want.platform) {
        let Some(offer) = offer(want.piece, program, &want.version, want.platform, mirror) else {
            return Ok(None);
        };
        let Some((record, blob)) = ctx.cache.recall(&key(&offer, program)?)? else { return Ok(None) };
        found.push(Artifact::new(program.file(want.platform), blob, record.from));
    }
    Ok(Some(found))
}

/// Downloads the programs.
pub(super) async fn obtain(ctx: &Context, want: &Want, mirror: Option<&str>) -> Result<Vec<Artifact>> {
    let programs: Vec<_> = recipe(want.piece).programs(want.platform).collect();
    let mut found = Vec::new();
    for program in programs {
        let offer = offer(want.piece, program, &want.version, want.platform, mirror).ok_or_else(|| {
            let message =
                format!("no release of {} has a program for {}", want.piece, want.platform.as_str());
            Error::new(id::DOWNLOAD_MISSING, message)
        })?;
        let (cache, http, file) = (ctx.cache.clone(), ctx.http.clone(), program.file(want.platform));
        if ctx.http.may_answer(&offer.url) {
            ctx.reporter.doing(format!("fetching {}", offer.url));
        }
        let artifact = blocking(move || take(&cache, &http, &offer, program, file)).await?;
        found.push(artifact);
    }
    Ok(found)
}

fn key(offer: &Offer, program: &Program) -> Result<Key> {
    Key::new(&("release", &offer.url, program.name))
}

fn take(cache: &Cache, http: &Http, offer: &Offer, program: &Program, file: String) -> Result<Artifact> {
    let key = key(offer, program)?;
    let from = format!("release {}", offer.url);
    if let Some((record, blob)) = cache.recall(&key)? {
        return Ok(Artifact::new(file, blob, record.from));
    }
    let whole = whole(cache, http, offer)?;
    let blob = if offer.archive { member(cache, &whole.path, &file)? } else { whole };
    cache.remember(&key, &blob, &from)?;
    Ok(Artifact::new(file, blob, from))
}

/// The file itself; an archive with several programs is fetched once.
fn whole(cache: &Cache, http: &Http, offer: &Offer) -> Result<Blob> {
    let key = Key::new(&("release", &offer.url))?;
    if let Some((_, blob)) = cache.recall(&key)? {
        return Ok(blob);
    }
    let blob = http.checked(cache, &offer.url, &checksum(http, offer)?)?;
    cache.remember(&key, &blob, &offer.url)?;
    Ok(blob)
}

/// The checksum that the catalog knows, else the published one.
fn checksum(http: &Http, offer: &Offer) -> Result<Checksum> {
    if let Some(known) = catalog::digest(&offer.url)? {
        return Ok(Checksum::Sha256(known.to_owned()));
    }
    let none = || {
        Error::new(id::CHECKSUM_UNKNOWN, format!("no checksum of {} is known", offer.url))
            .hinted("name it as `source: url` with the checksum of a file you trust, or build it")
    };
    let sums = offer.sums.as_ref().ok_or_else(none)?;
    let text = http.text(sums)?;
    let name = offer.url.rsplit('/').next().unwrap_or_default();
    find(&text, name).ok_or_else(|| {
        Error::new(id::CHECKSUM_UNKNOWN, format!("{sums} has no checksum of {name}"))
            .hinted("does a proxy answer with a page of its own?")
    })
}

/// Files of checksums hold either one word, or lines of checksum and name.
pub(crate) fn find(text: &str, name: &str) -> Option<Checksum> {
    let mut words = text.split_whitespace();
    if let (Some(only), None) = (words.next(), words.next()) {
        return Checksum::parse(only);
    }
    text.lines().find_map(|line| {
        let (sum, file) = line.split_once(char::is_whitespace)?;
        let file = file.trim().trim_start_matches('*').rsplit('/').next()?;
        (file == name).then(|| Checksum::parse(sum))?
    })
}

/// A program out of a compressed archive, wherever in it it lies.
fn member(cache: &Cache, archive: &Path, name: &str) -> Result<Blob> {
    let bad = |why: String| Error::new(id::ARCHIVE_DAMAGED, format!("{}: {why}", archive.display()));
    let file = File::open(archive).map_err(|error| failed("read", archive, &error))?;
    let mut tar = tar::Archive::new(GzDecoder::new(file));
    for entry in tar.entries().map_err(|error| bad(error.to_string()))? {
        let mut entry = entry.map_err(|error| bad(error.to_string()))?;
        let is_it = entry.path().is_ok_and(|path| path.file_name().is_some_and(|found| found == name));
        if is_it && entry.header().entry_type().is_file() {
            return cache.add(entry.by_ref());
        }
    }
    Err(bad(format!("there is no {name} in it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_found_in_every_usual_form() {
        let sum = "ab".repeat(32);
        let is = Some(Checksum::Sha256(sum.clone()));
        assert_eq!(find(&format!("{sum}\n"), "x"), is);
        assert_eq!(find(&format!("{sum}  x\n"), "x"), is);
        assert_eq!(find(&format!("{}  y\n{sum} *./x\n", "cd".repeat(32)), "x"), is);
        assert_eq!(find("<html>Please log in</html>", "x"), None);
        assert_eq!(find("", "x"), None);
    }

    #[test]
    fn a_mirror_takes_the_place_of_the_server() {
        let program = recipe(ComponentName::Kubelet.into()).programs[0];
        let version = Version::new(1, 36, 3);
        let of =
            |mirror| offer(ComponentName::Kubelet.into(), &program, &version, Platform::WindowsAmd64, mirror);
        assert_eq!(of(None).unwrap().url, "https://dl.k8s.io/v1.36.3/bin/windows/amd64/kubelet.exe");
        assert_eq!(
            of(Some("http://m/k8s/")).unwrap().url,
            "http://m/k8s/v1.36.3/bin/windows/amd64/kubelet.exe"
        );
    }
}
