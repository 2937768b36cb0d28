//! ufw: rules as it keeps them in `/etc/ufw/user.rules`.

use swdt_wire::{PortRange, Protocol};

use super::{COMMENT, gaps, parse_span, protocol, span};
use crate::{Ctx, Result};

/// Is ufw switched on? Then its rules also come back after a restart.
pub(super) fn enabled(ctx: &Ctx) -> bool {
    let conf = ctx.read_trimmed("/etc/ufw/ufw.conf").ok().flatten().unwrap_or_default();
    ctx.has_program("ufw") && setting(&conf, "ENABLED").is_some_and(|value| value.eq_ignore_ascii_case("yes"))
}

/// What to add: words of `ufw`.
pub(super) fn missing(ctx: &Ctx, ports: &[PortRange]) -> Result<Vec<String>> {
    let defaults = ctx.read_trimmed("/etc/default/ufw")?.unwrap_or_default();
    if setting(&defaults, "DEFAULT_INPUT_POLICY").is_some_and(|policy| policy.eq_ignore_ascii_case("ACCEPT"))
    {
        return Ok(Vec::new());
    }
    let open = open(&ctx.read_trimmed("/etc/ufw/user.rules")?.unwrap_or_default());
    let words = |ports: &PortRange| {
        format!("allow proto {} from any to any port {}", protocol(ports.protocol), span(ports, ':'))
    };
    Ok(gaps(ports, &open).iter().map(words).collect())
}

pub(super) fn add(ctx: &Ctx, words: &str) -> Result<()> {
    let mut argv = vec!["ufw"];
    argv.extend(words.split(' '));
    argv.extend(["comment", COMMENT]);
    ctx.change(&argv)
}

/// Deleting what is not there is fine for ufw, and it can delete while it is switched off.
pub(super) fn remove(ctx: &Ctx, words: &str) -> Result<()> {
    if !ctx.has_program("ufw") {
        return Ok(());
    }
    let mut argv = vec!["ufw", "--force", "delete"];
    argv.extend(words.split(' '));
    ctx.change(&argv)
}

/// A shell-like `NAME=value` or `NAME="value"`.
pub(crate) fn setting<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim().trim_matches('"'))
}

/// Ports that anybody may reach. ufw keeps each rule as a comment:
/// `### tuple ### ACTION PROTOCOL PORTS TO PORTS FROM DIRECTION [comment=HEX]`.
pub(crate) fn open(rules: &str) -> Vec<PortRange> {
    let mut open = Vec::new();
    for line in rules.lines() {
        let Some(tuple) = line.strip_prefix("### tuple ### ") else { continue };
        let fields: Vec<&str> = tuple.split_whitespace().collect();
        let ["allow", name, ports, "0.0.0.0/0", "any", "0.0.0.0/0", "in", ..] = fields[..] else { continue };
        let protocols: &[Protocol] = match name {
            "tcp" => &[Protocol::Tcp],
            "udp" => &[Protocol::Udp],
            "any" => &[Protocol::Tcp, Protocol::Udp],
            _ => continue,
        };
        for &protocol in protocols {
            if ports == "any" {
                open.push(PortRange { protocol, from: 0, to: u16::MAX });
            }
            open.extend(ports.split(',').filter_map(|part| parse_span(part, protocol, ':')));
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_ports() {
        let rules = "\
*filter
### RULES ###

### tuple ### allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 in
-A ufw-user-input -p tcp --dport 22 -j ACCEPT

### tuple ### allow udp 30000:32767 0.0.0.0/0 any 0.0.0.0/0 in comment=73776474
### tuple ### allow any 53,5353 0.0.0.0/0 any 0.0.0.0/0 in
### tuple ### allow tcp 6443 0.0.0.0/0 any 10.0.0.0/8 in
### tuple ### allow tcp 6443 0.0.0.0/0 any 0.0.0.0/0 in_eth1
### tuple ### deny tcp 25 0.0.0.0/0 any 0.0.0.0/0 in
";
        let open: Vec<String> = open(rules)
            .iter()
            .map(|ports| format!("{}/{}", span(ports, '-'), protocol(ports.protocol)))
            .collect();
        assert_eq!(open, ["22/tcp", "30000-32767/udp", "53/tcp", "5353/tcp", "53/udp", "5353/udp"]);
    }

    #[test]
    fn settings() {
        assert_eq!(setting("# c\nDEFAULT_INPUT_POLICY=\"DROP\"\n", "DEFAULT_INPUT_POLICY"), Some("DROP"));
        assert_eq!(setting("", "ENABLED"), None);
    }
}
