//! Phase `fetch`: every program and image the nodes need is in the cache, and its digest is pinned.

use std::{collections::BTreeMap, fs, io::Read, path::Path};

use serde::{Deserialize, Serialize};

use super::{Host, Run};
use crate::{
    Error, ErrorKind, Result,
    artifact::{self, Artifacts, ImageArtifact, ImageUse},
    catalog::{self, Versions},
    source::{self, Piece, Sources, Supply, Want, image, lock::Lock},
    spec::{ComponentName, Node, OsFamily, Platform, Role, Spec},
    state::Dirs,
};

/// Programs that go to every Linux node.
const ON_NODES: &[Piece] = &[
    Piece::Component(ComponentName::Kubeadm),
    Piece::Component(ComponentName::Kubelet),
    Piece::Component(ComponentName::Kubectl),
    Piece::Component(ComponentName::Containerd),
    Piece::Component(ComponentName::CniPlugins),
    Piece::FlannelPlugin,
];

/// What an earlier run resolved, and for which wishes.
#[derive(Serialize, Deserialize)]
struct Resolved {
    wishes: String,
    artifacts: Artifacts,
}

/// What an earlier run resolved for the same wishes.
pub fn artifacts(dirs: &Dirs, spec: &Spec) -> Result<Option<Artifacts>> {
    let path = dirs.cluster(&spec.name).artifacts();
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    // A file that cannot be read is no knowledge; resolving again is cheap where bytes are cached.
    let resolved: Option<Resolved> = serde_json::from_str(&text).ok();
    let wishes = wishes(spec)?;
    Ok(resolved.filter(|resolved| resolved.wishes == wishes).map(|resolved| resolved.artifacts))
}

/// Everything of the cluster that decides what is fetched.
fn wishes(spec: &Spec) -> Result<String> {
    let nodes: Vec<_> =
        spec.nodes.iter().map(|node| (&node.name, node.role, node.os, &node.components)).collect();
    serde_json::to_string(&(&spec.kubernetes, nodes))
        .map_err(|error| Error::new(ErrorKind::Internal, format!("wishes: {error}")))
}

impl Run<'_> {
    /// What the nodes get. When nothing is needed, what was pinned is enough, and no byte is looked at.
    pub(super) async fn fetch(&self, needed: bool) -> Result<Artifacts> {
        if let Some(locked) = &self.locked
            && (!needed || self.all_cached(locked)?)
        {
            return Ok(locked.clone());
        }
        let artifacts = self.resolve().await?;
        let resolved = Resolved { wishes: wishes(&self.spec)?, artifacts: artifacts.clone() };
        let text = serde_json::to_vec_pretty(&resolved)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("artifacts: {error}")))?;
        let path = self.dir.artifacts();
        crate::files::replace(&path, &text).map_err(|error| crate::files::failed("write", &path, &error))?;
        Ok(artifacts)
    }

    fn all_cached(&self, artifacts: &Artifacts) -> Result<bool> {
        let programs = artifacts.programs.values().flat_map(BTreeMap::values);
        let images = artifacts.images.iter().map(|image| &image.archive);
        for artifact in programs.chain(images) {
            if self.sources.cache().blob(&artifact.sha256)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn resolve(&self) -> Result<Artifacts> {
        let versions = catalog::defaults(&self.spec.kubernetes)?;
        let mut lock = Lock::load(self.dir.root())?;
        let mut artifacts = Artifacts::default();
        for node in self.spec.nodes.iter().filter(|node| node.os == OsFamily::Linux) {
            let wants: Vec<Want> = ON_NODES.iter().map(|piece| want(*piece, node, &versions)).collect();
            let supplies =
                self.sources.resolve(&wants, &mut lock).await.map_err(|error| error.on(&node.name))?;
            let programs = supplies.iter().flat_map(Supply::programs);
            let programs = programs.map(|program| (program.name.clone(), pinned(program))).collect();
            artifacts.programs.insert(node.name.clone(), programs);
        }
        // Images run what the control plane's node says.
        if let Some(node) = self.spec.control_planes().next() {
            let pieces: Vec<Piece> = image::pieces().collect();
            let wants: Vec<Want> = pieces.iter().map(|piece| want(*piece, node, &versions)).collect();
            let supplies = self.sources.resolve(&wants, &mut lock).await?;
            for (piece, supply) in pieces.into_iter().zip(&supplies) {
                let reference = versions.image(piece.as_str());
                if let (Some(reference), Some(program)) = (reference, supply.programs().first()) {
                    let archive =
                        self.sources.image(piece, &reference, Platform::LinuxAmd64, program).await?;
                    artifacts.images.push(ImageArtifact {
                        digest: manifest_digest(&archive.path)?,
                        reference,
                        on: used_on(piece),
                        os: OsFamily::Linux,
                        archive: pinned(&archive),
                    });
                }
            }
        }
        lock.save(self.dir.root())?;
        Ok(artifacts)
    }
}

fn want(piece: Piece, node: &Node, versions: &Versions) -> Want {
    let chosen = component(piece).and_then(|name| node.components.get(&name));
    Want {
        piece,
        platform: Platform::LinuxAmd64,
        version: chosen
            .and_then(|chosen| chosen.version.clone())
            .unwrap_or_else(|| versions.of(piece.as_str())),
        source: chosen.map(|chosen| chosen.source.clone()),
    }
}

fn component(piece: Piece) -> Option<ComponentName> {
    match piece {
        Piece::Component(name) => Some(name),
        Piece::FlannelPlugin | Piece::Agnhost => None,
    }
}

fn used_on(piece: Piece) -> ImageUse {
    let everywhere = component(piece).is_none_or(|name| name.runs_on(Role::Worker, OsFamily::Linux));
    if everywhere { ImageUse::EveryNode } else { ImageUse::ControlPlane }
}

fn pinned(artifact: &source::Artifact) -> artifact::Artifact {
    artifact::Artifact { sha256: artifact.sha256.clone(), size: artifact.size, from: artifact.from.clone() }
}

/// The digest under which containerd will know the image of an archive.
fn manifest_digest(archive: &Path) -> Result<String> {
    let broken = || Error::new(ErrorKind::Internal, format!("{} is no OCI archive", archive.display()));
    let file = fs::File::open(archive).map_err(|_| broken())?;
    for entry in tar::Archive::new(file).entries_with_seek().map_err(|_| broken())? {
        let mut entry = entry.map_err(|_| broken())?;
        if entry.path().is_ok_and(|path| path == Path::new("index.json")) {
            let mut text = String::new();
            entry.read_to_string(&mut text).map_err(|_| broken())?;
            let index: serde_json::Value = serde_json::from_str(&text).map_err(|_| broken())?;
            return index["manifests"][0]["digest"].as_str().map(ToOwned::to_owned).ok_or_else(broken);
        }
    }
    Err(broken())
}

/// The sources of this host.
pub(super) fn sources(host: &Host, reporter: &crate::event::Reporter) -> Result<Sources> {
    let mut settings = source::Settings::new(host.dirs.cache.clone());
    settings.proxy = (host.variable)("HTTPS_PROXY").or_else(|| (host.variable)("https_proxy"));
    settings.no_proxy = (host.variable)("NO_PROXY").or_else(|| (host.variable)("no_proxy"));
    Sources::new(settings, reporter.clone())
}
