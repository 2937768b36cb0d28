//! Phase `runtime`: containerd, with a configuration written for the machine at hand.

use std::fmt::Write;

use swdt_wire::{Facts, Image, Kind, Package, Resource, Service, Traces};

use super::{Known, List};
use crate::{
    artifact::ImageUse,
    spec::{Node, OsFamily, Role, Spec},
};

/// Where upstream's own service file expects the programs.
const BIN: &str = "/usr/local/bin";
/// Where the kubelet's runtime looks for network plugins.
const CNI_BIN: &str = "/opt/cni/bin";
const CONFIG: &str = "/etc/containerd/config.toml";
const UNIT: &str = "/etc/systemd/system/containerd.service";

/// Directories that containerd makes by itself, and where it keeps everything.
const DATA: &[&str] =
    &["/etc/cni", "/etc/cni/net.d", "/opt/containerd", "/var/lib/containerd", "/run/containerd"];

/// What shall be true for pods to run at all.
pub(super) fn resources(_spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("runtime");
    let dirs = DATA.iter().map(|&dir| dir.to_owned()).collect();
    list.add("traces", Kind::Traces(Traces { of: "containerd".into(), dirs, sysctls: Vec::new() }));
    // runc needs cgo and libseccomp to build; the distribution's is built for its own kernel and libraries.
    list.add("runc", Kind::Package(Package { names: vec!["runc".into()] }));
    for name in ["containerd", "containerd-shim-runc-v2", "ctr"] {
        list.program(known, node, name, BIN);
    }
    for name in ["bridge", "host-local", "loopback", "portmap"] {
        list.program(known, node, name, CNI_BIN);
    }
    let pause =
        known.image("pause").map_or_else(|| super::AFTER_FETCH.to_owned(), |image| image.reference.clone());
    list.text("config", CONFIG, config(known.facts.get(&node.name), &pause));
    list.text("unit", UNIT, include_str!("containerd.service"));
    list.add(
        "service",
        Kind::Service(Service {
            name: "containerd.service".into(),
            enabled: true,
            running: true,
            newer_than: vec![CONFIG.into(), UNIT.into(), format!("{BIN}/containerd")],
        }),
    );
    for image in known.artifacts.iter().flat_map(|artifacts| &artifacts.images) {
        let here = image.on == ImageUse::EveryNode || node.role == Role::ControlPlane;
        if here && image.os == OsFamily::Linux {
            let (reference, digest) = (image.reference.clone(), image.digest.clone());
            let kind = Kind::Image(Image { reference, digest, blob: image.archive.blob() });
            list.add(&format!("image/{}", image.reference), kind);
        }
    }
    list.resources
}

/// containerd 2's configuration, version 3.
fn config(facts: Option<&Facts>, pause: &str) -> String {
    let mut text = format!(
        "version = 3\n\n\
         [plugins.'io.containerd.cri.v1.images'.pinned_images]\n  sandbox = '{pause}'\n\n\
         [plugins.'io.containerd.cri.v1.images'.registry]\n  config_path = '/etc/containerd/certs.d'\n\n\
         [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]\n  \
         runtime_type = 'io.containerd.runc.v2'\n\n\
         [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\n  SystemdCgroup = true\n"
    );
    if facts.is_some_and(|facts| !facts.sys_resource) {
        // Without CAP_SYS_RESOURCE runc cannot lower OOM scores and dies without a word of why.
        let _ = write!(text, "\n[plugins.'io.containerd.cri.v1.runtime']\n  restrict_oom_score_adj = true\n");
    }
    text
}
