//! Workloads that would wrongly land on Windows nodes: those that say nowhere which system they are for, and that no
//! taint keeps away.

use serde_json::{Map, Value};

use super::Kube;
use crate::Result;

/// Who chooses nodes by one of these knows what it is for.
const DELIBERATE: [&str; 5] = [
    "kubernetes.io/os",
    "beta.kubernetes.io/os",
    "kubernetes.io/hostname",
    "node.kubernetes.io/windows-build",
    "swdt.dev/rehearsal",
];
/// Classes of this prefix are for Windows.
const WINDOWS_CLASS: &str = "windows-";

/// A workload, and the Windows nodes that it may come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misplaced {
    kind: String,
    namespace: String,
    name: String,
    nodes: Vec<String>,
}

impl Misplaced {
    /// One sentence with the line that mends it.
    pub(crate) fn warning(&self) -> String {
        let Self { kind, namespace, name, nodes } = self;
        let nodes = nodes.join(", ");
        let does = if kind == "DaemonSet" { "runs" } else { "may run" };
        let patch = r#"{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}"#;
        format!(
            "{kind} {namespace}/{name} does not say which system it is for, and {does} on Windows too ({nodes}); \
             if it is for Linux: kubectl -n {namespace} patch {} {name} -p '{patch}'",
            kind.to_lowercase()
        )
    }
}

impl Kube {
    /// Workloads that would wrongly land on Windows nodes.
    pub(crate) async fn misplaced(&self) -> Result<Vec<Misplaced>> {
        let all = ["get", "nodes,daemonsets,deployments,statefulsets", "-A", "-o=json"];
        let answer = self.must(&all, None).await?;
        let list: Value = serde_json::from_str(answer.expose()).unwrap_or_default();
        Ok(judge(list["items"].as_array().map(Vec::as_slice).unwrap_or_default()))
    }
}

/// The judgement, from nodes and workloads as the API tells them.
pub(crate) fn judge(items: &[Value]) -> Vec<Misplaced> {
    let (nodes, workloads): (Vec<_>, Vec<_>) = items.iter().partition(|item| item["kind"] == "Node");
    let windows: Vec<&Value> = nodes.into_iter().filter(|node| os(node) == "windows").collect();
    let mut found = Vec::new();
    for workload in workloads {
        let pod = &workload["spec"]["template"]["spec"];
        let lands: Vec<&&Value> = windows.iter().filter(|node| may_come(pod, node)).collect();
        if !lands.is_empty() && !deliberate(pod) {
            found.push(Misplaced {
                kind: text(&workload["kind"]),
                namespace: text(&workload["metadata"]["namespace"]),
                name: text(&workload["metadata"]["name"]),
                nodes: lands.iter().map(|node| text(&node["metadata"]["name"])).collect(),
            });
        }
    }
    found
}

/// Did somebody think of the system?
fn deliberate(pod: &Value) -> bool {
    let selected = pod["nodeSelector"].as_object().into_iter().flat_map(Map::keys).map(String::as_str);
    let terms = list(&required(pod)["nodeSelectorTerms"]);
    let wanted = terms.iter().flat_map(|term| list(&term["matchExpressions"]));
    let mut keys = selected.chain(wanted.filter_map(|expression| expression["key"].as_str()));
    let class = pod["runtimeClassName"].as_str().is_some_and(|class| class.starts_with(WINDOWS_CLASS));
    keys.any(|key| DELIBERATE.contains(&key)) || class || pod["os"]["name"] == "windows"
}

/// Would the scheduler let such a pod come to this node?
fn may_come(pod: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let selector = pod["nodeSelector"].as_object().into_iter().flatten();
    let selected = selector.into_iter().all(|(key, value)| labels[key] == *value);
    let required = required(pod);
    let wanted =
        required.is_null() || list(&required["nodeSelectorTerms"]).iter().any(|term| fits(term, node));
    let tolerations = list(&pod["tolerations"]);
    let mut taints = list(&node["spec"]["taints"]).iter().filter(|taint| keeps_away(taint));
    selected
        && wanted
        && taints.all(|taint| tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

fn required(pod: &Value) -> &Value {
    &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
}

/// All that a term says must hold; one that says nothing fits no node.
fn fits(term: &Value, node: &Value) -> bool {
    let (expressions, fields) = (list(&term["matchExpressions"]), list(&term["matchFields"]));
    let labels = |key: &str| node["metadata"]["labels"][key].as_str();
    // The only field that Kubernetes knows here.
    let name = |_: &str| node["metadata"]["name"].as_str();
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|expression| holds(expression, labels))
        && fields.iter().all(|field| holds(field, name))
}

fn holds<'n>(expression: &Value, value: impl Fn(&str) -> Option<&'n str>) -> bool {
    let value = value(expression["key"].as_str().unwrap_or_default());
    let values = list(&expression["values"]);
    let among = || value.is_some_and(|value| values.iter().any(|one| one == value));
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    let pair = || Some((number(value)?, number(values.first()?.as_str())?));
    match expression["operator"].as_str() {
        Some("In") => among(),
        Some("NotIn") => !among(),
        Some("Exists") => value.is_some(),
        Some("DoesNotExist") => value.is_none(),
        Some("Gt") => pair().is_some_and(|(is, than)| is > than),
        Some("Lt") => pair().is_some_and(|(is, than)| is < than),
        _ => false,
    }
}

/// Taints that Kubernetes sets and takes back by itself (`not-ready`, `unschedulable`) keep nobody away for long.
fn keeps_away(taint: &Value) -> bool {
    let passing = taint["key"].as_str().is_some_and(|key| key.starts_with("node.kubernetes.io/"));
    !passing && taint["effect"] != "PreferNoSchedule"
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let effect = toleration["effect"].as_str().unwrap_or_default();
    let key = toleration["key"].as_str().unwrap_or_default();
    let exists = toleration["operator"] == "Exists";
    let value = |of: &Value| of["value"].as_str().unwrap_or_default().to_owned();
    (effect.is_empty() || taint["effect"] == effect)
        && (if key.is_empty() { exists } else { taint["key"] == key })
        && (exists || value(toleration) == value(taint))
}

fn os(node: &Value) -> &str {
    node["metadata"]["labels"]["kubernetes.io/os"].as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, os: &str, taints: &Value) -> Value {
        let labels =
            json!({ "kubernetes.io/os": os, "kubernetes.io/hostname": name, "disk": "fast", "cores": "8" });
        json!({ "kind": "Node", "metadata": { "name": name, "labels": labels }, "spec": { "taints": taints } })
    }

    /// Is a pod of this specification misplaced on a Windows node with these taints?
    fn misplaced(pod: &Value, taints: &Value) -> bool {
        let workload = json!({
            "kind": "DaemonSet",
            "metadata": { "name": "agent", "namespace": "tools" },
            "spec": { "template": { "spec": pod } },
        });
        !judge(&[node("w1", "linux", &json!([])), node("win1", "windows", taints), workload]).is_empty()
    }

    fn affinity(terms: &Value) -> Value {
        json!({ "affinity": { "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } } } })
    }

    #[test]
    fn who_says_nothing_is_misplaced_and_told_how_to_say_it() {
        let cluster: Value = serde_json::from_str(include_str!("misplaced.json")).unwrap();
        let found = judge(cluster["items"].as_array().unwrap());
        let told: Vec<_> = found.iter().map(Misplaced::warning).collect();
        assert_eq!(told.len(), 2, "{told:#?}");
        assert_eq!(
            told[0],
            "DaemonSet monitoring/node-exporter does not say which system it is for, and runs on Windows too (win1); \
             if it is for Linux: kubectl -n monitoring patch daemonset node-exporter \
             -p '{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"kubernetes.io/os\":\"linux\"}}}}}'"
        );
        assert!(told[1].starts_with("Deployment default/web does not say"), "{}", told[1]);
    }

    #[test]
    fn who_chooses_a_system_is_right() {
        let none = json!([]);
        assert!(misplaced(&json!({}), &none));
        assert!(misplaced(&json!({ "nodeSelector": { "disk": "fast" } }), &none));
        for thought in [
            json!({ "nodeSelector": { "kubernetes.io/os": "linux" } }),
            json!({ "nodeSelector": { "kubernetes.io/os": "windows" } }),
            json!({ "nodeSelector": { "disk": "slow" } }),
            json!({ "os": { "name": "windows" } }),
            json!({ "runtimeClassName": "windows-2022" }),
            affinity(
                &json!([{ "matchExpressions": [{ "key": "kubernetes.io/os", "operator": "In", "values": ["linux"] }] }]),
            ),
        ] {
            assert!(!misplaced(&thought, &none), "{thought}");
        }
    }

    #[test]
    fn affinities_are_read_as_the_scheduler_does() {
        let none = json!([]);
        let says = |key: &str, operator: &str, values: &Value| {
            affinity(
                &json!([{ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] }]),
            )
        };
        for (key, operator, values, comes) in [
            ("disk", "In", json!(["slow", "fast"]), true),
            ("disk", "NotIn", json!(["fast"]), false),
            ("gone", "NotIn", json!(["fast"]), true),
            ("disk", "Exists", json!([]), true),
            ("disk", "DoesNotExist", json!([]), false),
            ("cores", "Gt", json!(["4"]), true),
            ("cores", "Lt", json!(["4"]), false),
            ("disk", "Gt", json!(["4"]), false),
        ] {
            assert_eq!(misplaced(&says(key, operator, &values), &none), comes, "{key} {operator}");
        }
        let field = |name: &str| {
            affinity(
                &json!([{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [name] }] }]),
            )
        };
        assert!(misplaced(&field("win1"), &none) && !misplaced(&field("w1"), &none));
        assert!(!misplaced(&affinity(&json!([{}])), &none), "a term that says nothing fits nothing");
    }

    #[test]
    fn taints_keep_away_who_does_not_tolerate_them() {
        let taint = json!([{ "key": "os", "value": "windows", "effect": "NoSchedule" }]);
        let with = |toleration: &Value| json!({ "tolerations": [toleration] });
        for (toleration, comes) in [
            (json!({ "operator": "Exists" }), true),
            (json!({ "key": "os", "operator": "Exists" }), true),
            (json!({ "key": "os", "value": "windows" }), true),
            (json!({ "key": "os", "operator": "Equal", "value": "linux" }), false),
            (json!({ "operator": "Exists", "effect": "NoExecute" }), false),
            (json!({ "key": "other", "operator": "Exists" }), false),
        ] {
            assert_eq!(misplaced(&with(&toleration), &taint), comes, "{toleration}");
        }
        assert!(!misplaced(&json!({}), &taint));
        let soft = json!([{ "key": "os", "effect": "PreferNoSchedule" }, { "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" }]);
        assert!(misplaced(&json!({}), &soft));
    }
}
