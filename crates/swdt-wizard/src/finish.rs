//! The end: what will happen, and writing the file.

use swdt_core::spec::{Node, OsFamily, Place, Spec};

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

/// What will happen, in a few sentences.
pub(crate) fn summary(spec: &Spec) -> Vec<String> {
    let count = |which: fn(&&Node) -> bool| spec.nodes.iter().filter(which).count();
    let made = count(|node| matches!(node.place, Place::Machine(_)));
    let windows = count(|node| node.os == OsFamily::Windows);
    let mut lines = vec![format!(
        "{}: Kubernetes {}, {}{}, flannel for {}.",
        spec.name,
        spec.kubernetes,
        nodes(spec.nodes.len()),
        if windows > 0 { format!(" ({windows} of Windows)") } else { String::new() },
        spec.network.pod_cidr
    )];
    let machines = match (made, spec.nodes.len() - made) {
        (0, _) => "logs in to your machines".to_owned(),
        (made, 0) => format!("makes {}", machines(made)),
        (made, _) => format!("makes {} and logs in to the others", machines(made)),
    };
    lines.push(format!(
        "`swdt cluster create` {machines}, checks them before anything is changed, prepares them, installs \
         containerd and Kubernetes, joins the nodes and tries the cluster out."
    ));
    lines.push("`swdt cluster destroy` undoes all of it.".to_owned());
    lines
}

fn nodes(count: usize) -> String {
    if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") }
}

fn machines(count: usize) -> String {
    if count == 1 { "a machine".to_owned() } else { format!("{count} machines") }
}
