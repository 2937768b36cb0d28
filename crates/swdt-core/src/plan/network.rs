//! Phase `network`: the pod network, whichever it is.

use swdt_wire::{Kind, Manifest, Resource};

use super::{AFTER_FETCH, Known, List};
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
        let image = known.image(network.name()).map_or(AFTER_FETCH, |image| &image.reference);
        let yaml = network.manifest(spec, image, &known.address(node));
        list.add("objects", Kind::Manifest(Manifest { name: network.name().into(), yaml }));
    }
    list.resources
}
