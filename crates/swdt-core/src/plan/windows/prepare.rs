//! Phase `prepare` on Windows: the name, the feature that containers need, and one restart for both.

use swdt_wire::{EnvPath, Feature, Firewall, Hostname, Kind, Resource, Restart};

use super::{
    super::{Known, List, prepare},
    CONTAINERD, K, settings,
};
use crate::spec::{Node, Spec};

const HOSTS: &str = r"C:\Windows\System32\drivers\etc\hosts";

/// What shall be true on a Windows machine before anything of Kubernetes is installed.
pub(in crate::plan) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("prepare");
    if node.set_hostname {
        list.add("hostname", Kind::Hostname(Hostname { name: node.name.clone() }));
    }
    prepare::hosts(&mut list, spec, known, HOSTS);
    list.add("firewall", Kind::Firewall(Firewall { ports: prepare::ports(node.role) }));
    for (name, dir) in [("kubernetes", K), ("containerd", CONTAINERD)] {
        list.add(&format!("path/{name}"), Kind::EnvPath(EnvPath { dir: dir.to_owned() }));
    }
    list.add("containers", Kind::Feature(Feature { name: "Containers".into() }));
    settings::add(&mut list, known.facts.get(&node.name));
    // Last: whatever needs a restart needs one restart.
    list.add("restart", Kind::Restart(Restart {}));
    list.resources
}
