//! What a cluster wants, as data: which pieces, in which version, for which platform.

use super::{Piece, Want, image, patch};
use crate::{
    Error, Result,
    catalog::{self, Versions},
    id,
    spec::{ComponentName, Node, OsFamily, Platform, Source, Spec},
};

/// Programs on every Linux node.
const ON_LINUX: &[Piece] = &[
    Piece::Component(ComponentName::Kubeadm),
    Piece::Component(ComponentName::Kubelet),
    Piece::Component(ComponentName::Kubectl),
    Piece::Component(ComponentName::Containerd),
    Piece::Component(ComponentName::CniPlugins),
    Piece::FlannelPlugin,
];

/// Programs on every Windows node: what runs in pods on Linux runs on the machine there.
const ON_WINDOWS: &[Piece] = &[
    Piece::Component(ComponentName::Kubeadm),
    Piece::Component(ComponentName::Kubelet),
    Piece::Component(ComponentName::Kubectl),
    Piece::Component(ComponentName::KubeProxy),
    Piece::Component(ComponentName::Containerd),
    Piece::Component(ComponentName::Hcsshim),
    Piece::Component(ComponentName::CniPlugins),
    Piece::Component(ComponentName::Flannel),
    Piece::FlannelPlugin,
];

/// What does not run as it is released on a Windows that is rehearsed.
const REHEARSED: Piece = Piece::Component(ComponentName::Kubelet);

fn on_nodes(os: OsFamily) -> &'static [Piece] {
    match os {
        OsFamily::Linux => ON_LINUX,
        OsFamily::Windows => ON_WINDOWS,
    }
}

/// The programs of a node.
pub fn of_node(node: &Node, versions: &Versions) -> Vec<Want> {
    on_nodes(node.os).iter().map(|piece| want(*piece, node, versions)).collect()
}

/// The programs inside images. They are what the control plane's node says.
pub fn of_images(spec: &Spec, versions: &Versions) -> Vec<Want> {
    let node = spec.control_planes().next();
    node.map(|node| image::pieces().map(|piece| want(piece, node, versions)).collect()).unwrap_or_default()
}

/// Everything of a cluster, each once.
pub fn of_cluster(spec: &Spec) -> Result<Vec<Want>> {
    let versions = catalog::defaults(&spec.kubernetes)?;
    let mut wants: Vec<Want> = Vec::new();
    let nodes = spec.nodes.iter().flat_map(|node| of_node(node, &versions));
    for want in nodes.chain(of_images(spec, &versions)) {
        if !wants.contains(&want) {
            wants.push(want);
        }
    }
    Ok(wants)
}

/// What a cluster of such nodes wants whose file says nothing about components.
pub fn usual(versions: &Versions, platform: Platform) -> Vec<Want> {
    let mut pieces = on_nodes(platform.os()).to_vec();
    if platform.os() == OsFamily::Linux {
        pieces.extend(image::pieces());
    }
    pieces.into_iter().map(|piece| plain(piece, platform, versions)).collect()
}

/// A piece in the version that goes with Kubernetes, from wherever it can be had.
pub fn plain(piece: Piece, platform: Platform, versions: &Versions) -> Want {
    Want { piece, platform, version: versions.of(piece.as_str()), source: None }
}

impl Want {
    /// The same in a version that somebody wrote.
    pub fn at(self, text: &str) -> Result<Self> {
        let version = text.strip_prefix('v').unwrap_or(text).parse().map_err(|_| {
            Error::new(id::ARGUMENT_INVALID, format!("`{text}` is no version of {}", self.piece))
                .hinted(format!("write all three numbers, for example {}", self.version))
        })?;
        Ok(Self { version, ..self })
    }

    /// The same, built from source whatever else could serve it.
    #[must_use]
    pub fn built(self) -> Self {
        let reference = format!("v{}", self.version);
        Self { source: Some(Source::Build { repository: None, reference }), ..self }
    }
}

fn want(piece: Piece, node: &Node, versions: &Versions) -> Want {
    let want = chosen(piece, node, versions);
    // What the user brings is theirs; what we bring must run there.
    if node.is_rehearsal() && piece == REHEARSED && want.source.is_none() {
        return Want { version: patch::rehearsed(&want.version), ..want };
    }
    want
}

fn chosen(piece: Piece, node: &Node, versions: &Versions) -> Want {
    let usual = plain(piece, Platform::usual(node.os), versions);
    let chosen = match piece {
        Piece::Component(name) => node.components.get(&name),
        Piece::FlannelPlugin | Piece::Agnhost | Piece::E2e => None,
    };
    match chosen {
        None => usual,
        Some(chosen) => Want {
            version: chosen.version.clone().unwrap_or(usual.version),
            source: chosen.source.clone(),
            ..usual
        },
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf};

    use super::*;
    use crate::spec::{Component, Connection, MachineSpec, Place, ProviderName, Role};

    fn kubelet(place: Place, chosen: Option<Component>) -> String {
        let node = Node {
            name: "win1".into(),
            role: Role::Worker,
            os: OsFamily::Windows,
            set_hostname: true,
            place,
            connection: Connection::default(),
            labels: BTreeMap::new(),
            taints: None,
            components: chosen.map(|chosen| (ComponentName::Kubelet, chosen)).into_iter().collect(),
        };
        let versions = catalog::defaults(&semver::Version::new(1, 36, 3)).unwrap();
        let wants = of_node(&node, &versions);
        let marked: Vec<_> = wants.iter().filter(|want| patch::is_rehearsed(&want.version)).collect();
        assert!(marked.iter().all(|want| want.piece == REHEARSED), "{marked:?}");
        wants.iter().find(|want| want.piece == REHEARSED).unwrap().version.to_string()
    }

    #[test]
    fn only_a_rehearsal_gets_a_kubelet_of_its_own_and_nobodys_own_build_is_replaced() {
        let rehearsal = || {
            Place::Machine(MachineSpec {
                provider: ProviderName::Rehearsal,
                cpus: 2,
                memory_mib: 2048,
                vm: None,
            })
        };
        let real = Place::Existing { address: "192.0.2.7".into(), port: None };
        assert_eq!(kubelet(real, None), "1.36.3");
        assert_eq!(kubelet(rehearsal(), None), "1.36.3+rehearsal");
        let older = Component { version: Some(semver::Version::new(1, 35, 4)), source: None };
        assert_eq!(kubelet(rehearsal(), Some(older)), "1.35.4+rehearsal");
        let files = BTreeMap::from([(Platform::WindowsAmd64, PathBuf::from("/kubelet.exe"))]);
        let own = Component { version: None, source: Some(Source::Files(files)) };
        assert_eq!(kubelet(rehearsal(), Some(own)), "1.36.3");
    }
}
