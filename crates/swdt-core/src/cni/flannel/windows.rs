//! Flannel on Windows: `flanneld.exe` as a service, and the plugin win-overlay.

use serde_json::json;

use super::super::OnWindows;
use crate::spec::Spec;

const NET_CONF: &str = r"C:\etc\kube-flannel\net-conf.json";
const KUBECONFIG: &str = r"C:\etc\kube-flannel\kubeconfig";

impl OnWindows for super::Flannel {
    fn plugins(&self) -> &'static [&'static str] {
        &["flannel"]
    }

    fn daemon(&self) -> &'static str {
        "flanneld"
    }

    fn title(&self) -> &'static str {
        "flanneld: the network of pods"
    }

    fn account(&self) -> (&'static str, &'static str) {
        ("kube-flannel", "flannel")
    }

    fn kubeconfig(&self) -> &'static str {
        KUBECONFIG
    }

    fn arguments(&self, address: &str) -> Vec<String> {
        vec![
            "--kube-subnet-mgr".into(),
            format!("--kubeconfig-file={KUBECONFIG}"),
            format!("--net-config-path={NET_CONF}"),
            // Named, for with several adapters it would ask PowerShell which one leads outside.
            format!("--iface={address}"),
        ]
    }

    fn hns_network(&self) -> &'static str {
        "flannel.4096"
    }

    fn written_when_ready(&self) -> &'static str {
        r"C:\run\flannel\subnet.env"
    }

    fn dirs(&self) -> &'static [&'static str] {
        &[r"C:\run", r"C:\run\flannel", r"C:\var\lib\cni"]
    }

    fn files_before(&self, spec: &Spec) -> Vec<(&'static str, &'static str, String)> {
        vec![("net-conf", NET_CONF, super::net_conf(spec).to_string())]
    }

    fn files(&self, spec: &Spec) -> Vec<(&'static str, &'static str, String)> {
        let inside = [&spec.network.pod_cidr, &spec.network.service_cidr];
        let policy = |value| json!({ "name": "EndpointPolicy", "value": value });
        let conf = json!({
            // 0.3.1 is refused by what reads it on Windows (sig-windows-tools#266).
            "cniVersion": "0.3.0",
            "name": self.hns_network(),
            "type": "flannel",
            "capabilities": { "portMappings": true, "dns": true },
            "delegate": {
                "type": "win-overlay",
                // containerd gives pods a namespace of the host compute network, which is version 2.
                "apiVersion": 2,
                "policies": [
                    // Pods and services are reached as they are; what leaves the cluster leaves as the node.
                    policy(json!({ "Type": "OutBoundNAT", "Settings": { "Exceptions": inside } })),
                    policy(json!({ "Type": "SDNRoute", "Settings": {
                        "DestinationPrefix": spec.network.service_cidr, "NeedEncap": true } })),
                ],
            },
        });
        let text = serde_json::to_string_pretty(&conf).unwrap_or_default() + "\n";
        vec![("cni-conf", r"C:\etc\cni\net.d\10-flannel.conf", text)]
    }
}
