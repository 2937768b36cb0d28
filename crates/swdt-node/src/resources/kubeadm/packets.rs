//! Traces in the packet filter: chains of kubelet, kube-proxy and networks of pods, and their tables.
//!
//! Only of a real machine: a scratch root shares the packet filter of the host.

use serde_json::Value;

use crate::{Ctx, Result};

/// Beginnings of names of chains.
const CHAINS: [&str; 4] = ["KUBE-", "CNI-", "FLANNEL-", "cali-"];

/// Tables that are a cluster's alone.
const OWN: [&str; 6] = [
    "ip kube-proxy",
    "ip6 kube-proxy",
    "ip flannel-ipv4",
    "ip6 flannel-ipv6",
    "ip cni_hostport",
    "inet cni_hostport",
];

/// Tables that iptables makes when it needs them, and never removes. Others may use them.
const SHARED: [&str; 8] =
    ["ip filter", "ip nat", "ip mangle", "ip raw", "ip6 filter", "ip6 nat", "ip6 mangle", "ip6 raw"];

/// Both families, each with its program to save and to restore.
const IPTABLES: [(&str, &str); 2] =
    [("iptables-save", "iptables-restore"), ("ip6tables-save", "ip6tables-restore")];

/// What is not there, as words of a receipt.
pub(super) fn absent(ctx: &Ctx) -> Vec<String> {
    if !ctx.live() {
        return Vec::new();
    }
    let tables = tables(ctx);
    let missing = OWN.iter().chain(&SHARED).filter(|table| !tables.contains(&(**table).to_owned()));
    let saved: String = IPTABLES.iter().map(|(save, _)| saved(ctx, save)).collect();
    let chains = CHAINS.iter().filter(|chain| !saved.contains(&format!(":{chain}")));
    missing
        .map(|table| format!("nft:{table}"))
        .chain(chains.map(|chain| format!("iptables:{chain}")))
        .collect()
}

/// Removes what was absent.
pub(super) fn remove(ctx: &Ctx, absent: &[String]) -> Result<()> {
    if !ctx.live() {
        return Ok(());
    }
    let chains: Vec<&str> = absent.iter().filter_map(|word| word.strip_prefix("iptables:")).collect();
    for (save, restore) in IPTABLES {
        let script = without(&saved(ctx, save), &chains);
        if !script.is_empty() {
            ctx.change_with(&[restore, "--noflush", "-w"], script.as_bytes())?;
        }
    }
    let there = tables(ctx);
    for table in absent
        .iter()
        .filter_map(|word| word.strip_prefix("nft:"))
        .filter(|it| there.contains(&(*it).to_owned()))
    {
        if OWN.contains(&table) || unused(ctx, table)? {
            let (family, name) = table.split_once(' ').unwrap_or(("ip", table));
            ctx.change(&["nft", "delete", "table", family, name])?;
        }
    }
    Ok(())
}

fn saved(ctx: &Ctx, program: &str) -> String {
    let asked = ctx.has_program(program).then(|| ctx.query(&[program]).ok()).flatten();
    asked.map(|said| said.stdout).unwrap_or_default()
}

/// `ip kube-proxy` of `table ip kube-proxy`.
fn tables(ctx: &Ctx) -> Vec<String> {
    let asked = ctx.has_program("nft").then(|| ctx.query(&["nft", "list", "tables"]).ok()).flatten();
    let text = asked.map(|said| said.stdout).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("table ")).map(|table| table.trim().to_owned()).collect()
}

/// What iptables-restore must read to take away the chains that begin like these, and the jumps to them.
pub(crate) fn without(saved: &str, prefixes: &[&str]) -> String {
    let ours = |chain: &str| prefixes.iter().any(|prefix| chain.starts_with(prefix));
    let (mut script, mut table, mut jumps, mut chains) = (String::new(), "", Vec::new(), Vec::new());
    for line in saved.lines() {
        if line.starts_with('*') {
            (table, jumps, chains) = (line, Vec::new(), Vec::new());
        } else if let Some(chain) = line.strip_prefix(':').and_then(|rest| rest.split(' ').next()) {
            chains.extend(ours(chain).then_some(chain));
        } else if let Some(rule) = line.strip_prefix("-A ") {
            let mut words = rule.split(' ');
            let of = words.next().unwrap_or_default();
            let to = words.skip_while(|word| !matches!(*word, "-j" | "-g")).nth(1).unwrap_or_default();
            if ours(to) && !ours(of) {
                jumps.push(rule);
            }
        } else if line == "COMMIT" && !(jumps.is_empty() && chains.is_empty()) {
            let lines = [table.to_owned()]
                .into_iter()
                // Naming a chain empties it; then none refers to another.
                .chain(chains.iter().map(|chain| format!(":{chain} - [0:0]")))
                .chain(jumps.iter().map(|rule| format!("-D {rule}")))
                .chain(chains.iter().map(|chain| format!("-X {chain}")))
                .chain(["COMMIT".to_owned()]);
            script.extend(lines.flat_map(|line| [line, "\n".to_owned()]));
        }
    }
    script
}

/// Has a table nothing but chains of the system without rules?
fn unused(ctx: &Ctx, table: &str) -> Result<bool> {
    let (family, name) = table.split_once(' ').unwrap_or(("ip", table));
    let said = ctx.query(&["nft", "-j", "list", "table", family, name])?;
    Ok(said.ok() && serde_json::from_str(&said.stdout).is_ok_and(|ruleset| bare(&ruleset)))
}

pub(crate) fn bare(ruleset: &Value) -> bool {
    let plain = |item: &Value| {
        let Some((kind, what)) = item.as_object().and_then(|item| item.iter().next()) else { return false };
        match kind.as_str() {
            "metainfo" | "table" => true,
            "chain" => what["hook"].is_string() && what["policy"] == "accept",
            _ => false,
        }
    };
    ruleset["nftables"].as_array().is_some_and(|items| items.iter().all(plain))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SAVED: &str = "# Generated by iptables-save v1.8.9 (nf_tables) on Fri Jul 31 10:15:00 2026
*mangle
:PREROUTING ACCEPT [0:0]
:KUBE-KUBELET-CANARY - [0:0]
COMMIT
*filter
:INPUT ACCEPT [0:0]
:DOCKER - [0:0]
:KUBE-FIREWALL - [0:0]
-A INPUT -m comment --comment \"a -j of mine\" -j DOCKER
-A INPUT -j KUBE-FIREWALL
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment \"block incoming localnet connections\" -j DROP
COMMIT
*nat
:POSTROUTING ACCEPT [0:0]
-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE
COMMIT
";

    #[test]
    fn chains_of_a_cluster_go_and_others_stay() {
        assert_eq!(
            without(SAVED, &["KUBE-", "CNI-"]),
            "*mangle\n:KUBE-KUBELET-CANARY - [0:0]\n-X KUBE-KUBELET-CANARY\nCOMMIT\n\
             *filter\n:KUBE-FIREWALL - [0:0]\n-D INPUT -j KUBE-FIREWALL\n-X KUBE-FIREWALL\nCOMMIT\n"
        );
        assert_eq!(without(SAVED, &["CNI-"]), "");
        assert_eq!(without(SAVED, &[]), "");
    }

    #[test]
    fn a_table_that_nobody_uses() {
        let with = |item: Value| json!({"nftables": [{"metainfo": {}}, {"table": {"name": "mangle"}}, item]});
        assert!(bare(&with(json!({"chain": {"name": "INPUT", "hook": "input", "policy": "accept"}}))));
        assert!(!bare(&with(json!({"chain": {"name": "INPUT", "hook": "input", "policy": "drop"}}))));
        assert!(!bare(&with(json!({"chain": {"name": "mine"}}))));
        assert!(!bare(&with(json!({"rule": {}}))));
        assert!(!bare(&json!({})));
    }
}
