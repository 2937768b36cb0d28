//! What kubeadm was told once, read back from a receipt: the way from a machine to its cluster.

use serde_json::Value;

use crate::spec::Spec;

/// The documents that kubeadm was told.
pub(crate) struct Told(Vec<Value>);

impl Told {
    /// Reads a configuration that swdt wrote. What cannot be read tells nothing.
    pub(crate) fn read(config: &str) -> Self {
        Self(config.split("\n---\n").filter_map(|text| serde_json::from_str(text).ok()).collect())
    }

    /// The node that the machine became.
    pub(crate) fn node(&self) -> Option<&str> {
        self.text("/nodeRegistration/name")
    }

    /// Where the control plane was made.
    pub(crate) fn address(&self) -> Option<&str> {
        self.text("/localAPIEndpoint/advertiseAddress")
    }

    /// The cluster as it was made, as far as it was decided for good then.
    pub(crate) fn over(&self, spec: &Spec) -> Spec {
        let mut made = spec.clone();
        if let Some(version) = self.text("/kubernetesVersion").and_then(|text| text.strip_prefix('v')) {
            made.kubernetes = version.parse().unwrap_or(made.kubernetes);
        }
        if let Some((endpoint, _)) = self.text("/controlPlaneEndpoint").and_then(|text| text.rsplit_once(':'))
        {
            endpoint.clone_into(&mut made.endpoint);
        }
        let network = |pointer: &str| self.text(pointer)?.parse().ok();
        made.network.pod_cidr = network("/networking/podSubnet").unwrap_or(made.network.pod_cidr);
        made.network.service_cidr = network("/networking/serviceSubnet").unwrap_or(made.network.service_cidr);
        made
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.iter().find_map(|document| document.pointer(pointer)?.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::{Known, kubeadm};

    #[test]
    fn what_was_said_is_understood_again() {
        let text = "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nkubernetes: {version: 1.36.3}\n\
                    nodes:\n  - {name: cp1, role: control-plane, address: 192.168.1.10}\n  - {name: w1, address: 192.168.1.11}";
        let spec = |text: &str| crate::config::load("a.yaml", text.as_bytes(), None, Path::new("/")).unwrap();
        let made = spec(text);
        let told = Told::read(&kubeadm::init(&made, &made.nodes[0], &Known::default()));
        assert_eq!((told.node(), told.address()), (Some("cp1"), Some("192.168.1.10")));
        let now =
            text.replace("1.36.3}", "1.36.2}\nnetwork: {podCIDR: 10.200.0.0/16, serviceCIDR: 10.97.0.0/16}");
        assert_eq!(told.over(&spec(&now)), made, "only what was decided for good comes from the receipt");
        let told = Told::read(&kubeadm::join(&made, &made.nodes[1], &Known::default()));
        assert_eq!((told.node(), told.address()), (Some("w1"), None));
        assert_eq!(Told::read("rubbish").over(&made), made);
    }
}
