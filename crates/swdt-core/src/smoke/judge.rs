//! What a Windows node must be like, judged from what the cluster says of it.

use serde_json::Value;

use crate::spec::{Component, ComponentName, Node, REHEARSAL, Source, Spec};

const OS: &str = "kubernetes.io/os";
const ARCH: &str = "kubernetes.io/arch";
const HOSTNAME: &str = "kubernetes.io/hostname";
pub(super) const BUILD: &str = "node.kubernetes.io/windows-build";

/// Who signs the certificate with which a kubelet speaks to the API server.
const KUBELET_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";

/// As it should be, in a few words; or all that is wrong.
pub(crate) type Judgement = Result<String, String>;

/// Nothing wrong: these words. Otherwise what is.
fn unless(wrong: &[String], words: String) -> Judgement {
    if wrong.is_empty() { Ok(words) } else { Err(wrong.join("; ")) }
}

/// Is the node's kubelet one that was made for rehearsals? No other has that mark.
pub(super) fn is_rehearsed(node: &Value) -> bool {
    kubelet(node).split_once('+').is_some_and(|(_, mark)| mark.split('.').any(|word| word == REHEARSAL))
}

fn kubelet(node: &Value) -> &str {
    text(&node["status"]["nodeInfo"]["kubeletVersion"])
}

/// Has the node registered as what it is, and is it ready?
pub(crate) fn registration(node: &Value, spec: &Spec, described: &Node) -> Judgement {
    let info = &node["status"]["nodeInfo"];
    let (image, kernel) = (text(&info["osImage"]), text(&info["kernelVersion"]));
    let ready = list(&node["status"]["conditions"]).iter().find(|condition| condition["type"] == "Ready");
    let mut wrong = Vec::new();
    match ready {
        Some(condition) if condition["status"] == "True" => {}
        Some(condition) => wrong.push(format!("it is not ready: {}", text(&condition["message"]))),
        None => wrong.push("it said nothing yet".to_owned()),
    }
    let own = described.components.get(&ComponentName::Kubelet);
    if !is_own_build(own) {
        let version = own.and_then(|own| own.version.as_ref()).unwrap_or(&spec.kubernetes);
        let wanted = format!("v{version}");
        if kubelet(node).split('+').next() != wanted.split('+').next() {
            wrong.push(format!("its kubelet is {}, not {wanted}", kubelet(node)));
        }
    }
    if info["operatingSystem"] != "windows" || !image.starts_with("Windows") {
        wrong.push(format!("it is {} `{image}`, not Windows", text(&info["operatingSystem"])));
    }
    unless(&wrong, format!("ready, {}, {image}, {kernel}", kubelet(node)))
}

/// What somebody built calls itself as it likes.
fn is_own_build(component: Option<&Component>) -> bool {
    let source = component.and_then(|component| component.source.as_ref());
    source.is_some_and(|source| !matches!(source, Source::Release { .. } | Source::Bundle { .. }))
}

/// Has it the labels by which workloads choose, and those of the file?
pub(crate) fn labels(node: &Value, described: &Node) -> Judgement {
    let labels = &node["metadata"]["labels"];
    let usual = [(OS, "windows"), (ARCH, "amd64"), (HOSTNAME, described.name.as_str())];
    let own = described.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut wrong: Vec<String> = usual
        .into_iter()
        .chain(own)
        .filter(|(key, value)| labels[*key] != **value)
        .map(|(key, value)| format!("{key} is {}, not `{value}`", labels[key]))
        .collect();
    let (build, kernel) = (text(&labels[BUILD]), text(&node["status"]["nodeInfo"]["kernelVersion"]));
    // The kernel tells the update level, too.
    if build.is_empty() || !(kernel == build || kernel.starts_with(&format!("{build}."))) {
        wrong.push(format!("{BUILD} is {}, and the kernel {kernel}", labels[BUILD]));
    }
    unless(&wrong, format!("windows, amd64, {build}; {} of the file", described.labels.len()))
}

/// Has it the taints of the file?
pub(crate) fn taints(node: &Value, described: &Node) -> Judgement {
    let there = taints_of(node);
    let wanted: Vec<String> = described.taints.iter().flatten().map(ToString::to_string).collect();
    let missing = wanted.iter().filter(|taint| !there.contains(taint));
    let wrong: Vec<_> = missing.map(|taint| format!("{taint} is not there")).collect();
    unless(&wrong, if wanted.is_empty() { "none of the file".to_owned() } else { wanted.join(", ") })
}

/// Is there a taint that keeps away pods which do not tolerate it?
pub(crate) fn keeps_away(node: &Value) -> bool {
    taints_of(node).iter().any(|taint| !taint.ends_with(":PreferNoSchedule"))
}

/// As kubectl writes them, without those that come and go by themselves.
fn taints_of(node: &Value) -> Vec<String> {
    let own = |taint: &&Value| !text(&taint["key"]).starts_with("node.kubernetes.io/");
    let word = |taint: &Value| {
        let value = text(&taint["value"]);
        let equals = if value.is_empty() { "" } else { "=" };
        format!("{}{equals}{value}:{}", text(&taint["key"]), text(&taint["effect"]))
    };
    list(&node["spec"]["taints"]).iter().filter(own).map(word).collect()
}

/// Has its part of the pod network told the others where it is? What Flannel writes on a node when it leased a range.
pub(crate) fn lease(node: &Value) -> Judgement {
    let annotation =
        |name: &str| text(&node["metadata"]["annotations"][format!("flannel.alpha.coreos.com/{name}")]);
    let (backend, data, ip) =
        (annotation("backend-type"), annotation("backend-data"), annotation("public-ip"));
    let addresses = list(&node["status"]["addresses"]);
    let internal = addresses.iter().find(|address| address["type"] == "InternalIP");
    let internal = internal.map(|address| text(&address["address"])).unwrap_or_default();
    let range = text(&node["spec"]["podCIDR"]);
    let mut wrong = Vec::new();
    if range.is_empty() {
        wrong.push("it has no range of addresses for pods".to_owned());
    }
    if backend != "vxlan" || !data.contains("VtepMAC") {
        wrong.push(format!("flanneld has not told its end of the tunnel: `{backend}` `{data}`"));
    }
    if ip.is_empty() || ip != internal {
        wrong.push(format!("flanneld says `{ip}`, and the node is at `{internal}`"));
    }
    unless(&wrong, format!("{range} behind {ip}"))
}

/// Was every kubelet that asked for a certificate given one? Requests are forgotten after an hour.
pub(crate) fn certificates(requests: &[Value]) -> Judgement {
    let kubelets: Vec<&Value> =
        requests.iter().filter(|request| request["spec"]["signerName"] == KUBELET_SIGNER).collect();
    let given = |request: &Value| {
        let approved =
            list(&request["status"]["conditions"]).iter().any(|condition| condition["type"] == "Approved");
        approved && request["status"]["certificate"].is_string()
    };
    let waiting = kubelets.iter().filter(|request| !given(request));
    let wrong = waiting.map(|request| format!("{} waits or was denied", text(&request["metadata"]["name"])));
    unless(&wrong.collect::<Vec<_>>(), format!("{} requests granted lately", kubelets.len()))
}

/// The runtime class for the build of this node.
pub(super) fn class_for<'c>(classes: &'c [Value], node: &Value) -> Option<&'c str> {
    let build = node["metadata"]["labels"][BUILD].as_str()?;
    let class = classes.iter().find(|class| class["scheduling"]["nodeSelector"][BUILD] == build)?;
    class["metadata"]["name"].as_str()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn spec(more: &str) -> Spec {
        let text = format!(
            "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nkubernetes: {{version: 1.36.3}}\nnodes:
  - {{name: cp1, role: control-plane, address: 192.168.1.10}}
  - {{name: win1, os: windows, address: 192.168.1.11{more}}}\n"
        );
        crate::config::load("a.yaml", text.as_bytes(), None, Path::new("/")).unwrap()
    }

    /// As the API server tells a node that is all right.
    fn node() -> Value {
        json!({
            "metadata": {
                "name": "win1",
                "labels": {
                    "kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "win1",
                    "node.kubernetes.io/windows-build": "10.0.20348", "disk": "fast",
                },
                "annotations": {
                    "flannel.alpha.coreos.com/backend-data": "{\"VNI\":4096,\"VtepMAC\":\"00:15:5d:d2:1d:4c\"}",
                    "flannel.alpha.coreos.com/backend-type": "vxlan",
                    "flannel.alpha.coreos.com/public-ip": "192.168.1.11",
                },
            },
            "spec": {
                "podCIDR": "10.244.1.0/24",
                "taints": [
                    { "key": "os", "value": "windows", "effect": "NoSchedule" },
                    { "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" },
                ],
            },
            "status": {
                "addresses": [{ "type": "Hostname", "address": "win1" }, { "type": "InternalIP", "address": "192.168.1.11" }],
                "conditions": [{ "type": "Ready", "status": "True", "message": "kubelet is posting ready status" }],
                "nodeInfo": {
                    "architecture": "amd64", "operatingSystem": "windows", "kernelVersion": "10.0.20348.2340",
                    "kubeletVersion": "v1.36.3+rehearsal", "osImage": "Windows Server 2022 Datacenter",
                },
            },
        })
    }

    fn with(pointer: &str, value: Value) -> Value {
        let mut node = node();
        *node.pointer_mut(pointer).unwrap() = value;
        node
    }

    #[test]
    fn a_registration_is_of_windows_and_ready() {
        let (plain, own) = (spec(""), spec(", components: {kubelet: {source: {checkout: {path: /k}}}}"));
        let judge = |node: &Value, spec: &Spec| registration(node, spec, &spec.nodes[1]);
        let good = judge(&node(), &plain).unwrap();
        assert_eq!(good, "ready, v1.36.3+rehearsal, Windows Server 2022 Datacenter, 10.0.20348.2340");
        let late = with("/status/conditions/0/status", json!("Unknown"));
        assert!(judge(&late, &plain).unwrap_err().starts_with("it is not ready"));
        let other = with("/status/nodeInfo/kubeletVersion", json!("v1.36.2"));
        assert_eq!(judge(&other, &plain).unwrap_err(), "its kubelet is v1.36.2, not v1.36.3");
        assert!(judge(&other, &own).is_ok(), "what somebody built calls itself as it likes");
        assert!(judge(&with("/status/nodeInfo/operatingSystem", json!("linux")), &plain).is_err());
        assert!(judge(&with("/status/conditions", json!([])), &plain).is_err());
    }

    #[test]
    fn only_the_mark_makes_a_rehearsal() {
        let of = |version: &str| is_rehearsed(&with("/status/nodeInfo/kubeletVersion", json!(version)));
        assert!(of("v1.36.3+rehearsal") && of("v1.37.0-alpha.1+abc.rehearsal"));
        assert!(!of("v1.36.3") && !of("v1.36.3+rehearsals") && !of("v1.36.3-rehearsal"));
    }

    #[test]
    fn labels_and_taints_are_those_of_windows_and_of_the_file() {
        let spec = spec(", labels: {disk: fast}, taints: [\"os=windows:NoSchedule\"]");
        let described = &spec.nodes[1];
        assert!(labels(&node(), described).is_ok() && taints(&node(), described).is_ok());
        for (label, value) in
            [("kubernetes.io~1os", "linux"), ("disk", "slow"), ("kubernetes.io~1hostname", "w")]
        {
            assert!(labels(&with(&format!("/metadata/labels/{label}"), json!(value)), described).is_err());
        }
        let build = |build: &str| with("/metadata/labels/node.kubernetes.io~1windows-build", json!(build));
        assert!(labels(&build("10.0.2034"), described).is_err() && labels(&build(""), described).is_err());
        let bare = with("/spec/taints", json!([]));
        assert_eq!(taints(&bare, described).unwrap_err(), "os=windows:NoSchedule is not there");
        assert!(keeps_away(&node()) && !keeps_away(&bare));
    }

    #[test]
    fn a_lease_says_where_the_tunnel_ends() {
        assert_eq!(lease(&node()).unwrap(), "10.244.1.0/24 behind 192.168.1.11");
        assert!(lease(&with("/metadata/annotations", json!({}))).is_err());
        assert!(lease(&with("/spec/podCIDR", Value::Null)).is_err());
        let elsewhere = with("/metadata/annotations/flannel.alpha.coreos.com~1public-ip", json!("10.0.2.15"));
        assert_eq!(
            lease(&elsewhere).unwrap_err(),
            "flanneld says `10.0.2.15`, and the node is at `192.168.1.11`"
        );
    }

    #[test]
    fn a_certificate_is_given_or_it_is_not() {
        let request = |status: Value| json!({ "metadata": { "name": "csr-x" }, "spec": { "signerName": KUBELET_SIGNER }, "status": status });
        let granted = request(json!({ "conditions": [{ "type": "Approved" }], "certificate": "LS0t" }));
        assert!(certificates(&[]).is_ok() && certificates(std::slice::from_ref(&granted)).is_ok());
        for not in [
            json!({}),
            json!({ "conditions": [{ "type": "Denied" }] }),
            json!({ "conditions": [{ "type": "Approved" }] }),
        ] {
            assert_eq!(
                certificates(&[granted.clone(), request(not)]).unwrap_err(),
                "csr-x waits or was denied"
            );
        }
    }

    #[test]
    fn a_class_is_found_by_build() {
        let class = |name: &str, build: &str| json!({ "metadata": { "name": name }, "scheduling": { "nodeSelector": { BUILD: build } } });
        let classes = [
            json!({ "metadata": { "name": "gvisor" } }),
            class("windows-2025", "10.0.26100"),
            class("windows-2022", "10.0.20348"),
        ];
        assert_eq!(class_for(&classes, &node()), Some("windows-2022"));
        assert_eq!(class_for(&classes[..2], &node()), None);
        assert_eq!(class_for(&classes[..1], &with("/metadata/labels", json!({}))), None);
    }
}
