//! What a cluster is made of: machines, networks, programs, images; and what users should know.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    artifact::{Artifacts, ImageUse},
    event::{Event, EventKind},
    plan::{AFTER_CONNECT, Known},
    spec::{Cni, Node, OsFamily, Place, Role, Runtime, Spec},
    state::State,
};

/// Networks, and who makes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Networks {
    /// Which CNI.
    pub cni: Cni,
    /// Addresses of pods.
    pub pods: String,
    /// Addresses of services.
    pub services: String,
    /// Container runtime.
    pub runtime: Runtime,
}

impl Networks {
    pub(super) fn of(spec: &Spec) -> Self {
        Self {
            cni: spec.network.cni,
            pods: spec.network.pod_cidr.to_string(),
            services: spec.network.service_cidr.to_string(),
            runtime: spec.runtime,
        }
    }
}

/// A node and its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// What it runs.
    pub os: OsFamily,
    /// Who made the machine: a provider; none for one that was there.
    pub provider: Option<&'static str>,
    /// Its address in the cluster's network, once known.
    pub address: Option<String>,
    /// Networks it has an address in, `192.168.1.10/24`.
    pub addresses: Vec<String>,
    /// `Debian GNU/Linux 12 (bookworm)`.
    pub system: Option<String>,
    /// Its kernel, or the build of Windows.
    pub kernel: Option<String>,
    /// `amd64`.
    pub arch: Option<String>,
    /// Processors.
    pub cpus: Option<u32>,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// The last phase that was seen complete on it.
    pub reached: Option<String>,
    /// Programs that the user replaced on it.
    pub replaced: Vec<String>,
}

impl NodeFacts {
    pub(super) fn of(node: &Node, state: &State, known: &Known) -> Self {
        let entry = state.nodes.get(&node.name);
        let facts = entry.and_then(|entry| entry.facts.as_ref());
        Self {
            name: node.name.clone(),
            role: node.role,
            os: node.os,
            provider: match &node.place {
                Place::Existing { .. } => None,
                Place::Machine(machine) => Some(machine.provider.as_str()),
            },
            address: Some(known.address(node)).filter(|address| address != AFTER_CONNECT),
            addresses: facts.iter().flat_map(|it| &it.addresses).map(|it| it.cidr.clone()).collect(),
            system: facts.map(|facts| facts.os.name.clone()),
            kernel: facts.map(|facts| facts.os.kernel.clone()),
            arch: facts.map(|facts| facts.arch.clone()),
            cpus: facts.map(|facts| facts.cpus),
            memory_mib: facts.map(|facts| facts.memory_mib),
            reached: entry.and_then(|entry| entry.phase.clone()),
            replaced: entry.iter().flat_map(|entry| entry.replaced.keys().cloned()).collect(),
        }
    }
}

/// A program on nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Program {
    /// The name of its file.
    pub name: String,
    /// Lower-case hex.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
    /// Where it came from, in words.
    pub from: String,
    /// On which nodes.
    pub nodes: Vec<String>,
}

/// The same bytes of the same name in one entry, whoever has them.
pub(super) fn programs(artifacts: Option<&Artifacts>, clean: &dyn Fn(&str) -> String) -> Vec<Program> {
    let mut found: BTreeMap<(&str, &str), Program> = BTreeMap::new();
    for (node, programs) in artifacts.iter().flat_map(|artifacts| &artifacts.programs) {
        for (name, artifact) in programs {
            let program = found.entry((name, &artifact.sha256)).or_insert_with(|| Program {
                name: name.clone(),
                sha256: artifact.sha256.clone(),
                size: artifact.size,
                from: clean(&artifact.from),
                nodes: Vec::new(),
            });
            program.nodes.push(node.clone());
        }
    }
    found.into_values().collect()
}

/// An image on nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// `registry.k8s.io/pause:3.10.2`.
    pub reference: String,
    /// Digest of its manifest, `sha256:…`.
    pub digest: String,
    /// Where it came from, in words.
    pub from: String,
    /// On which nodes.
    pub nodes: Vec<String>,
}

/// The cluster's own, then those that the user brought.
pub(super) fn images(
    spec: &Spec,
    artifacts: Option<&Artifacts>,
    state: &State,
    clean: &dyn Fn(&str) -> String,
) -> Vec<Image> {
    let own = artifacts.iter().flat_map(|artifacts| &artifacts.images).map(|image| {
        let needs = |node: &&Node| {
            node.os == image.os && (image.on == ImageUse::EveryNode || node.role == Role::ControlPlane)
        };
        Image {
            reference: image.reference.clone(),
            digest: image.digest.clone(),
            from: clean(&image.archive.from),
            nodes: spec.nodes.iter().filter(needs).map(|node| node.name.clone()).collect(),
        }
    });
    let brought = state.images.iter().map(|(reference, image)| Image {
        reference: reference.clone(),
        digest: image.digest.clone(),
        from: clean(&image.from),
        nodes: image.nodes.iter().cloned().collect(),
    });
    own.chain(brought).collect()
}

/// Something the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// About which nodes, if about any.
    pub nodes: Vec<String>,
    /// One sentence.
    pub message: String,
    /// How often it was said.
    pub times: u64,
}

/// What was said twice is told once.
pub(super) fn warnings(events: &[Event], clean: &dyn Fn(&str) -> String) -> Vec<Warning> {
    let mut told: Vec<Warning> = Vec::new();
    for event in events {
        let message = match &event.kind {
            EventKind::Warning { message } => clean(message),
            EventKind::Forgotten { why, .. } => format!("given up, not undone: {}", clean(why)),
            _ => continue,
        };
        let known = told.iter().position(|it| it.message == message);
        let index = known.unwrap_or_else(|| {
            told.push(Warning { nodes: Vec::new(), message, times: 0 });
            told.len() - 1
        });
        told[index].times += 1;
        if let Some(node) = event.node.as_ref().filter(|node| !told[index].nodes.contains(node)) {
            told[index].nodes.push(node.clone());
        }
    }
    told
}
