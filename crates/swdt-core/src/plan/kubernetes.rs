//! Phase `kubernetes`: the programs, and the kubelet's service, which kubeadm starts.

use swdt_wire::{Kind, Resource, Service, Traces, Virtualization};

use super::{Known, List};
use crate::spec::{Node, Spec};

const BIN: &str = "/usr/local/bin";
const KUBELET: &str = "/usr/local/bin/kubelet";
const UNIT: &str = "/etc/systemd/system/kubelet.service";

/// Settings of the network that kube-proxy changes by itself.
const SYSCTLS: &[&str] = &[
    "net.ipv4.conf.all.route_localnet",
    "net.netfilter.nf_conntrack_tcp_timeout_close_wait",
    "net.netfilter.nf_conntrack_tcp_timeout_established",
];

/// The same of the kernel as a whole, kubelet's included; phase `prepare` sets the others that they would.
const KERNEL_SYSCTLS: &[&str] = &[
    "kernel.keys.root_maxbytes",
    "kernel.keys.root_maxkeys",
    "net.netfilter.nf_conntrack_max",
    "vm.panic_on_oom",
];

/// What shall be there before a node can join.
pub(super) fn resources(_spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("kubernetes");
    let facts = known.facts.get(&node.name);
    let own_kernel = facts.is_some_and(|facts| facts.virtualization == Virtualization::OwnKernel);
    let sysctls = SYSCTLS.iter().chain(if own_kernel { KERNEL_SYSCTLS } else { &[] });
    let sysctls = sysctls.map(|&key| key.to_owned()).collect();
    list.add("traces", Kind::Traces(Traces { of: "Kubernetes".into(), dirs: Vec::new(), sysctls }));
    for name in ["kubeadm", "kubelet", "kubectl"] {
        list.program(known, node, name, BIN);
    }
    list.text("unit", UNIT, include_str!("kubelet.service"));
    // The kubelet's service wants it, and systemd would not take it back with the kubelet.
    list.add(
        "network-online",
        Kind::Service(Service {
            name: "network-online.target".into(),
            enabled: false,
            running: true,
            newer_than: Vec::new(),
        }),
    );
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
