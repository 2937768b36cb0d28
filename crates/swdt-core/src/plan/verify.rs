//! Phase `verify`: named conditions, all asked on the control plane.

use swdt_wire::{Condition, Kind, Resource, Truth};

use super::{Known, List};
use crate::{
    cni,
    spec::{Node, Role, Spec},
};

/// A node pulls or imports nothing any more at this point; what takes longer is broken.
pub(super) const PATIENCE: u64 = 180;

/// Nodes, network and DNS are ready.
pub(super) fn resources(spec: &Spec, node: &Node, _known: &Known) -> Vec<Resource> {
    let mut list = List::new("verify");
    if node.role != Role::ControlPlane {
        return list.resources;
    }
    let mut wait = |name: &str, what| list.add(name, Kind::Condition(Condition { what, patience: PATIENCE }));
    for (namespace, name) in cni::of(spec.network.cni).daemon_sets() {
        wait(name, Truth::DaemonSet { namespace: (*namespace).into(), name: (*name).into() });
    }
    wait("kube-proxy", Truth::DaemonSet { namespace: "kube-system".into(), name: "kube-proxy".into() });
    for node in &spec.nodes {
        wait(&format!("node/{}", node.name), Truth::NodeReady { name: node.name.clone() });
    }
    wait("coredns", Truth::Deployment { namespace: "kube-system".into(), name: "coredns".into() });
    list.resources
}
