//! A real machine with real firmware installs from a disc that stands for Microsoft's (`tests/installer`): the order of
//! disk and disc, the key that is asked for, and the words on the serial line are what they are.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    follow::{End, Follow, Limits, eject},
    install::{self, Install},
};
use crate::{
    event::Reporter,
    machine::{
        files,
        qemu::{
            arguments::{Accelerator, Card, Devices, Ends, Firmware, Guest, Runtime, Vm, Wire},
            process,
            qmp::Qmp,
        },
    },
};

const OVMF_CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
const OVMF_VARS: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";
const LIMIT: Duration = Duration::from_mins(5);

fn run(program: &str, arguments: &[&str]) {
    let done =
        Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A program for UEFI.
fn program(dir: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/installer/installer.c");
    let to = dir.join(name);
    let mut words = vec!["-Os", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-stack-protector"];
    words.extend(["-mno-stack-arg-probe", "-nostdlib", "-Wl,--subsystem,10", "-Wl,-e,efi_main"]);
    words.extend(flags);
    words.extend(["-o", text(&to), source]);
    run("x86_64-w64-mingw32-gcc", &words);
    to
}

/// The disc, and a disk on which there is a file system and nothing to start.
fn media(dir: &Path, sealed: bool) -> (PathBuf, PathBuf) {
    let flags: &[&str] = if sealed { &["-DINSTALLED", "-DSEALED"] } else { &["-DINSTALLED"] };
    let (installer, next) = (program(dir, "installer.efi", &[]), program(dir, "next.efi", flags));
    let tree = dir.join("tree");
    fs::create_dir(&tree).unwrap();
    let (boot, disc) = (tree.join("efi.img"), dir.join("install.iso"));
    fs::write(&boot, vec![0; 4 << 20]).unwrap();
    run("mformat", &["-i", text(&boot), "::"]);
    run("mmd", &["-i", text(&boot), "::/EFI", "::/EFI/BOOT"]);
    run("mcopy", &["-i", text(&boot), text(&installer), "::/EFI/BOOT/BOOTX64.EFI"]);
    run("mcopy", &["-i", text(&boot), text(&next), "::/next.efi"]);
    run(
        "xorriso",
        &["-as", "mkisofs", "-quiet", "-e", "efi.img", "-no-emul-boot", "-o", text(&disc), text(&tree)],
    );
    let (raw, disk) = (dir.join("disk.raw"), dir.join("disk.qcow2"));
    fs::File::create(&raw).unwrap().set_len(64 << 20).unwrap();
    run("mformat", &["-F", "-i", text(&raw), "::"]);
    run("qemu-img", &["convert", "-O", "qcow2", text(&raw), text(&disk)]);
    (disc, disk)
}

/// Looks on at a machine whose files are in that directory.
fn follow(runtime: &Runtime, dir: &Path) -> crate::Result<End> {
    Follow {
        runtime,
        console_log: &dir.join("console.log"),
        disk: &dir.join("disk.qcow2"),
        screenshot: dir.join("screen.png"),
        limits: Limits { copy: LIMIT, all: LIMIT },
        reporter: &Reporter::silent(),
    }
    .to_the_end()
}

/// A machine that is ended with its test.
struct Machine {
    vm: Vm,
    dir: tempfile::TempDir,
}

impl Machine {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let (disc, disk) = media(dir.path(), false);
        let seed = at("seed.iso");
        fs::write(&seed, vec![0; 1 << 16]).unwrap();
        fs::copy(OVMF_VARS, at("vars.fd")).unwrap();
        let vm = Vm {
            name: "swdt-test".into(),
            guest: Guest::Windows,
            accelerator: Accelerator::Tcg,
            firmware: Firmware::Uefi { code: OVMF_CODE.into(), vars: at("vars.fd"), secure_boot: false },
            tpm: None,
            cpus: 1,
            memory_mib: 512,
            devices: Devices::Inbox,
            disk,
            discs: vec![disc, seed],
            kernel: None,
            card: Card { mac: "52:54:00:00:00:01".into(), wire: Wire::Nothing },
            runtime: process::runtime(dir.path(), "vm"),
            console_log: at("console.log"),
            ends: Ends::WhenOff,
        };
        process::start(&vm).unwrap();
        Self { vm, dir }
    }

    fn follow(&self) -> crate::Result<End> {
        follow(&self.vm.runtime, self.dir.path())
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.vm.console_log).unwrap_or_default()).into_owned()
    }

    fn wait_for(&self, words: &str) {
        let begun = Instant::now();
        while !self.log().contains(words) {
            assert!(begun.elapsed() < LIMIT, "no {words:?} in {}", self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = process::stop(&self.vm.runtime, Duration::ZERO);
    }
}

#[test]
fn a_disc_is_started_answered_and_left_for_the_disk() {
    let machine = Machine::start();
    assert_eq!(machine.follow().unwrap(), End::Ready);
    let log = machine.log();
    // The disk first, which has nothing; the disc once; then the disk.
    let order: Vec<usize> = [
        "failed to load Boot",
        "Press any key",
        "a key was pressed",
        "test: installed",
        "HARDDISK",
        "first-boot ready",
    ]
    .iter()
    .map(|words| {
        if *words == "HARDDISK" { log.rfind(words) } else { log.find(words) }
            .unwrap_or_else(|| panic!("{words}: {log}"))
    })
    .collect();
    assert!(order.is_sorted(), "{order:?} {log}");
    assert_eq!(log.matches("Press any key").count(), 1, "{log}");
    assert!(!log.contains("a late key"), "{log}");

    eject(&machine.vm.runtime, 2, &machine.vm.discs[1]).unwrap();
    let drives = Qmp::connect(&machine.vm.runtime.qmp).unwrap().execute("query-block", json!({})).unwrap();
    let drives: Vec<&serde_json::Value> =
        drives.as_array().unwrap().iter().filter(|drive| drive["removable"] == true).collect();
    assert_eq!(drives.len(), 2, "{drives:?}");
    assert!(drives.iter().all(|drive| drive["inserted"].is_null()), "{drives:?}");
    assert!(!machine.vm.discs[1].exists(), "the seed is still there");
}

/// The whole way of a base: begun by one who is killed at once, finished by another, and then simply there.
#[test]
fn a_base_is_made_once_whoever_is_killed_and_though_a_key_was_missed() {
    let dir = tempfile::tempdir().unwrap();
    let (disc, disk) = media(dir.path(), true);
    let written = std::cell::Cell::new(0);
    let (to, reporter) = (dir.path().join("bases/windows-1.qcow2"), Reporter::silent());
    let install = Install {
        to: to.clone(),
        run: dir.path().to_owned(),
        cluster: Path::new("/clusters/a"),
        iso: &disc,
        uefi: Some((OVMF_CODE.into(), OVMF_VARS.into())),
        accelerator: Accelerator::Tcg,
        devices: Devices::Inbox,
        cpus: 1,
        memory_mib: 512,
        blank_disk: &|to| {
            fs::copy(&disk, to).unwrap();
            Ok(())
        },
        seed: &|to| {
            written.set(written.get() + 1);
            fs::write(to, vec![0; 1 << 16]).unwrap();
            Ok(())
        },
        limits: Limits { copy: LIMIT, all: LIMIT },
        reporter: &reporter,
    };
    install.begin().unwrap();
    // Whose cluster it was made for may end it; nobody else, and not while somebody looks on.
    let bases = dir.path().join("bases");
    let work = to.with_extension("windows");
    assert!(install::abandoned(&bases, Path::new("/clusters/b")).is_empty());
    let lock = files::lock(&to.with_extension("lock")).unwrap();
    assert!(install::abandoned(&bases, install.cluster).is_empty());
    drop(lock);
    assert_eq!(install::abandoned(&bases, install.cluster), [work.clone()]);
    install::abandon(&install.run, &work).unwrap();
    assert!(!work.exists() && !process::runs(&install.vm().runtime), "something is left");

    // Begun again. Nobody looks on while the disc asks; the firmware has nothing left to start.
    install.begin().unwrap();
    let log =
        || String::from_utf8_lossy(&fs::read(install.vm().console_log).unwrap_or_default()).into_owned();
    let begun = Instant::now();
    while !log().contains("EFI Internal Shell") {
        assert!(begun.elapsed() < LIMIT, "{}", log());
        std::thread::sleep(Duration::from_millis(200));
    }
    std::thread::sleep(Duration::from_secs(4));
    install.base().unwrap();
    assert_eq!(written.get(), 2, "it was begun again");
    assert!(!process::runs(&install.vm().runtime), "the machine is off");
    assert!(!work.exists(), "something is left");
    // The second machine of its kind waits for nothing.
    install.base().unwrap();
    assert_eq!(written.get(), 2);
}

/// No machine is there in these: only what one left behind.
#[test]
fn what_a_machine_said_last_decides_and_one_that_was_ended_is_not_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = process::runtime(dir.path(), "vm");
    let told = |log: &str| {
        fs::write(dir.path().join("console.log"), log).unwrap();
        follow(&runtime, dir.path()).map_err(|error| error.message)
    };
    assert_eq!(told("swdt: first-boot step keys\nswdt: first-boot ready\n"), Ok(End::Ready));
    let why = told("swdt: first-boot failed openssh: exit code 1603\n").unwrap_err();
    assert!(why.contains("the first boot failed: openssh: exit code 1603"), "{why}");
    let why = told("swdt: first-boot sealing\n").unwrap_err();
    assert!(why.contains("went off in the middle"), "{why}");
}

#[test]
fn who_comes_late_presses_no_key_and_an_end_in_the_middle_is_told() {
    let machine = Machine::start();
    machine.wait_for("Press any key");
    let key = json!({ "keys": [{ "type": "qcode", "data": "ret" }] });
    Qmp::connect(&machine.vm.runtime.qmp).unwrap().execute("send-key", key).unwrap();
    machine.wait_for("a key was pressed");
    // Whoever pressed it was killed. The machine goes on; somebody else looks on from here.
    std::thread::sleep(Duration::from_secs(4));
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| machine.follow());
        std::thread::sleep(Duration::from_secs(3));
        // Somebody ends QEMU from outside.
        process::stop(&machine.vm.runtime, Duration::ZERO).unwrap();
        let error = follower.join().unwrap().unwrap_err();
        assert!(error.message.contains("went off in the middle"), "{error}");
        assert_eq!(error.log.as_deref(), Some(machine.vm.console_log.as_path()));
    });
    assert!(!machine.log().contains("a late key"), "{}", machine.log());
    // Started again, it begins again, and is installed.
    process::start(&machine.vm).unwrap();
    assert_eq!(machine.follow().unwrap(), End::Ready);
}
