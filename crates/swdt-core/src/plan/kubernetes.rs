//! Phase `kubernetes`: the programs, and the kubelet's service, which kubeadm starts.

use swdt_wire::{Kind, Resource, Service};

use super::{Known, List};
use crate::spec::{Node, Spec};

const BIN: &str = "/usr/local/bin";
const KUBELET: &str = "/usr/local/bin/kubelet";
const UNIT: &str = "/etc/systemd/system/kubelet.service";

/// What shall be there before a node can join.
pub(super) fn resources(_spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("kubernetes");
    for name in ["kubeadm", "kubelet", "kubectl"] {
        list.program(known, node, name, BIN);
    }
    list.text("unit", UNIT, include_str!("kubelet.service"));
    list.resources
}

/// The kubelet's service, once kubeadm has given it a configuration; before, it would only fail and
/// start again, over and over.
pub(super) fn kubelet_runs() -> Kind {
    Kind::Service(Service {
        name: "kubelet.service".into(),
        enabled: true,
        running: true,
        newer_than: vec![UNIT.into(), KUBELET.into()],
    })
}
