//! What was tried on the cluster, by what and where.

use serde::Serialize;

use crate::{
    event::{Event, EventKind},
    spec::Node,
};

/// The last smoke test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Smoke {
    /// When it ended, RFC 3339.
    pub at: String,
    /// What was tried, in order.
    pub trials: Vec<Trial>,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// As it is told: `pod to pod, cp1 to w1`.
    pub name: String,
    /// What, whoever it is about: `pod to pod`.
    pub what: String,
    /// On which node, if on one.
    pub node: Option<String>,
    /// To which other, if to one.
    pub to: Option<String>,
    /// What came of it.
    pub verdict: Verdict,
    /// What was seen, or why it was not tried.
    pub seen: String,
    /// How long it took.
    pub took_ms: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Not as it should be.
    Failed,
    /// Not tried; neither good nor bad.
    NotTried,
    /// As it should be.
    Passed,
}

impl Smoke {
    /// Of one run, if it tried anything.
    pub(super) fn of(run: &[Event], nodes: &[Node], clean: &dyn Fn(&str) -> String) -> Option<Self> {
        let mut trials = Vec::new();
        let mut at = None;
        for event in run {
            let (name, verdict, seen, took_ms) = match &event.kind {
                EventKind::Tried { name, ok, seen, took_ms } => {
                    (name, if *ok { Verdict::Passed } else { Verdict::Failed }, seen, *took_ms)
                }
                EventKind::NotTried { name, why } => (name, Verdict::NotTried, why, 0),
                _ => continue,
            };
            at = Some(event.at);
            let (what, node, to) = place(name, nodes);
            trials.push(Trial { name: name.clone(), what, node, to, verdict, seen: clean(seen), took_ms });
        }
        Some(Self { at: super::moment(at?), trials })
    }
}

/// What a name is about, and where: `node port, cp1 to w1`, `service, from cp1`, `heartbeat, win1`.
fn place(name: &str, nodes: &[Node]) -> (String, Option<String>, Option<String>) {
    let whole = || (name.to_owned(), None, None);
    let known = |word: &str| nodes.iter().any(|node| node.name == word).then(|| word.to_owned());
    let Some((what, where_)) = name.rsplit_once(", ") else { return whole() };
    let words: Vec<&str> = where_.split(' ').collect();
    match words.as_slice() {
        [from, "to", to] if known(from).is_some() && known(to).is_some() => {
            (what.to_owned(), known(from), known(to))
        }
        ["from" | "on", node] | [node] if known(node).is_some() => (what.to_owned(), known(node), None),
        // `scheduling, to win1` and `scheduling, not to win1` are two things.
        [how @ .., node] if known(node).is_some() => {
            (format!("{what}, {} it", how.join(" ")), known(node), None)
        }
        _ => whole(),
    }
}
