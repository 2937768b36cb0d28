//! Phases `network`, `node-net` and `verify` on Windows. The network's daemon needs the node's range of addresses,
//! which exists only after the node has joined, and kube-proxy needs an address of that range.

use serde_json::json;
use swdt_wire::{ClientConfig, Condition, HnsNetwork, Kind, Resource, ServiceHost, SourceVip, Traces, Truth};

use super::{
    super::{AFTER_INIT, Known, List, kubeadm, verify::PATIENCE},
    CNI_BIN, Hosted, K, add_service, host,
};
use crate::{
    cni,
    spec::{Node, Spec},
};

/// As long as kubeadm's own certificates live; a `create` renews what has less than a quarter left.
const RENEW_DAYS: u32 = 90;

const PROXY_DIR: &str = r"C:\var\lib\kube-proxy";
const PROXY_CONFIG: &str = r"C:\var\lib\kube-proxy\config.yaml";
/// Where kube-proxy says whether it is well.
const PROXY_HEALTH: &str = "http://127.0.0.1:10256/healthz";

/// The network's programs.
pub(in crate::plan) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let network = cni::of(spec.network.cni).on_windows();
    let mut list = List::new("network");
    for plugin in network.plugins() {
        list.program(known, node, plugin, CNI_BIN);
    }
    list.program(known, node, network.daemon(), K);
    list.program(known, node, "kube-proxy", K);
    list.resources
}

/// What makes a node ready: the daemon, the address to send from, kube-proxy, the plugins' configuration.
pub(in crate::plan) fn on_nodes(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let network = cni::of(spec.network.cni).on_windows();
    let mut list = List::new("node-net");
    let dirs = network.dirs().iter().map(|&dir| dir.to_owned()).collect();
    list.add("traces", Kind::Traces(Traces { of: network.daemon().into(), dirs, sysctls: Vec::new() }));

    let (namespace, account) = network.account();
    let kubeconfig = network.kubeconfig();
    list.add("kubeconfig/network", client_config(spec, known, kubeconfig, (namespace, account)));
    let hns = network.hns_network().to_owned();
    list.add("hns-network", Kind::HnsNetwork(HnsNetwork { name: hns.clone() }));
    for (name, path, text) in network.files_before(spec) {
        list.text(name, path, text);
    }
    let daemon = network.daemon();
    let arguments = network.arguments(&known.address(node));
    let host = ServiceHost {
        environment: [("NODE_NAME".to_owned(), node.name.clone())].into(),
        ..host(daemon, format!(r"{K}\{daemon}.exe"), &arguments)
    };
    let hosted = Hosted {
        name: daemon,
        title: network.title(),
        host,
        depends_on: &["hns"],
        running: Some(true),
        newer_than: &[kubeconfig],
    };
    add_service(&mut list, spec, hosted);
    let written = network.written_when_ready();
    let what = Truth::FileExists { path: written.to_owned() };
    list.add("daemon", Kind::Condition(Condition { what, patience: PATIENCE }));
    let what = Truth::HnsNetwork { name: hns };
    list.add("network-ready", Kind::Condition(Condition { what, patience: PATIENCE }));

    add_kube_proxy(&mut list, spec, node, known, network);
    for (name, path, text) in network.files(spec) {
        list.text(name, path, text);
    }
    list.resources
}

fn add_kube_proxy(list: &mut List, spec: &Spec, node: &Node, known: &Known, network: &dyn cni::OnWindows) {
    let kubeconfig = format!(r"{PROXY_DIR}\kubeconfig");
    list.add("kubeconfig/kube-proxy", client_config(spec, known, &kubeconfig, ("kube-system", "kube-proxy")));
    let config = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": { "kubeconfig": kubeconfig },
        "bindAddress": known.address(node),
        "clusterCIDR": spec.network.pod_cidr,
        "hostnameOverride": node.name,
        "mode": "kernelspace",
        "winkernel": { "networkName": network.hns_network(), "sourceVip": "SOURCE_VIP", "enableDSR": true },
    });
    let vip = SourceVip {
        range_from: network.written_when_ready().to_owned(),
        reserved_in: format!(r"C:\var\lib\cni\networks\{}", network.hns_network()),
        path: PROXY_CONFIG.to_owned(),
        template: serde_json::to_string_pretty(&config).unwrap_or_default() + "\n",
    };
    list.add("source-vip", Kind::SourceVip(vip));
    let hosted = Hosted {
        name: "kube-proxy",
        title: "kube-proxy: services of Kubernetes",
        host: host("kube-proxy", format!(r"{K}\kube-proxy.exe"), &[format!("--config={PROXY_CONFIG}")]),
        depends_on: &[network.daemon()],
        running: Some(true),
        newer_than: &[PROXY_CONFIG, &kubeconfig],
    };
    add_service(list, spec, hosted);
}

/// A kubeconfig with the rights of one service account: enough for its program, and no more.
fn client_config(spec: &Spec, known: &Known, path: &str, (namespace, account): (&str, &str)) -> Kind {
    Kind::ClientConfig(ClientConfig {
        path: path.to_owned(),
        server: format!("https://{}", kubeadm::endpoint(spec)),
        authority: known.authority.clone().unwrap_or_else(|| AFTER_INIT.to_owned()),
        namespace: namespace.to_owned(),
        account: account.to_owned(),
        token: None,
        renew_days: RENEW_DAYS,
    })
}

/// What only the machine itself can tell.
pub(in crate::plan) fn verify(_spec: &Spec, _node: &Node, _known: &Known) -> Vec<Resource> {
    let mut list = List::new("verify");
    let what = Truth::Healthy { url: PROXY_HEALTH.into() };
    list.add("kube-proxy", Kind::Condition(Condition { what, patience: PATIENCE }));
    list.resources
}
