//! One more image for the nodes: imported from an archive, or pulled by the nodes themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Serialize;
use swdt_wire::{Blob, Image, Kind, Resource};
use tokio::task::JoinSet;

use super::{Host, NodeRun, Run, Sink};
use crate::{
    Error, Result, id,
    image::{Archive, Reference, Wanted},
    spec::{Node, Spec},
    state::LoadedImage,
};

/// An image on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Loaded {
    /// The node.
    pub node: String,
    /// The image's full name.
    pub image: String,
    /// Its digest, `sha256:…`.
    pub digest: String,
    /// How it got there.
    pub how: How,
}

/// How an image got to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// From an archive.
    Imported,
    /// From its registry, by the node.
    Pulled,
    /// It was there.
    ThereAlready,
}

/// What the nodes of each platform get.
type Parcels = BTreeMap<String, Vec<Resource>>;

/// Puts an image on these nodes. Nothing is sent before all of it was found sound, for every node.
pub async fn load_image(
    host: &Host,
    spec: &Spec,
    nodes: &[Node],
    wanted: &Wanted,
    name: Option<Reference>,
    sink: Sink,
) -> Result<Vec<Loaded>> {
    let parcels = match wanted {
        Wanted::Archive(path) => Run::look(host, spec)?.parcels(nodes, path, name)?,
        Wanted::Reference(_) => Parcels::new(),
    };
    let run = Run::begin(host, spec, "image load", sink)?;
    let mut loaded = Vec::new();
    let work = run.titled("image", "Load image", async {
        loaded = match wanted {
            Wanted::Archive(_) => run.import(nodes, &parcels).await?,
            Wanted::Reference(reference) => run.pull(nodes, reference).await?,
        };
        run.remember_images(&loaded, wanted)
    });
    let result = work.await;
    run.end(result)?;
    Ok(loaded)
}

impl Run<'_> {
    /// Reads the archive, and makes one for each platform that the nodes have. Every problem at once.
    fn parcels(&self, nodes: &[Node], path: &Path, name: Option<Reference>) -> Result<Parcels> {
        let cache = self.sources.cache();
        let scratch = cache.scratch()?;
        let archive = Archive::open(path, scratch.path(), name)?;
        let mut errors = Vec::new();
        let mut platforms: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for node in nodes {
            match self.platform(node) {
                Ok(platform) => platforms.entry(platform).or_default().push(&node.name),
                Err(error) => errors.push(error),
            }
        }
        let mut parcels = Parcels::new();
        for (platform, names) in platforms {
            let target = scratch.path().join("packed.tar");
            match archive.pack(&platform, &target) {
                Err(error) => {
                    errors.push(error.hinted(format!("{platform} is what {} runs", names.join(", "))));
                }
                Ok(images) => {
                    let blob = cache.adopt(&target)?;
                    let blob = Blob { sha256: blob.sha256, size: blob.size };
                    let resource = |image: crate::image::Packed| {
                        let kind =
                            Image { reference: image.reference, digest: image.digest, blob: blob.clone() };
                        Resource::new(format!("image/{}", kind.reference), Kind::Image(kind))
                    };
                    parcels.insert(platform, images.into_iter().map(resource).collect());
                }
            }
        }
        Error::all(errors).map_or(Ok(parcels), Err)
    }

    /// `linux/amd64`, as the machine said itself.
    fn platform(&self, node: &Node) -> Result<String> {
        let known = self.known();
        let facts = known.facts.get(&node.name).ok_or_else(|| {
            Error::new(id::MACHINE_NOT_MADE, "the machine was never reached")
                .on(&node.name)
                .hinted("`swdt cluster create` makes the cluster first")
        })?;
        Ok(format!("{}/{}", facts.os.family, facts.arch))
    }

    async fn import(&self, nodes: &[Node], parcels: &Parcels) -> Result<Vec<Loaded>> {
        let mut tasks = JoinSet::new();
        let mut images = BTreeMap::new();
        for node in nodes {
            let Some(resources) = parcels.get(&self.platform(node)?).cloned() else { continue };
            images.insert(node.name.clone(), resources.clone());
            let mut node_run = NodeRun::new(self, node)?;
            tasks.spawn(async move {
                let applied = async {
                    node_run.look(resources.clone()).await?;
                    node_run.make_true(resources).await
                };
                let applied = applied.await;
                (node_run, applied)
            });
        }
        let nodes = self.gather(tasks).await?;
        nodes.iter().for_each(NodeRun::done);
        let loaded = nodes.iter().flat_map(|run| {
            let resources = images.get(&run.node.name).map(Vec::as_slice).unwrap_or_default();
            resources.iter().filter_map(|resource| {
                let Kind::Image(image) = &resource.kind else { return None };
                let there = run.found_true(&resource.id);
                Some(Loaded {
                    node: run.node.name.clone(),
                    image: image.reference.clone(),
                    digest: image.digest.clone(),
                    how: if there { How::ThereAlready } else { How::Imported },
                })
            })
        });
        Ok(loaded.collect())
    }

    async fn pull(&self, nodes: &[Node], reference: &Reference) -> Result<Vec<Loaded>> {
        let mut tasks = JoinSet::new();
        for node in nodes {
            let mut node_run = NodeRun::new(self, node)?;
            let reference = reference.as_str().to_owned();
            tasks.spawn(async move {
                let pulled = node_run.pull(&reference).await;
                (node_run, pulled)
            });
        }
        let nodes = self.gather(tasks).await?;
        nodes.iter().for_each(NodeRun::done);
        let loaded = nodes.iter().map(|run| Loaded {
            node: run.node.name.clone(),
            image: reference.as_str().to_owned(),
            digest: run.pulled.clone().unwrap_or_default(),
            how: How::Pulled,
        });
        Ok(loaded.collect())
    }

    /// For `swdt cluster status`.
    fn remember_images(&self, loaded: &[Loaded], wanted: &Wanted) -> Result<()> {
        let from = match wanted {
            Wanted::Archive(path) => {
                format!("archive {}", std::path::absolute(path).unwrap_or_else(|_| path.clone()).display())
            }
            Wanted::Reference(_) => "pulled by the nodes".to_owned(),
        };
        self.remember(|state| {
            for image in loaded {
                let known = state.images.entry(image.image.clone()).or_default();
                if known.digest != image.digest {
                    let (digest, from) = (image.digest.clone(), from.clone());
                    *known = LoadedImage { digest, from, nodes: BTreeSet::new() };
                }
                known.nodes.insert(image.node.clone());
            }
        })
    }
}
