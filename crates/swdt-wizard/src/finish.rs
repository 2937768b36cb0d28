//! The end: what will happen, and writing the file.

use swdt_core::spec::{Node, OsFamily, Place, Role, Spec};

use crate::{
    Host,
    field::{Action, Field},
};

pub(crate) fn fields(host: &Host, wrong: usize) -> Vec<Field> {
    if wrong > 0 {
        return (0..wrong).map(|at| Field::action("", "", "", Action::Visit(at))).collect();
    }
    let replaced =
        if host.replaces { " The one that is there is replaced; you are asked first." } else { "" };
    vec![
        Field::action(
            "Write the file",
            "",
            format!("Nothing else is touched; `swdt cluster create` takes it later.{replaced}"),
            Action::Write,
        ),
        Field::action(
            "Write it and create the cluster",
            "",
            format!("Begins at once; Ctrl-C stops it safely at any time.{replaced}"),
            Action::WriteAndCreate,
        ),
    ]
}

/// What the cluster will be.
pub(crate) fn facts(spec: &Spec) -> Vec<(&'static str, String)> {
    vec![
        ("Kubernetes", spec.kubernetes.to_string()),
        ("Nodes", nodes(spec)),
        ("Pods", format!("{}, by flannel", spec.network.pod_cidr)),
        ("Services", spec.network.service_cidr.to_string()),
    ]
}

/// Who is what: `cp1 (control plane), win1 (Windows)`.
fn nodes(spec: &Spec) -> String {
    let told = |node: &Node| match (node.role, node.os) {
        (Role::ControlPlane, _) => format!("{} (control plane)", node.name),
        (Role::Worker, OsFamily::Windows) => format!("{} (Windows)", node.name),
        (Role::Worker, OsFamily::Linux) => node.name.clone(),
    };
    spec.nodes.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// What will happen, step by step.
pub(crate) fn steps(spec: &Spec) -> Vec<String> {
    let made = spec.nodes.iter().filter(|node| matches!(node.place, Place::Machine(_))).count();
    let machines = match (made, spec.nodes.len() - made) {
        (0, _) => "log in to your machines, check them".to_owned(),
        (1, 0) => "make a machine, check it".to_owned(),
        (made, 0) => format!("make {}, check them", machines(made)),
        (made, _) => format!("make {}, log in to the others, check all", machines(made)),
    };
    vec![
        machines,
        "install containerd and Kubernetes".to_owned(),
        "join the nodes, try the cluster out".to_owned(),
        "`swdt cluster destroy` undoes it all".to_owned(),
    ]
}

fn machines(count: usize) -> String {
    if count == 1 { "a machine".to_owned() } else { format!("{count} machines") }
}
