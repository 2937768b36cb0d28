//! Addresses other machines could reach, and networks this one can.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::{
    ifaddrs::getifaddrs,
    net::if_::InterfaceFlags,
    sys::socket::{SockaddrIn, SockaddrStorage},
};
use swdt_wire::{Address, Route};

use super::text;
use crate::Ctx;

/// Interfaces of pod networks and container engines: other machines cannot reach their addresses, and
/// they come and go with the cluster, which would spoil comparing facts.
const NOT_OURS: [&str; 17] = [
    "antrea-gw",
    "br-int",
    "cali",
    "cilium_",
    "cni",
    "docker",
    "flannel",
    "genev_sys",
    "kube-",
    "lxc",
    "nodelocaldns",
    "ovn-k8s",
    "podman",
    "tunl",
    "veth",
    "virbr",
    "vxlan",
];

/// Flags in `/proc/net/if_inet6` of addresses that go away by themselves: temporary, deprecated,
/// tentative, failed duplicate detection.
const FLEETING: u8 = 0x01 | 0x20 | 0x40 | 0x08;

/// All addresses, sorted.
pub(super) fn addresses(ctx: &Ctx) -> Vec<Address> {
    let mut found = if ctx.live() { ipv4() } else { Vec::new() };
    found.extend(ipv6(&text(ctx, "/proc/net/if_inet6")));
    found.retain(|address| lasting(&address.interface));
    found.sort_by(|a, b| (&a.interface, &a.cidr).cmp(&(&b.interface, &b.cidr)));
    found.dedup();
    found
}

/// Routed networks, sorted. Lines such as `eth0 0001A8C0 00000000 0001 0 0 100 00FFFFFF 0 0 0`: interface, network,
/// gateway, flags, three counters, mask; addresses are hexadecimal, first byte last. The default route is none.
pub(crate) fn routes(text: &str) -> Vec<Route> {
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [interface, to, _, _, _, _, _, mask, ..] = fields[..] else { return None };
        let address = |hex| Some(u32::from_str_radix(hex, 16).ok()?.swap_bytes());
        let (to, prefix) = (Ipv4Addr::from(address(to)?), address(mask)?.leading_ones());
        (prefix > 0 && lasting(interface) && reachable(to.into()))
            .then(|| Route { to: format!("{to}/{prefix}"), interface: interface.to_owned() })
    };
    let mut routes: Vec<Route> = text.lines().skip(1).filter_map(route).collect();
    routes.sort_by(|a, b| (&a.interface, &a.to).cmp(&(&b.interface, &b.to)));
    routes.dedup();
    routes
}

fn lasting(interface: &str) -> bool {
    !NOT_OURS.iter().any(|prefix| interface.starts_with(prefix))
}

fn ipv4() -> Vec<Address> {
    let Ok(interfaces) = getifaddrs() else { return Vec::new() };
    interfaces
        .filter(|interface| interface.flags.contains(InterfaceFlags::IFF_UP))
        .filter_map(|interface| {
            let v4 = |storage: SockaddrStorage| storage.as_sockaddr_in().map(SockaddrIn::ip);
            let (ip, mask) = (v4(interface.address?)?, v4(interface.netmask?)?);
            let prefix = u32::from(mask).count_ones();
            reachable(ip.into())
                .then(|| Address { interface: interface.interface_name, cidr: format!("{ip}/{prefix}") })
        })
        .collect()
}

/// Lines such as `fd000000000000000000000000000002 02 40 00 80     eth0`: address, index, prefix length,
/// scope, flags (all hexadecimal), name.
pub(crate) fn ipv6(text: &str) -> Vec<Address> {
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [address, _, prefix, _, flags, interface] = fields[..] else { return None };
            let ip = Ipv6Addr::from(u128::from_str_radix(address, 16).ok()?);
            let prefix = u8::from_str_radix(prefix, 16).ok()?;
            // Flags above the first byte say how the address is managed, not whether it lasts.
            let flags = u32::from_str_radix(flags, 16).ok()?;
            let lasts = flags & u32::from(FLEETING) == 0;
            (lasts && reachable(ip.into()))
                .then(|| Address { interface: interface.to_owned(), cidr: format!("{ip}/{prefix}") })
        })
        .collect()
}

fn reachable(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_the_machine_itself() {
        let text = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
tun0\t0000F40A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth0\t0000FEA9\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
cni0\t0000F40A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
";
        let found: Vec<String> =
            routes(text).into_iter().map(|route| format!("{} {}", route.to, route.interface)).collect();
        assert_eq!(found, ["192.168.1.0/24 eth0", "10.244.0.0/16 tun0"]);
    }

    #[test]
    fn ipv6_without_what_goes_away_by_itself() {
        let text = "\
00000000000000000000000000000001 01 80 10 80       lo
fe80000000000000505400fffe123456 02 40 20 80     eth0
fd000000000000000000000000000002 02 40 00 80     eth0
20010db8000000001234567812345678 02 40 00 01     eth0
20010db800000000505400fffe123456 02 40 00 00     eth0
";
        let found: Vec<String> = ipv6(text).into_iter().map(|address| address.cidr).collect();
        assert_eq!(found, ["fd00::2/64", "2001:db8::5054:ff:fe12:3456/64"]);
    }
}
