//! What the host must have for virtual machines, told all at once.

use super::{firmware::find, plug::choose, process::QEMU, tpm::SWTPM};
use crate::{
    Error, ErrorKind, Result,
    machine::tool,
    spec::{Firmware, Image, VmSpec, Wiring},
};

/// A program and the packages it comes in.
struct Program {
    name: &'static str,
    debian: &'static str,
    fedora: &'static str,
    needed: fn(Needs) -> bool,
}

/// What decides which programs are needed.
#[derive(Debug, Clone, Copy, Default)]
struct Needs {
    bridge: bool,
    build: bool,
    /// With a TPM.
    secure_boot: bool,
}

impl Needs {
    fn of(vms: &[&VmSpec]) -> Self {
        let any = |test: fn(&VmSpec) -> bool| vms.iter().any(|vm| test(vm));
        Self {
            bridge: any(|vm| choose(vm.wiring) == Wiring::Bridge),
            build: any(|vm| matches!(vm.image, Image::Build(_))),
            secure_boot: any(|vm| vm.firmware == Firmware::SecureBoot),
        }
    }
}

const fn program(
    name: &'static str,
    debian: &'static str,
    fedora: &'static str,
    needed: fn(Needs) -> bool,
) -> Program {
    Program { name, debian, fedora, needed }
}

const PROGRAMS: &[Program] = &[
    program(QEMU, "qemu-system-x86", "qemu-system-x86-core", |_| true),
    program("qemu-img", "qemu-utils", "qemu-img", |_| true),
    program("setsid", "util-linux", "util-linux", |_| true),
    program("setpriv", "util-linux", "util-linux", |_| true),
    program("ip", "iproute2", "iproute", |_| true),
    program("nft", "nftables", "nftables", |needs| needs.bridge),
    program(SWTPM, "swtpm", "swtpm", |needs| needs.secure_boot),
    program("mmdebstrap", "mmdebstrap", "mmdebstrap", |needs| needs.build),
    program("mke2fs", "e2fsprogs", "e2fsprogs", |needs| needs.build),
];

/// Is everything here that these machines need?
pub(super) fn check(vms: &[&VmSpec]) -> Result<()> {
    let needs = Needs::of(vms);
    let root = nix::unistd::geteuid().is_root();
    // Windows is installed without Secure Boot, whatever its machines have later.
    let uefi = vms.iter().any(|vm| match vm.firmware {
        Firmware::Uefi => true,
        Firmware::SecureBoot => matches!(vm.image, Image::Windows(_)),
        Firmware::Bios => false,
    });
    let firmware = [(uefi, false), (needs.secure_boot, true)];
    let mut errors: Vec<Error> = judge(&missing(needs), needs.bridge && !root).err().into_iter().collect();
    errors.extend(
        firmware.into_iter().filter(|(needed, _)| *needed).filter_map(|(_, secure)| find(secure).err()),
    );
    Error::all(errors).map_or(Ok(()), Err)
}

/// The Debian packages of the programs that are missing.
pub(super) fn missing_packages() -> Vec<&'static str> {
    let mut packages: Vec<_> = missing(Needs { bridge: choose(None) == Wiring::Bridge, ..Needs::default() })
        .iter()
        .map(|program| program.debian)
        .collect();
    packages.dedup();
    packages
}

fn missing(needs: Needs) -> Vec<&'static Program> {
    PROGRAMS.iter().filter(|program| (program.needed)(needs) && tool::find(program.name).is_none()).collect()
}

fn judge(missing: &[&Program], not_root: bool) -> Result<()> {
    if missing.is_empty() && !not_root {
        return Ok(());
    }
    let mut lacks: Vec<_> = missing.iter().map(|program| format!("`{}`", program.name)).collect();
    if not_root {
        lacks.push("the rights of root, for a bridge".to_owned());
    }
    let message = format!("virtual machines by QEMU need what this host lacks: {}", lacks.join(", "));
    let mut error = Error::new(ErrorKind::Prerequisite, message);
    if !missing.is_empty() {
        let list = |package: fn(&Program) -> &'static str| {
            let mut names: Vec<_> = missing.iter().map(|program| package(program)).collect();
            names.dedup();
            names.join(" ")
        };
        error = error
            .hinted(format!(
                "Debian, Ubuntu: apt-get install --yes --no-install-recommends {}",
                list(|p| p.debian)
            ))
            .hinted(format!("Fedora: dnf install --assumeyes {}", list(|p| p.fedora)));
    }
    if not_root {
        error = error.hinted("run swdt as root, or write `network: segment`, which needs no rights");
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_told_at_once_for_each_distribution() {
        let error = judge(&[&PROGRAMS[0], &PROGRAMS[2], &PROGRAMS[3]], true).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Prerequisite);
        for word in [QEMU, "setsid", "setpriv", "root"] {
            assert!(error.message.contains(word), "{error}");
        }
        assert!(error.hints[0].ends_with("qemu-system-x86 util-linux"), "{:?}", error.hints);
        assert!(error.hints[1].ends_with("qemu-system-x86-core util-linux"), "{:?}", error.hints);
        assert!(error.hints[2].contains("network: segment"), "{:?}", error.hints);
        judge(&[], false).unwrap();
    }
}
