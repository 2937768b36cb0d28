//! What is decided for good when the control plane is made, or when a node joins. Each refusal says what differs, why
//! it cannot be changed, and what to do instead.

use crate::{
    Error, id,
    plan::Known,
    spec::{Node, Place, Role, Spec},
};

/// A field of the file, its value, and why it is for good.
type Field = (&'static str, String, &'static str);

fn fields(spec: &Spec) -> [Field; 6] {
    [
        (
            "kubernetes.version",
            spec.kubernetes.to_string(),
            "another version needs an upgrade by kubeadm, node by node, which swdt does not do",
        ),
        (
            "controlPlane.endpoint",
            spec.endpoint.clone(),
            "the API server's certificate and the kubeconfig of every node hold that name",
        ),
        (
            "network.cni.name",
            format!("{:?}", spec.network.cni).to_lowercase(),
            "pods that run hang on the network they were started in",
        ),
        (
            "network.podCIDR",
            spec.network.pod_cidr.to_string(),
            "every node has a part of that range, and every pod an address of it",
        ),
        (
            "network.serviceCIDR",
            spec.network.service_cidr.to_string(),
            "services have addresses of that range, and the API server's certificate holds the first of them",
        ),
        (
            "runtime.name",
            format!("{:?}", spec.runtime).to_lowercase(),
            "containers that run belong to the runtime that started them",
        ),
    ]
}

/// What differs from the cluster that was made and cannot be changed in it.
pub fn changed(made: &Spec, now: &Spec) -> Vec<Error> {
    let mut errors: Vec<Error> = fields(made)
        .iter()
        .zip(&fields(now))
        .filter(|(was, is)| was != is)
        .map(|((field, was, why), (_, is, _))| refused(&format!("`{field}`"), was, is, why))
        .collect();
    for node in &now.nodes {
        if let Some(before) = made.node(&node.name).filter(|before| before.role != node.role) {
            let why = "the control plane holds the cluster's data and its authority, and there they stay";
            errors.push(refused("`role`", word(before.role), word(node.role), why).on(&node.name));
        }
        errors.extend(made.node(&node.name).into_iter().flat_map(|before| marks(before, node)));
    }
    errors
}

/// What `update` does not touch besides: it adds nodes and lets nodes leave, and reconfigures none that is there.
pub fn reconfigured(made: &Spec, now: &Spec) -> Vec<Error> {
    let mut errors = kubeadm(made, now);
    for node in &now.nodes {
        let Some(before) = made.node(&node.name) else { continue };
        let mut of_node = Vec::new();
        if before.os != node.os || maker(before) != maker(node) {
            let message = format!("was {} and is {} now: another machine", maker(before), maker(node));
            of_node.push(
                Error::new(id::NODE_FIXED, message)
                    .because("what was done to the machine that was there would be forgotten, and not undone")
                    .hinted(
                        "let the node leave first (`--prune`), or give the new machine a name of its own",
                    ),
            );
        }
        let names: std::collections::BTreeSet<_> =
            before.components.keys().chain(node.components.keys()).collect();
        for name in names {
            if before.components.get(name) != node.components.get(name) {
                let message = format!("`components.{}` was changed", name.as_str());
                of_node.push(
                    Error::new(id::NODE_FIXED, message)
                        .because("pods run on the node, and would die with the program that is replaced under them")
                        .hinted(format!(
                            "write it as it was; or let the node leave (`--prune {}`) and come again with it",
                            node.name
                        )),
                );
            }
        }
        errors.extend(of_node.into_iter().map(|error| error.on(&node.name)));
    }
    errors
}

/// Additions to kubeadm's documents that were heard once, by `kubeadm init`. Those for nodes that join count for
/// whoever joins next.
fn kubeadm(made: &Spec, now: &Spec) -> Vec<Error> {
    let documents = |spec: &Spec| {
        let kubeadm = &spec.kubeadm;
        [
            ("clusterConfiguration", kubeadm.cluster.clone()),
            ("initConfiguration", kubeadm.init.clone()),
            ("kubeletConfiguration", kubeadm.kubelet.clone()),
            ("kubeProxyConfiguration", kubeadm.kube_proxy.clone()),
        ]
    };
    let (was, is) = (documents(made), documents(now));
    let changed = was.iter().zip(&is).filter(|(was, is)| was != is);
    let error = |((name, _), _): (&(&str, _), _)| {
        Error::new(id::CLUSTER_FIXED, format!("`kubeadm.{name}` was changed"))
            .because("kubeadm hears it once, when the control plane is made")
            .hinted("write it as it was, and change the cluster by `swdt kubectl`: kubeadm keeps these in ConfigMaps of kube-system")
            .hinted("or destroy the cluster and create it anew")
    };
    changed.map(error).collect()
}

/// Where a node's machine comes from, in words.
fn maker(node: &Node) -> String {
    match &node.place {
        Place::Existing { .. } => "a machine of yours".to_owned(),
        Place::Machine(machine) => format!("a machine by {}", machine.provider.as_str()),
    }
}

/// A control plane that is no longer where it was made: its certificates and all nodes hold the old address.
pub fn moved(spec: &Spec, known: &Known, made_at: &str) -> Option<Error> {
    let control_plane = spec.control_planes().next()?;
    let address = known.address(control_plane);
    (address != made_at).then(|| {
        Error::new(
            id::CONTROL_PLANE_MOVED,
            format!("the control plane was made at {made_at}, and this machine is at {address} now"),
        )
        .on(&control_plane.name)
        .because("its certificates and every node hold the address it was made at")
        .hinted(format!(
            "give the machine the address {made_at} again (a fixed lease keeps it); \
             otherwise destroy the cluster and create it anew"
        ))
    })
}

fn refused(field: &str, was: &str, is: &str, why: &str) -> Error {
    let message = format!("{field} was {was} when the cluster was made and is {is} now");
    Error::new(id::CLUSTER_FIXED, message)
        .because(why)
        .hinted(format!("write {was} again, or destroy the cluster and create it anew"))
}

/// Labels and taints are given when a node joins; from then on they are the cluster's, where anybody may change them.
fn marks(before: &Node, now: &Node) -> Vec<Error> {
    let taints =
        |node: &Node| node.taints.as_ref().map(|taints| taints.iter().map(ToString::to_string).collect());
    let labels = |node: &Node| node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let told = |list: Option<Vec<String>>| match list {
        None => "not said".to_owned(),
        Some(list) if list.is_empty() => "none".to_owned(),
        Some(list) => format!("`{}`", list.join(", ")),
    };
    let fields = [
        ("labels", "label", told(Some(labels(before))), told(Some(labels(now)))),
        ("taints", "taint", told(taints(before)), told(taints(now))),
    ];
    let changed = fields.into_iter().filter(|(_, _, was, is)| was != is);
    let error = |(field, verb, was, is): (&str, &str, String, String)| {
        let message = format!("`{field}` was {was} when the node was described first and is {is} now");
        let why =
            "it counts only when a node joins; from then on it is the cluster's, where anybody may change it";
        Error::new(id::MARKS_FIXED, message).on(&now.name).because(why).hinted(format!(
            "write it as it was, and say it to the cluster: `swdt kubectl -- {verb} node {} …`",
            now.name
        ))
    };
    changed.map(error).collect()
}

fn word(role: Role) -> &'static str {
    match role {
        Role::ControlPlane => "control-plane",
        Role::Worker => "worker",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const MADE: &str = "
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: two}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 192.168.1.10}
  - {name: w1, address: 192.168.1.11}
";

    fn spec(text: &str) -> Spec {
        crate::config::load("two.yaml", text.as_bytes(), None, Path::new("/")).unwrap()
    }

    #[test]
    fn all_that_cannot_be_changed_is_told_at_once() {
        let made = spec(MADE);
        assert!(changed(&made, &spec(&MADE.replace("w1", "w2"))).is_empty(), "nodes come and go");
        let now = spec(&MADE.replace(
            "kubernetes: {version: 1.36.3}",
            "kubernetes: {version: 1.36.2}\nnetwork: {podCIDR: 10.200.0.0/16, serviceCIDR: 10.97.0.0/16}",
        ));
        let told: Vec<String> = changed(&made, &now).iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(
            told[0].contains("`kubernetes.version` was 1.36.3 when the cluster was made and is 1.36.2 now")
        );
        assert!(told[1].contains("`network.podCIDR` was 10.244.0.0/16"), "{told:?}");
    }

    #[test]
    fn every_refusal_says_what_and_why_and_what_instead() {
        let marked = MADE.replace("w1, ", "w1, labels: {disk: fast}, ");
        let now = spec(
            "
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: two}
kubernetes: {version: 1.36.2}
controlPlane: {endpoint: api.example}
network: {podCIDR: 10.200.0.0/16, serviceCIDR: 10.97.0.0/16}
kubeadm: {kubeletConfiguration: {maxPods: 200}}
nodes:
  - {name: cp1, role: control-plane, address: 192.168.1.10, components: {containerd: {version: 2.3.0}}}
  - {name: w1, machine: {provider: nspawn}}
",
        );
        let made = spec(&marked);
        let mut errors = changed(&made, &now);
        errors.extend(reconfigured(&made, &now));
        errors.extend(moved(&now, &Known::default(), "192.168.1.9"));
        let told: Vec<_> = errors.iter().map(ToString::to_string).collect();
        let what = [
            "kubernetes.version",
            "controlPlane.endpoint",
            "podCIDR",
            "serviceCIDR",
            "`labels`",
            "kubeletConfiguration",
            "`components.containerd`",
            "w1: was a machine of yours",
            "was made at",
        ];
        for what in what {
            assert!(told.iter().any(|told| told.contains(what)), "{what}: {told:#?}");
        }
        assert_eq!(told.len(), what.len(), "{told:#?}");
        for error in errors {
            assert!(error.why.is_some() && !error.hints.is_empty(), "{error}");
        }
        assert!(reconfigured(&made, &made).is_empty());
    }

    #[test]
    fn a_role_is_for_good() {
        let swapped =
            MADE.replace("w1, ", "w1, role: control-plane, ").replace("cp1, role: control-plane", "cp1");
        let told = changed(&spec(MADE), &spec(&swapped));
        assert_eq!(told.len(), 2);
        assert_eq!(told[0].node.as_deref(), Some("cp1"));
    }

    #[test]
    fn labels_and_taints_are_for_the_cluster_to_change() {
        let marked = MADE.replace("w1, ", "w1, labels: {disk: fast}, taints: [\"a:NoSchedule\"], ");
        assert!(changed(&spec(&marked), &spec(&marked)).is_empty());
        let told: Vec<_> = changed(&spec(&marked), &spec(MADE)).iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("w1: `labels` was `disk=fast` when"), "{told:?}");
        assert!(told[1].starts_with("w1: `taints` was `a:NoSchedule` when"), "{told:?}");
    }

    #[test]
    fn a_control_plane_must_stay_where_it_is() {
        let spec = spec(MADE);
        assert!(moved(&spec, &Known::default(), "192.168.1.10").is_none());
        let told = moved(&spec, &Known::default(), "192.168.1.9").unwrap();
        assert!(told.to_string().contains("cp1: the control plane was made at 192.168.1.9"), "{told}");
    }
}
