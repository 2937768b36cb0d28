//! Phase `init`: the control plane.

use swdt_wire::{Condition, Kind, KubeadmInit, Manifest, Resource, Truth};

use super::{Known, List, kubeadm, kubernetes, runtime_class};
use crate::spec::{Node, Role, Spec};

/// `kubeadm init` on the control plane; nothing elsewhere.
pub(super) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("init");
    if node.role == Role::ControlPlane {
        let ignore = kubeadm::ignored(known.facts.get(&node.name));
        list.add(
            "kubeadm",
            Kind::KubeadmInit(KubeadmInit { config: kubeadm::init(spec, node, known), ignore }),
        );
        list.add("kubelet", kubernetes::kubelet_runs());
        list.add("api", Kind::Condition(Condition { what: Truth::ApiReady, patience: 120 }));
        if let Some(yaml) = runtime_class::manifest(spec, known) {
            list.add("runtime-classes", Kind::Manifest(Manifest { name: "runtime classes".into(), yaml }));
        }
    }
    list.resources
}
