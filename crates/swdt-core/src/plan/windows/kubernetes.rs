//! Phases `kubernetes` and `join` on Windows: the programs, the kubelet's service, and membership.

use swdt_wire::{ArgumentsFrom, Kind, KubeadmJoin, Resource, ServiceHost};

use super::{
    super::{Known, List, kubeadm},
    Hosted, K, add_service, host, service,
};
use crate::spec::{Node, Spec};

const TITLE: &str = "kubelet: the Kubernetes node agent";
/// A kubelet without containerd would only fail and start again.
const NEEDS: &[&str] = &["containerd"];

/// What shall be there before a node can join.
pub(in crate::plan) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("kubernetes");
    for name in ["kubeadm", "kubelet", "kubectl"] {
        list.program(known, node, name, K);
    }
    // kubeadm starts the service, so whether it runs is not said here.
    let hosted = Hosted {
        name: "kubelet",
        title: TITLE,
        host: kubelet(node),
        depends_on: NEEDS,
        running: None,
        newer_than: &[],
    };
    add_service(&mut list, spec, hosted);
    list.resources
}

/// kubeadm writes what else it wants into a file that systemd reads on Linux; here the service host reads it, so the
/// flags are those of the Kubernetes at hand, whichever it is.
fn kubelet(node: &Node) -> ServiceHost {
    let arguments = [
        r"--config=C:\var\lib\kubelet\config.yaml".to_owned(),
        r"--bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf".to_owned(),
        r"--kubeconfig=C:\etc\kubernetes\kubelet.conf".to_owned(),
        r"--cert-dir=C:\var\lib\kubelet\pki".to_owned(),
        format!("--hostname-override={}", node.name),
    ];
    let arguments_from = Some(ArgumentsFrom {
        file: r"C:\var\lib\kubelet\kubeadm-flags.env".into(),
        variable: "KUBELET_KUBEADM_ARGS".into(),
    });
    // kubeadm gives it its configuration; before, it would only fail and start again, over and over.
    let waits_for = Some(r"C:\var\lib\kubelet\config.yaml".to_owned());
    ServiceHost { arguments_from, waits_for, ..host("kubelet", format!(r"{K}\kubelet.exe"), &arguments) }
}

/// `kubeadm join`, and the kubelet from then on.
pub(in crate::plan) fn join(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("join");
    let config = kubeadm::join(spec, node, known);
    list.add("kubeadm", Kind::KubeadmJoin(KubeadmJoin { config, token: None, ignore: Vec::new() }));
    let program = format!(r"{K}\kubelet.exe");
    list.add("kubelet", service(spec, "kubelet", TITLE, NEEDS, Some(true), vec![program]));
    list.resources
}
