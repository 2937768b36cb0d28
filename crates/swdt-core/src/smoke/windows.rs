//! The smoke test of a Windows node: all that can be seen without running a container on it.
//!
//! Nothing that is tried here needs an image of Windows. The pods refer to a Secret that never comes, so the kubelet
//! takes them and starts nothing; they are bound, drained and deleted like any other.

use std::time::Instant;

use serde_json::{Value, json};
use swdt_wire::Secret;

use super::{Smoke, Verdict, judge};
use crate::{
    Result, cni,
    spec::{Node, OsFamily, Spec},
};

/// What cannot be tried without a container.
const NEEDS_CONTAINERS: [&str; 4] =
    ["pods start", "pod to pod", "service and DNS name", "secret, config map, volume"];
const NO_HCS: &str = "needs real Windows";
const NO_IMAGE: &str = "swdt brings no image of Windows to try it with";

/// Pods of this test are found, and drained, by it.
const LABEL: &str = "swdt-smoke";

impl Smoke<'_> {
    /// The column of every Windows node, and what their programs may do.
    pub(super) async fn windows(&mut self, spec: &Spec, image: &str) -> Result<()> {
        let nodes: Vec<&Node> = spec.nodes.iter().filter(|node| node.os == OsFamily::Windows).collect();
        if nodes.is_empty() {
            return Ok(());
        }
        for node in nodes {
            self.windows_node(spec, node, image).await?;
        }
        let began = Instant::now();
        let requests = self.object(&["get", "certificatesigningrequests"]).await?;
        let judgement = judge::certificates(judge::list(&requests["items"]));
        self.judged("certificates of kubelets", "all that were asked for are given", judgement, began);
        let network = cni::of(spec.network.cni).on_windows().account();
        for (namespace, account) in [network, ("kube-system", "kube-proxy")] {
            self.rights(namespace, account).await?;
        }
        Ok(())
    }

    async fn windows_node(&mut self, spec: &Spec, described: &Node, image: &str) -> Result<()> {
        let name = described.name.as_str();
        let began = Instant::now();
        let heartbeat = self.kube.heartbeat(name).await?;
        let node = self.object(&["get", "node", name]).await?;
        let judged = [
            (
                "registration",
                "the node is ready, and what it shall be",
                judge::registration(&node, spec, described),
            ),
            ("labels", "labels of Windows and of the file", judge::labels(&node, described)),
            ("taints", "taints of the file", judge::taints(&node, described)),
            ("network lease", "the pod network knows its end of the tunnel", judge::lease(&node)),
        ];
        for (what, tried, judgement) in judged {
            self.judged(&format!("{what}, {name}"), tried, judgement, began);
        }
        self.scheduling(spec, name, &node, image).await?;
        self.certificate(name, heartbeat.as_deref()).await?;
        let why = if judge::is_rehearsed(&node) { NO_HCS } else { NO_IMAGE };
        for what in NEEDS_CONTAINERS {
            self.skip(&format!("{what}, {name}"), why);
        }
        Ok(())
    }

    /// Where pods come to, and that they go again.
    async fn scheduling(&mut self, spec: &Spec, name: &str, node: &Value, image: &str) -> Result<()> {
        let began = Instant::now();
        let classes = self.object(&["get", "runtimeclasses"]).await?;
        let class = judge::class_for(judge::list(&classes["items"]), node);
        let judgement = class.map(ToOwned::to_owned).ok_or_else(|| "there is none for its build".to_owned());
        self.judged(
            &format!("runtime class, {name}"),
            "a class chooses this build of Windows",
            judgement,
            began,
        );

        let pods = Pods { namespace: self.namespace, node: name, class, image };
        self.apply(&pods.manifest(judge::keeps_away(node))).await?;
        let tried = self.pods_come_and_go(spec, &pods, node).await;
        // Whatever a kubelet did not confirm must not keep the namespace.
        let selector = format!("-l={LABEL}={name}");
        let force =
            ["delete", "pod", "-n", self.namespace, &selector, "--force", "--grace-period=0", "--wait=false"];
        self.kube.must(&force, None).await?;
        tried
    }

    async fn pods_come_and_go(&mut self, spec: &Spec, pods: &Pods<'_>, node: &Value) -> Result<()> {
        let name = pods.node;
        let get = |pod: &str, path: &str| {
            ["get", "pod", pod, "-n", self.namespace, path].map(ToOwned::to_owned).to_vec()
        };
        let linux: Vec<&str> = spec
            .nodes
            .iter()
            .filter(|node| node.os == OsFamily::Linux)
            .map(|node| node.name.as_str())
            .collect();
        let bound = "-o=jsonpath={.spec.nodeName}";
        let taken = "-o=jsonpath={.status.phase} {.status.startTime}";
        let refused = r#"-o=jsonpath={.status.conditions[?(@.type=="PodScheduled")].reason}"#;

        let command = get(&pods.first(), bound);
        self.answers(
            &format!("scheduling, to {name}"),
            "a pod for Windows is bound to it",
            &command,
            |said| said == name,
        )
        .await?;
        let command = get(&pods.first(), taken);
        let took = |said: &str| said.strip_prefix("Pending ").is_some_and(|since| !since.is_empty());
        self.answers(&format!("pod is taken, {name}"), "its kubelet takes the pod", &command, took).await?;
        let command = get(&pods.linux(), bound);
        self.answers(
            &format!("scheduling, not to {name}"),
            "a pod for Linux that would prefer it is bound elsewhere",
            &command,
            |said| linux.contains(&said),
        )
        .await?;
        if judge::keeps_away(node) {
            let command = get(&pods.intolerant(), refused);
            self.answers(
                &format!("taint, {name}"),
                "a pod that does not tolerate its taints stays away",
                &command,
                |said| said == "Unschedulable",
            )
            .await?;
        }
        let delete = ["delete", "pod", &pods.second(), "-n", self.namespace, self.minute];
        self.once(&format!("delete, {name}"), "a pod is deleted, and its kubelet agrees", &delete).await?;
        self.drain(name).await
    }

    /// Only our own pods are moved away, and only from a node that nobody else cordoned. That it was us is written on
    /// the node, so that a test which was killed in between is mended by the next.
    async fn drain(&mut self, name: &str) -> Result<()> {
        let check = format!("drain, {name}");
        let status = self.kube.node(name).await?;
        if status.is_some_and(|status| status.cordoned && !status.cordoned_by_swdt) {
            self.skip(&check, "somebody cordoned the node");
            return Ok(());
        }
        self.kube.cordon(name).await?;
        let selector = format!("--pod-selector={LABEL}={name}");
        let drain = ["drain", name, "--force", "--ignore-daemonsets", self.minute, &selector];
        self.once(&check, "pods of this test are moved away from it", &drain).await?;
        let began = Instant::now();
        let back = self.kube.uncordon(name).await;
        let judgement = back.map(|()| "ok".to_owned()).map_err(|error| error.to_string());
        self.judged(&format!("uncordon, {name}"), "it takes pods again", judgement, began);
        Ok(())
    }

    /// Does the API server let its kubelet in? Nobody but `system:node:NAME` renews that lease.
    async fn certificate(&mut self, name: &str, before: Option<&str>) -> Result<()> {
        let lease = ["get", "lease", name, "-n=kube-node-lease", "-o=jsonpath={.spec.renewTime}"]
            .map(ToOwned::to_owned);
        let renewed = |said: &str| !said.is_empty() && Some(said) != before;
        let tried = "the API server accepts a sign of life of its kubelet";
        self.answers(&format!("certificate, {name}"), tried, &lease, renewed).await
    }

    /// What programs on Windows nodes may do with the tokens that lie there: their work, and nothing with Secrets.
    async fn rights(&mut self, namespace: &str, account: &str) -> Result<()> {
        let began = Instant::now();
        let who = format!("--as=system:serviceaccount:{namespace}:{account}");
        let mut wrong = Vec::new();
        // That it may do something shows that the question is about the right one.
        for (verb, what, right) in [
            ("get", "nodes", "yes"),
            ("get", "secrets", "no"),
            ("list", "secrets", "no"),
            ("watch", "secrets", "no"),
        ] {
            let answer = self.kube.ask(&["auth", "can-i", verb, what, "-A", &who], None).await?;
            let said = answer.stdout.expose().trim().to_owned();
            if said != right {
                wrong.push(format!("may it {verb} {what}? {said} {}", answer.stderr).trim().to_owned());
            }
        }
        let judgement =
            if wrong.is_empty() { Ok("nodes yes, secrets no".to_owned()) } else { Err(wrong.join("; ")) };
        self.judged(&format!("rights of {account}"), "it can read nodes, and no secrets", judgement, began);
        Ok(())
    }

    async fn object(&self, command: &[&str]) -> Result<Value> {
        let arguments = [command, &["-o=json"]].concat();
        let answer = self.kube.must(&arguments, None).await?;
        Ok(serde_json::from_str(answer.expose()).unwrap_or_default())
    }

    async fn apply(&self, manifest: &str) -> Result<()> {
        self.kube.must(&super::APPLY, Some(Secret::new(manifest))).await.map(|_| ())
    }

    /// Waits for an answer that is right.
    async fn answers(
        &mut self,
        name: &str,
        tried: &str,
        command: &[String],
        good: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        self.attempt(name, tried, &command, |said| good(said.trim())).await
    }

    /// A command that is right if it succeeds at once.
    async fn once(&mut self, name: &str, tried: &str, command: &[&str]) -> Result<()> {
        self.reporter.doing(name);
        let began = Instant::now();
        let answer = self.kube.ask(command, None).await?;
        let judgement = if answer.code == Some(0) { Ok("ok".to_owned()) } else { Err(answer.stderr) };
        self.judged(name, tried, judgement, began);
        Ok(())
    }

    fn judged(&mut self, name: &str, tried: &str, judgement: judge::Judgement, began: Instant) {
        let verdict = if judgement.is_ok() { Verdict::Passed } else { Verdict::Failed };
        self.note(name, tried, judgement.unwrap_or_else(|wrong| wrong), verdict, began);
    }
}

/// The pods that are tried on a node.
struct Pods<'a> {
    namespace: &'a str,
    node: &'a str,
    class: Option<&'a str>,
    image: &'a str,
}

impl Pods<'_> {
    fn first(&self) -> String {
        format!("windows-{}", self.node)
    }

    fn second(&self) -> String {
        format!("windows-{}-deleted", self.node)
    }

    fn intolerant(&self) -> String {
        format!("windows-{}-intolerant", self.node)
    }

    fn linux(&self) -> String {
        format!("linux-not-{}", self.node)
    }

    fn manifest(&self, tainted: bool) -> String {
        let everything = json!([{ "operator": "Exists" }]);
        let here = json!({ "kubernetes.io/hostname": self.node, "kubernetes.io/os": "windows" });
        let mut pods = Vec::new();
        for name in [self.first(), self.second()] {
            let mut pod = self.pod(&name, &here);
            pod["spec"]["tolerations"].clone_from(&everything);
            if let Some(class) = self.class {
                pod["spec"]["runtimeClassName"] = json!(class);
            }
            pods.push(pod);
        }
        if tainted {
            pods.push(self.pod(&self.intolerant(), &here));
        }
        let mut linux = self.pod(&self.linux(), &json!({ "kubernetes.io/os": "linux" }));
        linux["spec"]["tolerations"] = everything;
        let there = json!([{ "key": "kubernetes.io/hostname", "operator": "In", "values": [self.node] }]);
        linux["spec"]["affinity"] = json!({ "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [
            { "weight": 100, "preference": { "matchExpressions": there } } ] } });
        pods.push(linux);
        pods.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
    }

    /// One that is bound and never starts: kubelets wait for volumes before anything else.
    fn pod(&self, name: &str, selector: &Value) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": name, "namespace": self.namespace, "labels": { LABEL: self.node } },
            "spec": {
                "nodeSelector": selector,
                // Not 0, with which the API server would not ask the kubelet.
                "terminationGracePeriodSeconds": 1,
                "volumes": [{ "name": "never", "secret": { "secretName": "never" } }],
                "containers": [{
                    "name": "never",
                    "image": self.image,
                    "imagePullPolicy": "Never",
                    "volumeMounts": [{ "name": "never", "mountPath": "/never" }],
                }],
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(tainted: bool) -> Vec<Value> {
        let pods = Pods { namespace: "ns", node: "win1", class: Some("windows-2022"), image: "image" };
        pods.manifest(tainted).split("\n---\n").map(|pod| serde_json::from_str(pod).unwrap()).collect()
    }

    #[test]
    fn pods_never_start_and_are_all_found_by_their_label() {
        assert_eq!((pods(false).len(), pods(true).len()), (3, 4));
        for pod in pods(true) {
            assert_eq!(pod["metadata"]["labels"][LABEL], "win1");
            assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], "Never");
            assert_eq!(pod["spec"]["volumes"][0]["secret"]["secretName"], "never");
        }
    }

    #[test]
    fn only_pods_for_windows_name_a_class_and_one_tolerates_nothing() {
        let classes: Vec<_> =
            pods(true).iter().map(|pod| pod["spec"]["runtimeClassName"].is_string()).collect();
        assert_eq!(classes, [true, true, false, false]);
        let tolerate: Vec<_> = pods(true).iter().map(|pod| pod["spec"]["tolerations"].is_array()).collect();
        assert_eq!(tolerate, [true, true, false, true]);
    }
}
