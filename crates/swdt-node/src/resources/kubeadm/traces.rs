//! What a cluster leaves on a machine: recorded when it is not there yet, so that it can go again.

use swdt_wire::Prior;

use super::packets;
use crate::{Ctx, Result};

/// Signs of a cluster on the machine. `kubeadm reset` would take them away, whoever made them.
pub const SIGNS: &[&str] = &[
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/bootstrap-kubelet.conf",
    "/etc/kubernetes/manifests/kube-apiserver.yaml",
    "/etc/kubernetes/manifests/etcd.yaml",
    "/etc/kubernetes/pki/ca.crt",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/pki",
    "/var/lib/etcd/member",
];

/// Directories and files that kubeadm, the kubelet, the containers of the control plane and of the network make.
/// Absent, they go whole; empty, they are emptied again; otherwise only what is named below them goes.
const PATHS: [&str; 24] = [
    "/etc/kubernetes",
    "/etc/kubernetes/manifests",
    "/etc/kubernetes/pki",
    "/etc/kubernetes/tmp",
    "/var/lib/kubelet",
    "/var/lib/etcd",
    "/etc/cni",
    "/etc/cni/net.d",
    "/var/lib/cni",
    "/opt/cni",
    "/opt/cni/bin",
    "/opt/cni/bin/flannel",
    "/opt/cni/bin/calico",
    "/opt/cni/bin/calico-ipam",
    "/run/flannel",
    "/var/lib/calico",
    "/run/calico",
    "/var/log/calico",
    "/var/log/pods",
    "/var/log/containers",
    // The controller manager's pod has it made on the host.
    "/usr/libexec/kubernetes",
    // kube-proxy's pod has them made on the host.
    "/lib/modules",
    "/run/xtables.lock",
    "/var/lib/kube-proxy",
];

/// Links that networks of pods make. They take their addresses, routes and the ends in pods with them.
const LINKS: [&str; 10] = [
    "cni0",
    "flannel.1",
    "flannel.4096",
    "flannel-v6.1",
    "flannel-v6.4096",
    "kube-ipvs0",
    "nodelocaldns",
    "vxlan.calico",
    "vxlan-v6.calico",
    "wireguard.cali",
];

/// Where links are seen.
pub(super) const NET: &str = "/sys/class/net/";

/// What is not there yet. A machine with signs of another cluster is refused.
pub(super) fn prior(ctx: &Ctx) -> Result<Prior> {
    let (mut absent, empty) = super::nothing_yet(ctx, SIGNS, PATHS)?;
    let links = LINKS.iter().map(|link| format!("{NET}{link}"));
    absent.extend(links.filter(|link| !ctx.path(link).exists()));
    absent.extend(packets::absent(ctx));
    Ok(Prior::Kubeadm { absent, empty })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_there_is_told_from_what_is_not() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        for dir in ["/var/lib/etcd", "/etc/kubernetes/manifests", "/opt/cni/bin"] {
            fs::create_dir_all(ctx.path(dir)).unwrap();
        }
        fs::write(ctx.path("/opt/cni/bin/bridge"), "").unwrap();
        let Prior::Kubeadm { absent, empty } = prior(&ctx).unwrap() else { panic!() };
        let empty: Vec<&str> = empty.iter().map(|prior| prior.path.as_str()).collect();
        assert_eq!(empty, ["/etc/kubernetes/manifests", "/var/lib/etcd"]);
        for gone in ["/var/lib/kubelet", "/etc/cni", "/opt/cni/bin/flannel", "/sys/class/net/cni0"] {
            assert!(absent.iter().any(|it| it == gone), "{gone} is not in {absent:?}");
        }
        for there in ["/etc/kubernetes", "/opt/cni", "/opt/cni/bin"] {
            assert!(!absent.iter().any(|it| it == there), "{there}");
        }
    }

    #[test]
    fn another_cluster_is_not_touched() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        fs::create_dir_all(ctx.path("/etc/kubernetes/pki")).unwrap();
        fs::write(ctx.path("/etc/kubernetes/pki/ca.crt"), "").unwrap();
        assert!(prior(&ctx).unwrap_err().message.contains("pki/ca.crt is there"));
    }
}
