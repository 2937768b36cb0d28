//! What goes together: versions, image tags and the compatibility matrix as data (`catalog.yaml`), checked before a
//! machine is touched.

mod check;
mod data;
mod yaml;

use std::sync::OnceLock;

use semver::Version;
use swdt_wire::Facts;

pub use check::{COMPARED, Finding, check, check_nodes};
pub use data::{Catalog, Minor, Rule, Toolchain, Verdict, When, WindowsRelease};

use crate::{
    Error, Result, id,
    spec::{ComponentName, Node, Spec},
};

/// The registry of Kubernetes' own images.
const REGISTRY: &str = "registry.k8s.io";

/// The catalog that this swdt carries.
pub fn catalog() -> Result<&'static Catalog> {
    static CATALOG: OnceLock<Result<Catalog, String>> = OnceLock::new();
    let read = || {
        let value = yaml::parse(include_str!("catalog.yaml"))?;
        serde_json::from_value(value).map_err(|error| error.to_string())
    };
    CATALOG
        .get_or_init(read)
        .as_ref()
        .map_err(|why| Error::new(id::INTERNAL, format!("catalog.yaml cannot be read: {why}")))
}

/// The Kubernetes that is meant: a whole version, or a minor, whose newest release is taken; the usual one if
/// nothing is said.
pub fn meant(text: Option<&str>) -> Result<Versions> {
    let catalog = catalog()?;
    let Some(text) = text else { return defaults(&catalog.default) };
    let bare = text.strip_prefix('v').unwrap_or(text);
    if let Some(minor) = catalog.kubernetes.iter().find(|minor| minor.minor == bare) {
        return defaults(&minor.newest);
    }
    let version = Version::parse(bare).map_err(|_| {
        let minors: Vec<_> = catalog.kubernetes.iter().map(|minor| minor.minor.as_str()).collect();
        Error::new(id::ARGUMENT_INVALID, format!("`{text}` is no version of Kubernetes")).hinted(format!(
            "write a minor ({}), or a whole version ({})",
            minors.join(", "),
            catalog.default
        ))
    })?;
    defaults(&version)
}

/// The toolchain that builds from source.
pub fn toolchain() -> Result<&'static Toolchain> {
    Ok(&catalog()?.go)
}

/// The release of Windows Server with this build, if it can be a node.
pub fn windows(build: u32) -> Result<Option<&'static WindowsRelease>> {
    let build = build.to_string();
    Ok(catalog()?.windows.iter().find(|release| release.build == build))
}

/// The pause image of a Windows node: for the release that its machine runs, unless the user chose a version. None
/// while that release is not known.
pub fn windows_pause(spec: &Spec, node: &Node, facts: Option<&Facts>) -> Option<String> {
    let versions = defaults(&spec.kubernetes).ok()?;
    let chosen = node.components.get(&ComponentName::Pause).and_then(|chosen| chosen.version.clone());
    let version = match chosen {
        Some(version) => version,
        None => versions.pause_on(windows(facts?.windows.as_ref()?.build).ok()??),
    };
    versions.image("pause", &version)
}

/// The SHA-256 of a download, if it is known.
pub fn digest(url: &str) -> Result<Option<&'static str>> {
    Ok(catalog()?.digests.get(url).map(String::as_str))
}

/// The versions of everything that goes with a version of Kubernetes.
#[derive(Debug, Clone)]
pub struct Versions {
    kubernetes: Version,
    minor: &'static Minor,
}

/// The versions that go with this Kubernetes; an error that names the supported minors, if it is none of them.
pub fn defaults(kubernetes: &Version) -> Result<Versions> {
    let catalog = catalog()?;
    let name = format!("{}.{}", kubernetes.major, kubernetes.minor);
    let minor = catalog.kubernetes.iter().find(|minor| minor.minor == name);
    let minor = minor.ok_or_else(|| {
        let known: Vec<_> = catalog.kubernetes.iter().map(|minor| minor.newest.to_string()).collect();
        Error::new(id::VERSION_UNKNOWN, format!("Kubernetes {kubernetes} is not in the catalog"))
            .hinted(format!("choose a release of the minors that are, for example {}", known.join(", ")))
    })?;
    Ok(Versions { kubernetes: kubernetes.clone(), minor })
}

impl Versions {
    /// The version of a piece, by its name; that of Kubernetes for what is released with it.
    pub fn of(&self, piece: &str) -> Version {
        self.minor.versions.get(piece).unwrap_or(&self.kubernetes).clone()
    }

    /// The Kubernetes itself.
    pub fn kubernetes(&self) -> &Version {
        &self.kubernetes
    }

    /// The version of pause on a release of Windows: the usual one, unless that has no manifest for it yet.
    pub fn pause_on(&self, release: &WindowsRelease) -> Version {
        self.of("pause").max(release.pause.clone())
    }

    /// The row of the catalog.
    pub fn minor(&self) -> &'static Minor {
        self.minor
    }

    /// The image of a piece in a version as kubeadm and the manifests name it; none for what is no image.
    ///
    /// kubeadm's own constants differ between patch releases of a minor; the configuration that swdt writes names
    /// these tags, so that they are what is used.
    pub fn image(&self, piece: &str, version: &Version) -> Option<String> {
        let tagged = |name: &str| self.minor.tags.get(name).cloned();
        let kubernetes = || Some(format!("{REGISTRY}/{piece}:v{}", self.kubernetes));
        match piece {
            "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" | "kube-proxy" => kubernetes(),
            // Its tags count how often the image of a version was made.
            "etcd" if *version != self.of("etcd") => Some(format!("{REGISTRY}/etcd:{version}-0")),
            "etcd" => tagged("etcd").map(|tag| format!("{REGISTRY}/etcd:{tag}")),
            "coredns" => Some(format!("{REGISTRY}/coredns/coredns:v{version}")),
            "pause" => Some(format!("{REGISTRY}/pause:{version}")),
            "flannel" => Some(format!("ghcr.io/flannel-io/flannel:v{version}")),
            "agnhost" => tagged("agnhost").map(|tag| format!("{REGISTRY}/e2e-test-images/agnhost:{tag}")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_can_be_read_and_every_row_says_where_it_was_seen() {
        let catalog = catalog().unwrap();
        let minors: Vec<_> = catalog.kubernetes.iter().map(|minor| minor.minor.as_str()).collect();
        assert_eq!(minors, ["1.34", "1.35", "1.36", "1.37"]);
        for rule in &catalog.rules {
            assert!(rule.source.starts_with("https://"), "{}", rule.id);
        }
        for release in &catalog.windows {
            assert!(release.seen.starts_with("https://"), "{}", release.name);
        }
        for minor in &catalog.kubernetes {
            assert!(minor.seen.contains(&format!("v{}/", minor.newest)), "{}", minor.minor);
            let containerd = &minor.versions["containerd"];
            assert!(minor.containerd.iter().any(|range| range.matches(containerd)), "{}", minor.minor);
            assert!(minor.tags["etcd"].starts_with(&format!("{}-", minor.versions["etcd"])));
        }
    }

    #[test]
    fn every_component_has_a_version_of_its_own_or_that_of_kubernetes() {
        for minor in &catalog().unwrap().kubernetes {
            for name in minor.versions.keys() {
                let known = ComponentName::ALL.iter().any(|component| component.as_str() == name);
                assert!(known || name == "flannel-plugin", "{name}");
            }
        }
        let versions = defaults(&Version::new(1, 36, 3)).unwrap();
        assert_eq!(versions.of("kubelet"), Version::new(1, 36, 3));
        assert_eq!(versions.of("etcd"), Version::new(3, 6, 8));
        assert_eq!(versions.of("flannel-plugin"), Version::new(0, 9, 1));
    }

    /// What `kubeadm config images list` of 1.36.3 says.
    #[test]
    fn images_are_those_of_kubeadm() {
        let versions = defaults(&Version::new(1, 36, 3)).unwrap();
        let image = |piece: &str| versions.image(piece, &versions.of(piece)).unwrap();
        assert_eq!(image("kube-proxy"), "registry.k8s.io/kube-proxy:v1.36.3");
        assert_eq!(image("coredns"), "registry.k8s.io/coredns/coredns:v1.14.2");
        assert_eq!(image("pause"), "registry.k8s.io/pause:3.10.2");
        assert_eq!(image("etcd"), "registry.k8s.io/etcd:3.6.8-0");
        assert_eq!(versions.image("kubelet", &versions.of("kubelet")), None);
        // A version of one's own has a tag of its own.
        let own = versions.image("etcd", &Version::new(3, 6, 9));
        assert_eq!(own.as_deref(), Some("registry.k8s.io/etcd:3.6.9-0"));
    }

    #[test]
    fn images_on_windows_are_of_the_build_of_the_host() {
        let pause = |kubernetes: &str, build| {
            let versions = meant(Some(kubernetes)).unwrap();
            let release = windows(build).unwrap().unwrap();
            (release.image.clone(), versions.pause_on(release).to_string())
        };
        assert_eq!(pause("1.35", 20348), ("ltsc2022".into(), "3.10.1".into()));
        assert_eq!(pause("1.35", 26100), ("ltsc2025".into(), "3.10.2".into()));
        assert_eq!(pause("1.36", 17763), ("ltsc2019".into(), "3.10.2".into()));
        assert!(windows(19045).unwrap().is_none());
    }

    #[test]
    fn an_unknown_minor_names_those_that_are_known() {
        let error = defaults(&Version::new(1, 33, 0)).unwrap_err();
        assert_eq!(error.id(), "version-unknown");
        assert!(error.hints[0].contains("1.36.3"), "{error:?}");
    }
}
