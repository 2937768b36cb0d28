//! Phases `network` and `node-net`: the pod network, whichever it is.

use swdt_wire::{Condition, Kind, Manifest, Resource, Truth};

use super::{AFTER_FETCH, Known, List, verify::PATIENCE};
use crate::{
    cni,
    spec::{Node, Role, Spec},
};

/// The network's objects on the control plane, its plugins on every node.
pub(super) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let network = cni::of(spec.network.cni);
    let mut list = List::new("network");
    for program in network.programs() {
        list.program(known, node, program, "/opt/cni/bin");
    }
    if node.role == Role::ControlPlane {
        let image = known.image(network.name()).map_or(AFTER_FETCH, |image| &image.reference);
        let yaml = network.manifest(spec, image, &known.address(node));
        list.add("objects", Kind::Manifest(Manifest { name: network.name().into(), yaml }));
    }
    list.resources
}

/// What makes a node ready, once its network is.
pub(super) fn on_nodes(spec: &Spec, _node: &Node, _known: &Known) -> Vec<Resource> {
    let network = cni::of(spec.network.cni);
    let mut list = List::new("node-net");
    let what = Truth::FileExists { path: network.written_when_ready().to_owned() };
    list.add("daemon", Kind::Condition(Condition { what, patience: PATIENCE }));
    for (name, path, text) in network.files(spec) {
        list.text(name, path, text);
    }
    list.resources
}
