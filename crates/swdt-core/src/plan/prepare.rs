//! Phase `prepare`: a machine becomes one on which Kubernetes can be installed.

use swdt_wire::{
    Firewall, Hostname, KernelModule, Kind, Line, Package, PortRange, Protocol, Resource, Swap, Sysctl,
    Virtualization,
};

use super::{Known, List};
use crate::spec::{MachineSpec, Node, Place, ProviderName, Role, Spec};

/// Modules that container networking and overlay file systems need.
const MODULES: &[&str] = &["overlay", "br_netfilter"];

/// Settings of a machine with a kernel of its own. The last five are what kubelet wants or sets by
/// itself; the inotify ones keep `kubectl logs -f` and many pods from running out of watches.
const SYSCTLS: &[(&str, &str)] = &[
    ("net.ipv4.ip_forward", "1"),
    ("net.bridge.bridge-nf-call-iptables", "1"),
    ("net.bridge.bridge-nf-call-ip6tables", "1"),
    ("vm.overcommit_memory", "1"),
    ("kernel.panic", "10"),
    ("kernel.panic_on_oops", "1"),
    ("fs.inotify.max_user_instances", "8192"),
    ("fs.inotify.max_user_watches", "524288"),
];

/// Settings that every network namespace has for itself, so that a machine on a shared kernel may
/// set them. All others belong to the provider there.
const NAMESPACED_SYSCTLS: &[(&str, &str)] = &[("net.ipv4.ip_forward", "1")];

/// Programs that kubeadm's preflight and kube-proxy look for.
const APT_PACKAGES: &[&str] = &["conntrack", "ethtool", "iptables", "kmod", "nftables", "socat"];
const DNF_PACKAGES: &[&str] =
    &["conntrack-tools", "ethtool", "iptables-nft", "kmod", "nftables", "socat", "tar"];

/// What shall be true on a Linux machine before anything of Kubernetes is installed.
pub(super) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let facts = known.facts.get(&node.name);
    let own_kernel = facts.map_or_else(
        // Before the first contact the provider tells: only nspawn's machines share the host's kernel.
        || !matches!(node.place, Place::Machine(MachineSpec { provider: ProviderName::Nspawn, .. })),
        |facts| facts.virtualization == Virtualization::OwnKernel,
    );
    let mut list = List::new("prepare");

    if node.set_hostname {
        list.add("hostname", Kind::Hostname(Hostname { name: node.name.clone() }));
    }
    hosts(&mut list, spec, known, "/etc/hosts");

    let packages = match facts.and_then(|facts| facts.packages.as_deref()) {
        Some("dnf") => DNF_PACKAGES,
        _ => APT_PACKAGES,
    };
    let names = packages.iter().map(|name| (*name).to_owned()).collect();
    list.add("packages", Kind::Package(Package { names }));

    if own_kernel {
        list.add("swap", Kind::Swap(Swap {}));
        for name in MODULES {
            list.add(
                &format!("module/{name}"),
                Kind::KernelModule(KernelModule { name: (*name).to_owned() }),
            );
        }
    }
    for (key, value) in if own_kernel { SYSCTLS } else { NAMESPACED_SYSCTLS } {
        let sysctl = Sysctl { key: (*key).to_owned(), value: (*value).to_owned() };
        list.add(&format!("sysctl/{key}"), Kind::Sysctl(sysctl));
    }
    list.add("firewall", Kind::Firewall(Firewall { ports: ports(node.role) }));
    list.resources
}

/// Every machine's name for every machine, and the endpoint's.
pub(super) fn hosts(list: &mut List, spec: &Spec, known: &Known, path: &str) {
    // The comment tells people, and a clean-up without records, whose line it is.
    let line = |address: &str, name: &str| {
        Kind::Line(Line { path: path.to_owned(), line: format!("{address} {name} # swdt {}", spec.name) })
    };
    for other in &spec.nodes {
        list.add(&format!("hosts/{}", other.name), line(&known.address(other), &other.name));
    }
    if let Some(control_plane) = spec.control_planes().next() {
        list.add("hosts/endpoint", line(&known.address(control_plane), &spec.endpoint));
    }
}

/// <https://kubernetes.io/docs/reference/networking/ports-and-protocols/>, and VXLAN on the port
/// that Windows needs.
pub(super) fn ports(role: Role) -> Vec<PortRange> {
    let tcp = |from, to| PortRange { protocol: Protocol::Tcp, from, to };
    let udp = |from, to| PortRange { protocol: Protocol::Udp, from, to };
    let mut ports = match role {
        Role::ControlPlane => vec![tcp(6443, 6443), tcp(2379, 2380), tcp(10257, 10257), tcp(10259, 10259)],
        Role::Worker => Vec::new(),
    };
    ports.extend([
        tcp(10250, 10250),
        tcp(10256, 10256),
        tcp(30000, 32767),
        udp(30000, 32767),
        udp(4789, 4789),
    ]);
    ports
}
