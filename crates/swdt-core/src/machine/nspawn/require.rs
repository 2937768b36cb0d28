//! What the host must have, told all at once.

use crate::{Error, ErrorKind, Result, machine::tool};

/// Programs and the Debian packages they come in.
const PROGRAMS: &[(&str, &str)] = &[
    ("systemd-nspawn", "systemd-container"),
    ("mmdebstrap", "mmdebstrap"),
    ("nft", "nftables"),
    ("ip", "iproute2"),
    ("setsid", "util-linux"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
];

/// Is everything here that nspawn machines need?
pub(super) fn check() -> Result<()> {
    judge(nix::unistd::geteuid().is_root(), &missing(), super::cgroup::Hierarchies::find().is_empty())
}

/// The Debian packages of the programs that are missing.
pub(super) fn missing_packages() -> Vec<&'static str> {
    packages(&missing())
}

fn missing() -> Vec<&'static (&'static str, &'static str)> {
    PROGRAMS.iter().filter(|(program, _)| tool::find(program).is_none()).collect()
}

fn packages(missing: &[&(&'static str, &'static str)]) -> Vec<&'static str> {
    let mut packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

fn judge(root: bool, missing: &[&(&'static str, &'static str)], no_cgroups: bool) -> Result<()> {
    let mut lacks = Vec::new();
    let mut hints = Vec::new();
    if !root {
        lacks.push("the rights of root".to_owned());
        hints.push("run swdt as root, for example with sudo".to_owned());
    }
    lacks.extend(missing.iter().map(|(program, _)| format!("`{program}`")));
    if !missing.is_empty() {
        hints.push(format!("apt-get install --yes {}", packages(missing).join(" ")));
    }
    if no_cgroups {
        lacks.push("mounted cgroups".to_owned());
        hints.push("mount -t cgroup2 none /sys/fs/cgroup".to_owned());
    }
    if lacks.is_empty() {
        return Ok(());
    }
    let message = format!("machines by systemd-nspawn need what this host lacks: {}", lacks.join(", "));
    Err(hints.into_iter().fold(Error::new(ErrorKind::Prerequisite, message), Error::hinted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_told_at_once() {
        let error = judge(false, &[&PROGRAMS[0], &PROGRAMS[4], &PROGRAMS[5]], true).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Prerequisite);
        for word in ["root", "systemd-nspawn", "setsid", "setpriv", "cgroups"] {
            assert!(error.message.contains(word), "{error}");
        }
        assert_eq!(error.hints[1], "apt-get install --yes systemd-container util-linux");
    }

    #[test]
    fn nothing_missing_is_fine() {
        judge(true, &[], false).unwrap();
    }
}
