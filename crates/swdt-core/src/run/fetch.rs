//! Phase `fetch`: every program and image the nodes need is in the cache, and its digest is pinned.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    path::Path,
};

use semver::Version;
use serde::{Deserialize, Serialize};

use super::Run;
use crate::{
    Error, Result,
    artifact::{self, Artifacts, ImageArtifact, ImageUse},
    catalog::{self, Versions},
    files::{self, failed},
    id,
    interrupt::interrupted,
    snapshot::Shelf,
    source::{self, Piece, Sources, Supply, Want, lock::Lock, wants},
    spec::{Component, ComponentName, Node, OsFamily, Role, Spec},
    state::{ARTIFACTS_SCHEMA, Dirs},
};

/// What an earlier run resolved, and for which wishes.
#[derive(Serialize, Deserialize)]
struct Resolved {
    #[serde(default)]
    schema: u32,
    wishes: String,
    artifacts: Artifacts,
}

/// What an earlier run resolved for the same wishes.
pub fn artifacts(dirs: &Dirs, spec: &Spec) -> Result<Option<Artifacts>> {
    let path = dirs.cluster(&spec.name).artifacts();
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    files::refuse_newer(&path, text.as_bytes(), ARTIFACTS_SCHEMA)?;
    // A file that cannot be read is no knowledge; resolving again is cheap where bytes are cached.
    let resolved: Option<Resolved> = serde_json::from_str(&text).ok();
    let wishes = wishes(spec)?;
    Ok(resolved.filter(|resolved| resolved.wishes == wishes).map(|resolved| resolved.artifacts))
}

/// What an earlier run resolved for those nodes whose wishes are the same, whoever else came or left since. To look at
/// nodes with; what is sent is resolved as a whole.
pub(super) fn remembered(dirs: &Dirs, spec: &Spec) -> Option<Artifacts> {
    let path = dirs.cluster(&spec.name).artifacts();
    let text = fs::read_to_string(&path).ok()?;
    files::refuse_newer(&path, text.as_bytes(), ARTIFACTS_SCHEMA).ok()?;
    let Resolved { wishes, mut artifacts, .. } = serde_json::from_str(&text).ok()?;
    let (kubernetes, nodes): (Version, Vec<Wish>) = serde_json::from_str(&wishes).ok()?;
    let same = |node: &Node| kubernetes == spec.kubernetes && nodes.contains(&wish(node));
    artifacts.programs.retain(|name, _| spec.node(name).is_some_and(same));
    // Images are what the control plane's node says.
    if !spec.control_planes().all(same) {
        artifacts.images.clear();
    }
    Some(artifacts)
}

/// What decides which programs a node gets.
type Wish = (String, Role, OsFamily, BTreeMap<ComponentName, Component>);

fn wish(node: &Node) -> Wish {
    (node.name.clone(), node.role, node.os, node.components.clone())
}

/// Everything of the cluster that decides what is fetched.
fn wishes(spec: &Spec) -> Result<String> {
    let nodes: Vec<Wish> = spec.nodes.iter().map(wish).collect();
    serde_json::to_string(&(&spec.kubernetes, nodes))
        .map_err(|error| Error::new(id::INTERNAL, format!("wishes: {error}")))
}

impl Run<'_> {
    /// What the nodes get. When nothing is needed, what was pinned is enough, and no byte is looked at.
    pub(super) async fn fetch(&self, needed: bool) -> Result<Artifacts> {
        if let Some(locked) = &self.locked
            && (!needed || self.all_cached(locked)?)
        {
            return Ok(locked.clone());
        }
        // A terminal gives Ctrl-C to the programs that build, too: that they end is then no failure of theirs.
        let interrupt = &self.host.interrupt;
        let artifacts = tokio::select! {
            biased;
            () = interrupt.wait() => return Err(interrupted()),
            artifacts = self.resolve() => interrupt.check().and(artifacts)?,
        };
        let resolved =
            Resolved { schema: ARTIFACTS_SCHEMA, wishes: wishes(&self.spec)?, artifacts: artifacts.clone() };
        let text = serde_json::to_vec_pretty(&resolved)
            .map_err(|error| Error::new(id::INTERNAL, format!("artifacts: {error}")))?;
        let path = self.dir.artifacts();
        files::replace(&path, &text).map_err(|error| failed("write", &path, &error))?;
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
        for node in &self.spec.nodes {
            let wants = wants::of_node(node, &versions);
            let supplies =
                self.sources.resolve(&wants, &mut lock).await.map_err(|error| error.on(&node.name))?;
            let programs = supplies.iter().flat_map(Supply::programs);
            let programs = programs.map(|program| (program.name.clone(), pinned(program))).collect();
            artifacts.programs.insert(node.name.clone(), programs);
        }
        let wants = wants::of_images(&self.spec, &versions);
        let supplies = self.sources.resolve(&wants, &mut lock).await?;
        for (want, supply) in wants.iter().zip(&supplies) {
            if let Some((reference, archive)) = assembled(&self.sources, &versions, want, supply).await? {
                artifacts.images.push(ImageArtifact {
                    digest: manifest_digest(&archive.path)?,
                    reference,
                    on: used_on(want.piece),
                    os: OsFamily::Linux,
                    archive: pinned(&archive),
                });
            }
        }
        lock.save(self.dir.root())?;
        Ok(artifacts)
    }
}

/// The image of a piece that is one, under the name that pods use, and as an archive.
pub(super) async fn assembled(
    sources: &Sources,
    versions: &Versions,
    want: &Want,
    supply: &Supply,
) -> Result<Option<(String, source::Artifact)>> {
    let reference = versions.image(want.piece.as_str(), &want.version);
    let (Some(reference), Some(program)) = (reference, supply.programs().first()) else { return Ok(None) };
    let archive = sources.image(want.piece, &reference, want.platform, program).await?;
    Ok(Some((reference, archive)))
}

fn used_on(piece: Piece) -> ImageUse {
    match piece {
        Piece::Component(name) if !name.runs_on(Role::Worker, OsFamily::Linux) => ImageUse::ControlPlane,
        _ => ImageUse::EveryNode,
    }
}

pub(super) fn pinned(artifact: &source::Artifact) -> artifact::Artifact {
    artifact::Artifact { sha256: artifact.sha256.clone(), size: artifact.size, from: artifact.from.clone() }
}

/// The digest under which containerd will know the image of an archive.
pub(crate) fn manifest_digest(archive: &Path) -> Result<String> {
    let broken = || Error::new(id::INTERNAL, format!("{} is no OCI archive", archive.display()));
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

/// The digests of everything that clusters of this host use.
pub fn used_artifacts(dirs: &Dirs) -> Result<BTreeSet<String>> {
    let mut used = BTreeSet::new();
    let mut all = Vec::new();
    for name in dirs.clusters()? {
        let dir = dirs.cluster(&name);
        all.extend(Shelf::of(&dir).hosts()?.into_iter().map(|dir| (name.clone(), dir)));
        all.push((name, dir));
    }
    for (name, dir) in all {
        let lock = Lock::load(dir.root())?;
        used.extend(lock.pins().values().flat_map(|pin| &pin.programs).map(|program| program.sha256.clone()));
        let replaced = dir.load(&name)?.nodes.into_values().flat_map(|node| node.replaced.into_values());
        used.extend(replaced.map(|program| program.sha256));
        let path = dir.artifacts();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed("read", &path, &error)),
        };
        files::refuse_newer(&path, text.as_bytes(), ARTIFACTS_SCHEMA)?;
        // Not guessed: what cannot be read may name anything.
        let resolved: Resolved = serde_json::from_str(&text).map_err(|error| {
            Error::new(id::RECORD_UNREADABLE, format!("{} cannot be read: {error}", path.display()))
                .hinted(format!("`swdt cluster create` writes it anew for the cluster {name}"))
        })?;
        let Artifacts { programs, images } = resolved.artifacts;
        used.extend(programs.into_values().flat_map(BTreeMap::into_values).map(|program| program.sha256));
        used.extend(images.into_iter().map(|image| image.archive.sha256));
    }
    Ok(used)
}
