//! Flannel with VXLAN: the simplest network that Linux and Windows nodes can share.

mod windows;

use serde_json::{Value, json};

use super::{Cni, OnWindows};
use crate::spec::Spec;

/// Windows can do VXLAN only with an identifier of at least 4096 and on port 4789, so Linux nodes use
/// the same from the first day.
const VNI: u32 = 4096;
const PORT: u16 = 4789;

pub(super) struct Flannel;

impl Cni for Flannel {
    fn name(&self) -> &'static str {
        "flannel"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["flannel"]
    }

    fn written_when_ready(&self) -> &'static str {
        "/run/flannel/subnet.env"
    }

    fn files(&self, _spec: &Spec) -> Vec<(&'static str, &'static str, String)> {
        vec![(
            "cni-conf",
            "/etc/cni/net.d/10-flannel.conflist",
            include_str!("10-flannel.conflist").to_owned(),
        )]
    }

    fn manifest(&self, spec: &Spec, image: &str, api: &str) -> String {
        let mut network = net_conf(spec);
        network["EnableNFTables"] = json!(true);
        include_str!("flannel.yaml")
            .replace("NET_CONF", &network.to_string())
            .replace("IMAGE", image)
            .replace("API_ADDRESS", api)
    }

    fn daemon_sets(&self) -> &'static [(&'static str, &'static str)] {
        &[("kube-flannel", "kube-flannel-linux")]
    }

    fn on_windows(&self) -> &dyn OnWindows {
        self
    }
}

/// The same on every node, or they could not speak to each other.
fn net_conf(spec: &Spec) -> Value {
    json!({ "Network": spec.network.pod_cidr, "Backend": { "Type": "vxlan", "VNI": VNI, "Port": PORT } })
}
