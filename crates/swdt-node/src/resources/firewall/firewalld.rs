//! firewalld: ports of the default zone, now (runtime) and after a restart (permanent). Never a
//! reload, which would drop what somebody opened for now only.

use std::fs;

use swdt_wire::{PathPrior, PortRange, Protocol};

use super::{super::path, gaps, parse_span, protocol, span};
use crate::{Ctx, Error, Result};

/// Zones that the user or firewalld itself wrote; such a file hides the distribution's.
const OWN: &str = "/etc/firewalld/zones";
/// Zones of the distribution.
const DISTRIBUTION: &str = "/usr/lib/firewalld/zones";

/// Words of an add that is for good.
const PERMANENT: &str = "--permanent ";

/// Does firewalld run on this machine? A container's process shows up in its host's `/proc` as well,
/// so the process must be in our own namespace.
pub(super) fn runs(ctx: &Ctx) -> bool {
    if !ctx.has_program("firewall-cmd") {
        return false;
    }
    let own = fs::read_link("/proc/self/ns/pid").ok();
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    processes.flatten().any(|process| {
        fs::read(process.path().join("comm")).is_ok_and(|comm| comm == b"firewalld\n")
            && fs::read_link(process.path().join("ns/pid")).ok() == own
    })
}

/// What to add: words of `firewall-cmd`.
pub(super) fn missing(ctx: &Ctx, ports: &[PortRange]) -> Result<Vec<String>> {
    let zone = default_zone_of(ctx)?;
    let said = ctx.query(&["firewall-cmd", &format!("--zone={zone}"), "--list-ports"])?;
    if !said.ok() {
        let output = said.stderr.lines().map(str::to_owned).collect();
        return Err(Error {
            message: format!("firewalld does not tell the ports of zone {zone}"),
            output,
            hint: None,
        });
    }
    let now = gaps(ports, &list(&said.stdout));
    let lasting = gaps(ports, &zone_ports(&zone_file(ctx, &zone)?));
    let words = |permanent: &str, ports: &PortRange| {
        format!("{permanent}--zone={zone} --add-port={}/{}", span(ports, '-'), protocol(ports.protocol))
    };
    Ok(now
        .iter()
        .map(|ports| words("", ports))
        .chain(lasting.iter().map(|ports| words(PERMANENT, ports)))
        .collect())
}

pub(super) fn add(ctx: &Ctx, words: &str) -> Result<()> {
    ctx.change(&argv("firewall-cmd", words))
}

/// Taking away what is not there is fine for firewalld.
pub(super) fn remove(ctx: &Ctx, words: &str) -> Result<()> {
    let words = words.replace("--add-port=", "--remove-port=");
    if ctx.live() && runs(ctx) {
        ctx.change(&argv("firewall-cmd", &words))
    } else if let Some(lasting) = words.strip_prefix(PERMANENT)
        && ctx.has_program("firewall-offline-cmd")
    {
        ctx.change(&argv("firewall-offline-cmd", lasting))
    } else {
        Ok(())
    }
}

/// The files that a lasting add writes: the zone, and firewalld's copy of the zone before.
pub(super) fn files(ctx: &Ctx) -> Result<Vec<PathPrior>> {
    let zone = default_zone_of(ctx)?;
    [".xml", ".xml.old"].iter().map(|end| path::capture(ctx, &format!("{OWN}/{zone}{end}"))).collect()
}

/// With our ports gone, firewalld's files still tell that we were here: one of its own where only the
/// distribution's was, which would hide every update of that. They go back as they were, unless somebody
/// changed the zone since.
pub(super) fn put_back(ctx: &Ctx, files: &[PathPrior]) -> Result<()> {
    let Some(zone) = files.first() else { return Ok(()) };
    let Some(now) = ctx.read(&zone.path)? else { return Ok(()) };
    let before = match path::prior_bytes(ctx, zone)? {
        Some(bytes) => bytes,
        None => ctx.read(&zone.path.replace(OWN, DISTRIBUTION))?.unwrap_or_default(),
    };
    if elements(&now) == elements(&before) {
        // The zone itself last: without it, a second try would not know that there is something to do.
        files.iter().rev().try_for_each(|file| path::restore(ctx, file))?;
    }
    Ok(())
}

/// What a zone says, whatever the order and layout it is written in.
pub(crate) fn elements(xml: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(xml);
    let words = |element: &str| {
        let spaced = element.replace("/>", " /> ").replace('>', " > ");
        spaced.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut all: Vec<String> =
        text.split('<').map(words).filter(|words| !words.is_empty() && !words.starts_with('?')).collect();
    all.sort();
    all
}

fn argv<'a>(program: &'a str, words: &'a str) -> Vec<&'a str> {
    std::iter::once(program).chain(words.split(' ')).collect()
}

fn default_zone_of(ctx: &Ctx) -> Result<String> {
    Ok(default_zone(&ctx.read_trimmed("/etc/firewalld/firewalld.conf")?.unwrap_or_default()))
}

/// `DefaultZone=` of firewalld.conf, which firewalld keeps up to date.
pub(crate) fn default_zone(conf: &str) -> String {
    conf.lines()
        .find_map(|line| line.trim().strip_prefix("DefaultZone="))
        .unwrap_or("public")
        .trim()
        .to_owned()
}

/// A zone's lasting settings: the user's file, else the distribution's.
fn zone_file(ctx: &Ctx, zone: &str) -> Result<String> {
    for dir in [OWN, DISTRIBUTION] {
        if let Some(text) = ctx.read_trimmed(&format!("{dir}/{zone}.xml"))? {
            return Ok(text);
        }
    }
    Ok(String::new())
}

/// `6443/tcp 30000-32767/udp` as `--list-ports` prints.
pub(crate) fn list(text: &str) -> Vec<PortRange> {
    text.split_whitespace()
        .filter_map(|word| {
            let (ports, name) = word.split_once('/')?;
            parse_span(ports, parse_protocol(name)?, '-')
        })
        .collect()
}

/// The `<port port="6443" protocol="tcp"/>` elements of a zone that stand for themselves (rules may
/// contain such elements as well, and narrow them).
pub(crate) fn zone_ports(xml: &str) -> Vec<PortRange> {
    let mut ports = Vec::new();
    let mut inside_rule = false;
    for element in xml.split('<') {
        if element.starts_with("rule") {
            inside_rule = !element.trim_end().ends_with("/>");
        } else if element.starts_with("/rule") {
            inside_rule = false;
        } else if element.starts_with("port ") && !inside_rule {
            let value = |name: &str| element.split_once(&format!("{name}=\""))?.1.split('"').next();
            ports.extend(
                value(" protocol")
                    .and_then(parse_protocol)
                    .and_then(|protocol| parse_span(value(" port")?, protocol, '-')),
            );
        }
    }
    ports
}

fn parse_protocol(name: &str) -> Option<Protocol> {
    match name {
        "tcp" => Some(Protocol::Tcp),
        "udp" => Some(Protocol::Udp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_a_zone() {
        let xml = r#"<?xml version="1.0" encoding="utf-8"?>
<zone>
  <short>Public</short>
  <service name="ssh"/>
  <port port="6443" protocol="tcp"/>
  <port protocol="udp" port="30000-32767"/>
  <rule family="ipv4">
    <source address="10.0.0.0/8"/>
    <port port="10250" protocol="tcp"/>
    <accept/>
  </rule>
  <port port="9" protocol="sctp"/>
  <forward/>
</zone>"#;
        assert_eq!(
            zone_ports(xml),
            [
                PortRange { protocol: Protocol::Tcp, from: 6443, to: 6443 },
                PortRange { protocol: Protocol::Udp, from: 30000, to: 32767 }
            ]
        );
    }

    #[test]
    fn a_file_of_the_zone_goes_unless_somebody_changed_the_zone() {
        let zone = |ports: &str| {
            format!(
                "<?xml version='1.0'?>\n<zone>\n<short>P</short>\n {ports}<service name=\"ssh\" />\n</zone>\n"
            )
        };
        for (now, there_after) in [(zone(""), false), (zone("<port port=\"1\" protocol=\"tcp\"/>"), true)] {
            let root = tempfile::tempdir().unwrap();
            let ctx = Ctx::new(root.path());
            for dir in [OWN, DISTRIBUTION] {
                fs::create_dir_all(ctx.path(dir)).unwrap();
            }
            let text = "<zone>\n  <service name=\"ssh\"/>\n  <short>P</short>\n</zone>";
            fs::write(ctx.path(&format!("{DISTRIBUTION}/public.xml")), text).unwrap();
            let files = files(&ctx).unwrap();
            for end in ["", ".old"] {
                fs::write(ctx.path(&format!("{OWN}/public.xml{end}")), &now).unwrap();
            }
            put_back(&ctx, &files).unwrap();
            assert_eq!(fs::read_dir(ctx.path(OWN)).unwrap().count() == 2, there_after);
            assert_eq!(ctx.path(&format!("{OWN}/public.xml")).exists(), there_after);
        }
    }

    #[test]
    fn zone_and_list() {
        assert_eq!(default_zone("# x\nDefaultZone=FedoraServer\n"), "FedoraServer");
        assert_eq!(default_zone(""), "public");
        assert_eq!(list("22/tcp 1025-65535/udp\n").len(), 2);
        assert_eq!(list("\n"), []);
    }
}
