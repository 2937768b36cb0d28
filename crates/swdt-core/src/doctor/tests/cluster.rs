//! Clusters, sound and spoiled.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{super::*, Case};
use crate::plan::tests::{self, MIXED, debian, load};

const NOW: &str = "2026-11-16T12:00:00Z";

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// What is found in a cluster of a control plane and a Windows node that is spoiled so.
fn find(spoil: impl Fn(&mut ClusterFacts<'_>)) -> Vec<Finding> {
    let spec = load(MIXED);
    let mut read: Value = serde_json::from_str(include_str!("../../../tests/doctor/healthy.json")).unwrap();
    let lists = ClusterFacts::KINDS.iter().map(|kind| (*kind, read[kind].take().as_array().unwrap().clone()));
    let look = |facts| NodeLook { facts: Some(facts), ..NodeLook::default() };
    let machines = [("cp1", look(debian())), ("win1", look(tests::windows(20348)))];
    let mut facts = ClusterFacts {
        spec: &spec,
        now: time(NOW),
        unanswered: None,
        certificates_until: Some(time("2027-11-16T12:00:00Z")),
        tokens: Vec::new(),
        objects: lists.collect(),
        machines: machines.map(|(name, look)| (name.to_owned(), look)).into(),
    };
    spoil(&mut facts);
    cluster(&facts)
}

pub(super) fn sound() -> Vec<Finding> {
    let mut findings = find(|_| ());
    // Where nobody could be asked, nothing is found.
    findings.extend(find(|it| {
        it.objects = BTreeMap::new();
        it.certificates_until = None;
        it.machines = BTreeMap::new();
    }));
    findings
}

/// On a node something differs, which may be a service.
fn differs(it: &mut ClusterFacts<'_>, node: &str, id: &str, service: &str, how: &str) {
    let service = Some(service.to_owned()).filter(|service| !service.is_empty());
    let look = it.machines.get_mut(node).unwrap();
    look.differs.push(Differs { id: id.into(), service, how: how.into() });
}

/// A condition of a node.
fn condition(it: &mut ClusterFacts<'_>, node: usize, kind: &str, status: &str, message: &str) {
    let conditions =
        it.objects.get_mut("nodes").unwrap()[node]["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != kind);
    conditions.push(json!({ "type": kind, "status": status, "reason": "Because", "message": message }));
}

/// A pod on win1 that waits, and what happened to it.
fn waits(it: &mut ClusterFacts<'_>, reason: &str, message: &str, event: &str) {
    let waiting = json!({ "reason": reason, "message": message });
    it.objects.get_mut("pods").unwrap()[2]["status"] = json!({
        "phase": "Pending",
        "conditions": [{ "type": "PodScheduled", "status": "True" }, { "type": "Ready", "status": "False" }],
        "containerStatuses": [{ "name": "web", "state": { "waiting": waiting } }],
    });
    it.objects.get_mut("events").unwrap().truncate(1);
    if !event.is_empty() {
        let of = json!({ "kind": "Pod", "name": "web", "namespace": "default" });
        let event = json!({ "type": "Warning", "reason": "Failed", "message": event, "involvedObject": of });
        it.objects.get_mut("events").unwrap().push(event);
    }
}

/// A pod that no node takes.
fn unscheduled(it: &mut ClusterFacts<'_>, message: &str) {
    let pod = &mut it.objects.get_mut("pods").unwrap()[2];
    pod["spec"] = json!({});
    pod["status"] = json!({
        "phase": "Pending",
        "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message }],
    });
    it.objects.get_mut("events").unwrap().clear();
}

fn object<'a>(it: &'a mut ClusterFacts<'_>, kind: &str, index: usize) -> &'a mut Value {
    &mut it.objects.get_mut(kind).unwrap()[index]
}

pub(super) fn cases() -> Vec<Case> {
    type Spoil = fn(&mut ClusterFacts<'_>);
    let control: &[(&str, &str, Spoil)] = &[
        ("cluster-api", "connection refused", |it| {
            it.unanswered = Some("The connection to the server was refused: connection refused".into());
            it.objects = BTreeMap::new();
        }),
        ("cluster-certificates-expired", "x509", |it| {
            it.unanswered = Some("x509: certificate has expired or is not yet valid".into());
            it.objects = BTreeMap::new();
        }),
        ("cluster-certificates-expired", "ended 2026-11-15", |it| {
            it.certificates_until = Some(time("2026-11-15T12:00:00Z"));
        }),
        ("cluster-certificates-ending", "end in 10 days", |it| {
            it.certificates_until = Some(time("2026-11-26T13:00:00Z"));
        }),
        ("cluster-token-left", "nobody can join with it", |it| {
            it.tokens = vec![("bootstrap-token-abcdef".into(), Some(time("2026-11-16T11:00:00Z")))];
        }),
        ("cluster-token-left", "for ever", |it| it.tokens = vec![("bootstrap-token-abcdef".into(), None)]),
        ("cluster-control-pods", "kube-system/etcd-cp1", |it| {
            object(it, "pods", 0)["status"]["conditions"][0]["status"] = "False".into();
        }),
    ];
    let nodes: &[(&str, &str, Spoil)] = &[
        ("node-missing", "win1", |it| {
            it.objects.get_mut("nodes").unwrap().pop();
        }),
        ("node-unknown", "stranger", |it| {
            let mut node = object(it, "nodes", 0).clone();
            node["metadata"]["name"] = "stranger".into();
            it.objects.get_mut("nodes").unwrap().push(node);
        }),
        ("node-kubelet-stopped", "it said last: failed to run Kubelet", |it| {
            differs(it, "cp1", "init/kubelet", "kubelet", "not running (failed)");
            it.machines.get_mut("cp1").unwrap().kubelet_log = vec!["failed to run Kubelet".into()];
        }),
        // Two resources are about the one service of Windows, and it is told once.
        ("node-kubelet-stopped", "kubernetes/kubelet/service", |it| {
            differs(it, "win1", "kubernetes/kubelet/service", "kubelet", "missing");
            differs(it, "win1", "join/kubelet", "kubelet", "missing");
        }),
        ("node-runtime-down", "runtime/service", |it| {
            differs(it, "cp1", "runtime/service", "containerd", "not running (inactive)");
        }),
        ("node-runtime-down", "container runtime is down", |it| {
            differs(it, "win1", "runtime/answers", "", "nobody answers");
            condition(it, 0, "Ready", "False", "[container runtime is down, PLEG is not healthy]");
        }),
        ("node-cni-files", "runtime/portmap", |it| differs(it, "cp1", "runtime/portmap", "", "missing")),
        ("node-no-network", "no network for pods", |it| {
            let message = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
                           message:Network plugin returns error: cni plugin not initialized";
            condition(it, 1, "Ready", "False", message);
        }),
        ("node-silent", "stopped posting", |it| {
            condition(it, 1, "Ready", "Unknown", "Kubelet stopped posting node status.");
        }),
        ("node-not-ready", "shutting down", |it| condition(it, 1, "Ready", "False", "node is shutting down")),
        ("node-pressure", "DiskPressure", |it| condition(it, 1, "DiskPressure", "True", "full")),
        ("node-pod-cidr", "win1", |it| object(it, "nodes", 1)["spec"] = json!({})),
        ("node-version-skew", "v1.37.0", |it| {
            object(it, "nodes", 1)["status"]["nodeInfo"]["kubeletVersion"] = "v1.37.0".into();
        }),
        ("node-version-skew", "v1.32.9", |it| {
            object(it, "nodes", 1)["status"]["nodeInfo"]["kubeletVersion"] = "v1.32.9".into();
        }),
        ("node-cordoned", "takes no new pods", |it| {
            object(it, "nodes", 1)["spec"]["unschedulable"] = true.into();
        }),
        ("node-swap", "/dev/sda2", |it| differs(it, "cp1", "prepare/swap", "", "/dev/sda2 is in use")),
        ("node-kernel", "ip_forward", |it| {
            differs(it, "cp1", "prepare/sysctl/net.ipv4.ip_forward", "", "is 0");
        }),
        ("node-firewall-shut", "lacks: 10250", |it| {
            differs(it, "cp1", "prepare/firewall", "", "firewalld lacks: 10250/tcp");
        }),
        ("node-drift", "and 1 more", |it| {
            differs(it, "cp1", "runtime/config", "", "other contents");
            differs(it, "cp1", "runtime/service", "containerd", "started before /etc/containerd changed");
        }),
    ];
    let windows: &[(&str, &str, Spoil)] = &[
        ("windows-hns-network", "network-ready", |it| {
            differs(it, "win1", "node-net/network-ready", "", "there is no network flannel.4096");
        }),
        ("windows-flanneld", "does not run", |it| {
            differs(it, "win1", "node-net/flanneld/service", "flanneld", "not running");
        }),
        ("windows-kube-proxy", "does not work", |it| {
            differs(it, "win1", "node-net/kube-proxy/service", "kube-proxy", "not running");
            differs(it, "win1", "verify/kube-proxy", "", "connection refused");
        }),
        ("windows-containers", "is off", |it| differs(it, "win1", "prepare/containers", "", "disabled")),
        ("windows-token", "comes to its end", |it| {
            differs(it, "win1", "node-net/kubeconfig/network", "", "its token comes to its end");
        }),
        ("windows-build-changed", "10.0.26100", |it| {
            it.machines.get_mut("win1").unwrap().facts = Some(tests::windows(26100));
        }),
        ("windows-misplaced", "DaemonSet default/agent", |it| {
            it.objects.get_mut("daemonsets").unwrap().push(json!({
                "kind": "DaemonSet",
                "metadata": { "name": "agent", "namespace": "default" },
                "spec": { "template": { "spec": {} } },
                "status": { "desiredNumberScheduled": 1, "numberReady": 1 },
            }));
        }),
    ];
    let network: &[(&str, &str, Spoil)] = &[
        ("dns-down", "0 of 2", |it| object(it, "deployments", 0)["status"] = json!({})),
        ("dns-no-endpoints", "no ready endpoint", |it| {
            object(it, "endpointslices", 1)["endpoints"] = json!([{ "conditions": { "ready": false } }]);
        }),
        ("flannel-down", "ready on 0 of 1", |it| {
            object(it, "daemonsets", 1)["status"]["numberReady"] = 0.into();
        }),
        ("kube-proxy-down", "ready on 0 of 1", |it| {
            object(it, "daemonsets", 0)["status"]["numberReady"] = 0.into();
        }),
    ];
    let all = control.iter().chain(nodes).chain(windows).chain(network);
    let mut cases: Vec<Case> =
        all.map(|(id, words, spoil)| Case { id, words, findings: find(spoil) }).collect();
    cases.extend(pods());
    cases
}

/// In the words of the kubelet, containerd and the scheduler as far as we remember them; only the registry that cannot be
/// reached was seen on a cluster.
fn pods() -> Vec<Case> {
    let waiting: &[(&str, &str, &str, &str)] = &[
        (
            "pod-image-build",
            "ContainerCreating",
            "",
            "failed to create containerd task: hcs::CreateComputeSystem: The container operating system does not match \
             the host operating system.",
        ),
        (
            "pod-image-no-windows",
            "ImagePullBackOff",
            "Back-off pulling image \"nginx\"",
            "failed to pull and unpack image \"docker.io/library/nginx:latest\": no match for platform in manifest: \
             not found",
        ),
        (
            "pod-sandbox-image",
            "ContainerCreating",
            "",
            "failed to get sandbox image \"registry.k8s.io/pause:3.9\": failed to pull image: dial tcp: no such host",
        ),
        (
            "pod-image-denied",
            "ImagePullBackOff",
            "",
            "pull access denied, repository does not exist or may require authorization: server message: \
             insufficient_scope: authorization failed",
        ),
        (
            "pod-image-registry",
            "ErrImagePull",
            "failed to do request: Head \"https://registry.example/v2/\": dial tcp: lookup registry.example: no such host",
            "",
        ),
        ("pod-image", "ErrImagePull", "registry.example/a:none: not found", ""),
        (
            "pod-hns",
            "ContainerCreating",
            "",
            "failed to setup network for sandbox: plugin type=\"win-overlay\" failed (add): error while \
             hcn.GetNetworkByName(flannel.4096): Network name \"flannel.4096\" not found: hnsCall failed",
        ),
        (
            "pod-cni",
            "ContainerCreating",
            "",
            "failed to setup network for sandbox: plugin type=\"flannel\" failed (add): failed to find plugin \
             \"bridge\" in path [/opt/cni/bin]",
        ),
        (
            "pod-volume",
            "ContainerCreating",
            "",
            "MountVolume.SetUp failed for volume \"config\" : secret \"none\" not found",
        ),
        ("pod-volume", "CreateContainerConfigError", "configmap \"none\" not found", ""),
        ("pod-crash-loop", "CrashLoopBackOff", "back-off 5m0s restarting failed container=web", ""),
    ];
    let one = |(id, reason, message, event): &(&'static str, &str, &str, &str)| Case {
        id,
        words: "default/web",
        findings: find(|it| waits(it, reason, message, event)),
    };
    let unscheduled: &[(&str, &str)] = &[
        (
            "pod-taints",
            "0/2 nodes are available: 2 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.",
        ),
        ("pod-room", "0/2 nodes are available: 2 Insufficient memory."),
        ("pod-selector", "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."),
    ];
    let two = |(id, message): &(&'static str, &str)| Case {
        id,
        words: "default/web",
        findings: find(|it| self::unscheduled(it, message)),
    };
    let going = find(|it| {
        let pod = object(it, "pods", 2);
        pod["metadata"]["deletionTimestamp"] = "2026-11-16T11:30:00Z".into();
    });
    let going = Case { id: "pod-going", words: "30 minutes ago", findings: going };
    waiting.iter().map(one).chain(unscheduled.iter().map(two)).chain([going]).collect()
}

/// A pod that is just being made waits, too.
#[test]
fn a_pod_on_its_way_is_no_finding() {
    assert_eq!(find(|it| waits(it, "ContainerCreating", "", "")), Vec::new());
}

fn ids(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id.as_str()).collect()
}

/// The taint of the control plane is named with every other reason.
#[test]
fn a_taint_hides_no_other_reason() {
    let message = "0/2 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint \
                   {node-role.kubernetes.io/control-plane: }.";
    assert_eq!(ids(&find(|it| unscheduled(it, message))), ["pod-room"]);
}

#[test]
fn events_tell_only_of_what_they_are_about() {
    let crash = |spoil: fn(&mut Value)| {
        find(|it| {
            let said = "Readiness probe failed: dial tcp 10.244.1.2:80: connect: connection refused";
            waits(it, "CrashLoopBackOff", "back-off 5m0s restarting failed container=web", said);
            spoil(object(it, "events", 1));
        })
    };
    // Of a probe, of an earlier pod of that name, of long ago.
    let others: [fn(&mut Value); 3] = [
        |event| event["reason"] = "Unhealthy".into(),
        |event| event["involvedObject"]["uid"] = "another".into(),
        |event| event["lastTimestamp"] = "2026-11-16T09:00:00Z".into(),
    ];
    for other in others {
        assert_eq!(ids(&crash(other)), ["pod-crash-loop"]);
    }
    let placed = find(|it| {
        waits(it, "ContainerCreating", "", "0/2 nodes are available: 2 Insufficient memory.");
        object(it, "events", 1)["reason"] = "FailedScheduling".into();
    });
    assert_eq!(ids(&placed), Vec::<&str>::new(), "it has a node by now");
}

#[test]
fn linux_has_no_host_network_service() {
    let found = find(|it| differs(it, "cp1", "node-net/daemon", "", "missing"));
    assert_eq!(ids(&found), ["node-drift"]);
}

#[test]
fn a_service_that_differs_otherwise_is_told_too() {
    let found =
        find(|it| differs(it, "win1", "node-net/flanneld/service", "flanneld", "another command line"));
    assert_eq!(ids(&found), ["node-drift"]);
}

#[test]
fn words_of_others_are_redacted_and_move_no_cursor() {
    let said = "failed to do request: dial tcp: https://me:hunter22@proxy.example/ \u{1b}]52;c;eA==\u{7} no such host";
    let found = find(|it| waits(it, "ErrImagePull", said, ""));
    let seen = found[0].evidence.join("\n");
    assert!(!seen.contains("hunter22") && !seen.contains(char::is_control), "{seen:?}");
}
