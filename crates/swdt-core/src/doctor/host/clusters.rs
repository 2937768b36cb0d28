//! What is remembered of clusters on this host.

use super::{ClusterSeen, HostFacts};
use crate::doctor::{Found, Grade, Look, On, Remedy, Rule};

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "host-state-unreadable",
        grade: Grade::Problem,
        title: "what swdt remembers of a cluster cannot be read",
        cause: "state.json or spec.json of the cluster is damaged, or was written by a newer swdt. They are written \
                whole or not at all, so somebody edited them, or the disk was full or broke.",
        fix: &[
            (On::Anywhere, "put the file back from a backup, or use the newer swdt"),
            (On::Anywhere, "or move the cluster's directory away, then: `swdt cluster adopt --config FILE`"),
        ],
        look: Look::Host(|host| {
            each(host, |cluster| {
                let why = cluster.unreadable.as_ref()?;
                Some(
                    Found::new(format!("what is remembered of the cluster {} cannot be read", cluster.name))
                        .seen(why.clone()),
                )
            })
        }),
    },
    Rule {
        id: "host-machines-gone",
        grade: Grade::Problem,
        title: "machines that swdt made are gone",
        cause: "The cluster is remembered, but the machine of a node is not there any more: its directory was \
                removed by hand, or its making was broken off.",
        fix: &[
            (
                On::Anywhere,
                "`swdt cluster update --config FILE --prune NODE --force-forget NODE` lets the node leave",
            ),
            (On::Anywhere, "`swdt cluster destroy CLUSTER` removes what is left of the cluster"),
        ],
        look: Look::Host(|host| {
            let gone = |cluster: &ClusterSeen, node: &String| {
                Found::new(format!("its machine of the cluster {} is gone", cluster.name))
                    .of(&cluster.name)
                    .on(node)
                    .seen("swdt made it, and nothing of it is there")
            };
            let all = host.clusters.iter();
            all.flat_map(|cluster| cluster.gone.iter().map(|node| gone(cluster, node))).collect()
        }),
    },
    Rule {
        id: "host-machines-stopped",
        grade: Grade::Warning,
        title: "machines that swdt made do not run",
        cause: "After a restart of this host, machines stay stopped until somebody starts them. Others may have \
                been stopped on purpose, or were killed.",
        fix: &[(On::Anywhere, "`swdt node start NODE --cluster CLUSTER`")],
        look: Look::Host(|host| {
            let stopped = |cluster: &ClusterSeen, node: &String| {
                Found::new(format!("its machine of the cluster {} does not run", cluster.name))
                    .of(&cluster.name)
                    .on(node)
                    .seen("the machine was made, and has no process")
                    .remedy(Remedy::Start(cluster.name.clone(), node.clone()))
            };
            let all = host.clusters.iter();
            all.flat_map(|cluster| cluster.stopped.iter().map(|node| stopped(cluster, node))).collect()
        }),
    },
    Rule {
        id: "host-run-failed",
        grade: Grade::Warning,
        title: "the last run on a cluster failed",
        cause: "A run that fails keeps everything it did. The same command goes on from there.",
        fix: &[
            (On::Anywhere, "`swdt cluster logs --cluster CLUSTER` tells what happened"),
            (On::Anywhere, "run the same command again"),
        ],
        look: Look::Host(|host| {
            each(host, |cluster| {
                let (command, error) = cluster.failed.as_ref().filter(|_| cluster.busy.is_none())?;
                Some(
                    Found::new(format!("the last run on the cluster {}, `{command}`, failed", cluster.name))
                        .seen(error.clone()),
                )
            })
        }),
    },
    Rule {
        id: "host-snapshot-midway",
        grade: Grade::Problem,
        title: "work on a snapshot was broken off",
        cause: "Saving stops machines, restoring puts them back one by one. Broken off in between, machines are \
                stopped, or of different times.",
        fix: &[
            (On::Anywhere, "run the same command again, with `--cluster CLUSTER`"),
            (On::Anywhere, "`swdt cluster destroy CLUSTER` removes the cluster"),
        ],
        look: Look::Host(|host| {
            each(host, |cluster| {
                let midway = cluster.midway.as_ref().filter(|_| cluster.busy.is_none())?;
                Some(
                    Found::new(format!("of the cluster {}, {midway}", cluster.name))
                        .seen("`midway` in state.json"),
                )
            })
        }),
    },
    Rule {
        id: "host-busy",
        grade: Grade::Note,
        title: "somebody works on a cluster",
        cause: "One command at a time works on a cluster. The lock dies with the process that holds it, so nothing \
                has to be removed by hand.",
        fix: &[(On::Anywhere, "`swdt cluster logs --follow --cluster CLUSTER` shows what it does")],
        look: Look::Host(|host| {
            each(host, |cluster| {
                let busy = cluster.busy.as_ref()?;
                Some(Found::new(format!("somebody works on the cluster {}", cluster.name)).seen(busy.clone()))
            })
        }),
    },
    Rule {
        id: "host-dead-holder",
        grade: Grade::Note,
        title: "a cluster that is gone still holds settings of this host",
        cause: "Machines that share the kernel need settings of this host; the last cluster puts them back. One \
                whose directory was removed by hand never does.",
        fix: &[(On::Anywhere, "making and destroying any cluster of machines here puts them back")],
        look: Look::Host(|host| {
            let one = |id: &String| {
                Found::new("settings of this host are kept for a cluster whose directory is gone")
                    .seen(format!("{id} in /run/swdt/shared-kernel.json"))
            };
            host.dead_holders.iter().map(one).collect()
        }),
    },
];

fn each(host: &HostFacts, judge: impl Fn(&ClusterSeen) -> Option<Found>) -> Vec<Found> {
    let found = host.clusters.iter().filter_map(|cluster| Some(judge(cluster)?.of(&cluster.name)));
    found.collect()
}
