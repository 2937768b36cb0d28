//! Ports that must be reachable, as rules of the firewall of Windows with names of ours.
//!
//! The rules are read where Windows keeps them, in the registry, and changed by netsh.exe, which makes them
//! work at once.

use swdt_wire::{Firewall, PortRange, Prior, Protocol, Status};

use crate::{
    Ctx, Error, Result, registry,
    resources::{Behaviour, Reverted, foreign},
};

const RULES: &str = r"SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules";

/// Of receipts.
const BACKEND: &str = "windows";

impl Behaviour for Firewall {
    fn check(&self, _ctx: &Ctx) -> Result<Status> {
        let missing: Vec<String> = self.missing()?.into_iter().map(name).collect();
        Ok(if missing.is_empty() {
            Status::Satisfied
        } else {
            Status::Differs(format!("no rule {}", missing.join(", ")))
        })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        let adds = self.missing()?.into_iter().map(name).collect();
        Ok(Prior::Firewall { backend: BACKEND.into(), adds, files: Vec::new() })
    }

    fn prior_again(&self, _ctx: &Ctx, first: &Prior) -> Result<Prior> {
        let Prior::Firewall { adds, .. } = first else { return Err(foreign("firewall")) };
        let mut adds = adds.clone();
        for name in self.missing()?.into_iter().map(name) {
            if !adds.contains(&name) {
                adds.push(name);
            }
        }
        Ok(Prior::Firewall { backend: BACKEND.into(), adds, files: Vec::new() })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        self.missing()?.into_iter().try_for_each(|range| add(ctx, range))
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, _force: bool) -> Result<Reverted> {
        let Prior::Firewall { adds, .. } = prior else { return Err(foreign("firewall")) };
        for name in adds.iter().rev() {
            if rules().iter().any(|rule| field(rule, "Name") == Some(name)) {
                let name = format!("name={name}");
                netsh(ctx, &["delete", "rule", &name])?;
            }
        }
        Ok(Reverted::Yes)
    }
}

trait Missing {
    /// The ports for which there is no rule.
    fn missing(&self) -> Result<Vec<&PortRange>>;
}

impl Missing for Firewall {
    fn missing(&self) -> Result<Vec<&PortRange>> {
        if let Some(range) = self.ports.iter().find(|range| range.from == 0 || range.from > range.to) {
            return Err(Error::new(format!("{}-{} are no ports", range.from, range.to)));
        }
        let rules = rules();
        Ok(self.ports.iter().filter(|range| !rules.iter().any(|rule| opens(rule, range))).collect())
    }
}

/// What a rule of ours is called: the same for the same ports, so that it is found again.
fn name(range: &PortRange) -> String {
    let (protocol, _) = protocol(range.protocol);
    format!("swdt {protocol} {}", ports(range))
}

fn ports(range: &PortRange) -> String {
    if range.from == range.to { range.from.to_string() } else { format!("{}-{}", range.from, range.to) }
}

/// netsh's word and the number in a rule.
fn protocol(protocol: Protocol) -> (&'static str, &'static str) {
    match protocol {
        Protocol::Tcp => ("TCP", "6"),
        Protocol::Udp => ("UDP", "17"),
    }
}

fn add(ctx: &Ctx, range: &PortRange) -> Result<()> {
    let (word, _) = protocol(range.protocol);
    let (name, ports) = (format!("name={}", name(range)), format!("localport={}", ports(range)));
    let protocol = format!("protocol={word}");
    netsh(ctx, &["add", "rule", &name, "dir=in", "action=allow", "profile=any", &protocol, &ports])
}

fn netsh(ctx: &Ctx, what: &[&str]) -> Result<()> {
    let argv = [&["netsh.exe", "advfirewall", "firewall"], what].concat();
    ctx.change(&argv).map_err(|error| {
        error.hinted(
            "rules need the service MpsSvc, even where the firewall is off: `sc.exe query MpsSvc` tells its state",
        )
    })
}

/// `v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=10250|Name=…|`
fn rules() -> Vec<String> {
    registry::values(RULES).into_iter().filter_map(|(_, raw)| raw.text()).collect()
}

fn field<'a>(rule: &'a str, name: &str) -> Option<&'a str> {
    rule.split('|').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// Does our rule for these ports stand there, and work?
fn opens(rule: &str, range: &PortRange) -> bool {
    let (_, number) = protocol(range.protocol);
    let ports: Vec<&str> = rule
        .split('|')
        .filter_map(|part| part.strip_prefix("LPort=").or(part.strip_prefix("LPort2_10=")))
        .collect();
    field(rule, "Name") == Some(&name(range))
        && field(rule, "Action") == Some("Allow")
        && field(rule, "Active") == Some("TRUE")
        && field(rule, "Dir") == Some("In")
        && field(rule, "Protocol") == Some(number)
        && ports == [self::ports(range)]
}
