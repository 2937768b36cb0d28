//! Whether an object of the cluster is as it shall be, from its JSON alone.

use serde_json::Value;

/// Is it so?
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes.
    True,
    /// No, and why.
    Not(String),
}

/// A node says `Ready`.
pub(crate) fn node(node: &Value) -> Verdict {
    let name = name(node);
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let Some(ready) = conditions.into_iter().find(|condition| condition["type"] == "Ready") else {
        return Verdict::Not(format!("node {name} has not said anything yet"));
    };
    if ready["status"] == "True" {
        return Verdict::True;
    }
    Verdict::Not(format!("node {name}: {}", reason(ready)))
}

/// All wanted pods are ready and up to date.
pub(crate) fn daemon_set(set: &Value) -> Verdict {
    let count = |field: &str| set["status"][field].as_u64().unwrap_or(0);
    let wanted = count("desiredNumberScheduled");
    let (updated, ready) = (count("updatedNumberScheduled"), count("numberReady"));
    judge("daemon set", set, wanted, &[("up to date", updated), ("ready", ready)])
}

/// All wanted pods are available and up to date, and no others are left.
pub(crate) fn deployment(deployment: &Value) -> Verdict {
    let count = |field: &str| deployment["status"][field].as_u64().unwrap_or(0);
    let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
    let (updated, available) = (count("updatedReplicas"), count("availableReplicas"));
    let verdict =
        judge("deployment", deployment, wanted, &[("up to date", updated), ("available", available)]);
    let all = count("replicas");
    if verdict == Verdict::True && all > updated {
        return Verdict::Not(format!("deployment {}: {} old pods remain", name(deployment), all - updated));
    }
    verdict
}

fn judge(kind: &str, object: &Value, wanted: u64, counts: &[(&str, u64)]) -> Verdict {
    let name = name(object);
    // Numbers of an earlier version of the object say nothing.
    let seen = object["status"]["observedGeneration"].as_u64().unwrap_or(0);
    if seen < object["metadata"]["generation"].as_u64().unwrap_or(1) {
        return Verdict::Not(format!("{kind} {name} was not looked at by its controller yet"));
    }
    match counts.iter().find(|(_, count)| *count < wanted) {
        Some((what, count)) => Verdict::Not(format!("{kind} {name}: {count} of {wanted} pods {what}")),
        None => Verdict::True,
    }
}

/// What an API server that is not ready complains of.
pub(crate) fn not_ready(stderr: &str) -> String {
    // `… an error on the server ("[+]ping ok\n[-]etcd failed: reason withheld\n…") has prevented …`
    let failed: Vec<&str> = stderr
        .split("\\n")
        .flat_map(str::lines)
        .filter_map(|line| line.split_once("[-]").map(|(_, check)| check.split(':').next().unwrap_or(check)))
        .collect();
    if failed.is_empty() {
        return crate::kubectl::complaint(stderr).to_owned();
    }
    format!("the API server is not ready: {}", failed.join(", "))
}

/// Name, with the namespace if it has one.
pub(super) fn name(object: &Value) -> String {
    let of = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    if of("namespace").is_empty() { of("name").into() } else { format!("{}/{}", of("namespace"), of("name")) }
}

/// Reason and message of a condition or state.
pub(super) fn reason(of: &Value) -> String {
    let text = |field: &str| of[field].as_str().filter(|text| !text.is_empty());
    match (text("reason"), text("message")) {
        (Some(reason), Some(message)) => format!("{reason}: {message}"),
        (Some(one), None) | (None, Some(one)) => one.into(),
        (None, None) => "no reason given".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn not(verdict: Verdict) -> String {
        match verdict {
            Verdict::True => "true".into(),
            Verdict::Not(why) => why,
        }
    }

    #[test]
    fn nodes() {
        let with =
            |conditions: Value| json!({"metadata": {"name": "w1"}, "status": {"conditions": conditions}});
        let network = json!([
            {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
            {"type": "Ready", "status": "False", "reason": "KubeletNotReady",
             "message": "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"},
        ]);
        assert!(not(node(&with(network))).starts_with("node w1: KubeletNotReady: container runtime network"));
        assert_eq!(node(&with(json!([{"type": "Ready", "status": "True"}]))), Verdict::True);
        assert!(not(node(&with(json!([])))).contains("has not said"));
        assert!(not(node(&json!({}))).contains("has not said"));
    }

    #[test]
    fn daemon_sets() {
        let set = |seen: u64, wanted: u64, updated: u64, ready: u64| {
            json!({"metadata": {"name": "p", "namespace": "kube-system", "generation": 2}, "status": {
                "observedGeneration": seen, "desiredNumberScheduled": wanted,
                "updatedNumberScheduled": updated, "numberReady": ready}})
        };
        assert_eq!(daemon_set(&set(2, 3, 3, 3)), Verdict::True);
        assert_eq!(daemon_set(&set(2, 0, 0, 0)), Verdict::True, "no node wants it");
        assert!(not(daemon_set(&set(1, 3, 3, 3))).contains("controller"));
        assert_eq!(not(daemon_set(&set(2, 3, 3, 1))), "daemon set kube-system/p: 1 of 3 pods ready");
        assert_eq!(not(daemon_set(&set(2, 3, 2, 3))), "daemon set kube-system/p: 2 of 3 pods up to date");
    }

    #[test]
    fn deployments() {
        let with = |status: Value| {
            json!({"metadata": {"name": "dns", "namespace": "kube-system", "generation": 1},
                   "spec": {"replicas": 2}, "status": status})
        };
        let good =
            json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
        assert_eq!(deployment(&with(good)), Verdict::True);
        let none =
            json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "unavailableReplicas": 2});
        assert_eq!(not(deployment(&with(none))), "deployment kube-system/dns: 0 of 2 pods available");
        let old =
            json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 3});
        assert_eq!(not(deployment(&with(old))), "deployment kube-system/dns: 1 old pods remain");
        assert!(not(deployment(&with(json!({})))).contains("controller"));
    }

    #[test]
    fn an_api_server_that_is_not_ready() {
        let words = r#"Error from server (InternalError): an error on the server ("[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed") has prevented the request from succeeding"#;
        assert_eq!(
            not_ready(words),
            "the API server is not ready: etcd failed, poststarthook/rbac/bootstrap-roles failed"
        );
        let refused = "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?";
        assert_eq!(not_ready(refused), refused);
    }
}
