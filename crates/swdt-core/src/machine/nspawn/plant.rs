//! What a machine has before its first boot: its name, its keys, its address.

use std::{
    fs,
    net::Ipv4Addr,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use ipnet::Ipv4Net;

use super::names::MachineNames;
use crate::{
    Result, keys,
    machine::{
        Rehearsal,
        files::{self, failed},
        resolver,
    },
};

/// What is planted.
pub(super) struct Plants<'a> {
    pub(super) address: Ipv4Addr,
    pub(super) network: Ipv4Net,
    pub(super) gateway: Ipv4Addr,
    pub(super) authorized_key: &'a str,
    pub(super) cgroup_v1: bool,
}

/// Plants everything into the machine's file system.
pub(super) fn plant(names: &MachineNames, plants: &Plants<'_>) -> Result<()> {
    let root = names.merged();
    let node = &names.node;
    let put = |path: &str, mode: u32, text: &str| put(&root, path, mode, text);

    put("etc/hostname", 0o644, &format!("{node}\n"))?;
    put("etc/hosts", 0o644, &format!("127.0.0.1 localhost\n::1 localhost\n{} {node}\n", plants.address))?;
    put("etc/machine-id", 0o444, &machine_id()?)?;
    put("etc/ssh/ssh_host_ed25519_key", 0o600, &read(&names.host_key())?)?;
    put("etc/ssh/ssh_host_ed25519_key.pub", 0o644, &format!("{}\n", keys::ensure(&names.host_key())?))?;
    put("root/.ssh/authorized_keys", 0o600, &format!("{}\n", plants.authorized_key.trim()))?;
    set_mode(&root.join("root/.ssh"), 0o700)?;
    put("etc/resolv.conf", 0o644, &resolver::text())?;
    put(
        "etc/systemd/network/10-swdt.network",
        0o644,
        &format!(
            "[Match]\nName=host0\n\n[Network]\nAddress={}/{}\nGateway={}\nLinkLocalAddressing=ipv6\nIPv6AcceptRA=no\n",
            plants.address,
            plants.network.prefix_len(),
            plants.gateway
        ),
    )?;
    if plants.cgroup_v1 {
        put("usr/lib/swdt/cgroup.sh", 0o755, include_str!("swdt-cgroup.sh"))?;
        put("etc/systemd/system/swdt-cgroup.service", 0o644, include_str!("swdt-cgroup.service"))?;
        enable(&root, "swdt-cgroup.service", "sysinit.target", "wants")?;
    }
    Ok(())
}

/// Plants what makes the machine behave as Windows does from its first boot on.
pub(super) fn windows(names: &MachineNames, windows: Rehearsal) -> Result<()> {
    let root = names.merged();
    for file in (windows.files)()? {
        put(&root, file.path.trim_start_matches('/'), 0o755, &file.bytes)?;
    }
    // Nobody can log in to a Windows that did not start.
    enable(&root, windows.service, "ssh.service", "requires")
}

fn put(root: &Path, path: &str, mode: u32, bytes: impl AsRef<[u8]>) -> Result<()> {
    let path = root.join(path);
    path.parent().map_or(Ok(()), files::make_dir)?;
    files::write_whole(&path, bytes.as_ref())?;
    set_mode(&path, mode)
}

/// What `systemctl enable` would do.
fn enable(root: &Path, unit: &str, target: &str, how: &str) -> Result<()> {
    let wants = root.join(format!("etc/systemd/system/{target}.{how}"));
    files::make_dir(&wants)?;
    let link = wants.join(unit);
    files::remove_file(&link)?;
    symlink(Path::new("/etc/systemd/system").join(unit), &link).map_err(|error| failed("link", &link, &error))
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(|error| failed("set the mode of", path, &error))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

/// Thirty-two digits nobody else has.
fn machine_id() -> Result<String> {
    Ok(read(Path::new("/proc/sys/kernel/random/uuid"))?.replace('-', ""))
}
