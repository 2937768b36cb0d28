//! Networks that are routed, of all that Windows lists. Pure: what is there comes in as data.

use std::net::{IpAddr, Ipv4Addr};

/// An adapter that lasts: its number, name, and addresses with their prefixes.
pub(super) type Lasting<'a> = (u32, &'a str, &'a [(IpAddr, u8)]);

/// Network, prefix, and the name of the adapter. Windows lists routes to its own addresses, to broadcasts and to
/// groups as well, which lead nowhere else; and the default route is no network.
pub(super) fn routed(
    all: impl IntoIterator<Item = (Ipv4Addr, u8, u32)>,
    adapters: &[Lasting<'_>],
) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = all
        .into_iter()
        .filter(|(to, prefix, _)| {
            *prefix > 0
                && !to.is_loopback()
                && !to.is_link_local()
                && !to.is_multicast()
                && !to.is_broadcast()
                && !to.is_unspecified()
        })
        .filter_map(|(to, prefix, index)| {
            let (_, name, addresses) = adapters.iter().find(|(of, _, _)| *of == index)?;
            let own = addresses.iter().any(|(ip, length)| prefix == 32 && is_end(to, *ip, *length));
            (!own).then(|| (format!("{to}/{prefix}"), (*name).to_owned()))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Is it the address itself, or the broadcast of its network?
fn is_end(to: Ipv4Addr, ip: IpAddr, prefix: u8) -> bool {
    let IpAddr::V4(ip) = ip else { return false };
    let hosts = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
    to == ip || u32::from(to) == u32::from(ip) | hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_that_lead_elsewhere_are_told() {
        let own: [(IpAddr, u8); 2] = [("192.168.1.7".parse().unwrap(), 24), ("fd00::7".parse().unwrap(), 64)];
        let route = |to: &str, prefix, index| (to.parse().unwrap(), prefix, index);
        let all = [
            route("0.0.0.0", 0, 4),
            route("192.168.1.0", 24, 4),
            route("192.168.1.7", 32, 4),
            route("192.168.1.255", 32, 4),
            route("10.1.2.3", 32, 4),
            route("10.244.0.0", 16, 4),
            route("10.244.1.0", 24, 9),
            route("127.0.0.0", 8, 1),
            route("224.0.0.0", 4, 4),
            route("255.255.255.255", 32, 4),
        ];
        let told = routed(all, &[(4, "Ethernet", &own)]);
        let told: Vec<String> = told.into_iter().map(|(to, over)| format!("{to} {over}")).collect();
        assert_eq!(told, ["10.1.2.3/32 Ethernet", "10.244.0.0/16 Ethernet", "192.168.1.0/24 Ethernet"]);
    }
}
