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
        ends: Ends::WhenOff,
    }
}

/// A node at its first start: its seed is in the drive.
fn windows() -> Vm {
    Vm { guest: Guest::Windows, devices: Devices::Inbox, cpus: 4, memory_mib: 6144, ..linux() }
}

/// A machine that becomes a base.
fn setup() -> Vm {
    Vm {
        name: "swdt-windows".into(),
        cpus: 2,
        memory_mib: 4096,
        disk: "/cache/base.windows/disk.qcow2".into(),
        discs: vec!["/media/server.iso".into(), "/cache/base.windows/seed.iso".into()],
        card: Card { mac: "52:54:00:73:77:64".into(), wire: Wire::Nothing },
        console_log: "/cache/base.windows/console.log".into(),
        ends: Ends::WhenTold,
        ..windows()
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
    let card = Card { wire: Wire::Alone, ..linux().card };
    insta::assert_snapshot!(picture(&Vm {
        kernel: Some(kernel),
        discs: vec![],
        ends: Ends::AtRestart,
        card,
        ..linux()
    }));
}

#[test]
fn windows_setup_bios_inbox_tcg() {
    insta::assert_snapshot!(picture(&Vm { accelerator: Accelerator::Tcg, ..setup() }));
}

#[test]
fn windows_setup_uefi_virtio_kvm() {
    insta::assert_snapshot!(picture(&Vm { firmware: uefi(false), devices: Devices::Virtio, ..setup() }));
}

#[test]
fn windows_node_bios_inbox_tap_kvm() {
    insta::assert_snapshot!(picture(&windows()));
}

/// After its first boot: the seed is gone.
#[test]
fn windows_node_uefi_virtio_segment_kvm() {
    insta::assert_snapshot!(picture(&Vm {
        firmware: uefi(false),
        devices: Devices::Virtio,
        card: Card { wire: segment(), ..linux().card },
        discs: vec![],
        ..windows()
    }));
}

#[test]
fn windows_node_secure_boot_tpm_inbox_tcg() {
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
