//! What the host must have for machines by systemd-nspawn. The rules of `doctor` judge it.

use crate::{
    Result,
    doctor::{self, HostFacts, Lack},
    machine::tool,
    spec::ProviderName,
};

const fn program(program: &'static str, debian: &'static str, fedora: &'static str) -> Lack {
    Lack { program, debian, fedora }
}

/// Programs and the packages they come in.
const PROGRAMS: &[Lack] = &[
    program("systemd-nspawn", "systemd-container", "systemd-container"),
    program("mmdebstrap", "mmdebstrap", "mmdebstrap"),
    program("nft", "nftables", "nftables"),
    program("ip", "iproute2", "iproute"),
    program("setsid", "util-linux", "util-linux"),
    program("setpriv", "util-linux", "util-linux"),
    program("unshare", "util-linux", "util-linux"),
];

/// Is everything here that nspawn machines need?
pub(super) fn check() -> Result<()> {
    let mut host = HostFacts { wanted: vec![ProviderName::Nspawn], ..HostFacts::default() };
    look(&mut host);
    doctor::require(&host)
}

/// What this host has for such machines.
pub(super) fn look(host: &mut HostFacts) {
    host.not_root = !nix::unistd::geteuid().is_root();
    host.nspawn_lacks = missing();
    host.no_cgroups = super::cgroup::Hierarchies::find().is_empty();
}

/// The Debian packages of the programs that are missing.
pub(super) fn missing_packages() -> Vec<&'static str> {
    missing().iter().map(|lack| lack.debian).collect()
}

fn missing() -> Vec<Lack> {
    PROGRAMS.iter().filter(|lack| tool::find(lack.program).is_none()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn everything_missing_is_told_at_once() {
        let host = HostFacts {
            wanted: vec![ProviderName::Rehearsal],
            not_root: true,
            no_cgroups: true,
            nspawn_lacks: vec![PROGRAMS[0], PROGRAMS[4], PROGRAMS[5]],
            ..HostFacts::default()
        };
        let error = doctor::require(&host).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Prerequisite);
        let all = format!("{error} {}", error.others.iter().map(ToString::to_string).collect::<String>());
        for word in ["root", "systemd-nspawn", "setsid", "setpriv", "cgroups"] {
            assert!(all.contains(word), "{word}: {all}");
        }
        assert!(error.hints[0].ends_with("systemd-container util-linux"), "{:?}", error.hints);
    }
}
