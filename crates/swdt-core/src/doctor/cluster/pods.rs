//! Pods that do not get where they should: from what they wait for, and what happened to them.

use serde_json::Value;

use super::{
    ClusterFacts,
    nodes::taints,
    objects::{age, condition, full_name, list, name, text},
};
use crate::doctor::{Found, Grade, Look, On, Rule};

/// A pod that is on its way to go takes no longer.
const GOING: i64 = 600;
/// Seconds for which a trouble that was told last so long ago may still be one.
const RECENT: i64 = 600;

/// Why a pod does not work. The first that fits is told, so the particular comes before the general.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    WrongBuild,
    NoWindowsImage,
    SandboxImage,
    Denied,
    Registry,
    Image,
    Hns,
    Cni,
    Volume,
    Taints,
    Room,
    Selector,
    Crash,
}

/// Words by which troubles are known: what the runtime, the kubelet and the scheduler say.
const WORDS: &[(Trouble, &[&str])] = &[
    (
        Trouble::WrongBuild,
        &[
            "operating system does not match the host operating system",
            "0xc0370101",
            "hcsshim::createcomputesystem: the container operating system",
        ],
    ),
    (
        Trouble::NoWindowsImage,
        &[
            "no match for platform in manifest",
            "no matching manifest for windows",
            "no matching manifest for linux",
        ],
    ),
    (
        Trouble::SandboxImage,
        &["failed to get sandbox image", "failed to pull sandbox image", "sandbox image"],
    ),
    (
        Trouble::Denied,
        &[
            "401 unauthorized",
            "403 forbidden",
            "pull access denied",
            "authorization failed",
            "authentication required",
        ],
    ),
    (
        Trouble::Registry,
        &[
            "no such host",
            "i/o timeout",
            "connection refused",
            "dial tcp",
            "tls:",
            "x509:",
            "toomanyrequests",
        ],
    ),
    (Trouble::Hns, &["hnscall failed", "hns failed", "hcnopen", "hcncreate", "network not found", "hcn"]),
    (
        Trouble::Cni,
        &[
            "failed to find plugin",
            "subnet.env: no such file",
            "cni config uninitialized",
            "failed to setup network for sandbox",
            "no cni configuration",
            "networkpluginnotready",
        ],
    ),
    (
        Trouble::Volume,
        &[
            "mountvolume.setup failed",
            "unable to attach or mount volumes",
            "couldn't find key",
            "secret \"",
            "configmap \"",
        ],
    ),
    (
        Trouble::Room,
        &["insufficient cpu", "insufficient memory", "insufficient ephemeral-storage", "too many pods"],
    ),
    (Trouble::Selector, &["didn't match pod's node affinity/selector", "didn't match node selector"]),
    // Last: that of the control plane is named with every other reason.
    (Trouble::Taints, &["untolerated taint"]),
];

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "pod-image-build",
        grade: Grade::Problem,
        title: "an image is of another build than the Windows node",
        cause: "A container that shares the kernel must have a base image of the node's build: Server 2022 (20348) \
                runs no image of Server 2019 (17763), and none of 2025 (26100).",
        fix: &[
            (
                On::Anywhere,
                "use the tag of the node's build, for example :ltsc2022; or an image with several builds",
            ),
            (
                On::Anywhere,
                "choose nodes by build: `nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}`",
            ),
        ],
        look: Look::Cluster(|cluster| {
            pods(cluster, Trouble::WrongBuild, "its image is of another build than its node")
        }),
    },
    Rule {
        id: "pod-image-no-windows",
        grade: Grade::Problem,
        title: "an image is not there for the node's system",
        cause: "The image has no variant for the node: an image for Linux on a Windows node, the other way round, or \
                no variant of the node's build.",
        fix: &[
            (On::Anywhere, "write `nodeSelector: {kubernetes.io/os: linux}` (or windows) into the pod"),
            (On::Anywhere, "docker manifest inspect IMAGE shows for which systems and builds it is"),
        ],
        look: Look::Cluster(|cluster| {
            pods(cluster, Trouble::NoWindowsImage, "its image has no variant for its node")
        }),
    },
    Rule {
        id: "pod-sandbox-image",
        grade: Grade::Problem,
        title: "the pause image is missing on a node",
        cause: "Every pod begins with a sandbox of the image pause. containerd's configuration names it; where it was \
                removed, or the configuration was changed to another, the registry is asked.",
        fix: &[
            (On::Anywhere, "`swdt cluster create --config FILE` puts image and configuration back"),
            (On::Anywhere, "`swdt image load registry.k8s.io/pause:3.10 --node NODE`"),
        ],
        look: Look::Cluster(|cluster| {
            pods(cluster, Trouble::SandboxImage, "the image of its sandbox cannot be had")
        }),
    },
    Rule {
        id: "pod-image-denied",
        grade: Grade::Problem,
        title: "the registry refuses an image",
        cause: "The image is private and the pod has no or wrong credentials, or its name is mistyped: many \
                registries say \"denied\" for what does not exist.",
        fix: &[
            (
                On::Anywhere,
                "swdt kubectl -- create secret docker-registry NAME …, and `imagePullSecrets` in the pod",
            ),
            (On::Anywhere, "or bring it without a registry: `swdt image load FILE`"),
        ],
        look: Look::Cluster(|cluster| pods(cluster, Trouble::Denied, "the registry refuses its image")),
    },
    Rule {
        id: "pod-image-registry",
        grade: Grade::Problem,
        title: "a node cannot reach a registry",
        cause: "The node has no way out, no DNS, needs a proxy, does not trust the registry's certificate, or has \
                pulled too often for this hour.",
        fix: &[
            (On::Linux, "on the node: `getent hosts REGISTRY; curl -v https://REGISTRY/v2/`"),
            (On::Windows, "on the node: `Resolve-DnsName REGISTRY; curl.exe -v https://REGISTRY/v2/`"),
            (On::Anywhere, "bring it without a registry: `swdt image load FILE`"),
        ],
        look: Look::Cluster(|cluster| {
            pods(cluster, Trouble::Registry, "its node cannot reach the registry of its image")
        }),
    },
    Rule {
        id: "pod-image",
        grade: Grade::Problem,
        title: "an image cannot be pulled",
        cause: "There is no such image or tag, or its name is malformed.",
        fix: &[
            (On::Anywhere, "`swdt kubectl -- describe pod POD`"),
            (On::Anywhere, "bring your own: `swdt image load FILE`"),
        ],
        look: Look::Cluster(|cluster| pods(cluster, Trouble::Image, "its image cannot be pulled")),
    },
    Rule {
        id: "pod-hns",
        grade: Grade::Problem,
        title: "a pod on Windows gets no network",
        cause: "The Host Network Service refused to make its endpoint: the network of pods is gone, addresses are used \
                up by endpoints that nobody removed, or HNS stands still.",
        fix: &[(
            On::Windows,
            "Get-HnsNetwork; (Get-HnsEndpoint).Count; Restart-Service hns; Restart-Service flanneld",
        )],
        look: Look::Cluster(|cluster| {
            pods(cluster, Trouble::Hns, "the Host Network Service gives it no network")
        }),
    },
    Rule {
        id: "pod-cni",
        grade: Grade::Problem,
        title: "a pod stays at ContainerCreating: the network plugin fails",
        cause: "The plugin is missing in /opt/cni/bin, its configuration in /etc/cni/net.d, or the network's daemon \
                has not written /run/flannel/subnet.env yet.",
        fix: &[
            (On::Anywhere, "`swdt kubectl -- get pods -n kube-flannel -o wide`"),
            (On::Anywhere, "`swdt cluster create --config FILE` puts missing files back"),
        ],
        look: Look::Cluster(|cluster| pods(cluster, Trouble::Cni, "the network plugin of its node fails")),
    },
    Rule {
        id: "pod-volume",
        grade: Grade::Problem,
        title: "a pod waits for a volume",
        cause: "It names a Secret, a ConfigMap or a claim that is not there, or a key that is not in it.",
        fix: &[(
            On::Anywhere,
            "`swdt kubectl -- get secrets,configmaps,pvc -n NAMESPACE`; make what is missing",
        )],
        look: Look::Cluster(|cluster| pods(cluster, Trouble::Volume, "what it wants to mount is not there")),
    },
    Rule {
        id: "pod-taints",
        grade: Grade::Problem,
        title: "taints keep a pod away from every node",
        cause: "Control planes, rehearsals and nodes that are not ready have taints that ordinary pods do not bear. \
                In a cluster of one node, nothing else is left.",
        fix: &[
            (On::Anywhere, "write `tolerations` into the pod"),
            (On::Anywhere, "or take the taint away: `swdt kubectl -- taint node NODE KEY-`"),
        ],
        look: Look::Cluster(|cluster| pods(cluster, Trouble::Taints, "taints keep it away from every node")),
    },
    Rule {
        id: "pod-room",
        grade: Grade::Problem,
        title: "no node has room for a pod",
        cause: "The pod asks for more memory or processors than any node has left.",
        fix: &[(
            On::Anywhere,
            "ask for less in `resources.requests`, or add a node: swdt cluster update --config FILE",
        )],
        look: Look::Cluster(|cluster| pods(cluster, Trouble::Room, "no node has room for it")),
    },
    Rule {
        id: "pod-selector",
        grade: Grade::Problem,
        title: "no node is what a pod asks for",
        cause: "No node has the labels that the pod chooses by: a build of Windows that is not there, a name that is \
                mistyped.",
        fix: &[(On::Anywhere, "`swdt kubectl -- get nodes --show-labels`")],
        look: Look::Cluster(|cluster| pods(cluster, Trouble::Selector, "no node has the labels it asks for")),
    },
    Rule {
        id: "pod-crash-loop",
        grade: Grade::Warning,
        title: "a container ends again and again",
        cause: "Its program ends by itself, or is killed for want of memory.",
        fix: &[(On::Anywhere, "`swdt kubectl -- logs --previous -n NAMESPACE POD`")],
        look: Look::Cluster(|cluster| pods(cluster, Trouble::Crash, "its container ends again and again")),
    },
    Rule {
        id: "pod-going",
        grade: Grade::Warning,
        title: "a pod does not go",
        cause: "It was deleted long ago, but its kubelet has not said that it is gone: the node is off or silent, or a \
                finalizer waits for somebody.",
        fix: &[
            (On::Anywhere, "bring its node back, or delete the node if its machine is gone for good"),
            (On::Anywhere, "`swdt kubectl -- delete pod --force --grace-period=0 -n NAMESPACE POD`, at last"),
        ],
        look: Look::Cluster(|cluster| {
            let going = cluster.all("pods").iter().filter_map(|pod| {
                let ago = age(cluster.now, pod, "/metadata/deletionTimestamp").filter(|ago| *ago > GOING)?;
                let what = format!(
                    "the pod {} was deleted {} minutes ago and is still there",
                    full_name(pod),
                    ago / 60
                );
                Some(placed(Found::new(what), pod).seen("metadata.deletionTimestamp"))
            });
            going.collect()
        }),
    },
];

/// The pods that have this trouble.
fn pods(cluster: &ClusterFacts<'_>, which: Trouble, what: &str) -> Vec<Found> {
    let found = cluster.all("pods").iter().filter_map(|pod| {
        let (trouble, seen) = trouble(cluster, pod)?;
        if trouble != which {
            return None;
        }
        let found = Found::new(format!("pod {}: {what}", full_name(pod))).seen(seen);
        let found = match which {
            Trouble::Taints => tainted(cluster).into_iter().fold(found, Found::seen),
            _ => found,
        };
        Some(placed(found, pod))
    });
    found.collect()
}

/// On the pod's node, where it has one.
pub(super) fn placed(found: Found, pod: &Value) -> Found {
    let node = text(pod, "/spec/nodeName");
    if node.is_empty() { found } else { found.on(node) }
}

fn tainted(cluster: &ClusterFacts<'_>) -> Vec<String> {
    let all = cluster.all("nodes").iter().map(|node| (name(node), taints(node)));
    all.filter(|(_, taints)| !taints.is_empty())
        .map(|(node, taints)| format!("{node} has {}", taints.join(", ")))
        .collect()
}

/// Why a pod does not work, and the words that say so.
fn trouble(cluster: &ClusterFacts<'_>, pod: &Value) -> Option<(Trouble, String)> {
    if !text(pod, "/metadata/deletionTimestamp").is_empty() {
        return None;
    }
    let waiting: Vec<(&str, &str)> = ["/status/initContainerStatuses", "/status/containerStatuses"]
        .iter()
        .flat_map(|path| list(pod, path))
        .filter(|status| status["state"]["waiting"].is_object())
        .map(|status| (text(status, "/state/waiting/reason"), text(status, "/state/waiting/message")))
        .collect();
    let unscheduled = condition(pod, "PodScheduled").filter(|(status, ..)| *status == "False");
    let pending = text(pod, "/status/phase") == "Pending";
    if waiting.is_empty() && unscheduled.is_none() && !pending {
        return None;
    }
    let ours = |event: &&Value| {
        let same = |of_event: &str, of_pod: &str| text(event, of_event) == text(pod, of_pod);
        // What a probe says is about the program, and the scheduler's words end when the pod has a node.
        let about = match text(event, "/reason") {
            "Unhealthy" => false,
            "FailedScheduling" => unscheduled.is_some(),
            _ => true,
        };
        event["type"] == "Warning"
            && about
            && same("/involvedObject/name", "/metadata/name")
            && same("/involvedObject/namespace", "/metadata/namespace")
            // An earlier pod of the same name had other troubles.
            && (text(event, "/involvedObject/uid").is_empty() || same("/involvedObject/uid", "/metadata/uid"))
            && age(cluster.now, event, "/lastTimestamp").is_none_or(|ago| ago < RECENT)
    };
    let events = cluster.all("events").iter().filter(ours).map(|event| text(event, "/message"));
    let said: Vec<&str> =
        waiting.iter().map(|(_, message)| *message).chain(unscheduled.map(|it| it.2)).chain(events).collect();
    let known = WORDS.iter().find_map(|(trouble, words)| {
        let fits = |said: &&&str| words.iter().any(|word| said.to_lowercase().contains(word));
        Some((*trouble, (*said.iter().find(fits)?).to_owned()))
    });
    known.or_else(|| {
        let (reason, message) = waiting.iter().find(|(reason, _)| !reason.is_empty())?;
        let seen = format!("{reason}: {message}");
        match *reason {
            "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" => {
                Some((Trouble::Image, seen))
            }
            "CrashLoopBackOff" | "CreateContainerError" | "RunContainerError" => Some((Trouble::Crash, seen)),
            "CreateContainerConfigError" => Some((Trouble::Volume, seen)),
            _ => None,
        }
    })
}
