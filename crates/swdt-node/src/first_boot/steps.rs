//! The steps, in their order: nobody can log in with what stood in the answers before anybody can log in at all.

use std::path::Path;

use swdt_win::{accounts, adapters};
use swdt_wire::{Firewall, FirstBoot, FirstNetwork, PortRange, Protocol, Service};

use super::{OPENSSH, make, ssh};
use crate::{
    Ctx, Error, Result, disk,
    registry::{self, Raw},
};

/// Its name, and what it does.
pub(super) type Step = (&'static str, fn(&Ctx, &FirstBoot) -> Result<()>);

/// Of a machine that becomes a node.
pub(super) const STEPS: &[Step] = &[
    ("password", password),
    ("answers", answers),
    ("network", network),
    ("network profile", private_profile),
    ("openssh", openssh),
    ("keys", ssh::keys),
    ("firewall", firewall),
    ("sshd", sshd),
];

/// Of a machine that becomes a base: what is the same for all, and nothing that tells one from another.
pub(super) const SEAL_STEPS: &[Step] =
    &[("password", password), ("answers", answers), ("openssh", openssh), ("no keys", ssh::no_keys)];

/// The name that every machine of swdt knows its administrator by.
const ADMINISTRATOR: &str = "Administrator";

/// The password that stood in the answers is dead from here on. Its successor is nobody's.
fn password(ctx: &Ctx, _: &FirstBoot) -> Result<()> {
    let failed = |what: &str, error: &std::io::Error| Error::new(format!("cannot {what}: {error}"));
    let name = accounts::administrator().map_err(|error| failed("find the administrator", &error))?;
    ctx.count_write();
    accounts::forget_password(&name).map_err(|error| failed("replace the password", &error))?;
    if name != ADMINISTRATOR {
        accounts::rename(&name, ADMINISTRATOR).map_err(|error| failed("rename the administrator", &error))?;
    }
    Ok(())
}

/// Where Setup keeps copies of the answers, with the password in them.
const ANSWERS: [&str; 5] = [
    r"C:\Windows\Panther\unattend.xml",
    r"C:\Windows\Panther\autounattend.xml",
    r"C:\Windows\Panther\Unattend\unattend.xml",
    r"C:\Windows\Panther\Unattend\autounattend.xml",
    r"C:\Windows\System32\Sysprep\unattend.xml",
];

fn answers(ctx: &Ctx, _: &FirstBoot) -> Result<()> {
    ANSWERS.iter().try_for_each(|path| ctx.remove_file(path))
}

/// The address that the answers gave; where that did not take, it is given now.
fn network(ctx: &Ctx, wanted: &FirstBoot) -> Result<()> {
    let Some(wanted) = &wanted.network else { return Ok(()) };
    let failed = |error: std::io::Error| Error::new(format!("cannot look at the network: {error}"));
    let adapter = |all: Vec<adapters::Adapter>| all.into_iter().find(|it| it.mac == wanted.mac);
    let right = |it: &adapters::Adapter| it.addresses.contains(&(wanted.address.into(), wanted.prefix));
    let there = adapter(adapters::all().map_err(failed)?).ok_or_else(|| {
        Error::new(format!("no network card has the address {}", wanted.mac))
            .hinted("is its driver there? virtio cards need the virtio-win disc")
    })?;
    if right(&there) {
        return Ok(());
    }
    for words in commands(there.index, wanted) {
        ctx.change(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    match adapter(adapters::all().map_err(failed)?) {
        Some(adapter) if right(&adapter) => Ok(()),
        _ => Err(Error::new(format!("{} was set, and is not there", wanted.address))),
    }
}

/// Windows' own calls give addresses that are gone after a restart; netsh writes them down.
fn commands(adapter: u32, wanted: &FirstNetwork) -> Vec<Vec<String>> {
    let netsh = |words: &[&str]| {
        ["netsh.exe", "interface", "ipv4"]
            .iter()
            .chain(words)
            .map(|&word| word.to_owned())
            .collect::<Vec<_>>()
    };
    let bits = u32::MAX.checked_shl(32 - u32::from(wanted.prefix.min(32))).unwrap_or(0);
    let name = format!("name={adapter}");
    let mut all = vec![netsh(&[
        "set",
        "address",
        &name,
        "source=static",
        &format!("address={}", wanted.address),
        &format!("mask={}", std::net::Ipv4Addr::from(bits)),
        &format!("gateway={}", wanted.gateway),
    ])];
    for (at, server) in wanted.dns.iter().enumerate() {
        let address = format!("address={server}");
        all.push(match at {
            0 => netsh(&["set", "dnsservers", &name, "source=static", &address, "validate=no"]),
            _ => netsh(&["add", "dnsservers", &name, &address, "validate=no"]),
        });
    }
    all
}

const PROFILES: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\NetworkList\Profiles";

/// Networks that Windows met so far are private ones: 1. It reads this when it starts next; our own rule of the
/// firewall is for all kinds, so nothing waits for it.
fn private_profile(ctx: &Ctx, _: &FirstBoot) -> Result<()> {
    for profile in registry::keys(PROFILES) {
        let key = format!(r"{PROFILES}\{profile}");
        if registry::number(&key, "Category") != 1 {
            registry::write(ctx, &key, "Category", &Raw::of(&swdt_wire::RegistryValue::Number(1)))?;
        }
    }
    Ok(())
}

/// Windows Server 2025 brings it; before, the package on the seed does.
fn openssh(ctx: &Ctx, wanted: &FirstBoot) -> Result<()> {
    if ssh::there() {
        return Ok(());
    }
    let Some(package) = &wanted.openssh else {
        return Err(Error::new("this Windows has no OpenSSH, and the seed brought none")
            .hinted("name its package in the configuration: `image: {openssh: …}`"));
    };
    // It lay in a directory of ours alone; looked at once more because it is about to be trusted.
    let sha256 = disk::sha256_file(Path::new(OPENSSH))?;
    if sha256 != package.sha256 {
        return Err(Error::new(format!("{OPENSSH} is not what it should be: SHA-256 {sha256}")));
    }
    // 3010: done, and a restart would do no harm.
    let install = ["msiexec.exe", "/i", OPENSSH, "/qn", "/norestart", "ADDLOCAL=Server"];
    ctx.change_accepting(&install, &[0, 3010])?;
    if ssh::there() { Ok(()) } else { Err(Error::new("it was installed, and brought no service sshd")) }
}

fn firewall(ctx: &Ctx, _: &FirstBoot) -> Result<()> {
    let port = PortRange { from: 22, to: 22, protocol: Protocol::Tcp };
    make(ctx, &Firewall { ports: vec![port] })
}

fn sshd(ctx: &Ctx, _: &FirstBoot) -> Result<()> {
    make(ctx, &Service { name: "sshd".into(), enabled: true, running: true, newer_than: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netsh_is_told_in_words() {
        let wanted = FirstNetwork {
            mac: String::new(),
            address: [10, 0, 2, 20].into(),
            prefix: 20,
            gateway: [10, 0, 2, 2].into(),
            dns: vec![[10, 0, 2, 3].into(), [1, 1, 1, 1].into()],
        };
        let lines: Vec<String> = commands(12, &wanted).iter().map(|words| words.join(" ")).collect();
        assert_eq!(
            lines,
            [
                "netsh.exe interface ipv4 set address name=12 source=static address=10.0.2.20 mask=255.255.240.0 gateway=10.0.2.2",
                "netsh.exe interface ipv4 set dnsservers name=12 source=static address=10.0.2.3 validate=no",
                "netsh.exe interface ipv4 add dnsservers name=12 address=1.1.1.1 validate=no",
            ]
        );
    }
}
