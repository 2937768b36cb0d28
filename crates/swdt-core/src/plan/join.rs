//! Phase `join`: the workers. The runner adds the token to what it sends.

use swdt_wire::{Kind, KubeadmJoin, Resource};

use super::{Known, List, kubeadm, kubernetes};
use crate::spec::{Node, Role, Spec};

/// `kubeadm join` on workers; nothing on the control plane.
pub(super) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("join");
    if node.role == Role::Worker {
        let ignore = kubeadm::ignored(known.facts.get(&node.name));
        let config = kubeadm::join(spec, node, known);
        list.add("kubeadm", Kind::KubeadmJoin(KubeadmJoin { config, token: None, ignore }));
        list.add("kubelet", kubernetes::kubelet_runs());
    }
    list.resources
}
