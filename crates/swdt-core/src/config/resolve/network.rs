//! The networks: where pods and services get their addresses.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::{Resolver, Site, v1, values};
use crate::{
    id,
    spec::{Cni, Network},
};

const POD_CIDR: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 16);
const SERVICE_CIDR: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 96, 0, 0), 16);
/// What the controller manager cuts from the pod network for each node.
const NODE_PREFIX: u8 = 24;

impl Resolver<'_> {
    pub(super) fn network(&mut self, raw: &v1::Cluster, root: Site<'_>) -> Option<Network> {
        let site = root.key("network");
        let (pod_site, service_site) = (site.key("podCIDR"), site.key("serviceCIDR"));
        let network = raw.network.as_ref();
        let pods = network.and_then(|network| network.pod_cidr.as_deref());
        let services = network.and_then(|network| network.service_cidr.as_deref());
        let pod_cidr = self.net(pods, pod_site, POD_CIDR);
        let service_cidr = self.net(services, service_site, SERVICE_CIDR);

        if let Some(net) = pod_cidr {
            // Where nothing is said of it, what needs so large a network are the nodes.
            let site = if pod_site.written() { pod_site } else { root.key("nodes") };
            self.pod_size(net, raw.nodes.as_ref().map_or(0, Vec::len), site);
        }
        // kube-apiserver allows at most 20 bits; kubeadm gives the tenth address to DNS.
        if let Some(net) = service_cidr.filter(|net| !(12..=28).contains(&net.prefix_len())) {
            let message = format!("`{net}` cannot be used for services: its prefix must be /12 to /28");
            self.report(id::NETWORK_INVALID, service_site, message, format!("for example `{SERVICE_CIDR}`"));
        }
        if let (Some(pods), Some(services)) = (pod_cidr, service_cidr)
            && overlap(pods, services)
        {
            let site = if service_site.written() { service_site } else { pod_site };
            let message = format!("the networks of services (`{services}`) and pods (`{pods}`) overlap");
            self.report(
                id::NETWORKS_OVERLAP,
                site,
                message,
                format!("the defaults are `{POD_CIDR}` for pods and `{SERVICE_CIDR}` for services"),
            );
        }
        self.machines_outside(raw, root, pod_cidr, service_cidr);

        let cni =
            network.and_then(|network| network.cni.as_ref()).and_then(|cni| cni.name).unwrap_or(Cni::Flannel);
        Some(Network { cni, pod_cidr: pod_cidr?, service_cidr: service_cidr? })
    }

    fn net(&mut self, text: Option<&str>, site: Site<'_>, default: Ipv4Net) -> Option<Ipv4Net> {
        if site.bad() {
            return None;
        }
        text.map_or(Some(default), |text| self.take(values::cidr(text), site))
    }

    fn pod_size(&mut self, net: Ipv4Net, nodes: usize, site: Site<'_>) {
        let prefix = net.prefix_len();
        if !(8..=NODE_PREFIX).contains(&prefix) {
            let message = format!("`{net}` cannot be used for pods: its prefix must be /8 to /{NODE_PREFIX}");
            self.report(id::NETWORK_INVALID, site, message, format!("for example `{POD_CIDR}`"));
        } else if nodes > 1 << (NODE_PREFIX - prefix) {
            let room = 1 << (NODE_PREFIX - prefix);
            let message = format!(
                "`{net}` is too small for {nodes} nodes: each takes a /24, so it has room for {room}"
            );
            let needed = u32::from(NODE_PREFIX).saturating_sub(nodes.next_power_of_two().ilog2());
            let hint = format!("write a `network.podCIDR` of at least a /{needed}");
            self.report(id::NETWORK_INVALID, site, message, hint);
        }
    }

    /// A machine with an address in a virtual network can never be reached from a pod.
    fn machines_outside(
        &mut self,
        raw: &v1::Cluster,
        root: Site<'_>,
        pods: Option<Ipv4Net>,
        services: Option<Ipv4Net>,
    ) {
        let nets = [("podCIDR", "pods", pods), ("serviceCIDR", "services", services)];
        for (index, node) in raw.nodes.iter().flatten().enumerate() {
            let address = node.as_ref().and_then(|node| node.address.as_ref());
            let Some(ip) = address.and_then(|text| text.parse::<Ipv4Addr>().ok()) else { continue };
            for (key, what, net) in nets {
                if let Some(net) = net.filter(|net| net.contains(&ip)) {
                    let site = root.key("nodes").item(index).key("address");
                    let message =
                        format!("the machine's address `{ip}` lies in the network of {what}, `{net}`");
                    self.report(
                        id::NETWORKS_OVERLAP,
                        site,
                        message,
                        format!("choose another `network.{key}`"),
                    );
                }
            }
        }
    }
}

fn overlap(one: Ipv4Net, other: Ipv4Net) -> bool {
    one.contains(&other) || other.contains(&one)
}
