//! What the cluster knows about something that did not become true, in a few lines.

use serde_json::Value;
use swdt_wire::Truth;

use super::judge;
use crate::{Ctx, host, kubectl};

/// Lines of each sort.
const LINES: usize = 8;

/// What can be found out. Whatever cannot is left out: this is told beside a failure already.
pub(super) fn gather(ctx: &Ctx, what: &Truth) -> Vec<String> {
    match what {
        Truth::ApiReady | Truth::FileExists { .. } | Truth::RuntimeAnswers | Truth::Healthy { .. } => {
            journal(ctx)
        }
        // What there is of HNS has been said.
        Truth::HnsNetwork { .. } => Vec::new(),
        Truth::NodeReady { name } => {
            let mut lines =
                json(ctx, &["get", "node", name]).map(|node| conditions(&node)).unwrap_or_default();
            let of = format!("involvedObject.kind=Node,involvedObject.name={name}");
            lines.extend(events(&list(ctx, &["-n", "default", "get", "events", "--field-selector", &of])));
            lines
        }
        Truth::DaemonSet { namespace, name } => workload(ctx, namespace, "daemonset", name),
        Truth::Deployment { namespace, name } => workload(ctx, namespace, "deployment", name),
    }
}

fn workload(ctx: &Ctx, namespace: &str, kind: &str, name: &str) -> Vec<String> {
    let Some(object) = json(ctx, &["-n", namespace, "get", kind, name]) else { return Vec::new() };
    let mut lines = conditions(&object);
    lines.extend(pods(&list(ctx, &["-n", namespace, "get", "pods", "-l", &selector(&object)])));
    let all = list(ctx, &["-n", namespace, "get", "events", "--field-selector", "type=Warning"]);
    let about =
        |event: &&Value| event["involvedObject"]["name"].as_str().is_some_and(|it| it.starts_with(name));
    lines.extend(events(&all.iter().filter(about).cloned().collect::<Vec<_>>()));
    lines
}

fn json(ctx: &Ctx, arguments: &[&str]) -> Option<Value> {
    let said = kubectl::look(ctx, &[arguments, &["-o", "json"]].concat()).ok()?;
    serde_json::from_str(&said.stdout).ok()
}

fn list(ctx: &Ctx, arguments: &[&str]) -> Vec<Value> {
    json(ctx, arguments).and_then(|list| list["items"].as_array().cloned()).unwrap_or_default()
}

/// The last words of the kubelet, which starts the API server and the network's pods.
fn journal(ctx: &Ctx) -> Vec<String> {
    if !ctx.live() {
        return Vec::new();
    }
    if cfg!(windows) {
        return ["containerd", "flanneld", "kube-proxy", "kubelet"]
            .iter()
            .flat_map(|name| host::last_words(name))
            .collect();
    }
    ctx.query(&["journalctl", "-u", "kubelet", "-n", "10", "--no-pager", "-o", "cat"])
        .map(|said| said.stdout.lines().map(str::to_owned).collect())
        .unwrap_or_default()
}

/// `k8s-app=dns,tier=a` from the labels an object selects by.
pub(crate) fn selector(object: &Value) -> String {
    let labels = object["spec"]["selector"]["matchLabels"].as_object();
    let pair = |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
    labels.into_iter().flatten().map(pair).collect::<Vec<_>>().join(",")
}

/// Conditions that do not say that all is well.
pub(crate) fn conditions(object: &Value) -> Vec<String> {
    let all = object["status"]["conditions"].as_array().into_iter().flatten();
    let good = |condition: &Value| {
        let pressure = condition["type"]
            .as_str()
            .is_some_and(|it| it.ends_with("Pressure") || it.ends_with("Unavailable"));
        condition["status"] == if pressure { "False" } else { "True" }
    };
    let line = |condition: &Value| {
        format!("{}={}: {}", text(&condition["type"]), text(&condition["status"]), judge::reason(condition))
    };
    all.filter(|condition| !good(condition)).map(line).collect()
}

/// One line a pod that is not ready.
pub(crate) fn pods(pods: &[Value]) -> Vec<String> {
    pods.iter().filter_map(pod).take(LINES).collect()
}

fn pod(pod: &Value) -> Option<String> {
    let conditions = || pod["status"]["conditions"].as_array().into_iter().flatten();
    if conditions().any(|condition| condition["type"] == "Ready" && condition["status"] == "True") {
        return None;
    }
    let of = |field: &str| pod["status"][field].as_array().into_iter().flatten();
    let container = of("initContainerStatuses").chain(of("containerStatuses")).find_map(|status| {
        let state = ["waiting", "terminated"].into_iter().find(|state| status["state"][state].is_object())?;
        // An init container that has done its work is fine.
        if status["state"][state]["exitCode"] == 0 {
            return None;
        }
        let last = &status["lastState"]["terminated"];
        let code =
            last["exitCode"].as_i64().map(|code| format!(" (last exit code {code})")).unwrap_or_default();
        Some(format!(
            "container {} {state}: {}{code}",
            text(&status["name"]),
            judge::reason(&status["state"][state])
        ))
    });
    let scheduled = || {
        let not = conditions()
            .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False")?;
        Some(judge::reason(not))
    };
    let why = container.or_else(scheduled).unwrap_or_else(|| text(&pod["status"]["phase"]).to_owned());
    let node = pod["spec"]["nodeName"].as_str().map(|node| format!(" on {node}")).unwrap_or_default();
    Some(format!("pod {}{node}: {why}", judge::name(pod)))
}

/// The newest events, oldest first. RFC 3339 in UTC sorts as text.
pub(crate) fn events(events: &[Value]) -> Vec<String> {
    let when = |event: &Value| {
        let time = ["lastTimestamp", "eventTime"].into_iter().find_map(|field| event[field].as_str());
        time.or(event["metadata"]["creationTimestamp"].as_str()).unwrap_or_default().to_owned()
    };
    let mut events: Vec<&Value> = events.iter().collect();
    events.sort_by_key(|event| when(event));
    let line = |event: &&Value| {
        format!("event {}: {}", text(&event["involvedObject"]["name"]), judge::reason(event))
    };
    events[events.len().saturating_sub(LINES)..].iter().map(line).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_that_are_not_ready_say_why() {
        let meta = json!({"name": "dns-1", "namespace": "kube-system"});
        let pulling = json!({"metadata": meta, "spec": {"nodeName": "w1"}, "status": {"phase": "Pending",
            "containerStatuses": [{"name": "dns", "lastState": {}, "state": {"waiting":
                {"reason": "ErrImageNeverPull", "message": "Container image \"x\" is not present"}}}]}});
        let crashing = json!({"metadata": meta, "spec": {"nodeName": "w1"}, "status": {"phase": "Running",
            "initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}],
            "containerStatuses": [{"name": "dns", "lastState": {"terminated": {"exitCode": 2}},
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}}]}});
        let nowhere = json!({"metadata": meta, "spec": {}, "status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]}});
        let fine = json!({"metadata": meta, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert_eq!(
            pods(&[pulling, crashing, nowhere, fine]),
            [
                "pod kube-system/dns-1 on w1: container dns waiting: ErrImageNeverPull: Container image \"x\" is not present",
                "pod kube-system/dns-1 on w1: container dns waiting: CrashLoopBackOff: back-off 10s (last exit code 2)",
                "pod kube-system/dns-1: Unschedulable: 0/1 nodes",
            ]
        );
    }

    #[test]
    fn events_in_order_of_time() {
        let event = |time: Option<&str>, reason: &str| {
            json!({"lastTimestamp": time, "eventTime": null,
            "metadata": {"creationTimestamp": "2026-07-31T10:00:00Z"},
            "involvedObject": {"name": "w1"}, "reason": reason, "message": "m"})
        };
        let all = [
            event(Some("2026-07-31T10:00:02Z"), "Late"),
            event(None, "First"),
            event(Some("2026-07-31T10:00:01Z"), "Mid"),
        ];
        assert_eq!(events(&all), ["event w1: First: m", "event w1: Mid: m", "event w1: Late: m"]);
    }

    #[test]
    fn conditions_and_selectors() {
        let object = json!({"spec": {"selector": {"matchLabels": {"a": "1", "b": "2"}}}, "status": {"conditions": [
            {"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "False", "reason": "R"},
            {"type": "DiskPressure", "status": "True", "reason": "D"}]}});
        assert_eq!(selector(&object), "a=1,b=2");
        assert_eq!(conditions(&object), ["Ready=False: R", "DiskPressure=True: D"]);
    }
}
