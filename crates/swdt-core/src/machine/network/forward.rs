//! Hosts that forward nothing by default: Docker and ufw set iptables' FORWARD policy to DROP, and no
//! other table can overrule a drop. There, and only there, the cluster's bridge gets two rules of its own
//! in front, marked by the cluster's table name.

use crate::{
    Result,
    machine::{names::ClusterNames, tool},
};

/// Lets the bridge through, where it would not be.
pub(super) fn open(names: &ClusterNames) -> Result<()> {
    if !drops() {
        return Ok(());
    }
    for rule in rules(names).iter().filter(|rule| !there(rule)) {
        iptables("--insert", rule)?;
    }
    Ok(())
}

/// Takes the rules away again, whatever the policy is by now.
pub(super) fn close(names: &ClusterNames) -> Result<()> {
    for rule in rules(names).iter().filter(|rule| there(rule)) {
        iptables("--delete", rule)?;
    }
    Ok(())
}

/// Are rules of the cluster there?
pub(super) fn is_open(names: &ClusterNames) -> bool {
    rules(names).iter().any(there)
}

fn drops() -> bool {
    tool::find("iptables").is_some()
        && tool::run("iptables", ["--list-rules", "FORWARD"])
            .is_ok_and(|rules| rules.lines().any(|line| line.trim() == "-P FORWARD DROP"))
}

/// A rule without its act and chain.
type Rule = [String; 8];

fn rules(names: &ClusterNames) -> [Rule; 2] {
    ["--in-interface", "--out-interface"].map(|side| {
        [side, &names.bridge, "--match", "comment", "--comment", &names.table, "--jump", "ACCEPT"]
            .map(str::to_owned)
    })
}

fn there(rule: &Rule) -> bool {
    tool::find("iptables").is_some() && iptables("--check", rule).is_ok()
}

fn iptables(act: &str, rule: &Rule) -> Result<String> {
    let words = ["--wait", act, "FORWARD"].into_iter();
    tool::run("iptables", words.chain(rule.iter().map(String::as_str)))
}
