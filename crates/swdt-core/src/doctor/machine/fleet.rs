//! Rules about all machines together.

use swdt_wire::Facts;

use super::Fleet;
use crate::{
    catalog::{self, Verdict},
    doctor::{Found, Grade, Look, On, Rule},
};

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "machine-twins",
        grade: Grade::Problem,
        title: "two nodes have the same machine id",
        cause: "Two nodes name the same machine, or a virtual machine was cloned without a new identity. kubelets \
                would be confused with each other, and flannel could give both the same addresses.",
        fix: &[
            (On::Linux, "truncate --size 0 /etc/machine-id; reboot"),
            (
                On::Windows,
                "`C:\\Windows\\System32\\Sysprep\\sysprep.exe /generalize /oobe /reboot` before cloning",
            ),
        ],
        look: Look::Fleet(|fleet| {
            twins(
                fleet,
                |facts| Some(&facts.machine_id).filter(|id| !id.is_empty()),
                |other, id| {
                    Found::new(format!("has the same machine id as {other}"))
                    .seen(format!("machine id {id} on both"))
                    .todo("give each node a machine of its own; after cloning a VM, empty /etc/machine-id and restart it")
                },
            )
        }),
    },
    Rule {
        id: "machine-firmware-twins",
        grade: Grade::Note,
        title: "two machines have the same firmware id",
        cause: "Clones of a virtual machine often keep its UUID. Kubernetes shows it as systemUUID; some drivers of \
                storage tell machines apart by it.",
        fix: &[(On::Anywhere, "give each virtual machine a UUID of its own in its hypervisor")],
        look: Look::Fleet(|fleet| {
            twins(
                fleet,
                |facts| facts.product_uuid.as_ref(),
                |other, id| {
                    Found::new(format!("its firmware has the same id as that of {other}"))
                        .seen(format!("product_uuid {id} on both"))
                },
            )
        }),
    },
    Rule {
        id: "machine-name-twins",
        grade: Grade::Note,
        title: "two machines have the same name",
        cause: "Nodes get their names from the file, so the cluster works. In logs and prompts, machines that call \
                themselves alike are easily taken for each other.",
        fix: &[
            (On::Linux, "hostnamectl set-hostname NODE"),
            (On::Windows, "Rename-Computer NODE -Restart"),
            (On::Anywhere, "or write `hostname: {set: true}` for the node"),
        ],
        look: Look::Fleet(|fleet| {
            twins(
                fleet,
                |facts| Some(&facts.hostname).filter(|name| !name.is_empty()),
                |other, name| {
                    Found::new(format!("its machine is called {name}, as that of {other} is"))
                        .seen(format!("host name {name} on both"))
                },
            )
        }),
    },
    Rule {
        id: "machine-versions",
        grade: Grade::Problem,
        title: "versions and machines do not go together",
        cause: "The catalog knows which versions of Kubernetes, containerd, Windows and kernels work together, and \
                where that was read.",
        fix: &[(On::Anywhere, "`swdt catalog` shows what goes together, and why")],
        look: Look::File(versions),
    },
];

/// Machines that have something in common with an earlier one.
fn twins<'a>(
    fleet: &Fleet<'a>,
    of: impl Fn(&'a Facts) -> Option<&'a String>,
    words: impl Fn(&str, &str) -> Found,
) -> Vec<Found> {
    let known: Vec<(&str, &String)> = fleet
        .spec
        .nodes
        .iter()
        .filter_map(|node| Some((node.name.as_str(), of(fleet.facts.get(&node.name)?)?)))
        .collect();
    let one = |(index, (name, id)): (usize, &(&str, &String))| {
        let (other, _) = known[..index].iter().find(|(_, other)| other == id)?;
        Some(words(other, id).on(name))
    };
    known.iter().enumerate().filter_map(one).collect()
}

/// Versions and machines that do not go together, as the catalog knows.
fn versions(fleet: &Fleet<'_>) -> Vec<Found> {
    let found = match catalog::check(fleet.spec, fleet.facts) {
        Ok(found) => found,
        Err(error) => {
            let found = Found::new(error.message);
            return vec![error.hints.into_iter().fold(found, Found::todo)];
        }
    };
    let one = |finding: catalog::Finding| {
        let grade = match (finding.verdict, &finding.node) {
            (Verdict::Warn, Some(_)) => Grade::Warning,
            _ => Grade::Problem,
        };
        let seen = format!("rule `{}` of the catalog", finding.rule);
        let found = Found::new(format!("{} ({})", finding.message, finding.reason))
            .seen(seen)
            .graded(grade)
            .todo(finding.todo)
            .todo(format!("see {}", finding.source));
        finding.node.iter().fold(found, |found, node| found.on(node))
    };
    found.into_iter().map(one).collect()
}
