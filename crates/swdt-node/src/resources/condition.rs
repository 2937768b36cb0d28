//! [`Condition`]: something that becomes true by itself, and is waited for.
//!
//! Waiting writes nothing. When patience is over, the error says what is missing and shows what the
//! cluster knows about it.

pub(crate) mod evidence;
mod health;
pub(crate) mod judge;

use std::time::Duration;

use serde_json::Value;
use swdt_wire::{Condition, Prior, Status, Truth};

use super::{
    Behaviour, Reverted,
    waiting::{self, Waiting},
};
use crate::{Ctx, Error, Result, kubectl};
pub(super) use judge::Verdict;

/// How often it must still be true after it became so. The containers of a DaemonSet of the network have no probe, and
/// count as ready in the moment before they fail; what else is waited for means it when it says so.
fn looks_again(what: &Truth) -> u32 {
    match what {
        Truth::DaemonSet { .. } => 2,
        Truth::ApiReady
        | Truth::FileExists { .. }
        | Truth::RuntimeAnswers
        | Truth::Healthy { .. }
        | Truth::HnsNetwork { .. }
        | Truth::NodeReady { .. }
        | Truth::Deployment { .. } => 0,
    }
}

impl Behaviour for Condition {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        Ok(match look(ctx, &self.what)? {
            Verdict::True => Status::Satisfied,
            Verdict::Not(why) => Status::Differs(why),
        })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        Ok(Prior::Nothing)
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let mut waiting = Waiting::new(Duration::from_secs(self.patience));
        let mut seen = 0;
        loop {
            match look(ctx, &self.what)? {
                Verdict::True if seen == looks_again(&self.what) => return Ok(()),
                Verdict::True => {
                    seen += 1;
                    waiting::a_moment(ctx)?;
                }
                Verdict::Not(why) if waiting.is_over() => return Err(given_up(ctx, self, &why)),
                Verdict::Not(why) => {
                    seen = 0;
                    waiting.for_want_of(ctx, why)?;
                }
            }
        }
    }

    fn revert(&self, _ctx: &Ctx, _prior: &Prior, _force: bool) -> Result<Reverted> {
        Ok(Reverted::Yes)
    }
}

/// Looks once.
fn look(ctx: &Ctx, what: &Truth) -> Result<Verdict> {
    match what {
        Truth::FileExists { path } if ctx.path(path).exists() => return Ok(Verdict::True),
        Truth::FileExists { path } => return Ok(Verdict::Not(format!("there is no {path}"))),
        Truth::RuntimeAnswers => return runtime_answers(ctx),
        Truth::Healthy { url } => return Ok(health::look(url)),
        Truth::HnsNetwork { name } => return network_ready(name),
        _ => {}
    }
    if !ctx.path(kubectl::ADMIN).exists() {
        return Ok(Verdict::Not("there is no control plane yet".into()));
    }
    let object = |arguments: &[&str], judge: fn(&Value) -> Verdict| {
        let said = kubectl::look(ctx, &[arguments, &["-o", "json"]].concat())?;
        if !said.ok() {
            return Ok(Verdict::Not(kubectl::complaint(&said.stderr).to_owned()));
        }
        let object = serde_json::from_str(&said.stdout)
            .map_err(|error| Error::new(format!("kubectl answered something that is no JSON: {error}")))?;
        Ok(judge(&object))
    };
    match what {
        Truth::ApiReady => {
            let said = kubectl::look(ctx, &["get", "--raw", "/readyz"])?;
            Ok(if said.ok() && said.stdout.trim() == "ok" {
                Verdict::True
            } else {
                Verdict::Not(judge::not_ready(&said.stderr))
            })
        }
        // Answered above, where no cluster is asked.
        Truth::FileExists { .. }
        | Truth::RuntimeAnswers
        | Truth::Healthy { .. }
        | Truth::HnsNetwork { .. } => Ok(Verdict::True),
        Truth::NodeReady { name } => object(&["get", "node", name], judge::node),
        Truth::DaemonSet { namespace, name } => {
            object(&["-n", namespace, "get", "daemonset", name], judge::daemon_set)
        }
        Truth::Deployment { namespace, name } => {
            object(&["-n", namespace, "get", "deployment", name], judge::deployment)
        }
    }
}

#[cfg(windows)]
use super::windows::hns_network::ready as network_ready;

#[cfg(unix)]
fn network_ready(_name: &str) -> Result<Verdict> {
    Err(super::Elsewhere::error())
}

/// A service may run before its pipe or socket is there, and a connection made too early may never be answered.
fn runtime_answers(ctx: &Ctx) -> Result<Verdict> {
    let said = ctx.query(&["ctr", "--timeout", "5s", "version"])?;
    let why = said.stderr.lines().last().unwrap_or("ctr does not say why");
    Ok(if said.ok() { Verdict::True } else { Verdict::Not(format!("containerd does not answer: {why}")) })
}

fn given_up(ctx: &Ctx, condition: &Condition, why: &str) -> Error {
    let Condition { what, patience } = condition;
    let hint = match what {
        Truth::ApiReady => {
            "the control plane's containers or the kubelet have a problem: `journalctl -u kubelet` and /var/log/pods there say more"
        }
        Truth::FileExists { .. } => {
            "the program that writes it does not run: the pods of the network say why"
        }
        Truth::RuntimeAnswers => "containerd's log says more",
        Truth::Healthy { .. } => "the program does not run, or cannot reach the cluster: its log says more",
        Truth::HnsNetwork { .. } => "flanneld makes it, and its log says why it did not",
        Truth::NodeReady { .. } => {
            "`journalctl -u kubelet` on that node says more; a node is not ready before its network is"
        }
        Truth::DaemonSet { .. } | Truth::Deployment { .. } => {
            "the pods above say why; run the same command again when it is repaired"
        }
    };
    let message = format!("waited {patience} s until {what}, in vain: {why}");
    Error { message, output: evidence::gather(ctx, what), hint: Some(hint.into()) }
}
