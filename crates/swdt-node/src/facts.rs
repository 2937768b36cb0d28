//! What this machine is: [`Facts`], read from files and a few system calls.
//!
//! Everything here must be stable: two calls on an idle machine give equal facts, because equal facts
//! let a run end after one exec. So nothing that changes by itself is reported, and what a cluster
//! brings by itself (pod bridges, overlay devices) is left out.

pub(crate) mod limits;
pub(crate) mod network;
pub(crate) mod strangers;
#[cfg(test)]
#[path = "facts/windows/network.rs"]
mod windows_network;
#[cfg(test)]
#[path = "facts/windows/strangers.rs"]
mod windows_strangers;

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt};

use nix::sys::statvfs::{FsFlags, statvfs};
use swdt_wire::{Disk, Facts, Os, Virtualization};

use crate::{Ctx, Result, os, receipts, resources, state::State};

/// Directories whose file systems matter to a node.
const DISKS: [&str; 5] = ["/", "/var", "/var/lib/containerd", "/var/lib/etcd", "/var/lib/kubelet"];

/// Less than this free is "nearly full".
const NEARLY_FULL: u64 = 2 << 30;

/// `CAP_SYS_RESOURCE` as the kernel numbers it.
const CAP_SYS_RESOURCE: u32 = 24;

/// Looks at the machine. Starts a program at most to see whether nftables filters.
pub fn gather(ctx: &Ctx) -> Result<Facts> {
    let kernel = text(ctx, "/proc/sys/kernel/osrelease");
    let virtualization = virtualization(ctx, &kernel);
    let product_uuid = match virtualization {
        Virtualization::OwnKernel => ctx.read_trimmed("/sys/class/dmi/id/product_uuid").ok().flatten(),
        // The firmware is that of the host: all its containers would look like clones.
        Virtualization::SharedKernel => None,
    };
    let ours = receipts::ours(State::of(ctx).receipts());
    Ok(Facts {
        os: os(ctx, kernel),
        arch: go_arch(std::env::consts::ARCH).to_owned(),
        hostname: text(ctx, "/proc/sys/kernel/hostname"),
        boot_id: text(ctx, "/proc/sys/kernel/random/boot_id"),
        machine_id: text(ctx, "/etc/machine-id"),
        product_uuid: product_uuid.map(|id| id.to_lowercase()).filter(|id| !id.is_empty()),
        cpus: limits::cpus(ctx),
        memory_mib: limits::memory_mib(ctx),
        disks: disks(ctx),
        addresses: network::addresses(ctx),
        virtualization,
        emulated: os::emulated(),
        cgroup: limits::cgroup_version(ctx),
        sys_resource: sys_resource(&text(ctx, "/proc/1/status"), &text(ctx, "/proc/self/uid_map")),
        init: text(ctx, "/proc/1/comm"),
        packages: resources::package::manager(ctx).map(|manager| manager.name().to_owned()),
        firewall: resources::firewall::active(ctx)?,
        selinux: selinux(ctx),
        swaps: swaps(&text(ctx, "/proc/swaps")),
        writable: statvfs(&ctx.path("/")).is_ok_and(|fs| !fs.flags().contains(FsFlags::ST_RDONLY)),
        routes: network::routes(&text(ctx, "/proc/net/route")),
        strangers: strangers::found(ctx, &ours),
        taken_ports: strangers::ports(ctx, &ours),
        windows: None,
    })
}

/// A file's text; empty when it cannot be read: a fact that cannot be read is not there.
fn text(ctx: &Ctx, path: &str) -> String {
    ctx.read_trimmed(path).ok().flatten().unwrap_or_default()
}

fn exists(ctx: &Ctx, path: &str) -> bool {
    ctx.path(path).exists()
}

fn os(ctx: &Ctx, kernel: String) -> Os {
    let release = ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .map(|path| os_release(&text(ctx, path)))
        .find(|fields| !fields.is_empty())
        .unwrap_or_default();
    let field = |name: &str| release.get(name).cloned().unwrap_or_default();
    Os {
        family: "linux".into(),
        id: release.get("ID").cloned().unwrap_or_else(|| "linux".into()),
        version: field("VERSION_ID"),
        name: release.get("PRETTY_NAME").cloned().unwrap_or_else(|| field("NAME")),
        kernel,
    }
}

/// The fields of an os-release file, which is written in the quoting of a shell.
pub(crate) fn os_release(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), unquote(value)))
        .collect()
}

/// A value as a shell would see it: quotes off, backslashes resolved outside single quotes.
fn unquote(value: &str) -> String {
    if let Some(inner) = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return inner.to_owned();
    }
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    let mut plain = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        plain.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    plain
}

/// Go's word for a processor, because Kubernetes uses it.
fn go_arch(rust: &str) -> &str {
    match rust {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn virtualization(ctx: &Ctx, kernel: &str) -> Virtualization {
    let container = exists(ctx, "/run/systemd/container")
        || exists(ctx, "/.dockerenv")
        || exists(ctx, "/run/.containerenv")
        || text(ctx, "/proc/1/environ").split('\0').any(|entry| entry.starts_with("container="));
    // All distributions of a WSL share one kernel.
    let wsl = kernel.to_lowercase().contains("microsoft");
    if container || wsl { Virtualization::SharedKernel } else { Virtualization::OwnKernel }
}

/// May services (children of PID 1) lower their OOM score? The kernel asks for the capability in the
/// first user namespace, so one inside a mapped namespace does not count.
pub(crate) fn sys_resource(init_status: &str, uid_map: &str) -> bool {
    let capable = init_status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set & (1 << CAP_SYS_RESOURCE) != 0);
    capable && uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn selinux(ctx: &Ctx) -> Option<String> {
    match text(ctx, "/sys/fs/selinux/enforce").as_str() {
        "1" => Some("enforcing".into()),
        "0" => Some("permissive".into()),
        _ => None,
    }
}

/// First column of `/proc/swaps`; blanks in names are written `\040`.
pub(crate) fn swaps(text: &str) -> Vec<String> {
    let mut names: Vec<String> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(|name| name.replace("\\040", " "))
        .collect();
    names.sort();
    names
}

/// The file systems under [`DISKS`], each once. A directory that is not there yet will be made on the
/// file system of its parent, which the list names already.
fn disks(ctx: &Ctx) -> Vec<Disk> {
    let mut devices = Vec::new();
    let mut disks = Vec::new();
    for path in DISKS {
        let real = ctx.path(path);
        let (Ok(meta), Ok(size)) = (fs::metadata(&real), statvfs(&real)) else { continue };
        if devices.contains(&meta.dev()) {
            continue;
        }
        devices.push(meta.dev());
        disks.push(Disk {
            path: path.to_owned(),
            size_gib: (size.blocks() * size.fragment_size()) >> 30,
            nearly_full: size.blocks_available() * size.fragment_size() < NEARLY_FULL,
        });
    }
    disks
}

#[cfg(test)]
mod tests;
