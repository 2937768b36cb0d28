//! kubeadm's configuration, `kubeadm.k8s.io/v1beta4`, from typed values. JSON is YAML, so serde
//! writes it and nothing needs to be quoted by hand.

mod overrides;

use serde::Serialize;
use serde_json::{Value, json};
use swdt_wire::{Facts, Virtualization};

use super::Known;
use crate::spec::{Node, OsFamily, Spec};

/// The API server's port.
pub(crate) const API_PORT: u16 = 6443;
const CRI_SOCKET: &str = "unix:///run/containerd/containerd.sock";
const WINDOWS_CRI_SOCKET: &str = "npipe:////./pipe/containerd-containerd";

/// The documents of `kubeadm init`.
pub(super) fn init(spec: &Spec, node: &Node, known: &Known) -> String {
    let address = known.address(node);
    let workers = spec.nodes.len() > 1;
    let mut registration = registration(node, known);
    if !workers {
        // Somebody has to run CoreDNS.
        registration["taints"] = json!([]);
    }
    let init = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "localAPIEndpoint": { "advertiseAddress": address, "bindPort": API_PORT },
        "nodeRegistration": registration,
    });
    let cluster = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "clusterName": spec.name,
        "kubernetesVersion": format!("v{}", spec.kubernetes),
        "controlPlaneEndpoint": endpoint(spec),
        "networking": { "podSubnet": spec.network.pod_cidr, "serviceSubnet": spec.network.service_cidr },
        "apiServer": { "certSANs": [spec.endpoint, node.name, address] },
        // What was imported, not what this patch release of kubeadm would ask for.
        "etcd": { "local": { "imageTag": known.image_tag("etcd") } },
        "dns": { "imageTag": known.image_tag("coredns") },
    });
    let additions = &spec.kubeadm;
    documents(&[
        overrides::merged(init, &additions.init),
        overrides::merged(cluster, &additions.cluster),
        overrides::merged(kubelet(spec, known), &additions.kubelet),
        overrides::merged(kube_proxy(spec, known), &additions.kube_proxy),
    ])
}

/// The document of `kubeadm join`. The word `TOKEN` stands for the token, which only the node sees.
pub(super) fn join(spec: &Spec, node: &Node, known: &Known) -> String {
    let hash = known.ca_hash.clone().unwrap_or_else(|| super::AFTER_INIT.to_owned());
    let join = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": { "bootstrapToken": { "apiServerEndpoint": endpoint(spec), "token": "TOKEN", "caCertHashes": [hash] } },
        "nodeRegistration": registration(node, known),
    });
    documents(&[overrides::merged(join, &spec.kubeadm.join)])
}

/// Preflight errors that do not apply to this machine.
pub(super) fn ignored(facts: Option<&Facts>) -> Vec<String> {
    let Some(facts) = facts else { return Vec::new() };
    let mut ignored = Vec::new();
    if facts.virtualization == Virtualization::SharedKernel {
        // Modules and kernel configuration are the host's, and cannot be seen from inside; so is swap.
        ignored.extend(["SystemVerification".to_owned(), "Swap".to_owned()]);
    } else if facts.cgroup == 1 {
        ignored.push("SystemVerification".to_owned());
    }
    ignored
}

/// Where the API server is reached, with its port.
pub(super) fn endpoint(spec: &Spec) -> String {
    format!("{}:{API_PORT}", spec.endpoint)
}

fn registration(node: &Node, known: &Known) -> Value {
    let socket = match node.os {
        OsFamily::Linux => CRI_SOCKET,
        OsFamily::Windows => WINDOWS_CRI_SOCKET,
    };
    json!({
        "name": node.name,
        "criSocket": socket,
        // Images are imported before; a registry is asked only for what is missing.
        "imagePullPolicy": "IfNotPresent",
        "kubeletExtraArgs": [{ "name": "node-ip", "value": known.address(node) }],
    })
}

/// One configuration for all kubelets, so it must suit the least able machine.
fn kubelet(spec: &Spec, known: &Known) -> Value {
    let facts = || spec.nodes.iter().filter_map(|node| known.facts.get(&node.name));
    let mut document = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
    });
    if facts().any(|facts| facts.cgroup == 1) {
        // From 1.35 on a kubelet refuses cgroup v1 unless told otherwise.
        document["failCgroupV1"] = json!(false);
    }
    if facts().any(|facts| facts.virtualization == Virtualization::SharedKernel) {
        document["failSwapOn"] = json!(false);
        // The disk is the host's as well: shares of it say nothing about what this node uses.
        document["imageGCHighThresholdPercent"] = json!(100);
        document["evictionHard"] =
            json!({ "memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi" });
    }
    document
}

fn kube_proxy(spec: &Spec, known: &Known) -> Value {
    let facts = || spec.nodes.iter().filter_map(|node| known.facts.get(&node.name));
    let mut document = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clusterCIDR": spec.network.pod_cidr,
        // Stated, because the default changes; needs Linux 5.13, which every system we know has.
        "mode": "nftables",
    });
    if facts().any(|facts| facts.virtualization == Virtualization::SharedKernel) {
        // The table's size is the host's to choose.
        document["conntrack"] = json!({ "maxPerCore": 0 });
    }
    document
}

fn documents(documents: &[impl Serialize]) -> String {
    let texts: Vec<String> =
        documents.iter().filter_map(|document| serde_json::to_string_pretty(document).ok()).collect();
    texts.join("\n---\n") + "\n"
}
