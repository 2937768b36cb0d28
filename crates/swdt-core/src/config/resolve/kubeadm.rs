//! What the user adds to kubeadm's configuration.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Resolver, Site, v1};
use crate::{id, spec::Kubeadm};

/// Fields of the kubelet and of kube-proxy that swdt decides, and where the decision can be changed.
const DECIDED: [(&str, &str, &str); 7] = [
    ("kubeletConfiguration", "apiVersion", "swdt writes it; leave it out"),
    ("kubeletConfiguration", "kind", "swdt writes it; leave it out"),
    (
        "kubeletConfiguration",
        "cgroupDriver",
        "it must be the one of containerd, which swdt sets to systemd; leave it out",
    ),
    ("kubeletConfiguration", "clusterDNS", "kubeadm takes it from `network.serviceCIDR`; leave it out"),
    ("kubeProxyConfiguration", "apiVersion", "swdt writes it; leave it out"),
    ("kubeProxyConfiguration", "kind", "swdt writes it; leave it out"),
    ("kubeProxyConfiguration", "clusterCIDR", "write it as `network.podCIDR`"),
];

impl Resolver<'_> {
    pub(super) fn kubeadm(&mut self, raw: &v1::Cluster, root: Site<'_>) -> Kubeadm {
        let Some(raw) = &raw.kubeadm else { return Kubeadm::default() };
        for (document, field, hint) in DECIDED {
            let site = root.key("kubeadm").key(document).key(field);
            if site.written() {
                self.report(id::KUBEADM_DECIDED, site, format!("`{field}` cannot be changed here"), hint);
            }
        }
        Kubeadm {
            cluster: map(raw.cluster_configuration.as_ref()),
            init: map(raw.init_configuration.as_ref()),
            join: map(raw.join_configuration.as_ref()),
            kubelet: raw.kubelet_configuration.clone().unwrap_or_default(),
            kube_proxy: raw.kube_proxy_configuration.clone().unwrap_or_default(),
        }
    }
}

fn map(value: Option<&impl Serialize>) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
