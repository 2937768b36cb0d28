//! Reading `nft -j`.

use std::fmt;

use serde_json::Value;
use swdt_wire::{PortRange, Protocol};

/// A base chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(super) family: String,
    pub(super) table: String,
    pub(super) name: String,
    /// `input`, `forward`, …
    pub(super) hook: String,
    /// Its policy is drop.
    pub(super) drops: bool,
}

impl Chain {
    /// kube-proxy's own, which only rejects what has no endpoints.
    pub(super) fn of_kubernetes(&self) -> bool {
        self.table.starts_with("kube-")
    }

    /// Where iptables keeps its rules; others insert there as well, so a drop is not the last word.
    pub(super) fn of_iptables(&self) -> bool {
        self.table == "filter" && matches!(self.name.as_str(), "INPUT" | "FORWARD" | "OUTPUT")
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.family, self.table, self.name)
    }
}

/// A rule, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(super) handle: u64,
    pub(super) comment: Option<String>,
    /// Ports it accepts from everybody.
    pub(super) opens: Vec<PortRange>,
    /// It drops or rejects whatever comes so far.
    pub(super) blocks_all: bool,
}

/// The filtering base chains of `nft -j list chains`, of the families that see IP packets.
pub(crate) fn chains(json: &str) -> Vec<Chain> {
    objects(json, "chain")
        .iter()
        .filter_map(|chain| {
            let text = |name: &str| chain[name].as_str().map(str::to_owned);
            let family = text("family").filter(|family| matches!(family.as_str(), "ip" | "ip6" | "inet"))?;
            (chain["type"] == "filter").then_some(())?;
            Some(Chain {
                family,
                table: text("table")?,
                name: text("name")?,
                hook: text("hook")?,
                drops: chain["policy"] == "drop",
            })
        })
        .collect()
}

/// The rules of `nft -j list chain …`, in order.
pub(crate) fn rules(json: &str) -> Vec<Rule> {
    objects(json, "rule").iter().map(rule).collect()
}

fn objects(json: &str, kind: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(json).unwrap_or_default();
    let items = document["nftables"].as_array().cloned().unwrap_or_default();
    items.into_iter().filter_map(|mut item| item.get_mut(kind).map(Value::take)).collect()
}

/// Expressions that decide or tell, but do not choose packets.
const PLAIN: [&str; 5] = ["counter", "log", "accept", "drop", "reject"];

fn rule(rule: &Value) -> Rule {
    let expressions = rule["expr"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has = |verdict: &str| expressions.iter().any(|expression| expression.get(verdict).is_some());
    let rejects = |expression: &Value| expression["xt"]["name"] == "REJECT";
    // Counters and logs do not narrow a rule; anything we do not know might.
    let plain = |expression: &Value| PLAIN.iter().any(|name| expression.get(name).is_some());
    let conditions: Vec<&Value> = expressions.iter().filter(|it| !plain(it) && !rejects(it)).collect();
    Rule {
        handle: rule["handle"].as_u64().unwrap_or_default(),
        comment: rule["comment"].as_str().map(str::to_owned),
        opens: if has("accept") { opened(&conditions) } else { Vec::new() },
        blocks_all: (has("drop") || has("reject") || expressions.iter().any(rejects))
            && conditions.is_empty(),
    }
}

/// The ports of a rule whose only condition is the destination port (and the protocol, as iptables
/// writes it once more).
fn opened(conditions: &[&Value]) -> Vec<PortRange> {
    let mut ports = Vec::new();
    for condition in conditions {
        let matching = &condition["match"];
        let payload = &matching["left"]["payload"];
        let protocol = match payload["protocol"].as_str() {
            Some("tcp") => Protocol::Tcp,
            Some("udp") => Protocol::Udp,
            _ if matching["left"]["meta"]["key"] == "l4proto" => continue,
            _ => return Vec::new(),
        };
        if payload["field"] != "dport" || !matches!(matching["op"].as_str(), Some("==" | "in")) {
            return Vec::new();
        }
        let right = &matching["right"];
        match right["set"].as_array() {
            Some(set) => ports.extend(set.iter().filter_map(|item| range(item, protocol))),
            None => ports.extend(range(right, protocol)),
        }
    }
    ports
}

fn range(value: &Value, protocol: Protocol) -> Option<PortRange> {
    let port = |value: &Value| value.as_u64().and_then(|port| u16::try_from(port).ok());
    match value["range"].as_array().map(Vec::as_slice) {
        Some([from, to]) => super::super::range(protocol, port(from)?, port(to)?),
        _ => port(value).map(|port| PortRange { protocol, from: port, to: port }),
    }
}

#[cfg(test)]
mod tests;
