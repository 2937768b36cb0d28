//! nftables without a front end: accept rules at the top of the chain that filters, with our comment.
//!
//! Only the running rules are changed. The user's `/etc/nftables.conf` stays theirs; if it is loaded
//! at boot, they are told ([`warn`]).

pub(crate) mod ruleset;

use swdt_wire::PortRange;

use super::{COMMENT, gaps, protocol, span};
use crate::{Ctx, Error, Result};
use ruleset::{Chain, Rule};

/// Does an input chain of somebody else filter?
pub(super) fn filters(ctx: &Ctx) -> Result<bool> {
    Ok(!filtering(ctx)?.is_empty())
}

/// What to add: words of `nft insert rule`.
pub(super) fn missing(ctx: &Ctx, ports: &[PortRange]) -> Result<Vec<String>> {
    let mut adds = Vec::new();
    for (chain, rules) in filtering(ctx)? {
        let open: Vec<PortRange> =
            rules.iter().take_while(|rule| !rule.blocks_all).flat_map(|rule| rule.opens.clone()).collect();
        for ports in gaps(ports, &open) {
            adds.push(format!("{chain} {} dport {} accept", protocol(ports.protocol), span(&ports, '-')));
        }
    }
    Ok(adds)
}

pub(super) fn add(ctx: &Ctx, words: &str) -> Result<()> {
    let mut argv = vec!["nft", "insert", "rule"];
    argv.extend(words.split(' '));
    argv.extend(["comment", COMMENT]);
    ctx.change(&argv)
}

/// Finds our rule by its chain, its words and our comment; a rule that is gone is fine.
pub(super) fn remove(ctx: &Ctx, words: &str) -> Result<()> {
    let fields: Vec<&str> = words.split(' ').collect();
    let [family, table, chain, name, "dport", ports, "accept"] = fields[..] else {
        return Err(Error::new(format!(
            "a receipt tells of nftables rule {words:?}, which is not one of ours"
        )));
    };
    if !ctx.has_program("nft") {
        return Ok(());
    }
    let said = ctx.query(&["nft", "-j", "list", "chain", family, table, chain])?;
    let ours = |rule: &&Rule| {
        rule.comment.as_deref() == Some(COMMENT)
            && rule.opens.iter().any(|open| protocol(open.protocol) == name && span(open, '-') == ports)
    };
    if let Some(rule) = ruleset::rules(&said.stdout).iter().find(ours) {
        ctx.change(&["nft", "delete", "rule", family, table, chain, "handle", &rule.handle.to_string()])?;
    }
    Ok(())
}

/// Tells what is not ours to change.
pub(super) fn warn(ctx: &Ctx) -> Result<()> {
    let loaded_at_boot = ctx
        .query(&["systemctl", "is-enabled", "nftables.service"])
        .is_ok_and(|said| said.stdout.trim() == "enabled");
    if loaded_at_boot {
        ctx.note(
            "nftables: ports are open now, but nftables.service loads the user's own rules at boot; \
             add the ports there, or run this again after a restart",
        );
    }
    for chain in
        chains(ctx)?.iter().filter(|chain| chain.hook == "forward" && chain.drops && !chain.of_iptables())
    {
        ctx.note(format!(
            "nftables: chain {chain} drops forwarded traffic, so pods may not reach other nodes"
        ));
    }
    Ok(())
}

/// Input chains that filter, with their rules.
fn filtering(ctx: &Ctx) -> Result<Vec<(Chain, Vec<Rule>)>> {
    let mut filtering = Vec::new();
    for chain in chains(ctx)?.into_iter().filter(|chain| chain.hook == "input" && !chain.of_kubernetes()) {
        let said = ctx.query(&["nft", "-j", "list", "chain", &chain.family, &chain.table, &chain.name])?;
        let rules = ruleset::rules(&said.stdout);
        if chain.drops || rules.iter().any(|rule| rule.blocks_all) {
            filtering.push((chain, rules));
        }
    }
    Ok(filtering)
}

/// All base chains. Cheap also where kube-proxy has thousands of rules; where nft cannot answer
/// (no permission, no kernel support) nothing filters that we could see.
fn chains(ctx: &Ctx) -> Result<Vec<Chain>> {
    if !ctx.has_program("nft") {
        return Ok(Vec::new());
    }
    Ok(ruleset::chains(&ctx.query(&["nft", "-j", "list", "chains"])?.stdout))
}
