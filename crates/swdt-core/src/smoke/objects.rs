//! What the smoke test makes in the cluster.

use serde_json::{Value, json};

use crate::spec::{OsFamily, Spec};

const NAMESPACE: &str = "swdt-smoke";
const SECRET: &str = "a secret reached the pod";
const CONFIG: &str = "a config map reached the pod";
const VOLUME: &str = "mount-tester new file";

/// What a pod must see: what, where, which text.
pub(super) const MOUNTED: [(&str, &str, &str); 3] = [
    ("secret", "/from/secret/text", SECRET),
    ("config map", "/from/config/text", CONFIG),
    ("volume", "/from/volume/text", VOLUME),
];

/// A pod and the node it is bound to.
pub(super) struct Bound {
    pub(super) pod: String,
    pub(super) node: String,
}

pub(super) struct Objects {
    nodes: Vec<String>,
    image: String,
}

impl Objects {
    pub(super) fn new(spec: &Spec, image: &str) -> Self {
        let linux = spec.nodes.iter().filter(|node| node.os == OsFamily::Linux);
        Self { nodes: linux.map(|node| node.name.clone()).collect(), image: image.to_owned() }
    }

    #[expect(clippy::unused_self, reason = "a namespace of each run's own may come")]
    pub(super) fn namespace(&self) -> &'static str {
        NAMESPACE
    }

    pub(super) fn pods(&self) -> Vec<Bound> {
        self.nodes.iter().map(|node| Bound { pod: format!("web-{node}"), node: node.clone() }).collect()
    }

    pub(super) fn manifest(&self) -> String {
        let metadata = |name: &str| json!({ "name": name, "namespace": NAMESPACE });
        let mut documents = vec![
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata("text"), "stringData": { "text": SECRET } }),
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("text"), "data": { "text": CONFIG } }),
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": metadata("web"),
                "spec": { "type": "NodePort", "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] },
            }),
        ];
        documents.extend(self.pods().iter().map(|bound| self.pod(bound)));
        documents.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
    }

    fn pod(&self, bound: &Bound) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": bound.pod, "namespace": NAMESPACE, "labels": { "app": "web" } },
            "spec": {
                "nodeName": bound.node,
                "terminationGracePeriodSeconds": 0,
                "tolerations": [{ "operator": "Exists" }],
                "volumes": [
                    { "name": "secret", "secret": { "secretName": "text" } },
                    { "name": "config", "configMap": { "name": "text" } },
                    { "name": "volume", "emptyDir": {} },
                ],
                // Written by one container, read by another: that is what a volume is for.
                "initContainers": [{
                    "name": "writer",
                    "image": self.image,
                    "imagePullPolicy": "IfNotPresent",
                    "args": ["mounttest", format!("--new_file_0644={}", MOUNTED[2].1)],
                    "volumeMounts": [{ "name": "volume", "mountPath": "/from/volume" }],
                }],
                "containers": [{
                    "name": "web",
                    "image": self.image,
                    "imagePullPolicy": "IfNotPresent",
                    "args": ["netexec", "--http-port=8080"],
                    "readinessProbe": { "httpGet": { "path": "/healthz", "port": 8080 }, "periodSeconds": 1 },
                    "volumeMounts": [
                        { "name": "secret", "mountPath": "/from/secret" },
                        { "name": "config", "mountPath": "/from/config" },
                        { "name": "volume", "mountPath": "/from/volume" },
                    ],
                }],
            },
        })
    }
}
