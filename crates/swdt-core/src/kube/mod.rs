//! The cluster's API, by kubectl on the control plane through the node program: always the right
//! version, and no kubeconfig on the host.

pub(crate) mod ca;
pub mod kubeconfig;
pub(crate) mod misplaced;
mod node;
pub(crate) mod token;

use std::{
    fmt::Write,
    sync::atomic::{AtomicU32, Ordering},
};

use swdt_wire::{Mode, NodeEventKind, NodeFailure, Request, Secret};

pub use kubeconfig::Kubeconfig;
pub use node::NodeStatus;
pub(crate) use token::Token;

use crate::{
    Error, Result, id,
    remote::{Agent, Running, TerminalSize},
};

/// The most that the arguments of kubectl may take: they are one word of a command line there.
const LONGEST_ARGUMENTS: usize = 60 << 10;

/// kubectl on the control plane.
pub struct Kube {
    agent: Agent,
    cluster: String,
    run: String,
    asked: AtomicU32,
}

/// What kubectl answered.
pub struct Answer {
    /// Exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output. May hold credentials.
    pub stdout: Secret,
    /// Standard error.
    pub stderr: String,
}

impl Kube {
    /// kubectl on the machine of this agent; `run` makes the exchanges unique.
    pub fn new(agent: Agent, cluster: &str, run: &str) -> Self {
        Self { agent, cluster: cluster.to_owned(), run: run.to_owned(), asked: AtomicU32::new(0) }
    }

    /// Runs kubectl; a non-zero exit is no error here.
    pub async fn ask(&self, arguments: &[&str], input: Option<Secret>) -> Result<Answer> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        let run = format!("{}-k{number}", self.run);
        let request = Request::new(&self.cluster, run, Mode::Kubectl { arguments, input });
        let mut answer = None;
        let summary = self
            .agent
            .request(&request, &mut |event| {
                if let NodeEventKind::Answer { code, stdout, stderr } = event.kind {
                    answer = Some(Answer { code, stdout, stderr });
                }
            })
            .await?;
        answer.ok_or_else(|| unanswered(summary.failure))
    }

    /// Starts kubectl with the caller's streams, on a terminal if one is given.
    pub async fn start(
        &self,
        arguments: &[String],
        terminal: Option<(&str, TerminalSize)>,
    ) -> Result<Running> {
        let mode = Mode::Kubectl { arguments: arguments.to_vec(), input: None };
        let request = Request::new(&self.cluster, format!("{}-t", self.run), mode);
        let bytes = serde_json::to_vec(&request)
            .map_err(|error| Error::new(id::INTERNAL, format!("a request cannot be written: {error}")))?;
        if bytes.len() > LONGEST_ARGUMENTS {
            return Err(Error::new(id::KUBECTL_ELSEWHERE, "the arguments of kubectl are too long")
                .hinted("give long values on standard input, with `-f -`"));
        }
        let mut verb = "kubectl ".to_owned();
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(verb, "{byte:02x}");
        }
        self.agent.start(&verb, terminal).await
    }

    /// Runs kubectl, which must succeed; gives its standard output.
    pub async fn must(&self, arguments: &[&str], input: Option<Secret>) -> Result<Secret> {
        let answer = self.ask(arguments, input).await?;
        if answer.code == Some(0) {
            return Ok(answer.stdout);
        }
        let lines = answer.stderr.lines().map(ToOwned::to_owned).collect();
        let words = arguments.iter().take(3).copied().collect::<Vec<_>>().join(" ");
        Err(Error::new(id::KUBECTL_FAILED, format!("`kubectl {words} …` failed on the control plane"))
            .with_output(lines))
    }

    /// The cluster's authority, PEM in base64, and the digest that a joining node must see, `sha256:…`.
    pub(crate) async fn authority(&self) -> Result<(String, String)> {
        let path = "-o=jsonpath={.clusters[0].cluster.certificate-authority-data}";
        let data = self.must(&["config", "view", "--raw", "--flatten", path], None).await?;
        let authority = data.expose().trim().to_owned();
        let hash = ca::hash(&authority)
            .ok_or_else(|| Error::new(id::ANSWER_UNREADABLE, "the cluster's certificate cannot be read"))?;
        Ok((authority, hash))
    }

    /// A token of a service account for a program on a node. It dies with the node's object in the cluster, and after
    /// a year like everything that kubeadm signs.
    pub(crate) async fn account_token(
        &self,
        namespace: &str,
        account: &str,
        node: &str,
        slowness: u32,
    ) -> Result<Secret> {
        const YEAR: &str = "--duration=8760h";
        // kubeadm is content when the kubelet has its certificate; the node comes into the cluster a moment later.
        let there = format!("node/{node}");
        let patience = format!("--timeout={}s", 180 * slowness);
        self.must(&["wait", "--for=create", &there, &patience], None).await?;
        let uid = ["get", "node", node, "-o=jsonpath={.metadata.uid}"];
        let uid = self.must(&uid, None).await?;
        let bound = [
            "--bound-object-kind=Node".to_owned(),
            format!("--bound-object-name={node}"),
            format!("--bound-object-uid={}", uid.expose().trim()),
        ];
        let mut words = vec!["create", "token", account, "-n", namespace, YEAR];
        words.extend(bound.iter().map(String::as_str));
        let token = self.must(&words, None).await?;
        Ok(Secret::new(token.expose().trim()))
    }

    /// Makes a bootstrap token in the cluster.
    pub(crate) async fn make_token(&self, slowness: u32) -> Result<Token> {
        let token = Token::random()?;
        self.must(
            &["apply", "--server-side", "--field-manager=swdt", "-f", "-"],
            Some(token.object(slowness)),
        )
        .await?;
        Ok(token)
    }

    /// Deletes the token that `kubeadm init` makes by itself, which would live for a day. Tokens of
    /// others are theirs.
    pub(crate) async fn delete_kubeadms_token(&self) -> Result<()> {
        let list = [
            "get",
            "secrets",
            "-n",
            "kube-system",
            "--field-selector=type=bootstrap.kubernetes.io/token",
            "-o=json",
        ];
        let answer = self.must(&list, None).await?;
        for name in token::made_by_kubeadm(answer.expose()) {
            self.must(&["delete", "secret", "-n", "kube-system", "--ignore-not-found", &name], None).await?;
        }
        Ok(())
    }

    /// Deletes a bootstrap token; one that is gone already is fine.
    pub(crate) async fn delete_token(&self, token: &Token) -> Result<()> {
        let name = token.object_name();
        self.must(&["delete", "secret", "-n", "kube-system", "--ignore-not-found", &name], None)
            .await
            .map(|_| ())
    }
}

/// Why there was no answer at all.
fn unanswered(failure: Option<NodeFailure>) -> Error {
    match failure {
        Some(NodeFailure::Unusable { message, hint }) => {
            hint.into_iter().fold(Error::new(id::MACHINE_UNUSABLE, message), Error::hinted)
        }
        Some(NodeFailure::OtherCluster { cluster }) => Error::new(
            id::MACHINE_OF_OTHER_CLUSTER,
            format!("the control plane's machine is a node of the cluster `{cluster}`"),
        ),
        other => Error::new(
            id::KUBECTL_FAILED,
            format!("kubectl could not be run on the control plane: {other:?}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They are mended otherwise than what kubectl says.
    #[test]
    fn a_machine_that_refuses_is_no_failure_of_kubectl() {
        let unusable = NodeFailure::Unusable { message: "the disk is full".into(), hint: None };
        let other = NodeFailure::OtherCluster { cluster: "lab".into() };
        assert_eq!(unanswered(Some(unusable)).id(), "machine-unusable");
        assert_eq!(unanswered(Some(other)).id(), "machine-of-other-cluster");
        assert_eq!(unanswered(None).id(), "kubectl-failed");
    }
}
