//! The name servers of a machine: the host's, if a machine can reach them.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
};

/// A host with systemd-resolved has a stub on its own loopback in the first, the real ones in the second.
const CANDIDATES: &[&str] = &["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/// The text of a machine's `/etc/resolv.conf`.
pub(super) fn text() -> String {
    choose(CANDIDATES.iter().filter_map(|path| fs::read_to_string(path).ok()))
}

/// Name servers that a machine can reach, of those.
pub(super) fn servers_for_machines() -> Vec<Ipv4Addr> {
    let text = text();
    let usable = servers(&text).filter(|server| !server.is_loopback());
    usable.filter_map(|server| if let IpAddr::V4(server) = server { Some(server) } else { None }).collect()
}

/// The first text with a server that is not on the host's loopback; the first of all when there is none,
/// so that a machine at least looks like its host.
fn choose(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<_> = texts.collect();
    let usable = texts.iter().find(|text| servers(text).any(|server| !server.is_loopback()));
    usable.or(texts.first()).cloned().unwrap_or_default()
}

pub(crate) fn servers(text: &str) -> impl Iterator<Item = IpAddr> {
    text.lines().filter_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_on_the_loopback_is_passed_over() {
        let (stub, real) = ("nameserver 127.0.0.53\n".to_owned(), "nameserver 192.0.2.53\n".to_owned());
        assert_eq!(choose([stub.clone(), real.clone()].into_iter()), real);
        assert_eq!(choose([real.clone(), stub.clone()].into_iter()), real);
        assert_eq!(choose([stub.clone()].into_iter()), stub);
    }
}
