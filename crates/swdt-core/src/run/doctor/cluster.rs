//! A cluster that is there: its machines, and what its API tells.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::Value;
use swdt_wire::{Kind, Log, Resource, Status};
use tokio::{task::JoinSet, time::timeout};

use super::Met;
use crate::{
    Result,
    doctor::{self, ClusterFacts, Differs, Finding, NodeLook},
    kube::{Kube, ca},
    machine::MachineState,
    run::{
        CreateOptions, Host, NodeRun, Run, broken, machine_states,
        support::{PATIENCE, ask_kube, late, list, told_whole},
    },
    spec::Spec,
};

/// How much of a kubelet's log is looked at.
const LINES: u32 = 20;

/// Looks at the machines and the API of a cluster, and judges both. Machines that swdt stopped, or that are gone, are
/// the host's to tell.
pub async fn look_at_cluster(host: &Host, spec: &Spec) -> Result<Vec<Finding>> {
    let run = Run::look(host, spec)?;
    // A run that another command follows is not ours to wait for.
    run.state().nodes.values_mut().for_each(|node| node.open_run = None);
    let states = machine_states(&host.dirs, spec).await.unwrap_or_default();
    let mut tasks = JoinSet::new();
    let mut met = Met::default();
    for node in &spec.nodes {
        if matches!(states.get(&node.name), Some(MachineState::Stopped | MachineState::Absent)) {
            continue;
        }
        let resources = run.reached(&node.name);
        match NodeRun::new(&run, node) {
            Err(error) => met.failures.extend([(node.name.clone(), error)]),
            Ok(mut node) => {
                tasks.spawn(async move {
                    let looked = timeout(PATIENCE, look(&mut node, resources)).await;
                    (node, looked.unwrap_or_else(|_| Err(late("the machine"))))
                });
            }
        }
    }
    let mut looks = BTreeMap::new();
    while let Some(joined) = tasks.join_next().await {
        let (node, looked) = joined.map_err(|panic| broken(&panic))?;
        let name = node.node.name.clone();
        match looked {
            Err(error) => met.failures.extend([(name, error)]),
            Ok(look) => {
                met.clocks.insert(name.clone(), node.clock);
                met.facts.extend(node.facts.map(|facts| (name.clone(), facts)));
                looks.insert(name, look);
            }
        }
    }
    let mut findings = met.findings(spec);
    if run.has_kubernetes() {
        findings.extend(doctor::cluster(&run.ask(looks).await));
    }
    Ok(findings)
}

impl Run<'_> {
    /// What shall be true on a node: what earlier runs have got to.
    fn reached(&self, node: &str) -> Vec<Resource> {
        let phase = self.state().nodes.get(node).and_then(|node| node.phase.clone());
        let (Some(phase), Some(node)) = (phase, self.spec.node(node)) else { return Vec::new() };
        let plan = self.plan(node, &self.known(), &CreateOptions { until: Some(phase) });
        plan.resources().cloned().collect()
    }

    async fn ask(&self, machines: BTreeMap<String, NodeLook>) -> ClusterFacts<'_> {
        let mut facts = ClusterFacts {
            spec: &self.spec,
            now: Timestamp::now(),
            unanswered: None,
            certificates_until: None,
            tokens: Vec::new(),
            objects: BTreeMap::new(),
            machines,
        };
        let asked = timeout(PATIENCE, self.control_plane()).await;
        // That the machine cannot be reached, is told with the machine.
        let Ok(Ok(kube)) = asked else { return facts };
        facts.certificates_until = certificate(&kube).await;
        for kind in ClusterFacts::KINDS {
            match list(&kube, kind).await {
                Ok(mut found) => {
                    facts.objects.insert(kind, items(&mut found));
                }
                // Who answered once is there; what could not be had is not judged.
                Err(error) if facts.objects.is_empty() => {
                    facts.unanswered = Some(told_whole(&error));
                    return facts;
                }
                Err(_) => {}
            }
        }
        facts.tokens = tokens(&kube).await;
        facts
    }
}

fn items(list: &mut Value) -> Vec<Value> {
    match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// One machine: what it is, what differs, and what its kubelet said if that does not run.
async fn look(node: &mut NodeRun, resources: Vec<Resource>) -> Result<NodeLook> {
    node.look(resources.clone()).await?;
    let differs: Vec<Differs> = node
        .checked
        .iter()
        .filter_map(|checked| match &checked.status {
            Status::Satisfied => None,
            Status::Differs(how) => {
                let resource = resources.iter().find(|resource| resource.id == checked.id);
                Some(Differs { id: checked.id.clone(), service: service(resource), how: how.clone() })
            }
        })
        .collect();
    let mut look = NodeLook { facts: node.facts.clone(), differs, kubelet_log: Vec::new() };
    if look.differs.iter().any(|differs| differs.service.as_deref() == Some("kubelet")) {
        // Without it less is known, but what was seen stays true.
        let logs = node.logs(vec![Log::Service("kubelet".into())], LINES).await.ok();
        look.kubelet_log = logs.and_then(|mut logs| logs.lines.remove("kubelet")).unwrap_or_default();
    }
    Ok(look)
}

fn service(resource: Option<&Resource>) -> Option<String> {
    match &resource?.kind {
        Kind::Service(it) => Some(it.name.trim_end_matches(".service").to_owned()),
        Kind::WindowsService(it) => Some(it.name.clone()),
        _ => None,
    }
}

/// Until when the administrator of the control plane is let in.
async fn certificate(kube: &Kube) -> Option<Timestamp> {
    let path = "-o=jsonpath={.users[0].user.client-certificate-data}";
    ca::valid_until(&ask_kube(kube, &["config", "view", "--raw", "--flatten", path]).await.ok()?)
}

/// Names and ends of bootstrap tokens; nothing else of them is asked for.
async fn tokens(kube: &Kube) -> Vec<(String, Option<Timestamp>)> {
    let path = "-o=jsonpath={range .items[*]}{.metadata.name}{\" \"}{.data.expiration}{\"\\n\"}{end}";
    let only = "--field-selector=type=bootstrap.kubernetes.io/token";
    let asked = ask_kube(kube, &["get", "secrets", "-n", "kube-system", only, path]).await;
    asked.map(|said| said.lines().filter_map(token).collect()).unwrap_or_default()
}

fn token(line: &str) -> Option<(String, Option<Timestamp>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.to_owned();
    let until =
        words.next().and_then(|word| String::from_utf8(STANDARD.decode(word).ok()?).ok()?.parse().ok());
    Some((name, until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_its_name_and_its_end() {
        let end: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let line = format!("bootstrap-token-abcdef {}", STANDARD.encode("2026-11-16T12:00:00Z"));
        assert_eq!(token(&line), Some(("bootstrap-token-abcdef".into(), Some(end))));
        assert_eq!(token("bootstrap-token-abcdef "), Some(("bootstrap-token-abcdef".into(), None)));
        assert_eq!(token(""), None);
    }
}
