//! What a machine's network card is plugged into: the cluster's bridge with the rights of root, else its private segment.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::Ipv4Net;

use super::{
    arguments::{Card, Wire},
    names::{MachineNames, make_run_dir},
    segment, switch,
};
use crate::{
    Result,
    machine::{Context, names::ClusterNames, network, resolver, shared_kernel, tool},
    spec::Wiring,
};

const SSH: u16 = 22;

/// A card that is plugged in, and what its machine must know.
#[derive(Debug, Clone)]
pub(super) struct Plugged {
    pub(super) card: Card,
    /// The machine's own address, with its range.
    pub(super) address: Ipv4Net,
    /// Its way out.
    pub(super) gateway: Ipv4Addr,
    /// Who answers for names.
    pub(super) dns: Vec<Ipv4Addr>,
    /// Where the host reaches its SSH.
    pub(super) ssh: SocketAddr,
    /// The port of the host's loopback that leads to its API server, where its own address does not.
    pub(super) api: Option<u16>,
}

impl Plugged {
    /// The address as the cluster knows it.
    pub(super) fn ip(&self) -> IpAddr {
        IpAddr::V4(self.address.addr())
    }
}

/// The wiring that fits this user.
pub(super) fn choose(asked: Option<Wiring>) -> Wiring {
    asked.unwrap_or(if nix::unistd::geteuid().is_root() { Wiring::Bridge } else { Wiring::Segment })
}

/// Plugs the machine in; harmless when it is. Gone after a reboot of the host, so done before every start.
pub(super) fn plug(ctx: &Context, names: &MachineNames, wiring: Wiring) -> Result<Plugged> {
    let run = make_run_dir(ctx)?;
    let (network, address, dns, ssh, api, wire);
    match wiring {
        Wiring::Bridge => {
            (network, address) = network::ensure(ctx, &names.node)?;
            shared_kernel::hold(ctx)?;
            tap(&names.tap, &ClusterNames::of(ctx).bridge)?;
            dns = resolver::servers_for_machines();
            ssh = SocketAddr::from((address, SSH));
            api = None;
            wire = Wire::Tap(names.tap.clone());
        }
        Wiring::Segment => {
            (network, address) = network::reserve_any(ctx, &names.node)?;
            let forward = segment::ensure(ctx, names, network.network, network.gateway(), address)?;
            ssh = SocketAddr::from((Ipv4Addr::LOCALHOST, forward.ssh));
            api = Some(forward.api);
            dns = vec![segment::dns(network.network)];
            wire = Wire::Segment { port: names.port(), switch: run.join(switch::SOCKET) };
        }
    }
    let prefix = network.network.prefix_len();
    Ok(Plugged {
        card: Card { mac: names.mac.clone(), wire },
        address: Ipv4Net::new_assert(address, prefix),
        gateway: network.gateway(),
        dns,
        ssh,
        api,
    })
}

fn tap(name: &str, bridge: &str) -> Result<()> {
    if !network::link_exists(name) {
        tool::run("ip", ["tuntap", "add", "dev", name, "mode", "tap"])?;
    }
    tool::run("ip", ["link", "set", "dev", name, "master", bridge, "up"]).map(drop)
}

/// Unplugs a machine for good.
pub(super) fn unplug(ctx: &Context, names: &MachineNames) -> Result<()> {
    network::remove_link(&names.tap);
    segment::forget(ctx, names)?;
    network::forget(ctx, &names.node)
}
