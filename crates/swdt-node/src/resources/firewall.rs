//! [`Firewall`]: ports that must be reachable, in whatever firewall is active.
//!
//! Firewalls are never switched on or off. What is open already is left alone; only the gaps are
//! opened, so that revert closes exactly what was closed before us. Each backend speaks in its own
//! words ("adds"): lines that the receipt keeps and that the backend can take back.

pub(crate) mod firewalld;
pub(crate) mod nftables;
pub(crate) mod ufw;

use swdt_wire::{Firewall, FirewallFact, PortRange, Prior, Protocol, Status};

use super::{Behaviour, Reverted};
use crate::{Ctx, Error, Result};

/// Marks our rules where a firewall lets rules carry a comment.
const COMMENT: &str = "swdt";

/// Which firewall filters incoming traffic? Reads files; asks `nft` only when it is there and no
/// front end is active, since the front ends' rules would show up in it as well.
pub(crate) fn active(ctx: &Ctx) -> Result<FirewallFact> {
    if ctx.live() && firewalld::runs(ctx) {
        Ok(FirewallFact::Firewalld)
    } else if ufw::enabled(ctx) {
        Ok(FirewallFact::Ufw)
    } else if ctx.live() && nftables::filters(ctx)? {
        Ok(FirewallFact::Nftables)
    } else {
        Ok(FirewallFact::None)
    }
}

fn name(firewall: FirewallFact) -> &'static str {
    match firewall {
        FirewallFact::None => "none",
        FirewallFact::Firewalld => "firewalld",
        FirewallFact::Ufw => "ufw",
        FirewallFact::Nftables => "nftables",
    }
}

/// What has to be added, in the words of the active firewall.
fn missing(ctx: &Ctx, firewall: FirewallFact, ports: &[PortRange]) -> Result<Vec<String>> {
    match firewall {
        FirewallFact::None => Ok(Vec::new()),
        FirewallFact::Firewalld => firewalld::missing(ctx, ports),
        FirewallFact::Ufw => ufw::missing(ctx, ports),
        FirewallFact::Nftables => nftables::missing(ctx, ports),
    }
}

/// A scratch root filters nothing.
fn active_here(ctx: &Ctx) -> Result<FirewallFact> {
    if ctx.live() { active(ctx) } else { Ok(FirewallFact::None) }
}

impl Behaviour for Firewall {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let firewall = active_here(ctx)?;
        let missing = missing(ctx, firewall, &self.ports)?;
        Ok(if missing.is_empty() {
            Status::Satisfied
        } else {
            Status::Differs(format!("{} lacks: {}", name(firewall), missing.join("; ")))
        })
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        let firewall = active_here(ctx)?;
        let adds = missing(ctx, firewall, &self.ports)?;
        let files = if firewall == FirewallFact::Firewalld { firewalld::files(ctx)? } else { Vec::new() };
        Ok(Prior::Firewall { backend: name(firewall).into(), adds, files })
    }

    /// Ports asked for later have to be closed again as well.
    fn prior_again(&self, ctx: &Ctx, first: &Prior) -> Result<Prior> {
        let mut now = self.prior(ctx)?;
        if let (
            Prior::Firewall { backend: was, adds: before, files: first },
            Prior::Firewall { backend, adds, files },
        ) = (first, &mut now)
        {
            if was == backend {
                files.clone_from(first);
                let new = std::mem::replace(adds, before.clone());
                adds.extend(new.into_iter().filter(|add| !before.contains(add)));
            } else if !before.is_empty() {
                ctx.note(format!("what was opened in {was} stays open there; {backend} is used now"));
            }
        }
        Ok(now)
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let firewall = active_here(ctx)?;
        for add in missing(ctx, firewall, &self.ports)? {
            match firewall {
                FirewallFact::None => {}
                FirewallFact::Firewalld => firewalld::add(ctx, &add)?,
                FirewallFact::Ufw => ufw::add(ctx, &add)?,
                FirewallFact::Nftables => nftables::add(ctx, &add)?,
            }
        }
        if firewall == FirewallFact::Nftables {
            nftables::warn(ctx)?;
        }
        Ok(())
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, _force: bool) -> Result<Reverted> {
        let Prior::Firewall { backend, adds, files } = prior else {
            return Err(Error::new("the receipt of a firewall tells of something else"));
        };
        // Last first, as they may have been put on top of each other.
        for add in adds.iter().rev() {
            match backend.as_str() {
                "firewalld" => firewalld::remove(ctx, add)?,
                "ufw" => ufw::remove(ctx, add)?,
                "nftables" => nftables::remove(ctx, add)?,
                other => {
                    return Err(Error::new(format!(
                        "a receipt tells of firewall {other:?}, which is not known here"
                    )));
                }
            }
        }
        firewalld::put_back(ctx, files)?;
        Ok(Reverted::Yes)
    }
}

fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
    }
}

/// `6443` or `30000-32767`, with the separator a firewall wants.
fn span(ports: &PortRange, separator: char) -> String {
    if ports.from == ports.to {
        ports.from.to_string()
    } else {
        format!("{}{separator}{}", ports.from, ports.to)
    }
}

/// Reads what [`span`] writes.
fn parse_span(text: &str, protocol: Protocol, separator: char) -> Option<PortRange> {
    let (from, to) = text.split_once(separator).unwrap_or((text, text));
    range(protocol, from.trim().parse().ok()?, to.trim().parse().ok()?)
}

/// Ports from the lower to the higher; the other way round there are none.
fn range(protocol: Protocol, from: u16, to: u16) -> Option<PortRange> {
    (from <= to).then_some(PortRange { protocol, from, to })
}

/// The parts of `wanted` that `open` does not cover, without overlaps.
pub(crate) fn gaps(wanted: &[PortRange], open: &[PortRange]) -> Vec<PortRange> {
    let mut open = open.to_vec();
    let mut gaps = Vec::new();
    for want in wanted {
        let mut rest = vec![want.clone()];
        for range in open.iter().filter(|range| range.protocol == want.protocol) {
            rest = rest.iter().flat_map(|part| without(part, range)).collect();
        }
        open.extend(rest.iter().cloned());
        gaps.extend(rest);
    }
    gaps
}

/// `part` minus `range`.
fn without(part: &PortRange, range: &PortRange) -> Vec<PortRange> {
    if range.to < part.from || range.from > part.to {
        return vec![part.clone()];
    }
    let mut rest = Vec::new();
    if range.from > part.from {
        rest.push(PortRange { to: range.from - 1, ..part.clone() });
    }
    if range.to < part.to {
        rest.push(PortRange { from: range.to + 1, ..part.clone() });
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(from: u16, to: u16) -> PortRange {
        PortRange { protocol: Protocol::Tcp, from, to }
    }

    #[test]
    fn only_gaps_are_opened() {
        assert_eq!(gaps(&[tcp(10, 20)], &[]), [tcp(10, 20)]);
        assert_eq!(gaps(&[tcp(10, 20)], &[tcp(12, 13), tcp(20, 30)]), [tcp(10, 11), tcp(14, 19)]);
        assert_eq!(gaps(&[tcp(10, 20)], &[tcp(0, u16::MAX)]), []);
        assert_eq!(gaps(&[tcp(10, 20), tcp(15, 25)], &[]), [tcp(10, 20), tcp(21, 25)]);
        let udp = PortRange { protocol: Protocol::Udp, from: 10, to: 20 };
        assert_eq!(gaps(&[tcp(10, 20)], &[udp]), [tcp(10, 20)]);
    }

    #[test]
    fn spans() {
        assert_eq!(span(&tcp(6443, 6443), '-'), "6443");
        assert_eq!(span(&tcp(30000, 32767), ':'), "30000:32767");
        assert_eq!(parse_span("30000:32767", Protocol::Tcp, ':'), Some(tcp(30000, 32767)));
        assert_eq!(parse_span("ssh", Protocol::Tcp, ':'), None);
        assert_eq!(parse_span("30000:3276", Protocol::Tcp, ':'), None);
    }
}
