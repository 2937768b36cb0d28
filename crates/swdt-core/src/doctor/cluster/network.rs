//! DNS, and the network's own pods.

use serde_json::Value;

use super::{
    ClusterFacts,
    objects::{full_name, list, name, number, text},
};
use crate::doctor::{Found, Grade, Look, On, Rule};

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "dns-down",
        grade: Grade::Problem,
        title: "the cluster's DNS does not run",
        cause: "CoreDNS answers for all names in the cluster. Its pods wait for the network of pods; later they fail \
                when the node's own resolver points back at them (\"Loop detected\").",
        fix: &[
            (On::Anywhere, "`swdt kubectl -- get pods -n kube-system -l k8s-app=kube-dns -o wide`"),
            (On::Anywhere, "`swdt kubectl -- logs -n kube-system -l k8s-app=kube-dns`"),
        ],
        look: Look::Cluster(|cluster| {
            let dns = cluster.all("deployments").iter().filter(|it| full_name(it) == "kube-system/coredns");
            let down = dns.filter(|it| number(it, "/status/availableReplicas") == 0);
            down.map(|it| Found::new("no pod of CoreDNS is available").seen(replicas(it))).collect()
        }),
    },
    Rule {
        id: "dns-no-endpoints",
        grade: Grade::Problem,
        title: "nobody stands behind the service of DNS",
        cause: "Pods ask the address of the service kube-dns. Where no pod of CoreDNS is ready behind it, no name is \
                resolved, though the service is there.",
        fix: &[(On::Anywhere, "`swdt kubectl -- get endpointslices -n kube-system -l k8s-app=kube-dns`")],
        look: Look::Cluster(endpoints),
    },
    Rule {
        id: "flannel-down",
        grade: Grade::Problem,
        title: "flannel does not run on every node",
        cause: "Without its daemon a node has no network for pods, or loses the routes to the others. Its image may be \
                missing, or its pod is refused by the namespace's policy.",
        fix: &[
            (On::Anywhere, "`swdt kubectl -- get pods -n kube-flannel -o wide`"),
            (On::Anywhere, "`swdt kubectl -- logs -n kube-flannel -l app=flannel`"),
        ],
        look: Look::Cluster(|cluster| {
            daemons(cluster, |it| text(it, "/metadata/namespace") == "kube-flannel")
        }),
    },
    Rule {
        id: "kube-proxy-down",
        grade: Grade::Problem,
        title: "kube-proxy does not run on every Linux node",
        cause: "kube-proxy makes the addresses of services work on its node.",
        fix: &[
            (On::Anywhere, "`swdt kubectl -- get pods -n kube-system -l k8s-app=kube-proxy -o wide`"),
            (On::Anywhere, "`swdt kubectl -- logs -n kube-system -l k8s-app=kube-proxy`"),
        ],
        look: Look::Cluster(|cluster| daemons(cluster, |it| full_name(it) == "kube-system/kube-proxy")),
    },
];

fn replicas(it: &Value) -> String {
    format!("{} of {} are available", number(it, "/status/availableReplicas"), number(it, "/spec/replicas"))
}

fn daemons(cluster: &ClusterFacts<'_>, is: impl Fn(&Value) -> bool) -> Vec<Found> {
    let found = cluster.all("daemonsets").iter().filter(|it| is(it)).filter_map(|it| {
        let (wanted, ready) =
            (number(it, "/status/desiredNumberScheduled"), number(it, "/status/numberReady"));
        let found = Found::new(format!("{} is ready on {ready} of {wanted} nodes", name(it)));
        (ready < wanted)
            .then(|| found.seen(format!("{}: numberReady {ready}, desired {wanted}", full_name(it))))
    });
    found.collect()
}

fn endpoints(cluster: &ClusterFacts<'_>) -> Vec<Found> {
    let slices = cluster.all("endpointslices");
    let ours = |it: &&Value| text(it, "/metadata/labels/kubernetes.io~1service-name") == "kube-dns";
    let mut behind = slices.iter().filter(ours).flat_map(|it| list(it, "/endpoints"));
    let nobody = !behind.any(|endpoint| endpoint["conditions"]["ready"] == true);
    // The API itself is behind a service; where not even that is, nothing was asked.
    Found::new("the service kube-dns has no ready endpoint")
        .seen("no endpoint with ready: true in its EndpointSlices")
        .only_if(nobody && !slices.is_empty())
}
