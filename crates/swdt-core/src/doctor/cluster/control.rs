//! The control plane.

use super::{
    objects::{condition, full_name, text},
    pods::placed,
};
use crate::doctor::{Found, Grade, Look, On, Rule};

/// kubeadm's certificates are valid for a year; this leaves time to plan.
const SOON: i64 = 30 * 86_400;
/// What kubectl says when a certificate has come to its end.
const EXPIRED: &str = "certificate has expired";

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "cluster-api",
        grade: Grade::Problem,
        title: "the API server does not answer",
        cause: "The API server or etcd does not run: the disk of the control plane is full, its address changed, its \
                memory is used up, or its kubelet or containerd stands still.",
        fix: &[
            (On::Anywhere, "`swdt cluster status` shows whether the machine runs"),
            (On::Linux, "on the control plane: `ls -t /var/log/containers`; `journalctl -u kubelet -n 100`"),
            (On::Anywhere, "`swdt cluster support-bundle` collects all of this"),
        ],
        look: Look::Cluster(|cluster| {
            let said = cluster.unanswered.iter().filter(|said| !said.contains(EXPIRED));
            said.map(|said| {
                Found::new("the API server does not answer").seen(format!("kubectl says: {said}"))
            })
            .collect()
        }),
    },
    Rule {
        id: "cluster-certificates-expired",
        grade: Grade::Problem,
        title: "the cluster's certificates have expired",
        cause: "kubeadm makes certificates for a year, and renews them with every upgrade. A cluster that was not \
                upgraded for a year lets nobody in any more.",
        fix: &[
            (
                On::Linux,
                "on the control plane: `kubeadm certs renew all`, then restart the pods of the control plane",
            ),
            (On::Linux, "`kubeadm certs check-expiration` shows all of them"),
        ],
        look: Look::Cluster(|cluster| {
            let said = cluster.unanswered.iter().filter(|said| said.contains(EXPIRED));
            let said = said.map(|said| format!("kubectl says: {said}"));
            let ended = cluster.certificates_until.filter(|until| *until <= cluster.now);
            let seen: Vec<_> =
                said.chain(ended.map(|until| format!("that of the administrator ended {until}"))).collect();
            let found = Found::new("certificates of the control plane have expired");
            let some = !seen.is_empty();
            seen.into_iter().fold(found, Found::seen).only_if(some)
        }),
    },
    Rule {
        id: "cluster-certificates-ending",
        grade: Grade::Warning,
        title: "the cluster's certificates come to their end",
        cause: "kubeadm makes certificates for a year. When they end, neither kubectl nor kubelets get in.",
        fix: &[(
            On::Linux,
            "on the control plane: `kubeadm certs renew all`, then restart the pods of the control plane",
        )],
        look: Look::Cluster(|cluster| {
            let Some(until) = cluster.certificates_until else { return Vec::new() };
            let left = until.as_second() - cluster.now.as_second();
            Found::new(format!("certificates of the control plane end in {} days", left / 86_400))
                .seen(format!("that of the administrator is valid until {until}"))
                .only_if((1..SOON).contains(&left))
        }),
    },
    Rule {
        id: "cluster-token-left",
        grade: Grade::Note,
        title: "a bootstrap token is left in the cluster",
        cause: "Whoever holds a bootstrap token can join a machine. swdt makes one when it is needed and deletes it at \
                once. One that has expired lets nobody join: kubeadm join with it fails with \"could not find a \
                JWS signature\".",
        fix: &[
            (On::Anywhere, "`swdt kubectl -- delete secret -n kube-system NAME`"),
            (On::Linux, "a new one, on the control plane: `kubeadm token create --print-join-command`"),
        ],
        look: Look::Cluster(|cluster| {
            let one = |(name, until): &(String, Option<jiff::Timestamp>)| {
                let words = match until {
                    Some(until) if *until <= cluster.now => {
                        format!("expired {until}: nobody can join with it")
                    }
                    Some(until) => format!("lets machines join until {until}"),
                    None => "lets machines join for ever".to_owned(),
                };
                Found::new(format!("the bootstrap token {name} {words}"))
                    .seen(format!("secret kube-system/{name}"))
                    .graded(if until.is_none() { Grade::Warning } else { Grade::Note })
            };
            cluster.tokens.iter().map(one).collect()
        }),
    },
    Rule {
        id: "cluster-control-pods",
        grade: Grade::Problem,
        title: "a program of the control plane does not work",
        cause: "etcd, the API server, the scheduler and the controller manager run as pods of the control plane's \
                kubelet. Without the scheduler no pod gets a node; without the controller manager nothing is \
                replaced, and nodes get no addresses.",
        fix: &[
            (On::Anywhere, "`swdt kubectl -- logs -n kube-system POD`"),
            (On::Linux, "on the control plane: `ls -l /etc/kubernetes/manifests /var/log/pods`"),
        ],
        look: Look::Cluster(|cluster| {
            let tier = |pod: &&serde_json::Value| text(pod, "/metadata/labels/tier") == "control-plane";
            let pods = cluster.all("pods").iter().filter(tier);
            let broken = pods.filter_map(|pod| {
                let (status, reason, message) = condition(pod, "Ready")?;
                let name = full_name(pod);
                let found = Found::new(format!("{name} does not work"))
                    .seen(format!("Ready is {status}: {reason} {message}"));
                (status != "True").then(|| placed(found, pod))
            });
            broken.collect()
        }),
    },
];
