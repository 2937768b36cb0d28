//! The command line of each case, as a picture to be read.

use super::*;

fn runtime() -> Runtime {
    Runtime {
        pid: "/run/swdt/c1/w1.pid".into(),
        qmp: "/run/swdt/c1/w1.qmp".into(),
        console: "/run/swdt/c1/w1.tty".into(),
    }
}

fn linux() -> Vm {
    Vm {
        name: "swdt-c1-w1".into(),
        guest: Guest::Linux,
        accelerator: Accelerator::Kvm { cpu: "host".into() },
        firmware: Firmware::Bios,
        tpm: None,
        cpus: 2,
        memory_mib: 2048,
        devices: Devices::Virtio,
        disk: "/data/w1/disk.qcow2".into(),
        discs: vec!["/data/w1/seed.iso".into()],
        kernel: None,
        card: Card { mac: "52:54:00:00:00:01".into(), wire: Wire::Tap("st00000001".into()) },
        runtime: runtime(),
        console_log: "/data/w1/console.log".into(),
        once: false,
    }
}

fn windows() -> Vm {
    Vm {
        guest: Guest::Windows,
        devices: Devices::Inbox,
        cpus: 4,
        memory_mib: 6144,
        discs: vec!["/media/server.iso".into(), "/data/w1/seed.iso".into()],
        ..linux()
    }
}

fn uefi(secure_boot: bool) -> Firmware {
    let code = if secure_boot { "OVMF_CODE_4M.ms.fd" } else { "OVMF_CODE_4M.fd" };
    Firmware::Uefi {
        code: Path::new("/usr/share/OVMF").join(code),
        vars: "/data/w1/vars.fd".into(),
        secure_boot,
    }
}

fn segment() -> Wire {
    Wire::Segment { port: "/run/swdt/c1/w1.net".into(), switch: "/run/swdt/c1/switch".into() }
}

/// One option a line.
fn picture(vm: &Vm) -> String {
    vm.arguments().join(" ").replace(" -", "\n-")
}

#[test]
fn linux_bios_virtio_tap_kvm() {
    insta::assert_snapshot!(picture(&linux()));
}

#[test]
fn linux_uefi_virtio_segment_tcg() {
    let card = Card { wire: segment(), ..linux().card };
    insta::assert_snapshot!(picture(&Vm {
        firmware: uefi(false),
        accelerator: Accelerator::Tcg,
        card,
        ..linux()
    }));
}

#[test]
fn linux_installed_by_a_kernel() {
    let kernel = Kernel {
        image: "/cache/linux".into(),
        initrd: "/data/w1/initrd".into(),
        line: "auto=true priority=critical console=ttyS0".into(),
    };
    insta::assert_snapshot!(picture(&Vm { kernel: Some(kernel), discs: vec![], once: true, ..linux() }));
}

#[test]
fn windows_bios_inbox_tap_kvm() {
    insta::assert_snapshot!(picture(&windows()));
}

#[test]
fn windows_uefi_virtio_segment_kvm() {
    let card = Card { wire: segment(), ..linux().card };
    let mut discs = windows().discs;
    discs.push("/media/virtio-win.iso".into());
    insta::assert_snapshot!(picture(&Vm {
        firmware: uefi(false),
        devices: Devices::Virtio,
        card,
        discs,
        ..windows()
    }));
}

#[test]
fn windows_secure_boot_tpm_inbox_tcg() {
    insta::assert_snapshot!(picture(&Vm {
        firmware: uefi(true),
        tpm: Some("/run/swdt/c1/w1.tpm".into()),
        accelerator: Accelerator::Tcg,
        ..windows()
    }));
}

#[test]
fn commas_do_not_end_a_value() {
    let vm = Vm { disk: "/data/a,b=c/disk.qcow2".into(), ..linux() };
    let words = vm.arguments();
    assert!(words.contains(
        &"driver=file,node-name=disk0-file,filename=/data/a,,b=c/disk.qcow2,discard=unmap".to_owned()
    ));
}
