//! What is decided for good when the control plane is made.

use crate::{
    Error, ErrorKind,
    plan::Known,
    spec::{Node, Role, Spec},
};

/// What differs from the cluster that was made and cannot be changed in it; each with what to do.
pub fn changed(made: &Spec, now: &Spec) -> Vec<Error> {
    let fields = |spec: &Spec| {
        [
            ("kubernetes.version", spec.kubernetes.to_string()),
            ("controlPlane.endpoint", spec.endpoint.clone()),
            ("network.cni.name", format!("{:?}", spec.network.cni).to_lowercase()),
            ("network.podCIDR", spec.network.pod_cidr.to_string()),
            ("network.serviceCIDR", spec.network.service_cidr.to_string()),
        ]
    };
    let mut errors: Vec<Error> = fields(made)
        .iter()
        .zip(&fields(now))
        .filter(|(was, is)| was != is)
        .map(|((field, was), (_, is))| refused(&format!("`{field}`"), was, is))
        .collect();
    for node in &now.nodes {
        if let Some(before) = made.node(&node.name).filter(|before| before.role != node.role) {
            errors.push(refused("`role`", word(before.role), word(node.role)).on(&node.name));
        }
        errors.extend(made.node(&node.name).into_iter().flat_map(|before| marks(before, node)));
    }
    errors
}

/// A control plane that is no longer where it was made: its certificates and all nodes hold the old address.
pub fn moved(spec: &Spec, known: &Known, made_at: &str) -> Option<Error> {
    let control_plane = spec.control_planes().next()?;
    let address = known.address(control_plane);
    (address != made_at).then(|| {
        Error::new(
            ErrorKind::Prerequisite,
            format!("the control plane was made at {made_at}, and this machine is at {address} now"),
        )
        .on(&control_plane.name)
        .hinted(format!(
            "give the machine the address {made_at} again (a fixed lease keeps it); \
             otherwise destroy the cluster and create it anew"
        ))
    })
}

fn refused(field: &str, was: &str, is: &str) -> Error {
    Error::new(
        ErrorKind::Config,
        format!(
            "{field} was {was} when the cluster was made and is {is} now; it cannot be changed in a cluster"
        ),
    )
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
        let message = format!(
            "`{field}` was {was} when the node was described first and is {is} now; it counts only when a node joins"
        );
        Error::new(ErrorKind::Config, message).on(&now.name).hinted(format!(
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
