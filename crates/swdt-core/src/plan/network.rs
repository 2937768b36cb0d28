//! Phase `network`: the pod network, whichever it is.

use swdt_wire::{Kind, Manifest, Resource};

use super::{Known, List};
use crate::{
    cni,
    spec::{Node, Role, Spec},
};

/// The network's objects on the control plane, its files on every node.
pub(super) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let network = cni::of(spec.network.cni);
    let mut list = List::new("network");
    for program in network.programs() {
        list.program(known, node, program, "/opt/cni/bin");
    }
    for (name, path, text) in network.files(spec) {
        list.text(name, path, text);
    }
    if node.role == Role::ControlPlane {
        let yaml = network.manifest(spec, known.image("flannel").map(|image| image.reference.as_str()));
        list.add("objects", Kind::Manifest(Manifest { name: network.name().into(), yaml }));
    }
    list.resources
}
