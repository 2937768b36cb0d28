//! What this machine is: [`Facts`] of Windows, read from the registry and a few calls.
//!
//! As on Linux, nothing that changes by itself is reported, and no program is started.

use std::{net::IpAddr, path::Path};

use swdt_win::{adapters, system};
use swdt_wire::{Adapter, Address, Disk, Facts, FirewallFact, Os, Virtualization, WindowsFacts};

use crate::{
    Ctx, Result,
    registry::{has_key, number, text},
    resources::windows::{hns_network, service},
    state::State,
};

const VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";
const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
const NAMES: &str = r"SYSTEM\CurrentControlSet\Control\ComputerName";
const POLICY: &str = r"SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy";

/// Less than this free is "nearly full".
const NEARLY_FULL: u64 = 2 << 30;

/// Features that matter, and a service that Windows has only with them.
const FEATURES: [(&str, &str); 2] = [("Containers", "hns"), ("Microsoft-Hyper-V", "vmms")];

/// Switches and endpoints of container networks, which come and go with the cluster.
const NOT_OURS: [&str; 3] = ["vEthernet (nat)", "vEthernet (cbr0)", "vEthernet (flannel"];

/// What installs of others leave behind, where swdt would put its own.
const TREES: [&str; 4] = [r"C:\k", r"C:\etc\kubernetes", r"C:\var\lib\kubelet", r"C:\etc\cni"];
const PROGRAMS: [&str; 6] = ["kubelet", "containerd", "kube-proxy", "flanneld", "docker", "rke2"];

/// Looks at the machine.
pub fn gather(ctx: &Ctx) -> Result<Facts> {
    let build = text(VERSION, "CurrentBuildNumber");
    let uuid = text(r"SYSTEM\HardwareConfig", "LastConfig").trim_matches(['{', '}']).to_lowercase();
    let adapters = adapters::all().unwrap_or_default();
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
        cgroup: 0,
        sys_resource: true,
        init: "services.exe".into(),
        packages: None,
        firewall: FirewallFact::None,
        selinux: None,
        swaps: Vec::new(),
        writable: true,
        routes: Vec::new(),
        strangers: Vec::new(),
        taken_ports: Vec::new(),
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
            remains: remains(ctx),
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
    let profiles = ["DomainProfile", "StandardProfile", "PublicProfile"];
    profiles.iter().any(|profile| number(&format!(r"{POLICY}\{profile}"), "EnableFirewall") != 0)
}

fn features() -> Vec<String> {
    let enabled = FEATURES.iter().filter(|(_, service)| has_key(&format!(r"{SERVICES}\{service}")));
    enabled.map(|(feature, _)| (*feature).to_owned()).collect()
}

/// Renames of files that wait for a restart are not counted: some programs always have one.
fn pending_reboot() -> Vec<String> {
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

/// Once swdt has been here, what is there is its own; before, somebody else's.
fn remains(ctx: &Ctx) -> Vec<String> {
    if State::of(ctx).receipts().exists() {
        return Vec::new();
    }
    let services = PROGRAMS.iter().filter(|name| service::is_of_somebody_else(name));
    let services = services.map(|name| format!("service {name}"));
    let trees = TREES.iter().filter(|path| ctx.path(path).exists()).map(|path| (*path).to_owned());
    services.chain(trees).collect()
}
