//! Nodes: there, ready, and what they should be.

use serde_json::Value;

use super::{
    ClusterFacts, Differs,
    objects::{condition, list, minor, name, text},
};
use crate::doctor::{Found, Grade, Look, On, Remedy, Rule};

/// How far a kubelet may be behind the API.
const SKEW: u64 = 3;
/// Resources of a machine that are files of the CNI.
const CNI: &[&str] = &[
    "runtime/bridge",
    "runtime/host-local",
    "runtime/loopback",
    "runtime/portmap",
    "runtime/win-overlay",
    "network/flannel",
    "node-net/cni-conf",
];
/// Words of a kubelet without a network.
const NO_NETWORK: &[&str] =
    &["cni plugin not initialized", "network plugin is not ready", "cni config uninitialized"];
/// Words of a kubelet without a runtime.
const NO_RUNTIME: &[&str] =
    &["container runtime is down", "container runtime status check", "runtime not ready"];

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "node-missing",
        grade: Grade::Problem,
        title: "a node of the file is not in the cluster",
        cause: "It never joined, or somebody deleted it. A kubelet whose node was deleted does not come back by \
                itself.",
        fix: &[(On::Anywhere, "`swdt cluster create --config FILE` lets it join")],
        look: Look::Cluster(|cluster| {
            // Nobody is there where nobody could be asked.
            let there = cluster.all("nodes");
            let missing =
                cluster.spec.nodes.iter().filter(|node| there.iter().all(|it| name(it) != node.name));
            let found = missing.map(|node| {
                Found::new("is not in the cluster")
                    .on(&node.name)
                    .seen("kubectl get nodes does not show it")
                    .remedy(Remedy::Converge(cluster.spec.name.clone()))
            });
            if there.is_empty() { Vec::new() } else { found.collect() }
        }),
    },
    Rule {
        id: "node-unknown",
        grade: Grade::Note,
        title: "the cluster has a node that the file does not name",
        cause: "Somebody joined a machine by hand, or the file lost a line. swdt neither updates nor undoes it.",
        fix: &[(On::Anywhere, "`swdt kubectl -- delete node NODE`, if its machine is gone")],
        look: Look::Cluster(|cluster| {
            let unknown = cluster.all("nodes").iter().map(name).filter(|it| cluster.spec.node(it).is_none());
            unknown
                .map(|it| {
                    Found::new("is in the cluster, but not in its file").on(it).seen("kubectl get nodes")
                })
                .collect()
        }),
    },
    Rule {
        id: "node-kubelet-stopped",
        grade: Grade::Problem,
        title: "the kubelet of a node does not run",
        cause: "It was stopped, or ends as soon as it starts: flags of another version, swap that came back, a \
                certificate that ended, a runtime that does not answer. After forty seconds the node is not ready, \
                after five minutes its pods are moved.",
        fix: &[
            (On::Linux, "systemctl status kubelet; journalctl -u kubelet -n 50; systemctl restart kubelet"),
            (
                On::Windows,
                "Get-Service kubelet; Get-Content C:\\var\\log\\kubelet\\kubelet.log -Tail 50; \
              Start-Service kubelet",
            ),
            (On::Anywhere, "`swdt cluster create --config FILE` makes it true again"),
        ],
        look: Look::Cluster(|cluster| {
            let down = cluster.differing(|it| it.is_down("kubelet"));
            let mut found: Vec<Found> = Vec::new();
            let mut told = Vec::new();
            for (node, differs) in
                down.filter(|(_, it)| it.id.ends_with("/kubelet") || it.id.ends_with("/service"))
            {
                if told.contains(&node) {
                    continue;
                }
                told.push(node);
                let one = Found::new("its kubelet does not run")
                    .on(node)
                    .seen(differs.seen())
                    .remedy(Remedy::Converge(cluster.spec.name.clone()));
                let log = cluster.machines.get(node).and_then(|look| look.kubelet_log.last());
                found.push(log.iter().fold(one, |one, line| one.seen(format!("it said last: {line}"))));
            }
            found
        }),
    },
    Rule {
        id: "node-runtime-down",
        grade: Grade::Problem,
        title: "the container runtime of a node does not work",
        cause: "containerd was stopped, does not start with its configuration, or hangs. Without it no pod starts \
                or ends.",
        fix: &[
            (
                On::Linux,
                "systemctl status containerd; journalctl -u containerd -n 50; systemctl restart containerd",
            ),
            (
                On::Windows,
                "Get-Service containerd; Get-Content C:\\var\\log\\containerd\\containerd.log -Tail 50; \
              Restart-Service containerd",
            ),
        ],
        look: Look::Cluster(|cluster| {
            let down = |it: &Differs| it.is_down("containerd") || it.id == "runtime/answers";
            let seen = cluster.differing(down).map(|(node, it)| (node.to_owned(), it.seen()));
            let says = not_ready(cluster, NO_RUNTIME);
            once(seen.chain(says), |seen| {
                Found::new("its container runtime does not work")
                    .seen(seen)
                    .remedy(Remedy::Converge(cluster.spec.name.clone()))
            })
        }),
    },
    Rule {
        id: "node-cni-files",
        grade: Grade::Problem,
        title: "files of the network plugin are missing on a node",
        cause: "Pods get their addresses from plugins in /opt/cni/bin (C:\\opt\\cni\\bin), told by a file in \
                /etc/cni/net.d (C:\\etc\\cni\\net.d). Somebody removed or changed one; pods stay at \
                ContainerCreating.",
        fix: &[(On::Anywhere, "`swdt cluster create --config FILE` puts them back")],
        look: Look::Cluster(|cluster| {
            let found = cluster.differing(|it| CNI.contains(&it.id.as_str())).map(|(node, it)| {
                Found::new("a file of its network plugin is missing or was changed")
                    .on(node)
                    .seen(it.seen())
                    .remedy(Remedy::Converge(cluster.spec.name.clone()))
            });
            found.collect()
        }),
    },
    Rule {
        id: "node-no-network",
        grade: Grade::Problem,
        title: "a node is not ready because it has no network for pods",
        cause: "The daemon of the CNI has not yet written its configuration on the node: its pod does not start, its \
                image is missing, or the node has no range of addresses.",
        fix: &[
            (
                On::Anywhere,
                "`swdt kubectl -- get pods -n kube-flannel -o wide`; then logs of the one on NODE",
            ),
            (On::Windows, "Get-Content C:\\var\\log\\flanneld\\flanneld.log -Tail 50"),
        ],
        look: Look::Cluster(|cluster| {
            once(not_ready(cluster, NO_NETWORK), |seen| {
                Found::new("is not ready: it has no network for pods").seen(seen)
            })
        }),
    },
    Rule {
        id: "node-silent",
        grade: Grade::Problem,
        title: "a node does not report any more",
        cause: "Its lease is old: the machine is off, or its kubelet cannot reach the API server: network, firewall, \
                an address that changed, a clock that is wrong, a certificate that ended.",
        fix: &[
            (On::Anywhere, "`swdt cluster status`; `swdt node start NODE`, if its machine is stopped"),
            (On::Linux, "on the node: `journalctl -u kubelet -n 50`"),
            (On::Windows, "on the node: `Get-Content C:\\var\\log\\kubelet\\kubelet.log -Tail 50`"),
        ],
        look: Look::Cluster(|cluster| {
            let silent = cluster.all("nodes").iter().filter_map(|node| {
                let (status, reason, message) = condition(node, "Ready")?;
                (status == "Unknown").then(|| {
                    Found::new("does not report any more")
                        .on(name(node))
                        .seen(format!("Ready is Unknown: {reason}: {message}"))
                })
            });
            silent.collect()
        }),
    },
    Rule {
        id: "node-not-ready",
        grade: Grade::Problem,
        title: "a node is not ready",
        cause: "The kubelet runs and says itself why it is not ready.",
        fix: &[(On::Anywhere, "`swdt kubectl -- describe node NODE`")],
        look: Look::Cluster(|cluster| {
            let other = cluster.all("nodes").iter().filter_map(|node| {
                let (_, reason, message) =
                    condition(node, "Ready").filter(|(status, ..)| *status == "False")?;
                let known = has(message, NO_NETWORK) || has(message, NO_RUNTIME);
                (!known)
                    .then(|| Found::new("is not ready").on(name(node)).seen(format!("{reason}: {message}")))
            });
            other.collect()
        }),
    },
    Rule {
        id: "node-pressure",
        grade: Grade::Problem,
        title: "a node has too little disk, memory or process ids",
        cause: "The kubelet evicts pods and takes no new ones until it has room again. Images of Windows are large: \
                each build of Server Core takes five GiB.",
        fix: &[
            (On::Linux, "df -h; ctr -n k8s.io images prune --all; journalctl --vacuum-size=100M"),
            (On::Windows, "Get-PSDrive C; ctr -n k8s.io images prune --all"),
            (On::Anywhere, "`swdt kubectl -- describe node NODE` shows who uses what"),
        ],
        look: Look::Cluster(|cluster| {
            let kinds = ["DiskPressure", "MemoryPressure", "PIDPressure"];
            let all = cluster.all("nodes").iter().flat_map(|node| kinds.map(|kind| (node, kind)));
            let pressed = all.filter_map(|(node, kind)| {
                let (_, reason, message) = condition(node, kind).filter(|(status, ..)| *status == "True")?;
                Some(Found::new(format!("has {kind}")).on(name(node)).seen(format!("{reason}: {message}")))
            });
            pressed.collect()
        }),
    },
    Rule {
        id: "node-pod-cidr",
        grade: Grade::Problem,
        title: "a node has no range of addresses for pods",
        cause: "The controller manager gives each node a range of `podCIDR`. Where it has none left, or does not do \
                so, flannel waits for ever on that node.",
        fix: &[
            (On::Anywhere, "`swdt kubectl -- logs -n kube-system -l component=kube-controller-manager`"),
            (On::Anywhere, "a cluster with a larger `network: {podCIDR: …}` has ranges for more nodes"),
        ],
        look: Look::Cluster(|cluster| {
            let none = cluster.all("nodes").iter().filter(|node| text(node, "/spec/podCIDR").is_empty());
            let found = none.map(|node| {
                Found::new("has no range of addresses for pods").on(name(node)).seen("spec.podCIDR is empty")
            });
            found.collect()
        }),
    },
    Rule {
        id: "node-version-skew",
        grade: Grade::Problem,
        title: "a kubelet does not go with the API",
        cause: "A kubelet must not be newer than the API server, and at most three minors older.",
        fix: &[
            (On::Anywhere, "`swdt node replace NODE --reset` takes the cluster's own kubelet"),
            (On::Anywhere, "`swdt catalog` shows what goes together"),
        ],
        look: Look::Cluster(skew),
    },
    Rule {
        id: "node-cordoned",
        grade: Grade::Note,
        title: "new pods are kept away from a node",
        cause: "Somebody cordoned it, or swdt did while it stopped it. Pods that run there go on.",
        fix: &[(On::Anywhere, "`swdt kubectl -- uncordon NODE`")],
        look: Look::Cluster(|cluster| {
            let cordoned = cluster.all("nodes").iter().filter(|node| node["spec"]["unschedulable"] == true);
            cordoned
                .map(|node| Found::new("takes no new pods").on(name(node)).seen("spec.unschedulable is true"))
                .collect()
        }),
    },
    Rule {
        id: "node-swap",
        grade: Grade::Warning,
        title: "swap is on again on a node",
        cause: "swdt had switched it off. By default a kubelet does not start where there is swap: the next restart \
                of it fails.",
        fix: &[(On::Linux, "`swapoff --all`; and take it out of /etc/fstab")],
        look: Look::Cluster(|cluster| drifted(cluster, "swap is on again", |id| id == "prepare/swap")),
    },
    Rule {
        id: "node-kernel",
        grade: Grade::Warning,
        title: "modules or settings of a node's kernel are not as they were",
        cause: "Networks of containers need modules (overlay, br_netfilter) and settings (net.ipv4.ip_forward). \
                Somebody set them back, or another program did.",
        fix: &[(On::Anywhere, "`swdt cluster create --config FILE` makes them true again")],
        look: Look::Cluster(|cluster| {
            let kernel = |id: &str| id.starts_with("prepare/module/") || id.starts_with("prepare/sysctl/");
            drifted(cluster, "its kernel is not set as containers need it", kernel)
        }),
    },
    Rule {
        id: "node-firewall-shut",
        grade: Grade::Warning,
        title: "ports of a node are shut",
        cause: "The firewall of the machine was reloaded or set anew, and does not let through what swdt had opened: \
                no logs, no exec, no traffic between pods.",
        fix: &[(On::Anywhere, "`swdt cluster create --config FILE` opens them again")],
        look: Look::Cluster(|cluster| {
            drifted(cluster, "its firewall does not let Kubernetes through", |id| id == "prepare/firewall")
        }),
    },
    Rule {
        id: "node-drift",
        grade: Grade::Warning,
        title: "something on a node is not as swdt made it",
        cause: "Somebody changed a file, a service or a package after swdt. Where it was on purpose, nothing has to \
                be done; the next run would make it true again.",
        fix: &[
            (On::Anywhere, "`swdt cluster plan --config FILE --check` shows all of it"),
            (On::Anywhere, "`swdt cluster create --config FILE` makes it true again"),
        ],
        look: Look::Cluster(drift),
    },
];

/// Nodes that say of themselves that they are not ready, in one of these words.
fn not_ready<'c>(
    cluster: &'c ClusterFacts<'_>,
    words: &'static [&'static str],
) -> impl Iterator<Item = (String, String)> + 'c {
    cluster.all("nodes").iter().filter_map(move |node| {
        let (_, reason, message) = condition(node, "Ready").filter(|(status, ..)| *status == "False")?;
        has(message, words).then(|| (name(node).to_owned(), format!("{reason}: {message}")))
    })
}

fn has(message: &str, words: &[&str]) -> bool {
    let message = message.to_lowercase();
    words.iter().any(|word| message.contains(word))
}

/// One finding a node, whatever points at it first.
fn once(seen: impl Iterator<Item = (String, String)>, words: impl Fn(String) -> Found) -> Vec<Found> {
    let mut told: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for (node, seen) in seen {
        if !told.contains(&node) {
            found.push(words(seen).on(&node));
            told.push(node);
        }
    }
    found
}

/// One finding a node for resources of a sort.
fn drifted(cluster: &ClusterFacts<'_>, what: &str, of: impl Fn(&str) -> bool) -> Vec<Found> {
    let found = cluster.machines.iter().filter_map(|(node, look)| {
        let seen: Vec<String> = look.differs.iter().filter(|it| of(&it.id)).map(Differs::seen).collect();
        let some = !seen.is_empty();
        let found = Found::new(what).on(node).remedy(Remedy::Converge(cluster.spec.name.clone()));
        some.then(|| seen.into_iter().fold(found, Found::seen))
    });
    found.collect()
}

/// What has a rule of its own is told there.
fn drift(cluster: &ClusterFacts<'_>) -> Vec<Found> {
    let own = |node: &str, id: &str| {
        CNI.contains(&id)
            || ["prepare/swap", "prepare/firewall", "runtime/answers"].contains(&id)
            || id.starts_with("prepare/module/")
            || id.starts_with("prepare/sysctl/")
            || super::windows::owns(cluster, node, id)
    };
    let found = cluster.machines.iter().filter_map(|(node, look)| {
        let services = ["kubelet", "containerd", "flanneld", "kube-proxy"];
        let down = |it: &Differs| services.iter().any(|service| it.is_down(service));
        let rest: Vec<&Differs> = look.differs.iter().filter(|it| !own(node, &it.id) && !down(it)).collect();
        let first = rest.first()?;
        let what = match rest.len() {
            1 => format!("{} is not as swdt made it", first.id),
            more => format!("{} and {} more are not as swdt made them", first.id, more - 1),
        };
        let found = Found::new(what).on(node).remedy(Remedy::Converge(cluster.spec.name.clone()));
        Some(rest.iter().fold(found, |found, it| found.seen(it.seen())))
    });
    found.collect()
}

fn skew(cluster: &ClusterFacts<'_>) -> Vec<Found> {
    let api = (cluster.spec.kubernetes.major, cluster.spec.kubernetes.minor);
    let found = cluster.all("nodes").iter().filter_map(|node: &Value| {
        let version = text(node, "/status/nodeInfo/kubeletVersion");
        let theirs = minor(version)?;
        let fits = theirs.0 == api.0 && theirs.1 <= api.1 && api.1 - theirs.1 <= SKEW;
        let what = format!("its kubelet {version} does not go with Kubernetes {}", cluster.spec.kubernetes);
        (!fits).then(|| Found::new(what).on(name(node)).seen(format!("kubeletVersion {version}")))
    });
    found.collect()
}

/// Taints of a node that keep ordinary pods away, as `key=value`.
pub(super) fn taints(node: &Value) -> Vec<String> {
    let hard = list(node, "/spec/taints").iter().filter(|taint| taint["effect"] != "PreferNoSchedule");
    hard.map(|taint| format!("{}={}", text(taint, "/key"), text(taint, "/value"))).collect()
}
