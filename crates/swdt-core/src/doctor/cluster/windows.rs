//! What only Windows nodes have.

use super::{
    ClusterFacts, Differs,
    objects::{name, text},
};
use crate::{
    doctor::{Found, Grade, Look, On, Remedy, Rule},
    kube::misplaced,
    spec::OsFamily,
};

/// The build of a node, by the kubelet.
const BUILD: &str = "/metadata/labels/node.kubernetes.io~1windows-build";

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "windows-hns-network",
        grade: Grade::Problem,
        title: "the network of pods is missing on a Windows node",
        cause: "Pods are connected to a network of the Host Network Service (HNS) that flanneld makes. It is gone \
                after a clean-up of HNS, after some updates, or when flanneld could not make it. Pods stay at \
                ContainerCreating.",
        fix: &[
            (On::Windows, "Get-HnsNetwork | Select Name, Type"),
            (On::Windows, "`Restart-Service flanneld` makes it anew; the connection may drop for a moment"),
        ],
        look: Look::Cluster(|cluster| {
            told(cluster, "the network of pods is missing in its Host Network Service", |it| {
                it.id == "node-net/network-ready" || it.id == "node-net/daemon"
            })
        }),
    },
    Rule {
        id: "windows-flanneld",
        grade: Grade::Problem,
        title: "flanneld does not run on a Windows node",
        cause: "flanneld makes the network of pods and keeps the routes to other nodes. On Windows it runs as a \
                service.",
        fix: &[(
            On::Windows,
            "Get-Service flanneld; Get-Content C:\\var\\log\\flanneld\\flanneld.log -Tail 50; Start-Service flanneld",
        )],
        look: Look::Cluster(|cluster| {
            told(cluster, "its flanneld does not run", |it| it.is_down("flanneld"))
        }),
    },
    Rule {
        id: "windows-kube-proxy",
        grade: Grade::Problem,
        title: "kube-proxy does not work on a Windows node",
        cause: "Services of Kubernetes are policies in HNS there, which kube-proxy writes. Without it pods on the \
                node reach no service, the cluster's DNS included.",
        fix: &[(
            On::Windows,
            "Get-Service kube-proxy; Get-Content C:\\var\\log\\kube-proxy\\kube-proxy.log -Tail 50; \
             Start-Service kube-proxy",
        )],
        look: Look::Cluster(|cluster| {
            let down = |it: &Differs| {
                it.is_down("kube-proxy") || it.id == "verify/kube-proxy" || it.id == "node-net/source-vip"
            };
            told(cluster, "its kube-proxy does not work", down)
        }),
    },
    Rule {
        id: "windows-containers",
        grade: Grade::Problem,
        title: "the feature Containers is off on a Windows node",
        cause: "Somebody took the feature away, or an update did. No container starts without it.",
        fix: &[(On::Windows, "Install-WindowsFeature Containers -Restart")],
        look: Look::Cluster(|cluster| {
            told(cluster, "the feature Containers is off", |it| it.id == "prepare/containers")
        }),
    },
    Rule {
        id: "windows-token",
        grade: Grade::Warning,
        title: "a token of a Windows node comes to its end",
        cause: "flanneld and kube-proxy on Windows log in with tokens that are valid for a year and die with the \
                node's object. When one ends, networks and services stop to follow the cluster.",
        fix: &[(On::Anywhere, "`swdt cluster create --config FILE` makes new ones")],
        look: Look::Cluster(|cluster| {
            told(cluster, "a token of its network or its kube-proxy is missing or comes to its end", |it| {
                it.id.starts_with("node-net/kubeconfig/")
            })
        }),
    },
    Rule {
        id: "windows-build-changed",
        grade: Grade::Problem,
        title: "a Windows node has another build than the cluster knows",
        cause: "Containers that share the kernel need a base image of the node's build. After an upgrade of Windows, \
                pods for the old build do not start, and the label that chooses nodes is old until the kubelet \
                restarts.",
        fix: &[
            (On::Windows, "Restart-Service kubelet"),
            (On::Anywhere, "`swdt cluster create --config FILE` makes the RuntimeClass of the new build"),
        ],
        look: Look::Cluster(build),
    },
    Rule {
        id: "windows-misplaced",
        grade: Grade::Warning,
        title: "a workload may wrongly land on Windows nodes",
        cause: "It says nowhere which system it is for, and no taint keeps it away. Its pods stay at \
                ImagePullBackOff or ContainerCreating on Windows.",
        fix: &[(
            On::Anywhere,
            "write `nodeSelector: {kubernetes.io/os: linux}`, or that of Windows, into its pods",
        )],
        look: Look::Cluster(|cluster| {
            let kinds = ["nodes", "daemonsets", "deployments", "statefulsets"];
            let items: Vec<_> = kinds.iter().flat_map(|kind| cluster.all(kind).to_vec()).collect();
            misplaced::judge(&items)
                .iter()
                .map(|it| Found::new(it.warning()).seen("its nodeSelector, affinity and tolerations"))
                .collect()
        }),
    },
];

/// Does a rule here tell of this resource? Linux has some of the same names.
pub(super) fn owns(cluster: &ClusterFacts<'_>, node: &str, id: &str) -> bool {
    let ids = [
        "node-net/network-ready",
        "node-net/daemon",
        "verify/kube-proxy",
        "node-net/source-vip",
        "prepare/containers",
    ];
    is_windows(cluster, node) && (ids.contains(&id) || id.starts_with("node-net/kubeconfig/"))
}

fn is_windows(cluster: &ClusterFacts<'_>, node: &str) -> bool {
    cluster.spec.node(node).is_some_and(|node| node.os == OsFamily::Windows)
}

/// One finding a node, with all that was seen of it.
fn told(cluster: &ClusterFacts<'_>, what: &str, is: impl Fn(&Differs) -> bool) -> Vec<Found> {
    let windows = cluster.machines.iter().filter(|(node, _)| is_windows(cluster, node));
    let found = windows.filter_map(|(node, look)| {
        let seen: Vec<String> = look.differs.iter().filter(|it| is(it)).map(Differs::seen).collect();
        let some = !seen.is_empty();
        let found = Found::new(what).on(node).remedy(Remedy::Converge(cluster.spec.name.clone()));
        some.then(|| seen.into_iter().fold(found, Found::seen))
    });
    found.collect()
}

fn build(cluster: &ClusterFacts<'_>) -> Vec<Found> {
    let found = cluster.all("nodes").iter().filter_map(|node| {
        let known = text(node, BUILD);
        let facts = cluster.machines.get(name(node))?.facts.as_ref()?;
        let real = format!("10.0.{}", facts.windows.as_ref()?.build);
        let what = format!("runs build {real}, and the cluster takes it for {known}");
        let changed = !known.is_empty() && known != real;
        changed.then(|| Found::new(what).on(name(node)).seen(format!("label {known}, registry {real}")))
    });
    found.collect()
}
