//! `cluster support-bundle`: asks everybody who still answers, and writes down who does not. Changes nothing, and takes
//! nothing for itself: it works beside a run that hangs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::ExposeSecret;
use serde::Serialize;
use serde_json::{Value, json};
use swdt_wire::{Kind, Log, Resource, Status};
use tokio::{task::JoinSet, time::timeout};

use super::{CreateOptions, Host, NodeRun, Run, broken, connect, machine_states, node::Logs};
use crate::{
    Error, Result, id,
    kube::Kube,
    machine::MachineState,
    spec::{Node, Spec},
    support::{Bundle, Missing, Redactor, objects},
};

/// How long one machine may take for everything it is asked.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
/// How much of each log of a machine is taken.
const LINES: u32 = 2000;
/// The same of a pod of the system.
const TAIL: &str = "--tail=500";

/// Of the cluster's directory on this host.
const ON_HOST: &[(&str, &str)] = &[
    ("cluster.yaml", "the configuration as given"),
    ("spec.json", "the same with every default"),
    ("state.json", "what swdt remembers of the machines"),
    ("artifacts.json", "what the nodes get, by digest, and where it came from"),
    ("lock.json", "what those digests are pinned to"),
    ("events.jsonl", "every event of every run; `swdt cluster logs` shows them so"),
];

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Collected {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// How many files are in it.
    pub files: usize,
    /// What could not be collected.
    pub missing: Vec<Missing>,
}

/// How a bundle is called that is made now: no two have the same name.
pub fn bundle_name(spec: &Spec) -> String {
    format!("swdt-{}-{}.zip", spec.name, jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"))
}

/// Collects what helps to find out why a cluster does not work.
pub async fn support_bundle(host: &Host, spec: &Spec, path: &Path, version: &str) -> Result<Collected> {
    let run = Run::look(host, spec)?;
    // A run that another command follows is not ours to wait for.
    run.state().nodes.values_mut().for_each(|node| node.open_run = None);
    let mut bundle = Bundle::new(run.redactor());
    run.collect_host(&mut bundle);
    run.collect_nodes(&mut bundle).await?;
    run.collect_cluster(&mut bundle).await;
    let bytes = bundle.write(path, &run.head(version))?;
    Ok(Collected { path: path.to_owned(), bytes, files: bundle.files(), missing: bundle.missing().to_vec() })
}

/// What one machine told.
type Told = Result<Logs>;

impl Run<'_> {
    fn head(&self, version: &str) -> String {
        let state = self.state();
        let last = state.last_run.as_ref().map_or_else(
            || "No run has ended yet.".to_owned(),
            |run| match &run.error {
                None => format!("The last run was `{}`, {}, and ended well.", run.command, run.at),
                Some(why) => format!("The last run was `{}`, {}, and failed: {why}", run.command, run.at),
            },
        );
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        format!(
            "# Support bundle of the cluster {}\n\nMade {} by swdt {version} on {os}/{arch}. Kubernetes {}, {} nodes.\n\
             {last}\n\nBegin with the last lines of `host/events.jsonl`, then `nodes/<name>/kubelet.log`.\n",
            self.spec.name,
            jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC"),
            self.spec.kubernetes,
            self.spec.nodes.len()
        )
    }

    /// Knows the passwords that the configuration leads to, where they can be had.
    pub(super) fn redactor(&self) -> Redactor {
        let passwords = self.spec.nodes.iter().filter_map(|node| {
            let password = connect::password(self.host, &node.connection).ok()??;
            Some(password.expose_secret().to_owned())
        });
        Redactor::new(passwords.collect())
    }

    fn collect_host(&self, bundle: &mut Bundle) {
        for (name, about) in ON_HOST {
            bundle.add_file(format!("host/{name}"), about, &self.dir.root().join(name));
        }
        for node in &self.spec.nodes {
            let about = format!("what {} and its programs said in runs", node.name);
            bundle.add_file(format!("host/logs/{}.log", node.name), &about, &self.dir.log(&node.name));
        }
    }

    /// All machines at once: one that hangs costs no more than its own patience.
    async fn collect_nodes(&self, bundle: &mut Bundle) -> Result<()> {
        let states = machine_states(&self.host.dirs, &self.spec).await.unwrap_or_default();
        let known = self.known();
        let mut plans: BTreeMap<&str, Vec<Resource>> = BTreeMap::new();
        let mut tasks = JoinSet::new();
        for node in &self.spec.nodes {
            let plan = self.plan(node, &known, &CreateOptions::default());
            let resources: Vec<Resource> = plan.resources().cloned().collect();
            plans.insert(&node.name, resources.clone());
            match states.get(&node.name) {
                Some(MachineState::Stopped) => unanswered(bundle, node, "the machine is stopped"),
                Some(MachineState::Absent) => unanswered(bundle, node, "there is no such machine yet"),
                Some(MachineState::Running) | None => match NodeRun::new(self, node) {
                    Err(error) => unanswered(bundle, node, &error.to_string()),
                    Ok(mut run) => {
                        tasks.spawn(async move {
                            let told = ask(&mut run, resources).await;
                            (run, told)
                        });
                    }
                },
            }
        }
        let mut answers: Vec<(NodeRun, Told)> = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            answers.push(joined.map_err(|panic| broken(&panic))?);
        }
        answers.sort_by_key(|(run, _)| self.place(&run.node.name));
        for (run, told) in answers {
            let name = &run.node.name;
            if let Some(facts) = &run.facts {
                bundle.add(format!("nodes/{name}/facts.json"), "what the machine is", &pretty(facts));
                let found = found(&plans[name.as_str()], &run);
                let about = "what shall be true on it, and what is";
                bundle.add(format!("nodes/{name}/resources.json"), about, &pretty(&found));
            }
            match told {
                Ok(logs) => add_logs(bundle, name, logs),
                Err(error) => unanswered(bundle, &run.node, &told_whole(&error)),
            }
        }
        Ok(())
    }

    async fn collect_cluster(&self, bundle: &mut Bundle) {
        let asked = timeout(PATIENCE, self.control_plane()).await;
        let kube = match asked.unwrap_or_else(|_| Err(late("the control plane"))) {
            Ok(kube) => kube,
            Err(error) => return bundle.lacks("cluster", told_whole(&error)),
        };
        let mut pods = Value::Null;
        for allowed in objects::ALLOWED {
            match list(&kube, allowed.kind).await {
                Err(error) => {
                    bundle.lacks(format!("cluster/{}.json", allowed.kind), told_whole(&error));
                    if allowed.kind == "nodes" {
                        // Nobody answers; asking for more would only take longer.
                        return bundle.lacks("cluster", "the API server does not answer");
                    }
                }
                Ok(found) => {
                    let reduced = allowed.reduce(&found);
                    let about = format!("{} of the cluster, the harmless fields of them", allowed.kind);
                    bundle.add(format!("cluster/{}.json", allowed.kind), about, &pretty(&reduced));
                    if allowed.kind == "pods" {
                        pods = reduced;
                    }
                }
            }
        }
        for (namespace, name, key) in objects::SETTINGS {
            let path = format!("cluster/settings/{name}.{key}");
            let get = ["get", "configmap", "-n", namespace, name, "-o=json", "--request-timeout=15s"];
            match ask_kube(&kube, &get).await {
                Ok(text) => {
                    let map: Value = serde_json::from_str(&text).unwrap_or_default();
                    let about = format!("`{key}` of the ConfigMap {namespace}/{name}");
                    bundle.add(path, about, map["data"][*key].as_str().unwrap_or_default());
                }
                Err(error) => bundle.lacks(path, told_whole(&error)),
            }
        }
        for pod in pods.as_array().into_iter().flatten() {
            let word = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
            let (namespace, name) = (word("namespace"), word("name"));
            if !objects::SYSTEM.contains(&namespace) {
                continue;
            }
            let path = format!("cluster/logs/{namespace}/{name}.log");
            let logs = [
                "logs",
                "-n",
                namespace,
                name,
                "--all-containers",
                "--prefix",
                TAIL,
                "--request-timeout=15s",
            ];
            match ask_kube(&kube, &logs).await {
                Ok(text) => bundle.add(path, "what a pod of the system said last", &text),
                Err(error) => bundle.lacks(path, told_whole(&error)),
            }
        }
    }
}

fn unanswered(bundle: &mut Bundle, node: &Node, why: &str) {
    bundle.lacks(format!("nodes/{}", node.name), why);
}

/// Everything that one machine is asked.
async fn ask(run: &mut NodeRun, resources: Vec<Resource>) -> Told {
    let mut logs: Vec<Log> = services(&resources).into_iter().map(Log::Service).collect();
    logs.push(Log::Runs);
    let asked = timeout(PATIENCE, async {
        run.look(resources).await?;
        run.logs(logs, LINES).await
    });
    asked.await.unwrap_or_else(|_| Err(late("the machine")))
}

pub(super) fn late(who: &str) -> Error {
    Error::new(id::ANSWER_LATE, format!("{who} did not answer within {} s", PATIENCE.as_secs()))
}

/// The services that a plan runs, each once.
pub(super) fn services(resources: &[Resource]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for resource in resources {
        let name = match &resource.kind {
            Kind::Service(it) if !it.newer_than.is_empty() => it.name.trim_end_matches(".service"),
            Kind::WindowsService(it) => &it.name,
            _ => continue,
        };
        if names.iter().all(|known| known != name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The resources of a plan, without secrets, and what a look found.
fn found(resources: &[Resource], run: &NodeRun) -> Value {
    let status = |id: &str| match run.checked.iter().find(|checked| checked.id == id).map(|it| &it.status) {
        None => json!("not looked at"),
        Some(Status::Satisfied) => json!("true"),
        Some(Status::Differs(what)) => json!({ "differs": what }),
    };
    let one = |resource: &Resource| json!({ "id": resource.id, "found": status(&resource.id), "wanted": resource.redacted().kind });
    resources.iter().map(one).collect()
}

fn add_logs(bundle: &mut Bundle, node: &str, logs: Logs) {
    for (name, lines) in logs.lines {
        let (ending, about) = match name.as_str() {
            "swdt-node" => ("jsonl", "what the node half told in its last runs".to_owned()),
            service => ("log", format!("what the service {service} said last")),
        };
        let path = format!("nodes/{node}/{name}.{ending}");
        match logs.unread.get(&name) {
            Some(why) => bundle.lacks(path, why),
            None => bundle.add(path, about, &lines.join("\n")),
        }
    }
}

pub(super) async fn list(kube: &Kube, kind: &str) -> Result<Value> {
    let text = ask_kube(kube, &["get", kind, "-A", "-o=json", "--request-timeout=15s"]).await?;
    serde_json::from_str(&text)
        .map_err(|error| Error::new(id::ANSWER_UNREADABLE, format!("the answer cannot be read: {error}")))
}

pub(super) async fn ask_kube(kube: &Kube, arguments: &[&str]) -> Result<String> {
    let asked = timeout(PATIENCE, kube.must(arguments, None)).await;
    Ok(asked.unwrap_or_else(|_| Err(late("the control plane")))?.expose().to_owned())
}

/// The message with what was said about it.
pub(super) fn told_whole(error: &Error) -> String {
    let said = error.output.last().map(|line| format!(" ({line})")).unwrap_or_default();
    format!("{error}{said}")
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
