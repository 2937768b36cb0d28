//! What this machine is: [`Facts`] of Windows, read from the registry and a few calls.
//!
//! As on Linux, nothing that changes by itself is reported, and no program is started.

#[path = "windows/network.rs"]
mod routes;
#[path = "windows/strangers.rs"]
mod strangers;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    net::IpAddr,
    path::Path,
};

use swdt_win::{adapters, network, process, system};
use swdt_wire::{
    Adapter, Address, Disk, Facts, FirewallFact, Login, Os, Route, Virtualization, WindowsFacts,
};

use crate::{
    Ctx, Result, os, receipts,
    registry::{has_key, keys, number, read, text},
    resources::windows::{hns_network, service},
    state::State,
};

const VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";
const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
const NAMES: &str = r"SYSTEM\CurrentControlSet\Control\ComputerName";
const FIREWALL: &str = r"SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy";
const FIREWALL_BY_POLICY: &str = r"SOFTWARE\Policies\Microsoft\WindowsFirewall";
const PROFILES: [&str; 3] = ["DomainProfile", "StandardProfile", "PublicProfile"];

/// Less than this free is "nearly full".
const NEARLY_FULL: u64 = 2 << 30;

/// Features that matter, and a service that Windows has only with them. A key alone is none: settings for the
/// service can be there before it.
const FEATURES: [(&str, &str); 2] = [("Containers", "hns"), ("Microsoft-Hyper-V", "vmms")];

/// Switches and endpoints of container networks, which come and go with the cluster.
const NOT_OURS: [&str; 3] = ["vEthernet (nat)", "vEthernet (cbr0)", "vEthernet (flannel"];

/// Services of Windows that settings are about.
const SETTINGS: [&str; 2] = ["W32Time", "WinDefend"];

/// What installs of others leave behind, where swdt would put its own.
const TREES: [&str; 6] = [
    r"C:\k",
    r"C:\etc\cni",
    r"C:\etc\kubernetes",
    r"C:\opt\cni",
    r"C:\Program Files\containerd",
    r"C:\var\lib\kubelet",
];

/// TCP ports of kubelet (health, API) and kube-proxy (metrics, health). VXLAN is none of them: it is spoken by the
/// switch of Windows, which has no socket.
const PORTS: [u16; 4] = [10248, 10249, 10250, 10256];

/// Our resource behind a member of a cluster: from then on, ports and networks are the cluster's.
const KUBEADM: &str = "kubeadm";

/// Looks at the machine.
pub fn gather(ctx: &Ctx) -> Result<Facts> {
    let build = text(VERSION, "CurrentBuildNumber");
    let uuid = text(r"SYSTEM\HardwareConfig", "LastConfig").trim_matches(['{', '}']).to_lowercase();
    let adapters = adapters::all().unwrap_or_default();
    let ours = receipts::ours(State::of(ctx).receipts());
    let port_owners = if ours.contains(KUBEADM) { BTreeMap::new() } else { listeners() };
    Ok(Facts {
        os: Os {
            family: "windows".into(),
            id: "windows".into(),
            version: build.clone(),
            name: text(VERSION, "ProductName"),
            kernel: format!(
                "{}.{}.{build}.{}",
                number(VERSION, "CurrentMajorVersionNumber"),
                number(VERSION, "CurrentMinorVersionNumber"),
                number(VERSION, "UBR")
            ),
        },
        arch: match std::env::consts::ARCH {
            "aarch64" => "arm64",
            _ => "amd64",
        }
        .into(),
        hostname: system::computer_name().unwrap_or_default().to_lowercase(),
        boot_id: boot_id().to_string(),
        machine_id: text(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid").to_lowercase(),
        product_uuid: Some(uuid).filter(|id| !id.is_empty()),
        cpus: std::thread::available_parallelism()
            .map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX)),
        memory_mib: system::memory() >> 20,
        disks: disks(),
        addresses: addresses(&adapters),
        virtualization: Virtualization::OwnKernel,
        emulated: os::emulated(),
        cgroup: 0,
        sys_resource: true,
        init: "services.exe".into(),
        packages: None,
        firewall: FirewallFact::None,
        selinux: None,
        swaps: Vec::new(),
        writable: true,
        routes: if ours.contains(KUBEADM) { Vec::new() } else { routed(&adapters) },
        strangers: strangers(ctx, &ours),
        taken_ports: port_owners.keys().copied().collect(),
        windows: Some(WindowsFacts {
            build: build.parse().unwrap_or(0),
            ubr: number(VERSION, "UBR"),
            edition: text(VERSION, "EditionID"),
            installation: text(VERSION, "InstallationType"),
            features: features(),
            pending_reboot: pending_reboot(),
            ssh_shell: ssh_shell(),
            firewall: firewall(),
            virtualization: Some(system::can_virtualize()),
            adapters: described(adapters),
            login: Login {
                user: process::user().unwrap_or_default(),
                home: env::home_dir().unwrap_or_default().to_string_lossy().into_owned(),
                admin: process::elevated(),
            },
            services: SETTINGS.into_iter().filter(|name| is_service(name)).map(str::to_owned).collect(),
            page_files: page_files(),
            firewall_by_policy: firewall_by_policy(),
            port_owners: port_owners.into_iter().filter(|(_, owner)| !owner.is_empty()).collect(),
            hns_networks: hns_network::names(),
        }),
    })
}

/// A number that Windows raises at every start.
pub fn boot_id() -> u32 {
    let key = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";
    number(key, "BootId")
}

fn disks() -> Vec<Disk> {
    let disks = system::disks().into_iter();
    disks
        .filter_map(|path| {
            let (size, free) = system::disk_space(Path::new(&path)).ok()?;
            Some(Disk { path, size_gib: size >> 30, nearly_full: free < NEARLY_FULL })
        })
        .collect()
}

fn ours(adapter: &adapters::Adapter) -> bool {
    !NOT_OURS.iter().any(|prefix| adapter.name.starts_with(prefix))
}

fn addresses(adapters: &[adapters::Adapter]) -> Vec<Address> {
    let reachable = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    };
    let mut found = Vec::new();
    for adapter in adapters.iter().filter(|adapter| ours(adapter)) {
        for (ip, prefix) in adapter.addresses.iter().filter(|(ip, _)| reachable(ip)) {
            found.push(Address { interface: adapter.name.clone(), cidr: format!("{ip}/{prefix}") });
        }
    }
    found.sort_by(|a, b| (&a.interface, &a.cidr).cmp(&(&b.interface, &b.cidr)));
    found.dedup();
    found
}

fn described(adapters: Vec<adapters::Adapter>) -> Vec<Adapter> {
    let wanted = adapters.into_iter().filter(|adapter| ours(adapter) && !adapter.mac.is_empty());
    let mut all: Vec<Adapter> = wanted
        .map(|adapter| Adapter { name: adapter.name, description: adapter.description, mac: adapter.mac })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// On unless it is off for all networks.
fn firewall() -> bool {
    PROFILES.iter().any(|profile| number(&format!(r"{FIREWALL}\{profile}"), "EnableFirewall") != 0)
}

/// Rules that this machine was given itself count unless a policy says otherwise, in so many words.
fn firewall_by_policy() -> bool {
    PROFILES.iter().any(|profile| {
        let merge = read(&format!(r"{FIREWALL_BY_POLICY}\{profile}"), "AllowLocalPolicyMerge");
        merge.ok().flatten().and_then(|raw| raw.number()) == Some(0)
    })
}

fn page_files() -> Option<Vec<String>> {
    let key = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management";
    read(key, "PagingFiles").ok().flatten().map(|raw| raw.items())
}

fn is_service(name: &str) -> bool {
    !text(&format!(r"{SERVICES}\{name}"), "ImagePath").is_empty()
}

fn features() -> Vec<String> {
    let enabled = FEATURES.iter().filter(|(_, service)| is_service(service));
    enabled.map(|(feature, _)| (*feature).to_owned()).collect()
}

fn routed(adapters: &[adapters::Adapter]) -> Vec<Route> {
    let all = network::routes().unwrap_or_default();
    let all = all.into_iter().map(|route| (route.to, route.prefix, route.adapter));
    let lasting: Vec<_> = adapters
        .iter()
        .filter(|adapter| ours(adapter))
        .map(|adapter| (adapter.index, adapter.name.as_str(), adapter.addresses.as_slice()))
        .collect();
    routes::routed(all, &lasting).into_iter().map(|(to, interface)| Route { to, interface }).collect()
}

/// Ports of [`PORTS`] at which somebody listens, with the program where it can be told.
fn listeners() -> BTreeMap<u16, String> {
    let all = network::listeners().unwrap_or_default().into_iter();
    let wanted = all.filter(|(port, _)| PORTS.contains(port));
    wanted.map(|(port, id)| (port, process::program_of(id).unwrap_or_default())).collect()
}

/// Renames of files that wait for a restart are not counted: some programs always have one.
pub fn pending_reboot() -> Vec<String> {
    let current = r"SOFTWARE\Microsoft\Windows\CurrentVersion";
    let mut why = Vec::new();
    if has_key(&format!(r"{current}\Component Based Servicing\RebootPending")) {
        why.push("a feature or an update of Windows".to_owned());
    } else if has_key(&format!(r"{current}\WindowsUpdate\Auto Update\RebootRequired")) {
        why.push("an update of Windows".to_owned());
    }
    let name = |which: &str| text(&format!(r"{NAMES}\{which}"), "ComputerName").to_lowercase();
    if name("ActiveComputerName") != name("ComputerName") {
        why.push("a new name of the machine".to_owned());
    }
    why
}

/// What sshd gives commands to.
fn ssh_shell() -> String {
    let path = text(r"SOFTWARE\OpenSSH", "DefaultShell");
    let name = path.rsplit('\\').next().unwrap_or_default().to_lowercase();
    match name.as_str() {
        "" | "cmd.exe" => "cmd".into(),
        "powershell.exe" => "powershell".into(),
        "pwsh.exe" => "pwsh".into(),
        _ => path,
    }
}

/// Services are known one by one. Directories are somebody else's only until swdt has been here: programs of ours
/// fill them by themselves.
fn strangers(ctx: &Ctx, ours: &BTreeSet<String>) -> Vec<String> {
    let services = keys(SERVICES).into_iter().map(|name| {
        let key = format!(r"{SERVICES}\{name}");
        strangers::Service {
            command: text(&key, "ImagePath"),
            description: text(&key, "Description"),
            wrapped: text(&format!(r"{key}\Parameters"), "Application"),
            name,
        }
    });
    let services = strangers::services(&services.collect::<Vec<_>>(), ours, service::MARK);
    let trees = TREES.iter().filter(|path| ours.is_empty() && !ctx.names_in(path).is_empty());
    services.into_iter().chain(trees.map(|path| (*path).to_owned())).collect()
}
