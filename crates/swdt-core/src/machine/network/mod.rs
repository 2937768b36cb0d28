//! The cluster's network: a range of addresses of its own; and, where machines are plugged into the host, a bridge and a
//! way out.
//!
//! `<data>/host/networks/<id>.json` claims a range for a cluster, so that no two clusters take the same
//! one even while their bridges are down; `<cluster>/network.json` holds the addresses of its nodes.

mod forward;

use std::{
    collections::BTreeMap,
    fs::File,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

use super::{Context, files, names::ClusterNames, tool};
use crate::{Error, Result, id};

/// Where ranges are taken from: 10.213.0.0/24 to 10.213.255.0/24. Nobody's default.
const POOL: [u8; 2] = [10, 213];
/// Hosts of a range that nodes get; what is below is the bridge's and spare.
const HOSTS: std::ops::RangeInclusive<u8> = 10..=250;

/// A range and the cluster it belongs to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Claim {
    cluster: String,
    cluster_dir: PathBuf,
    network: Ipv4Net,
}

/// The network of a cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Network {
    /// Its range.
    pub(super) network: Ipv4Net,
    /// Addresses of its nodes; a node keeps its own until it is destroyed.
    addresses: BTreeMap<String, Ipv4Addr>,
}

impl Network {
    /// The bridge's own address, which is the machines' way out.
    pub(super) fn gateway(&self) -> Ipv4Addr {
        host(self.network, 1)
    }

    /// The address of a node, if it has one.
    pub(super) fn address(&self, node: &str) -> Option<Ipv4Addr> {
        self.addresses.get(node).copied()
    }
}

fn claims_dir(ctx: &Context) -> PathBuf {
    ctx.host_dir.join("networks")
}

fn file(ctx: &Context) -> PathBuf {
    ctx.cluster_dir.join("network.json")
}

/// Does the cluster have a range?
fn claimed(ctx: &Context) -> bool {
    claims_dir(ctx).join(format!("{}.json", ClusterNames::of(ctx).id)).exists()
}

/// Does the firewall of this host drop what machines on the cluster's bridge send?
pub(super) fn shut(ctx: &Context) -> bool {
    let names = ClusterNames::of(ctx);
    Path::new("/sys/class/net").join(&names.bridge).exists() && forward::drops() && !forward::is_open(&names)
}

/// Who drops what is passed on, in words; nobody where nothing is dropped.
pub(super) fn drops() -> Option<String> {
    forward::drops().then(|| "iptables has `-P FORWARD DROP`".to_owned())
}

/// Every claim of this data directory, by the cluster's id.
fn claims(ctx: &Context) -> Result<Vec<(String, Claim)>> {
    let dir = claims_dir(ctx);
    let mut claims = Vec::new();
    for name in files::names(&dir) {
        let Some(id) = name.strip_suffix(".json") else { continue };
        if let Some(claim) = files::read_json::<Claim>(&dir.join(&name))? {
            claims.push((id.to_owned(), claim));
        }
    }
    Ok(claims)
}

/// One change of networks at a time on this host. Not a file of `<data>`: two data directories have two of those, and
/// one set of addresses. Who is not root puts nothing on the host, and needs to agree with nobody else.
fn lock(ctx: &Context) -> Result<File> {
    if nix::unistd::geteuid().is_root() {
        files::lock_of_host("networks")
    } else {
        files::lock(&ctx.host_dir.join("networks.lock"))
    }
}

/// The network of the cluster, if it has one.
pub(super) fn load(ctx: &Context) -> Result<Option<Network>> {
    files::read_json(&file(ctx))
}

/// The network of the cluster, claimed if it has none.
fn load_or_claim(ctx: &Context, names: &ClusterNames) -> Result<Network> {
    match load(ctx)? {
        Some(network) => Ok(network),
        None => Ok(Network { network: claim(ctx, names)?, addresses: BTreeMap::new() }),
    }
}

/// The network of the cluster on this host, up, with an address for the node.
pub(super) fn ensure(ctx: &Context, node: &str) -> Result<(Network, Ipv4Addr)> {
    let names = ClusterNames::of(ctx);
    // Until the bridge is up nobody else can see that the range is taken.
    let _lock = lock(ctx)?;
    let (network, address) = any_address(ctx, &names, node)?;
    up(&names, &network)?;
    Ok((network, address))
}

/// The network of the cluster with an address for the node, on paper only: nothing of it is on this host.
pub(super) fn reserve_any(ctx: &Context, node: &str) -> Result<(Network, Ipv4Addr)> {
    let _lock = lock(ctx)?;
    any_address(ctx, &ClusterNames::of(ctx), node)
}

fn any_address(ctx: &Context, names: &ClusterNames, node: &str) -> Result<(Network, Ipv4Addr)> {
    let mut network = load_or_claim(ctx, names)?;
    let address = match network.address(node) {
        Some(address) => address,
        None => free_address(&network)?,
    };
    network.addresses.insert(node.to_owned(), address);
    files::make_dir(&ctx.cluster_dir)?;
    files::write_json(&file(ctx), &network)?;
    Ok((network, address))
}

/// Gives a node the address it had; whoever has it now is no node of the cluster in the end.
pub(super) fn reserve(ctx: &Context, node: &str, address: Ipv4Addr) -> Result<()> {
    let _lock = lock(ctx)?;
    let mut network = load_or_claim(ctx, &ClusterNames::of(ctx))?;
    if !network.network.contains(&address) {
        let message =
            format!("the machine had {address}, but the cluster's network is {} now", network.network);
        return Err(Error::new(id::ADDRESSES_EXHAUSTED, message));
    }
    network.addresses.insert(node.to_owned(), address);
    files::write_json(&file(ctx), &network)
}

/// Gives a node's address back.
pub(super) fn forget(ctx: &Context, node: &str) -> Result<()> {
    let _lock = lock(ctx)?;
    let Some(mut network) = load(ctx)? else { return Ok(()) };
    if network.addresses.remove(node).is_some() {
        files::write_json(&file(ctx), &network)?;
    }
    Ok(())
}

/// Removes the cluster's network; the claim goes last, because it is what finds the rest again.
pub(super) fn remove(ctx: &Context) -> Result<()> {
    let names = ClusterNames::of(ctx);
    let _lock = lock(ctx)?;
    if link_exists(&names.bridge) {
        tool::run("ip", ["link", "delete", &names.bridge])?;
    }
    if table_exists(&names.table) {
        tool::run("nft", ["delete", "table", "ip", &names.table])?;
    }
    forward::close(&names)?;
    files::remove_file(&file(ctx))?;
    files::remove_file(&claims_dir(ctx).join(format!("{}.json", names.id)))
}

/// What is left of the cluster's network, for people to read.
pub(super) fn traces(ctx: &Context) -> Vec<String> {
    let names = ClusterNames::of(ctx);
    let mut found = Vec::new();
    found.extend(link_exists(&names.bridge).then(|| format!("bridge {}", names.bridge)));
    found.extend(table_exists(&names.table).then(|| format!("nft table {}", names.table)));
    found.extend(forward::is_open(&names).then(|| format!("iptables rules of {}", names.table)));
    found.extend(claimed(ctx).then(|| format!("claim of a network by {}", names.id)));
    found
}

/// Is there an interface of this name?
pub(super) fn link_exists(name: &str) -> bool {
    Path::new("/sys/class/net").join(name).exists()
}

/// Removes an interface if it is there; its other end may have taken it along meanwhile.
pub(super) fn remove_link(name: &str) {
    if link_exists(name) {
        let _ = tool::run("ip", ["link", "delete", name]);
    }
}

/// Is there an nft table of this name?
fn table_exists(name: &str) -> bool {
    tool::run("nft", ["list", "table", "ip", name]).is_ok()
}

/// Makes bridge, way out and forwarding rules true; harmless when they are.
fn up(names: &ClusterNames, network: &Network) -> Result<()> {
    let bridge = names.bridge.as_str();
    if !link_exists(bridge) {
        still_free(network.network, &networks_of_host()?)?;
        tool::run("ip", ["link", "add", "name", bridge, "type", "bridge", "forward_delay", "0"])?;
    }
    tool::run("ip", ["link", "set", "dev", bridge, "alias", &names.alias])?;
    let own = format!("{}/{}", network.gateway(), network.network.prefix_len());
    tool::run("ip", ["address", "replace", &own, "dev", bridge])?;
    tool::run("ip", ["link", "set", "dev", bridge, "up"])?;
    if !table_exists(&names.table) {
        // Loaded whole or not at all. Everything in it is ours: a hash, and addresses.
        tool::run_with_input("nft", ["-f", "-"], &rules(names, network.network))?;
    }
    forward::open(names)
}

/// Frames between machines may pass these
/// hooks too (br_netfilter): they leave by the bridge and are not to be rewritten.
fn rules(names: &ClusterNames, network: Ipv4Net) -> String {
    let (table, bridge) = (&names.table, &names.bridge);
    format!(
        "table ip {table} {{\n\
         \tchain postrouting {{\n\t\ttype nat hook postrouting priority srcnat; policy accept;\n\
         \t\tip saddr {network} oifname != \"{bridge}\" masquerade\n\t}}\n\
         \tchain forward {{\n\t\ttype filter hook forward priority filter; policy accept;\n\
         \t\tiifname \"{bridge}\" accept\n\t\toifname \"{bridge}\" accept\n\t}}\n}}\n"
    )
}

/// The range this cluster has claimed, or the first free one, claimed.
fn claim(ctx: &Context, names: &ClusterNames) -> Result<Ipv4Net> {
    let dir = claims_dir(ctx);
    files::make_dir(&dir)?;
    let mut taken = networks_of_host()?;
    for (id, claim) in claims(ctx)? {
        if id == names.id {
            return Ok(claim.network);
        }
        // A bridge of a cluster that was removed by hand, if up, is in the list anyway.
        if claim.cluster_dir.exists() {
            taken.push(claim.network);
        }
    }
    let network = first_free(&taken)?;
    let claim = Claim { cluster: ctx.cluster.clone(), cluster_dir: ctx.cluster_dir.clone(), network };
    files::write_json(&dir.join(format!("{}.json", names.id)), &claim)?;
    Ok(network)
}

fn first_free(taken: &[Ipv4Net]) -> Result<Ipv4Net> {
    (0..=255)
        .map(|third| Ipv4Net::new_assert(Ipv4Addr::new(POOL[0], POOL[1], third, 0), 24))
        .find(|network| !taken.iter().any(|other| overlap(*network, *other)))
        .ok_or_else(|| {
            let [first, second] = POOL;
            let message =
                format!("no free network for the machines: {first}.{second}.0.0/16 is in use on this host");
            Error::new(id::NETWORK_TAKEN, message)
        })
}

/// A cluster keeps its range for as long as it lives; while its bridge was down, somebody else may have come.
fn still_free(network: Ipv4Net, taken: &[Ipv4Net]) -> Result<()> {
    let Some(other) = taken.iter().find(|other| overlap(network, **other)) else { return Ok(()) };
    let message = format!("the cluster's network {network} is taken on this host, by {other}");
    Err(Error::new(id::NETWORK_TAKEN, message).hinted(
        "`ip address` and `ip route` tell who has it; free it, or destroy the cluster and make it again",
    ))
}

fn overlap(one: Ipv4Net, other: Ipv4Net) -> bool {
    one.contains(&other.network()) || other.contains(&one.network())
}

fn free_address(network: &Network) -> Result<Ipv4Addr> {
    let mut free = HOSTS.map(|last| host(network.network, last));
    free.find(|address| !network.addresses.values().any(|taken| taken == address)).ok_or_else(|| {
        Error::new(id::ADDRESSES_EXHAUSTED, format!("no free address in {} is left", network.network))
    })
}

fn host(network: Ipv4Net, last: u8) -> Ipv4Addr {
    let [a, b, c, _] = network.network().octets();
    Ipv4Addr::new(a, b, c, last)
}

/// Networks the host has addresses in or routes to; the default route is no network.
fn networks_of_host() -> Result<Vec<Ipv4Net>> {
    let addresses = tool::run("ip", ["-json", "-4", "address", "show"])?;
    let routes = tool::run("ip", ["-json", "-4", "route", "show", "table", "all"])?;
    Ok(parse_networks(&addresses, &routes))
}

pub(crate) fn parse_networks(addresses: &str, routes: &str) -> Vec<Ipv4Net> {
    let list = |text: &str| serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap_or_default();
    let mut found = Vec::new();
    for link in list(addresses) {
        for info in link["addr_info"].as_array().into_iter().flatten() {
            let address = info["local"].as_str().and_then(|text| text.parse::<IpAddr>().ok());
            let prefix = info["prefixlen"].as_u64().and_then(|length| u8::try_from(length).ok());
            if let (Some(IpAddr::V4(address)), Some(prefix)) = (address, prefix) {
                found.extend(Ipv4Net::new(address, prefix));
            }
        }
    }
    for route in list(routes) {
        let Some(text) = route["dst"].as_str() else { continue };
        let network = text.parse().or_else(|_| text.parse::<Ipv4Addr>().map(Ipv4Net::from));
        found.extend(network.ok().filter(|network| network.prefix_len() > 0));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_range_nobody_uses_is_taken() {
        let routes =
            r#"[{"dst":"default","gateway":"192.0.2.1"},{"dst":"10.213.0.7"},{"dst":"10.213.2.0/23"}]"#;
        let addresses = r#"[{"ifname":"x","addr_info":[{"local":"10.213.1.9","prefixlen":25}]}]"#;
        let taken = parse_networks(addresses, routes);
        assert_eq!(taken.len(), 3);
        assert_eq!(first_free(&taken).unwrap().to_string(), "10.213.4.0/24");
        assert!(first_free(&["10.0.0.0/8".parse().unwrap()]).is_err());
        still_free("10.213.4.0/24".parse().unwrap(), &taken).unwrap();
        let error = still_free("10.213.3.0/24".parse().unwrap(), &taken).unwrap_err();
        assert!(error.message.ends_with("10.213.3.0/24 is taken on this host, by 10.213.2.0/23"), "{error}");
    }

    #[test]
    fn addresses_are_kept_and_not_given_twice() {
        let mut network = Network { network: "10.213.3.0/24".parse().unwrap(), addresses: BTreeMap::new() };
        let first = free_address(&network).unwrap();
        network.addresses.insert("a".into(), first);
        assert_eq!(first.to_string(), "10.213.3.10");
        assert_eq!(free_address(&network).unwrap().to_string(), "10.213.3.11");
        assert_eq!(network.gateway().to_string(), "10.213.3.1");
    }
}
