//! Web addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Parsed, wrong};
use crate::{id, words::brief};

/// A web address.
pub(in crate::config) fn url(text: &str) -> Parsed<String> {
    parse(text).map(|web| web.text)
}

/// The address of a mirror: paths are put behind it.
pub(in crate::config) fn mirror(text: &str) -> Parsed<String> {
    base(text).map(|web| web.text)
}

/// The same for one that machines reach, too: not one of this host alone.
pub(in crate::config) fn mirror_for_machines(text: &str) -> Parsed<String> {
    let web = base(text)?;
    if web.host.is_self() {
        return wrong(
            id::VALUE_INVALID,
            format!("machines cannot reach `{}`: that is themselves", brief(&web.server)),
            "write an address of this host that machines reach, and let the server listen there",
        );
    }
    Ok(web.text)
}

/// Does an address hold a login? It would end up in logs and records. `git@` names an account and no secret.
pub(in crate::config) fn holds_login(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let login = authority.rsplit_once('@').map(|(login, _)| login);
    let web = scheme.trim_start().to_ascii_lowercase().starts_with("http");
    login.is_some_and(|login| web || login.contains(':'))
}

/// An address as it is taken.
struct Web {
    text: String,
    /// With the port, as written.
    server: String,
    host: Host,
}

enum Host {
    Name(String),
    Ip(IpAddr),
}

impl Host {
    fn new(text: &str) -> Option<Self> {
        if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return inside.parse::<Ipv6Addr>().ok().map(|ip| Self::Ip(ip.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let label = |part: &str| {
            (1..=63).contains(&part.len())
                && part.chars().all(allowed)
                && !part.starts_with('-')
                && !part.ends_with('-')
        };
        if name.len() > 253 || !name.split('.').all(label) {
            return None;
        }
        // Programs take what ends in a number for an IP address, also `2130706433`, `127.1` and `0x7f.1`.
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with("0x") || last.chars().all(|c| c.is_ascii_digit()) {
            return name.parse::<Ipv4Addr>().ok().map(|ip| Self::Ip(ip.into()));
        }
        Some(Self::Name(name))
    }

    /// Does it mean whoever asks?
    fn is_self(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Ip(ip) => ip.to_canonical().is_loopback() || ip.to_canonical().is_unspecified(),
        }
    }
}

fn base(text: &str) -> Parsed<Web> {
    let web = parse(text)?;
    match web.text.find(['?', '#']) {
        None => Ok(web),
        Some(at) => wrong(
            id::VALUE_INVALID,
            format!(
                "`{}` is not the address of a mirror: paths are put behind it, so it has no `?` and no `#`",
                brief(text)
            ),
            format!("write `{}`", &web.text[..at]),
        ),
    }
}

fn parse(text: &str) -> Parsed<Web> {
    taken_apart(text).or_else(|why| {
        wrong(
            id::VALUE_INVALID,
            format!("`{}` is not a web address: {why}", brief(text)),
            "for example `https://example.com/files`; `http://` is taken, too",
        )
    })
}

/// The address, or why it is none.
fn taken_apart(text: &str) -> Result<Web, String> {
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("it has a blank or a line break".to_owned());
    }
    if let Some(letter) = text.chars().find(|c| r#""<>\^`{|}"#.contains(*c)) {
        return Err(format!("it has a `{letter}`"));
    }
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "https" && scheme != "http" {
        return Err("it begins with neither `https://` nor `http://`".to_owned());
    }
    let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // The colons of an IPv6 address are inside its brackets.
    let before_port = |at: &usize| server[..*at].ends_with(']') || !server[..*at].contains([':', '[']);
    let colon = server.rfind(':').filter(before_port);
    let (host, port) = colon.map_or((server, None), |at| (&server[..at], Some(&server[at + 1..])));
    if host.is_empty() {
        return Err("it names no server".to_owned());
    }
    let Some(known) = Host::new(host) else {
        return Err(format!("`{}` is neither an IP address nor a host name", brief(host)));
    };
    if let Some(port) = port
        && !port.parse::<u16>().is_ok_and(|number| number > 0 && !port.starts_with('+'))
    {
        return Err(format!("`{}` is no port, which is a number from 1 to 65535", brief(port)));
    }
    Ok(Web { text: format!("{scheme}://{rest}"), server: server.to_owned(), host: known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_they_are() {
        for good in [
            "https://example.com",
            "http://example.com:8080/a/b?c=d&e=%20#f",
            "http://127.0.0.1:3142/",
            "http://localhost/x",
            "http://[::1]:80/",
            "http://my_server/a",
            "http://127.example.com/",
        ] {
            assert_eq!(url(good).unwrap(), good);
        }
        assert_eq!(url("HTTP://Example.com/A").unwrap(), "http://Example.com/A");
    }

    #[test]
    fn what_is_wrong_with_an_address_is_told() {
        for (bad, why) in [
            ("example.com", "neither `https://` nor `http://`"),
            ("ftp://example.com", "neither `https://` nor `http://`"),
            ("http://mirror lan/debian", "a blank"),
            ("http://mirror/\ndebian", "a line break"),
            ("http://mirror\\debian", "it has a `\\`"),
            ("http:///debian", "names no server"),
            ("http://:80/", "names no server"),
            ("http://-x.example.com/", "`-x.example.com` is neither"),
            ("http://a..b/", "`a..b` is neither"),
            ("http://256.1.1.1/", "`256.1.1.1` is neither"),
            ("http://2130706433/", "`2130706433` is neither"),
            ("http://0x7f000001/", "`0x7f000001` is neither"),
            ("http://127.1/", "`127.1` is neither"),
            ("http://[::1/", "`[::1` is neither"),
            ("http://[::1]x/", "`[::1]x` is neither"),
            ("http://::1/", "`::1` is neither"),
            ("http://example.com:99999/", "`99999` is no port"),
            ("http://example.com:0/", "`0` is no port"),
            ("http://example.com:+80/", "`+80` is no port"),
            ("http://example.com:/", "`` is no port"),
        ] {
            let told = url(bad).unwrap_err();
            assert!(told.message.contains(why), "{bad:?}: {}", told.message);
            assert!(told.hint.contains("`http://` is taken"), "{}", told.hint);
        }
    }

    #[test]
    fn a_mirror_ends_with_a_path() {
        for (bad, instead) in [
            ("http://example.com/debian?x=1", "write `http://example.com/debian`"),
            ("http://example.com?x", "write `http://example.com`"),
            ("HTTPS://example.com/#f", "write `https://example.com/`"),
        ] {
            assert_eq!(mirror(bad).unwrap_err().hint, instead);
            assert_eq!(mirror_for_machines(bad).unwrap_err().hint, instead);
        }
        assert_eq!(mirror("http://localhost:3142/debian").unwrap(), "http://localhost:3142/debian");
    }

    #[test]
    fn machines_cannot_reach_this_host_by_its_own_names() {
        for own in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "app.localhost:80",
            "127.0.0.1",
            "127.9.9.9:3142",
            "0.0.0.0",
            "[::]",
            "[::1]:80",
            "[::ffff:127.0.0.1]",
            "[::ffff:0.0.0.0]",
        ] {
            let told = mirror_for_machines(&format!("http://{own}/debian")).unwrap_err();
            assert!(told.message.contains(&format!("cannot reach `{own}`")), "{}", told.message);
        }
        for other in ["127.example.com", "192.168.1.2:3142", "[fd00::1]", "localhost.example.com"] {
            mirror_for_machines(&format!("http://{other}/debian")).unwrap();
        }
    }

    #[test]
    fn logins_are_seen_however_they_are_written() {
        for held in
            ["https://token@example.com", "HTTPS://token@example.com", " https://token@x", "ssh://a:b@x"]
        {
            assert!(holds_login(held), "{held}");
        }
        for free in ["ssh://git@example.com/x", "https://example.com/@x", "git@example.com:x"] {
            assert!(!holds_login(free), "{free}");
        }
    }
}
