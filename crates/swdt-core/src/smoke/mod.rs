//! The smoke test: does a cluster do what people use clusters for? Pods on every Linux node, spoken
//! to by address, service and name across nodes; secrets, config maps and volumes seen inside. Of Windows nodes
//! whatever can be seen without running a container there; the rest is told as not tried.

pub(crate) mod judge;
mod objects;
mod windows;

use std::time::{Duration, Instant};

use serde::Serialize;
use swdt_wire::Secret;

use crate::{
    Error, Result,
    event::{EventKind, Reporter},
    id,
    kube::Kube,
    spec::Spec,
};

/// How long pods may take to run, and a service to be known everywhere.
const PATIENCE: Duration = Duration::from_secs(90);
/// How objects are made.
const APPLY: [&str; 5] = ["apply", "--server-side", "--field-manager=swdt", "-f", "-"];
/// A first attempt may come before kube-proxy knows of a service.
const PAUSE: Duration = Duration::from_millis(500);

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Short name.
    pub name: String,
    /// What was tried.
    pub tried: String,
    /// What was seen.
    pub seen: String,
    /// As it should be?
    pub verdict: Verdict,
    /// How long it took.
    pub took_ms: u64,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// As it should be.
    Passed,
    /// Not so.
    Failed,
    /// Not tried, because it could not be; `seen` says why. Neither good nor bad.
    Skipped,
}

/// Runs the smoke test in a namespace of its own, which is removed afterwards.
pub async fn run(
    kube: &Kube,
    spec: &Spec,
    image: &str,
    slowness: u32,
    reporter: &Reporter,
) -> Result<Vec<Check>> {
    let objects = objects::Objects::new(spec, image);
    let namespace = objects.namespace();
    // A run that was killed may have left its namespace.
    let minute = format!("--timeout={}s", 60 * slowness);
    remove(kube, namespace, &minute).await?;
    reporter.doing("starting pods on every node");
    kube.must(&["create", "namespace", namespace], None).await?;
    // Pods are refused until the namespace has its account, which takes a control plane that has just started a while.
    let account = ["wait", "--for=create", "serviceaccount/default", "-n", namespace, &minute];
    kube.must(&account, None).await?;
    kube.must(&APPLY, Some(Secret::new(objects.manifest()))).await?;
    let mut smoke = Smoke {
        kube,
        namespace,
        minute: &minute,
        patience: PATIENCE * slowness,
        reporter,
        checks: Vec::new(),
    };
    let tried = smoke.all(spec, image, &objects).await;
    let removed = remove(kube, namespace, &minute).await;
    tried?;
    removed?;
    Ok(smoke.checks)
}

async fn remove(kube: &Kube, namespace: &str, timeout: &str) -> Result<()> {
    let delete = ["delete", "namespace", namespace, "--ignore-not-found", "--wait=true", timeout];
    kube.must(&delete, None).await.map(|_| ())
}

/// The verdict as an error, if it is one.
pub fn verdict(checks: &[Check]) -> Result<()> {
    let failed = checks.iter().filter(|check| check.verdict == Verdict::Failed);
    let errors = failed.map(|check| {
        Error::new(id::SMOKE_FAILED, format!("smoke test `{}` failed: {}", check.name, check.tried))
            .with_output(check.seen.lines().map(ToOwned::to_owned).collect())
    });
    Error::all(errors.collect()).map_or(Ok(()), Err)
}

struct Smoke<'a> {
    kube: &'a Kube,
    namespace: &'a str,
    /// `--timeout` of a minute, or of ten where machines are emulated.
    minute: &'a str,
    patience: Duration,
    reporter: &'a Reporter,
    checks: Vec<Check>,
}

impl Smoke<'_> {
    async fn all(&mut self, spec: &Spec, image: &str, objects: &objects::Objects) -> Result<()> {
        self.linux(objects).await?;
        self.windows(spec, image).await
    }

    async fn linux(&mut self, objects: &objects::Objects) -> Result<()> {
        if !self.pods_run(objects).await? {
            return Ok(());
        }
        let pods = objects.pods();
        for from in &pods {
            for to in &pods {
                let ip = self.field(&["get", "pod", &to.pod], "{.status.podIP}").await?;
                let name = format!("pod to pod, {} to {}", from.node, to.node);
                self.connects(&name, &from.pod, &format!("{ip}:8080")).await?;
            }
            let service = self.field(&["get", "service", "web"], "{.spec.clusterIP}").await?;
            self.connects(&format!("service, from {}", from.node), &from.pod, &format!("{service}:80"))
                .await?;
            let name = format!("web.{}.svc.cluster.local:80", self.namespace);
            self.connects(&format!("DNS name, from {}", from.node), &from.pod, &name).await?;
            let port = self.field(&["get", "service", "web"], "{.spec.ports[0].nodePort}").await?;
            for to in &pods {
                let ip = self.field(&["get", "pod", &to.pod], "{.status.hostIP}").await?;
                let name = format!("node port, {} to {}", from.node, to.node);
                self.connects(&name, &from.pod, &format!("{ip}:{port}")).await?;
            }
            for (what, path, text) in objects::MOUNTED {
                self.reads(&format!("{what}, on {}", from.node), &from.pod, path, text).await?;
            }
        }
        Ok(())
    }

    async fn pods_run(&mut self, objects: &objects::Objects) -> Result<bool> {
        let timeout = format!("--timeout={}s", self.patience.as_secs());
        let began = Instant::now();
        let wait = ["wait", "-n", self.namespace, "--for=condition=Ready", "pod", "--all", &timeout];
        let answer = self.kube.ask(&wait, None).await?;
        let ok = answer.code == Some(0);
        let seen = if ok {
            format!("{} pods run", objects.pods().len())
        } else {
            let pods = self.kube.ask(&["get", "pods", "-n", self.namespace, "-o", "wide"], None).await?;
            let events = self.kube.ask(&["get", "events", "-n", self.namespace], None).await?;
            format!("{}{}{}", answer.stderr, pods.stdout.expose(), events.stdout.expose())
        };
        let verdict = if ok { Verdict::Passed } else { Verdict::Failed };
        self.note("pods start", "a pod on every Linux node becomes ready", seen, verdict, began);
        Ok(ok)
    }

    /// Can a pod open a connection?
    async fn connects(&mut self, name: &str, pod: &str, to: &str) -> Result<()> {
        let command = ["exec", "-n", self.namespace, pod, "--", "/agnhost", "connect", "--timeout=5s", to];
        self.attempt(name, &format!("connect to {to} from {pod}"), &command, |_| true).await
    }

    /// Does a pod see this text in a file?
    async fn reads(&mut self, name: &str, pod: &str, path: &str, text: &str) -> Result<()> {
        let flag = format!("--file_content={path}");
        let command = ["exec", "-n", self.namespace, pod, "--", "/agnhost", "mounttest", &flag];
        self.attempt(name, &format!("read {path} in {pod}"), &command, |said| said.contains(text)).await
    }

    async fn attempt(
        &mut self,
        name: &str,
        tried: &str,
        command: &[&str],
        good: impl Fn(&str) -> bool,
    ) -> Result<()> {
        self.reporter.doing(name);
        let began = Instant::now();
        loop {
            let answer = self.kube.ask(command, None).await?;
            let said = format!("{}{}", answer.stdout.expose(), answer.stderr);
            let ok = answer.code == Some(0) && good(&said);
            if ok || began.elapsed() > self.patience {
                let (seen, verdict) =
                    if ok { ("ok".to_owned(), Verdict::Passed) } else { (said, Verdict::Failed) };
                self.note(name, tried, seen, verdict, began);
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn field(&self, command: &[&str], path: &str) -> Result<String> {
        let output = format!("-o=jsonpath={path}");
        let mut arguments = command.to_vec();
        arguments.extend(["-n", self.namespace, &output]);
        Ok(self.kube.must(&arguments, None).await?.expose().trim().to_owned())
    }

    fn note(&mut self, name: &str, tried: &str, seen: String, verdict: Verdict, began: Instant) {
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let ok = verdict == Verdict::Passed;
        self.reporter.say(EventKind::Tried { name: name.into(), ok, seen: seen.clone(), took_ms });
        self.checks.push(Check { name: name.into(), tried: tried.into(), seen, verdict, took_ms });
    }

    /// What cannot be tried here.
    fn skip(&mut self, name: &str, why: &str) {
        self.reporter.say(EventKind::NotTried { name: name.into(), why: why.into() });
        let (name, tried, seen) = (name.into(), "not tried".into(), why.into());
        self.checks.push(Check { name, tried, seen, verdict: Verdict::Skipped, took_ms: 0 });
    }
}
