//! What the host must have for virtual machines. The rules of `doctor` judge it.

use nix::unistd::geteuid;

use super::{firmware::find, plug::choose, process::QEMU, tpm::SWTPM};
use crate::{
    Result,
    doctor::{self, HostFacts, Lack},
    machine::tool,
    spec::{Firmware, Image, ProviderName, VmSpec, Way, Wiring},
};

/// A program and the packages it comes in.
struct Program {
    lack: Lack,
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
            build: any(|vm| vm.image.is_made_by(Way::Build)),
            secure_boot: any(|vm| vm.firmware == Firmware::SecureBoot),
        }
    }
}

const fn program(
    program: &'static str,
    debian: &'static str,
    fedora: &'static str,
    needed: fn(Needs) -> bool,
) -> Program {
    Program { lack: Lack { program, debian, fedora }, needed }
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
    program("newuidmap", "uidmap", "shadow-utils", |needs| needs.build && !geteuid().is_root()),
    program("mke2fs", "e2fsprogs", "e2fsprogs", |needs| needs.build),
];

/// Is everything here that these machines need?
pub(super) fn check(vms: &[&VmSpec]) -> Result<()> {
    let mut host = HostFacts { wanted: vec![ProviderName::Qemu], ..HostFacts::default() };
    look(&mut host, vms);
    if vms.is_empty() {
        host.no_firmware.clear();
    }
    doctor::require(&host)
}

/// What this host has for such machines.
pub(super) fn look(host: &mut HostFacts, vms: &[&VmSpec]) {
    let needs = Needs::of(vms);
    host.not_root = !geteuid().is_root();
    host.bridge = needs.bridge;
    host.qemu_lacks = missing(needs);
    let firmware = [(false, doctor::Firmware::Uefi), (true, doctor::Firmware::SecureBoot)];
    host.no_firmware =
        firmware.into_iter().filter(|(secure, _)| find(*secure).is_err()).map(|(_, it)| it).collect();
    if vms.is_empty() {
        return;
    }
    // Firmware that nobody asked for is nothing to tell of.
    let asked = |firmware: doctor::Firmware| {
        vms.iter().any(|vm| match (firmware, vm.firmware) {
            (doctor::Firmware::Uefi, Firmware::Uefi) => true,
            (doctor::Firmware::SecureBoot, asked) => asked == Firmware::SecureBoot,
            // What is installed is installed without Secure Boot, whatever its machines have later.
            (_, Firmware::SecureBoot) => {
                matches!(vm.image, Image::Windows(_)) || vm.image.is_made_by(Way::Install)
            }
            (_, Firmware::Bios) => false,
        })
    };
    host.no_firmware.retain(|missing| asked(*missing));
}

/// The Debian packages of the programs that are missing.
pub(super) fn missing_packages() -> Vec<&'static str> {
    let needs = Needs { bridge: choose(None) == Wiring::Bridge, ..Needs::default() };
    missing(needs).iter().map(|lack| lack.debian).collect()
}

fn missing(needs: Needs) -> Vec<Lack> {
    let needed = PROGRAMS.iter().filter(|program| (program.needed)(needs));
    needed.map(|program| program.lack).filter(|lack| tool::find(lack.program).is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn everything_missing_is_told_at_once_for_each_distribution() {
        let lacks = [&PROGRAMS[0], &PROGRAMS[2], &PROGRAMS[3]].map(|program| program.lack);
        let host = HostFacts {
            wanted: vec![ProviderName::Qemu],
            not_root: true,
            bridge: true,
            qemu_lacks: lacks.to_vec(),
            ..HostFacts::default()
        };
        let error = doctor::require(&host).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Prerequisite);
        let (first, programs) = (&error, &error.others[0]);
        assert!(first.hints[0].contains("network: segment"), "{:?}", first.hints);
        for word in [QEMU, "setsid", "setpriv"] {
            assert!(programs.message.contains(word), "{programs}");
        }
        assert!(programs.hints[0].ends_with("qemu-system-x86 util-linux"), "{:?}", programs.hints);
        assert!(programs.hints[1].ends_with("qemu-system-x86-core util-linux"), "{:?}", programs.hints);
        doctor::require(&HostFacts { qemu_lacks: Vec::new(), not_root: false, ..host }).unwrap();
    }
}
