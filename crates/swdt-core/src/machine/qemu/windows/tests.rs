//! A real machine with real firmware installs from a disc that stands for Microsoft's (`tests/installer`): the order of
//! disk and disc, the key that is asked for, and the words on the serial line are what they are.

use std::{
    cell::Cell,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;

use super::super::{
    image::{Base, overlay},
    ledger::Entry,
    names::MachineNames,
    plug::Plugged,
};
use super::{
    follow::{End, Follow, Limits, eject},
    install::{self, Install, blank},
    provide,
};
use crate::{
    event::Reporter,
    interrupt::Interrupt,
    machine::{
        Context, files,
        patience::patience,
        qemu::{
            arguments::{Accelerator, Card, Devices, Ends, Firmware, Guest, Runtime, Vm, Wire},
            process,
            qmp::Qmp,
            room::Room,
        },
    },
    spec::{self, Image, VmSpec, WindowsImage, WindowsSource},
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

/// What is installed seals itself.
const SEALS: &[&str] = &["-DSEALED"];

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

/// A disc that firmware starts and that lists a Windows Server, as Microsoft's does; what it installs is built so.
fn disc(dir: &Path, built: &[&str]) -> PathBuf {
    let built = [&["-DINSTALLED"], built].concat();
    let (installer, next) = (program(dir, "installer.efi", &[]), program(dir, "next.efi", &built));
    let tree = dir.join("tree");
    fs::create_dir_all(tree.join("sources")).unwrap();
    fs::create_dir_all(tree.join("efi/boot")).unwrap();
    fs::copy(&installer, tree.join("efi/boot/bootx64.efi")).unwrap();
    let (whole, boot, wim) = (dir.join("disk.img"), tree.join("efi.img"), tree.join("sources/install.wim"));
    run("mformat", &["-C", "-f", "1440", "-i", text(&whole), "::"]);
    fs::write(&boot, vec![0; 4 << 20]).unwrap();
    run("mformat", &["-i", text(&boot), "::"]);
    for (image, program) in [(&whole, &next), (&boot, &installer)] {
        run("mmd", &["-i", text(image), "::/EFI", "::/EFI/BOOT"]);
        run("mcopy", &["-i", text(image), text(program), "::/EFI/BOOT/BOOTX64.EFI"]);
    }
    run("mcopy", &["-i", text(&boot), text(&whole), "::/disk.img"]);
    let properties = ["EDITIONID=ServerStandardEval", "INSTALLATIONTYPE=Server Core", "ARCH=9"];
    let properties = properties.iter().chain(&["VERSION/BUILD=26100"]);
    let properties: Vec<_> = properties.map(|it| format!("--image-property=WINDOWS/{it}")).collect();
    let mut words = vec!["capture", text(&tree), text(&wim), "Windows Server 2025 SERVERSTANDARDCORE"];
    words.extend(properties.iter().map(String::as_str));
    run("wimlib-imagex", &words);
    let disc = dir.join("install.iso");
    let words = ["-quiet", "-udf", "-e", "efi.img", "-no-emul-boot", "-o", text(&disc), text(&tree)];
    run("genisoimage", &words);
    disc
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
        interrupt: &Interrupt::default(),
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
        let (disc, vars) = (disc(dir.path(), &[]), dir.path().join("vars.fd"));
        fs::copy(OVMF_VARS, &vars).unwrap();
        Self::of(dir, Firmware::Uefi { code: OVMF_CODE.into(), vars, secure_boot: false }, disc)
    }

    /// With a blank disk.
    fn of(dir: tempfile::TempDir, firmware: Firmware, disc: PathBuf) -> Self {
        let at = |name: &str| dir.path().join(name);
        let seed = at("seed.iso");
        blank(&at("disk.qcow2"), 1).unwrap();
        fs::write(&seed, vec![0; 1 << 16]).unwrap();
        let vm = Vm {
            name: "swdt-test".into(),
            guest: Guest::Windows,
            accelerator: Accelerator::Tcg,
            firmware,
            tpm: None,
            cpus: 1,
            memory_mib: 512,
            devices: Devices::Inbox,
            disk: at("disk.qcow2"),
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
    let drives = Qmp::connect(&machine.vm.runtime.qmp).unwrap().execute("query-block", &json!({})).unwrap();
    let drives: Vec<&serde_json::Value> =
        drives.as_array().unwrap().iter().filter(|drive| drive["removable"] == true).collect();
    assert_eq!(drives.len(), 2, "{drives:?}");
    assert!(drives.iter().all(|drive| drive["inserted"].is_null()), "{drives:?}");
    assert!(!machine.vm.discs[1].exists(), "the seed is still there");
}

/// What BIOS starts: says a word on the serial line, and waits for ever.
fn says(word: &str) -> Vec<u8> {
    let mut sector = vec![
        0xfa, 0x0e, 0x1f, 0xe8, 0x00, 0x00, // cli; push cs; pop ds; call the next line
        0x5e, 0x83, 0xc6, 0x13, 0xfc, 0xba, 0xf8,
        0x03, // pop si; add si, 0x13 (the word); cld; mov dx, 0x3f8
        0xac, 0x84, 0xc0, 0x74, 0x03, 0xee, 0xeb, 0xf8, // lodsb; test al, al; jz +3; out dx, al; jmp -8
        0xf4, 0xeb, 0xfd, // hlt; jmp -3
    ];
    sector.extend(word.bytes());
    sector.resize(510, 0);
    sector.extend([0x55, 0xaa]);
    sector
}

#[test]
fn bios_starts_the_disk_and_the_disc_only_while_it_is_blank() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, disc) = (dir.path().join("tree"), dir.path().join("install.iso"));
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("boot.bin"), says("test: the disc")).unwrap();
    let words =
        ["-quiet", "-b", "boot.bin", "-no-emul-boot", "-boot-load-size", "4", "-o", text(&disc), text(&tree)];
    run("genisoimage", &words);
    let machine = Machine::of(dir, Firmware::Bios, disc);
    let until = |word: &str| {
        let said = patience(LIMIT, || machine.log().contains(word).then_some(()));
        assert!(said.is_some(), "{word}: {}", machine.log());
    };
    until("test: the disc");
    process::stop(&machine.vm.runtime, Duration::ZERO).unwrap();
    let sector = machine.dir.path().join("sector");
    fs::write(&sector, [says("test: the disk"), vec![0; 1 << 20]].concat()).unwrap();
    run("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", text(&sector), text(&machine.vm.disk)]);
    process::start(&machine.vm).unwrap();
    until("test: the disk");
    assert_eq!(machine.log().matches("test: the disc").count(), 1, "{}", machine.log());
}

/// Counts how often an installation was begun.
fn seed(written: &Cell<u32>) -> impl Fn(&Path) -> crate::Result<()> {
    |to| {
        written.set(written.get() + 1);
        files::write_whole(to, &vec![0; 1 << 16])
    }
}

fn install<'a>(
    dir: &Path,
    disc: &'a Path,
    seed: &'a dyn Fn(&Path) -> crate::Result<()>,
    reporter: &'a Reporter,
    interrupt: &'a Interrupt,
) -> Install<'a> {
    Install {
        to: dir.join("bases/windows-1.qcow2"),
        run: dir.to_owned(),
        cluster: Path::new("/clusters/a"),
        node: "win1",
        iso: disc,
        uefi: Some((OVMF_CODE.into(), OVMF_VARS.into())),
        accelerator: Accelerator::Tcg,
        devices: Devices::Inbox,
        cpus: 1,
        memory_mib: 512,
        blank_disk: &|to| blank(to, 1),
        seed,
        limits: Limits { copy: LIMIT, all: LIMIT },
        reporter,
        interrupt,
    }
}

/// What a machine said so far; waits until it said these words.
fn said(console_log: &Path, words: &str) -> String {
    let begun = Instant::now();
    loop {
        let log = fs::read(console_log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        if log.contains(words) {
            return log;
        }
        assert!(begun.elapsed() < LIMIT, "no {words:?} in {log}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The whole way of a base: begun by one who is killed at once, finished by another, and then simply there.
#[test]
fn a_base_is_made_once_whoever_is_killed_and_though_a_key_was_missed() {
    let dir = tempfile::tempdir().unwrap();
    let disc = disc(dir.path(), SEALS);
    let (written, reporter, go_on) = (Cell::new(0), Reporter::silent(), Interrupt::default());
    let seed = seed(&written);
    let install = install(dir.path(), &disc, &seed, &reporter, &go_on);
    let to = install.to.clone();
    install.begin().unwrap();
    // Whose cluster it was made for may end it; nobody else, and not while somebody looks on.
    let bases = dir.path().join("bases");
    let work = to.with_extension("windows");
    assert!(install::abandoned(&bases, Path::new("/clusters/b")).is_empty());
    // Everybody may look: at its own, or at what it waits for.
    let shown = |cluster: &Path, node: &str| install::under_way(&install.run, &bases, cluster, node);
    for node in ["win1", "win2"] {
        assert_eq!(shown(install.cluster, node), Some(install.vm().runtime));
    }
    assert_eq!(shown(Path::new("/clusters/b"), "win1"), None);
    let lock = files::lock(&to.with_extension("lock")).unwrap();
    assert!(install::abandoned(&bases, install.cluster).is_empty());
    drop(lock);
    assert_eq!(install::abandoned(&bases, install.cluster), std::slice::from_ref(&work));
    install::abandon(&install.run, &work).unwrap();
    assert!(!work.exists() && !process::runs(&install.vm().runtime), "something is left");

    // Begun again. Nobody looks on while the disc asks; the firmware has nothing left to start.
    install.begin().unwrap();
    said(&install.vm().console_log, "EFI Internal Shell");
    std::thread::sleep(Duration::from_secs(4));
    install.base().unwrap();
    assert_eq!(written.get(), 2, "it was begun again");
    assert!(!process::runs(&install.vm().runtime), "the machine is off");
    assert!(!work.exists(), "something is left");
    // The second machine of its kind waits for nothing.
    install.base().unwrap();
    assert_eq!(written.get(), 2);
}

/// Ends the process of an installation with its test, also one that fails.
struct Ended(Runtime);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = process::stop(&self.0, Duration::ZERO);
    }
}

/// Every file and directory in a directory, and what others may do with it.
fn modes(dir: &Path) -> Vec<(PathBuf, u32)> {
    let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode() & 0o777;
    let mut all = vec![(dir.to_owned(), mode(dir))];
    for path in files::names(dir).iter().map(|name| dir.join(name)) {
        if path.is_dir() { all.extend(modes(&path)) } else { all.push((path.clone(), mode(&path))) }
    }
    all
}

/// Where files are usually for everybody, those of Setup are for their owner alone; and what a Setup that goes on has taken
/// of the host is not asked for again.
#[test]
fn setup_is_for_its_owner_alone_and_what_it_took_is_counted() {
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    let dir = tempfile::tempdir().unwrap();
    let disc = dir.path().join("blank.iso");
    fs::write(&disc, vec![0; 1 << 16]).unwrap();
    let (written, reporter, go_on) = (Cell::new(0), Reporter::silent(), Interrupt::default());
    let seed = seed(&written);
    let run = dir.path().join("run");
    files::make_private_dir(&run).unwrap();
    let install = Install { run: run.clone(), ..install(dir.path(), &disc, &seed, &reporter, &go_on) };
    let held = || install::held(&run, &install.to).unwrap();
    assert_eq!(held(), Room::default(), "nothing was begun");
    let _ended = Ended(install.vm().runtime);
    install.begin().unwrap();
    let (vm, work) = (install.vm(), install.to.with_extension("windows"));
    process::screenshot(&vm.runtime, &work.join("screen.png")).unwrap();
    // Sockets are elsewhere, in a directory that is refused where others may enter it.
    let open: Vec<_> = modes(&work).into_iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:?}");
    let names = files::names(&work);
    for name in ["console.log", "disk.qcow2", "install.json", "screen.png", "seed.iso", "vars.fd"] {
        assert!(names.iter().any(|found| found == name), "no {name} in {names:?}");
    }
    assert!(vm.runtime.qmp.exists() && vm.runtime.console.exists(), "no sockets");

    // A process that waits has taken some of its memory; the disk is what was written.
    fs::write(work.join("written"), vec![1; 3 << 20]).unwrap();
    let taken = held();
    assert_ne!(taken, Room::exactly(0, 3), "no memory");
    process::stop(&vm.runtime, Duration::ZERO).unwrap();
    let left = held();
    assert_ne!(left, taken);
    assert!((3..8).any(|mib| left == Room::exactly(0, mib)), "{left:?}");
    install::abandon(&run, &work).unwrap();
    assert_eq!(held(), Room::default());
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
    let why = told("swdt: first-boot sealing\nswdt: first-boot sealed\n").unwrap_err();
    assert!(why.contains("went off in the middle"), "{why}");
}

/// A machine that switches itself off without its last word is told at once, and is no base; nor is a file that was cut
/// short.
#[test]
fn a_machine_that_went_off_before_it_was_sealed_is_no_base() {
    let dir = tempfile::tempdir().unwrap();
    let disc = disc(dir.path(), &["-DSEALED", "-DINTERRUPTED"]);
    let (written, reporter, go_on) = (Cell::new(0), Reporter::silent(), Interrupt::default());
    let seed = seed(&written);
    let install = install(dir.path(), &disc, &seed, &reporter, &go_on);
    fs::create_dir(dir.path().join("bases")).unwrap();
    fs::write(&install.to, "QFI").unwrap();
    let error = install.base().unwrap_err();
    assert!(error.message.contains("switched itself off before it said that it was done"), "{error}");
    assert!(error.output.iter().any(|line| line.contains("first-boot sealing")), "{:?}", error.output);
    assert!(!install.to.exists() && !process::runs(&install.vm().runtime), "something is left");
}

/// Whoever looks on goes, at once when the user wishes it, and Setup goes on. QEMU that is ended from outside is told, and
/// the next try begins again.
#[test]
fn setup_goes_on_without_us_presses_no_late_key_and_begins_again_when_it_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let disc = disc(dir.path(), SEALS);
    let (written, reporter, wish) = (Cell::new(0), Reporter::silent(), Interrupt::default());
    let seed = seed(&written);
    let until_told = install(dir.path(), &disc, &seed, &reporter, &wish);
    let vm = until_told.vm();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            said(&vm.console_log, "a key was pressed");
            wish.set();
        });
        until_told.base().unwrap_err()
    });
    assert_eq!(error.id(), "interrupted", "{error}");
    assert!(error.hints[0].contains("the same command looks on"), "{:?}", error.hints);
    assert!(process::runs(&vm.runtime), "Setup was ended");

    // Somebody else looks on from here, long after the key, until QEMU is ended from outside.
    std::thread::sleep(Duration::from_secs(4));
    let go_on = Interrupt::default();
    let install = install(dir.path(), &disc, &seed, &reporter, &go_on);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            said(&vm.console_log, "test: installed");
            process::kill_found(process::QEMU, &vm.runtime.pid).unwrap();
        });
        install.base().unwrap_err()
    });
    let log = said(&vm.console_log, "a key was pressed");
    assert!(!log.contains("a late key"), "{log}");
    assert!(error.message.contains("went off in the middle"), "{error}");
    assert_eq!(error.log.as_deref(), Some(vm.console_log.as_path()));
    assert!(error.hints.iter().any(|hint| hint.contains("begin the installation anew")), "{:?}", error.hints);
    assert!(!vm.disk.exists() && !vm.discs[1].exists(), "half a Windows, or the seed, is still there");

    install.base().unwrap();
    assert_eq!(written.get(), 2, "begun once, and once more after it was killed");
    assert!(install.to.is_file());
}

/// As the provider does it: from the user's media to a base, and from the base to a machine that had its first boot.
#[test]
fn a_node_is_made_over_the_base_that_its_media_became() {
    let dir = tempfile::tempdir().unwrap();
    let mut ctx = crate::machine::tests::context(dir.path());
    ctx.windows_program = Some(b"MZ"[..].into());
    let disc = disc(dir.path(), SEALS);
    let image = WindowsImage {
        source: WindowsSource::Iso { path: disc, edition: None },
        product_key_file: None,
        virtio: None,
        openssh: None,
    };
    let vm = |firmware| VmSpec {
        image: Image::Windows(Box::new(image.clone())),
        disk_gib: 32,
        firmware,
        wiring: None,
    };
    let base = provide::base(&ctx, "win1", &image, &vm(spec::Firmware::Uefi)).unwrap();
    let left: Vec<_> = files::names(base.path.parent().unwrap());
    let name = |extension: &str| format!("{}.{extension}", base.key);
    assert_eq!(left, [name("lock"), name("mark"), name("qcow2")]);
    assert_eq!(base.path.metadata().unwrap().permissions().mode() & 0o777, 0o400);
    assert!(provide::traces(&ctx).is_empty());
    // The second machine of its kind waits for nothing.
    let again = provide::base(&ctx, "win2", &image, &vm(spec::Firmware::SecureBoot)).unwrap();
    assert_eq!(again.key, base.key);

    first_boot_over(&ctx, "win1", &image, &base);
    // A disk that somebody else sealed goes the same way.
    let sealed = dir.path().join("sealed.vhdx");
    run("qemu-img", &["convert", "-f", "qcow2", "-O", "vhdx", text(&base.path), text(&sealed)]);
    let image = WindowsImage { source: WindowsSource::Vhdx { path: sealed }, ..image.clone() };
    let vm = VmSpec { image: Image::Windows(Box::new(image.clone())), ..vm(spec::Firmware::Uefi) };
    let base = provide::base(&ctx, "win2", &image, &vm).unwrap();
    first_boot_over(&ctx, "win2", &image, &base);
}

/// Makes a machine over a base, and looks on until it is ready.
fn first_boot_over(ctx: &Context, node: &str, image: &WindowsImage, base: &Base) {
    let dir = tempfile::tempdir().unwrap();
    let names = MachineNames { run: dir.path().to_owned(), ..MachineNames::of(ctx, node) };
    let entry = Entry::new(base.key.clone(), None, spec::Firmware::Uefi, spec::Wiring::Segment);
    entry.save(&names).unwrap();
    let card = Card { mac: names.mac.clone(), wire: Wire::Nothing };
    let plugged = Plugged {
        card: card.clone(),
        address: "10.0.2.20/24".parse().unwrap(),
        gateway: [10, 0, 2, 2].into(),
        dns: Vec::new(),
        ssh: ([127, 0, 0, 1], 1).into(),
        api: None,
    };
    provide::seed(ctx, &names, &plugged, image).unwrap();
    overlay(base, &names.disk(), 32).unwrap();
    fs::copy(OVMF_VARS, names.vars()).unwrap();
    let machine = Machine {
        vm: Vm {
            name: "swdt-test".into(),
            guest: Guest::Windows,
            accelerator: Accelerator::Tcg,
            firmware: Firmware::Uefi { code: OVMF_CODE.into(), vars: names.vars(), secure_boot: false },
            tpm: None,
            cpus: 1,
            memory_mib: 512,
            devices: provide::devices(image),
            disk: names.disk(),
            discs: vec![names.seed()],
            kernel: None,
            card,
            runtime: names.runtime(),
            console_log: names.console(),
            ends: Ends::WhenOff,
        },
        dir,
    };
    process::start(&machine.vm).unwrap();
    let first_boot = || provide::first_boot(ctx, &names, &entry, true);
    first_boot().unwrap();
    assert!(!names.seed().exists(), "the seed is still there");
    assert!(!machine.log().contains("Press any key"), "it was installed again: {}", machine.log());
    // Whoever comes next has nothing to do.
    first_boot().unwrap();
}
