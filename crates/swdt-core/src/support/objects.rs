//! Objects of a cluster, reduced to what is known to be harmless. What is not named here is not kept.

use serde_json::{Map, Value};

/// Of a kind, the fields that are kept: `a.b` with everything below it, `a[].b` of every item of a list.
pub struct Allowed {
    /// As kubectl calls it.
    pub kind: &'static str,
    fields: &'static [&'static str],
}

/// Of every object.
const METADATA: &[&str] = &[
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.labels",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.generation",
    "metadata.ownerReferences[].kind",
    "metadata.ownerReferences[].name",
];

/// Annotations of programs that we know.
const ANNOTATIONS: &[&str] = &["flannel.alpha.coreos.com/", "swdt.dev/"];

const WORKLOAD: &[&str] = &[
    "spec.replicas",
    "spec.template.spec.containers[].name",
    "spec.template.spec.containers[].image",
    "spec.template.spec.nodeSelector",
    "spec.template.spec.tolerations",
    "spec.template.spec.hostNetwork",
    "status",
];

/// Everything that is asked for.
pub const ALLOWED: &[Allowed] = &[
    Allowed {
        kind: "nodes",
        fields: &[
            "spec.podCIDR",
            "spec.taints",
            "spec.unschedulable",
            "status.addresses",
            "status.allocatable",
            "status.capacity",
            "status.conditions",
            "status.nodeInfo",
        ],
    },
    Allowed {
        kind: "pods",
        fields: &[
            "spec.nodeName",
            "spec.nodeSelector",
            "spec.tolerations",
            "spec.hostNetwork",
            "spec.runtimeClassName",
            "spec.priorityClassName",
            "spec.restartPolicy",
            "spec.containers[].name",
            "spec.containers[].image",
            "spec.containers[].ports",
            "spec.containers[].resources",
            "spec.initContainers[].name",
            "spec.initContainers[].image",
            "status.phase",
            "status.reason",
            "status.message",
            "status.conditions",
            "status.hostIP",
            "status.podIP",
            "status.startTime",
            "status.containerStatuses",
            "status.initContainerStatuses",
        ],
    },
    Allowed {
        kind: "events",
        fields: &[
            "type",
            "reason",
            "message",
            "count",
            "firstTimestamp",
            "lastTimestamp",
            "eventTime",
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "reportingComponent",
            "source.component",
            "source.host",
        ],
    },
    Allowed { kind: "daemonsets", fields: WORKLOAD },
    Allowed { kind: "deployments", fields: WORKLOAD },
    Allowed { kind: "statefulsets", fields: WORKLOAD },
    Allowed {
        kind: "services",
        fields: &["spec.type", "spec.clusterIP", "spec.ports", "spec.selector", "spec.externalTrafficPolicy"],
    },
    Allowed { kind: "runtimeclasses", fields: &["handler", "scheduling"] },
];

/// ConfigMaps that are settings of programs we know: namespace, name, key.
pub const SETTINGS: &[(&str, &str, &str)] = &[
    ("kube-system", "kubeadm-config", "ClusterConfiguration"),
    ("kube-system", "coredns", "Corefile"),
    ("kube-flannel", "kube-flannel-cfg", "net-conf.json"),
];

/// Namespaces whose pods are the cluster's own.
pub const SYSTEM: &[&str] = &["kube-system", "kube-flannel"];

impl Allowed {
    /// The items of a list as kubectl prints it, reduced.
    pub fn reduce(&self, list: &Value) -> Value {
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().map(|item| self.reduce_one(item)).collect()
    }

    fn reduce_one(&self, object: &Value) -> Value {
        let mut kept = Value::Null;
        for path in METADATA.iter().chain(self.fields) {
            copy(object, &mut kept, path);
        }
        let known = |name: &str| ANNOTATIONS.iter().any(|prefix| name.starts_with(prefix));
        let annotations = object["metadata"]["annotations"].as_object().into_iter().flatten();
        let annotations: Map<String, Value> = annotations
            .filter(|(name, _)| known(name))
            .map(|(name, it)| (name.clone(), it.clone()))
            .collect();
        if !annotations.is_empty() {
            kept["metadata"]["annotations"] = annotations.into();
        }
        kept
    }
}

/// Copies what is at a path, if it is there.
fn copy(from: &Value, to: &mut Value, path: &str) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let (name, each) = first.strip_suffix("[]").map_or((first, false), |name| (name, true));
    let Some(found) = from.get(name).filter(|found| !found.is_null()) else { return };
    match rest {
        None => to[name] = found.clone(),
        Some(rest) if each => {
            let items = found.as_array().map(Vec::as_slice).unwrap_or_default();
            if !to[name].is_array() {
                to[name] = Value::Array(vec![Value::Null; items.len()]);
            }
            for (index, item) in items.iter().enumerate() {
                copy(item, &mut to[name][index], rest);
            }
        }
        Some(rest) => {
            let mut inner = to.get(name).cloned().unwrap_or_default();
            copy(found, &mut inner, rest);
            if !inner.is_null() {
                to[name] = inner;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_named_is_kept() {
        let pod = json!({
            "kind": "Pod",
            "metadata": {
                "name": "web", "namespace": "default",
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": "{\"env\":\"hunter2\"}",
                    "swdt.dev/cordoned": "then",
                },
                "ownerReferences": [{ "kind": "ReplicaSet", "name": "web", "uid": "7" }],
                "managedFields": [{ "manager": "kubectl" }],
            },
            "spec": {
                "nodeName": "w1",
                "containers": [
                    { "name": "a", "image": "i", "env": [{ "name": "P", "value": "hunter2" }], "args": ["--p=hunter2"] },
                    { "name": "b", "image": "j", "command": ["hunter2"] },
                ],
                "volumes": [{ "secret": { "secretName": "hunter2" } }],
            },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        let pods = ALLOWED.iter().find(|allowed| allowed.kind == "pods").unwrap();
        let reduced = pods.reduce(&json!({ "items": [pod] }));
        assert!(!reduced.to_string().contains("hunter2"), "{reduced}");
        assert_eq!(
            reduced,
            json!([{
                "kind": "Pod",
                "metadata": {
                    "name": "web", "namespace": "default",
                    "annotations": { "swdt.dev/cordoned": "then" },
                    "ownerReferences": [{ "kind": "ReplicaSet", "name": "web" }],
                },
                "spec": {
                    "nodeName": "w1",
                    "containers": [{ "name": "a", "image": "i" }, { "name": "b", "image": "j" }],
                },
                "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
            }])
        );
    }

    #[test]
    fn no_kind_that_holds_secrets_is_asked_for() {
        let asked: Vec<&str> = ALLOWED.iter().map(|allowed| allowed.kind).collect();
        for kind in ["secrets", "configmaps", "certificatesigningrequests", "serviceaccounts"] {
            assert!(!asked.contains(&kind), "{kind}");
        }
    }
}
