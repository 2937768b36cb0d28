//! kubeadm's configuration, `kubeadm.k8s.io/v1beta4`, from typed values. JSON is YAML, so serde
//! writes it and nothing needs to be quoted by hand.

mod overrides;
mod told;

use serde::Serialize;
use serde_json::{Value, json};
use swdt_wire::{Facts, Virtualization};

pub(crate) use told::Told;

use super::Known;
use crate::spec::{Effect, Node, OsFamily, Role, Spec, Taint};

/// The API server's port.
pub(crate) const API_PORT: u16 = 6443;
const CRI_SOCKET: &str = "unix:///run/containerd/containerd.sock";
const WINDOWS_CRI_SOCKET: &str = "npipe:////./pipe/containerd-containerd";

/// The documents of `kubeadm init`.
pub(super) fn init(spec: &Spec, node: &Node, known: &Known) -> String {
    let address = known.address(node);
    let mut registration = registration(node, known);
    if !spec.nodes.iter().any(runs_anything) && node.taints.is_none() {
        // Somebody has to run CoreDNS.
        registration["taints"] = json!([]);
    }
    let init = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "localAPIEndpoint": { "advertiseAddress": address, "bindPort": API_PORT },
        "nodeRegistration": registration,
    });
    let init = unhurried(init, known);
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
    let cluster = unrivalled(cluster, known);
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
    let join = unhurried(join, known);
    documents(&[overrides::merged(join, &spec.kubeadm.join)])
}

/// kubeadm gives an API server one minute to say its first word. Who emulates a processor needs more of everything.
fn unhurried(mut document: Value, known: &Known) -> Value {
    if known.slowness() > 1 {
        document["timeouts"] = json!({
            "controlPlaneComponentHealthCheck": "30m0s",
            "kubeletHealthCheck": "20m0s",
            "kubernetesAPICall": "15m0s",
            "etcdAPICall": "15m0s",
            "tlsBootstrap": "30m0s",
            "discovery": "30m0s",
        });
    }
    document
}

/// The only control plane has nobody to be elected against. Where a processor is emulated it would miss the ten seconds in
/// which it must say that it is still there, and end itself again and again. etcd elects itself after a second without a
/// heartbeat, and refuses what takes longer than a few; an API server that is refused while it starts ends itself, too.
fn unrivalled(mut cluster: Value, known: &Known) -> Value {
    if known.slowness() > 1 {
        let arguments = |words: &[(&str, &str)]| -> Value {
            words.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
        };
        let alone = json!({ "extraArgs": arguments(&[("leader-elect", "false")]) });
        cluster["controllerManager"] = alone.clone();
        cluster["scheduler"] = alone;
        cluster["apiServer"]["extraArgs"] =
            arguments(&[("etcd-healthcheck-timeout", "20s"), ("etcd-readycheck-timeout", "20s")]);
        cluster["etcd"]["local"]["extraArgs"] =
            arguments(&[("heartbeat-interval", "1000"), ("election-timeout", "10000")]);
    }
    cluster
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

/// Is it a worker on which Linux pods may run that tolerate nothing?
fn runs_anything(node: &Node) -> bool {
    let keeps_away = |taint: &Taint| taint.effect != Effect::PreferNoSchedule;
    node.role == Role::Worker && node.os == OsFamily::Linux && !node.taints.iter().flatten().any(keeps_away)
}

fn registration(node: &Node, known: &Known) -> Value {
    let socket = match node.os {
        OsFamily::Linux => CRI_SOCKET,
        OsFamily::Windows => WINDOWS_CRI_SOCKET,
    };
    let mut arguments = vec![json!({ "name": "node-ip", "value": known.address(node) })];
    if !node.labels.is_empty() {
        let labels: Vec<_> = node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        arguments.push(json!({ "name": "node-labels", "value": labels.join(",") }));
    }
    let mut registration = json!({
        "name": node.name,
        "criSocket": socket,
        // Images are imported before; a registry is asked only for what is missing.
        "imagePullPolicy": "IfNotPresent",
        "kubeletExtraArgs": arguments,
    });
    if let Some(taints) = &node.taints {
        registration["taints"] = json!(taints);
    }
    registration
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn spec(nodes: &str) -> Spec {
        let text = format!(
            "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nkubernetes: {{version: 1.36.3}}\nnodes:\n{nodes}"
        );
        crate::config::load("a.yaml", text.as_bytes(), None, Path::new("/")).unwrap()
    }

    /// The first document's registration of the node.
    fn registration(spec: &Spec, index: usize) -> Value {
        let (node, known) = (&spec.nodes[index], Known::default());
        let text = if index == 0 { init(spec, node, &known) } else { join(spec, node, &known) };
        let first = text.split("\n---\n").next().unwrap();
        serde_json::from_str::<Value>(first).unwrap()["nodeRegistration"].clone()
    }

    const CP: &str = "  - {name: cp1, role: control-plane, address: 192.168.1.10}\n";

    #[test]
    fn a_node_is_born_with_its_labels_and_taints() {
        let spec = spec(&format!(
            "{CP}  - {{name: w1, address: 192.168.1.11, labels: {{b: c, a: }}, taints: [\"os=windows:NoSchedule\", x:NoExecute]}}\n"
        ));
        let worker = registration(&spec, 1);
        assert_eq!(worker["kubeletExtraArgs"][1], json!({ "name": "node-labels", "value": "a=,b=c" }));
        let taints = json!([{ "key": "os", "value": "windows", "effect": "NoSchedule" }, { "key": "x", "effect": "NoExecute" }]);
        assert_eq!(worker["taints"], taints);
    }

    #[test]
    fn a_rehearsal_says_what_it_is() {
        let spec = spec(&format!("{CP}  - {{name: win1, os: windows, machine: {{provider: rehearsal}}}}\n"));
        let node = registration(&spec, 1);
        assert_eq!(node["kubeletExtraArgs"][1]["value"], "swdt.dev/rehearsal=true");
        assert_eq!(
            node["taints"],
            json!([{ "key": "swdt.dev/rehearsal", "value": "true", "effect": "NoSchedule" }])
        );
    }

    #[test]
    fn a_control_plane_is_open_only_where_nobody_else_runs_pods() {
        let taints = |worker: &str| registration(&spec(&format!("{CP}{worker}")), 0)["taints"].clone();
        let usual = Value::Null;
        assert_eq!(taints("  - {name: w1, address: 192.168.1.11}\n"), usual);
        assert_eq!(
            taints("  - {name: w1, address: 192.168.1.11, taints: [\"a:PreferNoSchedule\"]}\n"),
            usual
        );
        for nobody in [
            "",
            "  - {name: win1, os: windows, address: 192.168.1.11}\n",
            "  - {name: w1, address: 192.168.1.11, taints: [\"a:NoSchedule\"]}\n",
        ] {
            assert_eq!(taints(nobody), json!([]), "{nobody}");
        }
        let own = CP.replace("192.168.1.10", "192.168.1.10, taints: [\"a:NoSchedule\"]");
        assert_eq!(registration(&spec(&own), 0)["taints"], json!([{ "key": "a", "effect": "NoSchedule" }]));
    }
}
