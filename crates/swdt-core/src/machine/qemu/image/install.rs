//! A disk made by Debian's own installer, unattended: the plain way, as a person would do it with a disc in hand.
//!
//! The installer's kernel and first file system come from a mirror, with checksums; or from Debian's package of them, where
//! it is installed, with the same checksums. The answers (preseed) are put into a
//! small archive behind that file system: the kernel unpacks both, one over the other, so that even the first question is
//! answered. What is installed gets cloud-init and becomes a base like any other: there is no secret in it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use super::{build::suite, cloud::checksum, mirror::Mirror};
use crate::{
    Error, Result, id,
    machine::{
        Context,
        files::{self, failed},
        names::short_hash,
        qemu::{
            accelerator,
            arguments::{Accelerator, Card, Devices, Ends, Firmware, Guest, Kernel, Runtime, Vm, Wire},
            firmware,
            process::QEMU,
        },
        tool,
    },
    source,
    spec::LinuxRelease,
    words::printable,
};

const ANSWERS: &str = include_str!("preseed.cfg");
/// Nobody between may say which kernel is Debian's. (Whoever names a mirror trusts it, and the way there.)
const DEBIAN: &str = "https://deb.debian.org/debian";
const IMAGES: &str = "main/installer-amd64/current/images";
const FILES: [&str; 2] = ["debian-installer/amd64/linux", "debian-installer/amd64/initrd.gz"];
/// Where the packages `debian-installer-*-netboot-amd64` keep the same files.
const PACKAGED: &str = "/usr/lib/debian-installer/images";
/// The installer asks nothing, and talks on the serial line; what is behind the dashes stays for the installed system.
const LINE: &str =
    "auto=true priority=critical DEBIAN_FRONTEND=text console=ttyS0,115200n8 --- console=ttyS0,115200n8";
/// Nobody waits longer; a quarter of an hour is usual with KVM.
const LIMIT: Duration = Duration::from_hours(4);
/// Nor for an installer that says nothing new: it shows how far every step is.
const SILENCE: Duration = Duration::from_hours(1);
/// How often one step tells how far it is, at most: logs keep every line.
const TOLD: Duration = Duration::from_secs(30);
const DISK: &str = "8G";
/// The last word of its kernel when it is through, and switches the machine off.
const FAREWELL: &str = "reboot: Power down";
/// What the installer writes below a question. All that it may ask is answered, so this one is about what went wrong.
const QUESTION: &str = "Prompt: '?' for help";

/// What is installed.
#[derive(Clone, Copy)]
pub(super) struct Install<'a> {
    pub(super) release: LinuxRelease,
    /// In place of Debian's own server.
    pub(super) mirror: Option<&'a str>,
    pub(super) uefi: bool,
}

impl Install<'_> {
    /// The key of the base that this version of swdt installs.
    pub(super) fn key(&self) -> String {
        let (release, firmware) = (self.release.as_str(), if self.uefi { "uefi" } else { "bios" });
        format!("{release}-{firmware}-installed-{}", short_hash(&[release, &self.answers(), LINE]))
    }

    fn answers(&self) -> String {
        ANSWERS.to_owned() + &Mirror::new(self.mirror).answers()
    }

    /// Installs the base in a directory of its own.
    pub(super) fn build(&self, ctx: &Context, dir: &Path, lock: File) -> Result<()> {
        let suite = suite(self.release)?;
        let [image, first] = self.fetch(ctx, suite)?;
        let initrd = dir.join("initrd");
        let first = fs::read(&first).map_err(|error| failed("read", &first, &error))?;
        files::write_whole(&initrd, &with_file(first, "preseed.cfg", self.answers().as_bytes()))?;
        let disk = dir.join("base.qcow2");
        tool::output(tool::command("qemu-img", ["create", "-q", "-f", "qcow2"]).arg(&disk).arg(DISK))?;
        ctx.reporter.doing(format!(
            "installing Debian {suite} with its own installer (once; a quarter of an hour, hours where it is emulated)"
        ));
        let starts_with = if self.uefi {
            // Variables of this one start are enough: the answers have the loader put where firmware looks by itself.
            let (pair, vars) = (firmware::find(false)?, dir.join("vars.fd"));
            firmware::plant_vars(&pair, &vars)?;
            Firmware::Uefi { code: pair.code, vars, secure_boot: false }
        } else {
            Firmware::Bios
        };
        let kernel = Kernel { image, initrd, line: LINE.to_owned() };
        let vm = Vm {
            name: format!("swdt-install-{suite}"),
            firmware: starts_with,
            kernel: Some(kernel),
            ..machine(accelerator::choose(ctx)?, dir, disk)
        };
        run(ctx, &vm, dir, lock)
    }

    /// The installer's kernel and first file system.
    fn fetch(&self, ctx: &Context, suite: &str) -> Result<[PathBuf; 2]> {
        let server = self.mirror.unwrap_or(DEBIAN).trim_end_matches('/');
        let place = format!("{server}/dists/{suite}/{IMAGES}");
        let number = self.release.as_str().trim_start_matches("debian-");
        let packaged = Path::new(PACKAGED).join(number).join("amd64/text");
        let sums = source::fetch_text(&ctx.sources, &format!("{place}/SHA256SUMS"))?;
        let fetch = |file: &str| -> Result<PathBuf> {
            let sum = checksum(&sums, &format!("./netboot/{file}")).ok_or_else(|| {
                Error::new(id::CHECKSUM_UNKNOWN, format!("{place}/SHA256SUMS says nothing about {file}"))
            })?;
            let here = packaged.join(file);
            if source::digest_of(&here).is_ok_and(|seen| seen == sum) {
                return Ok(here);
            }
            super::fetch(ctx, &format!("{place}/netboot/{file}"), &sum)
        };
        let [kernel, initrd] = FILES;
        Ok([fetch(kernel)?, fetch(initrd)?])
    }
}

/// The machine that an installer runs on.
fn machine(accelerator: Accelerator, dir: &Path, disk: PathBuf) -> Vm {
    Vm {
        name: "swdt-install".to_owned(),
        guest: Guest::Linux,
        accelerator,
        firmware: Firmware::Bios,
        tpm: None,
        cpus: 2,
        memory_mib: 1024,
        devices: Devices::Virtio,
        disk,
        discs: Vec::new(),
        kernel: None,
        card: Card { mac: "52:54:00:00:00:01".into(), wire: Wire::Alone },
        // Where it is started: sockets have short names or none.
        runtime: Runtime { pid: "pid".into(), qmp: "qmp".into(), console: "tty".into() },
        console_log: dir.join("console.log"),
        ends: Ends::AtRestart,
    }
}

/// Runs the installer to its end. It dies with us, and holds the lock as its standard input.
fn run(ctx: &Context, vm: &Vm, dir: &Path, lock: File) -> Result<()> {
    let mut command = tool::command("setpriv", ["--pdeathsig", "KILL", QEMU]);
    command.args(vm.arguments().into_iter().filter(|word| word != "-daemonize"));
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.current_dir(dir).stdin(Stdio::from(lock)).stdout(Stdio::null()).stderr(Stdio::piped());
    let cannot = |error: std::io::Error| Error::new(id::TOOL_FAILED, format!("cannot run {QEMU}: {error}"));
    let mut child = command.spawn().map_err(cannot)?;
    let begun = Instant::now();
    let (mut words, mut last, mut told_step) = (0, begun, (String::new(), 0, begun));
    while child.try_wait().map_err(cannot)?.is_none() {
        let stop = ctx.interrupt.check();
        let said = said(&vm.console_log);
        if said.len() != words {
            (words, last) = (said.len(), Instant::now());
        }
        if let Some((title, percent)) = step(&said)
            && (title != told_step.0 || (percent != told_step.1 && told_step.2.elapsed() > TOLD))
        {
            ctx.reporter.doing(format!("Debian's installer: {title}, {percent} %"));
            told_step = (title.to_owned(), percent, Instant::now());
        }
        let hours = |limit: Duration| limit.as_secs() / 3600;
        let trouble = if said.contains(QUESTION) {
            Some("the installer cannot go on, and asks what to do".to_owned())
        } else if last.elapsed() > SILENCE {
            Some(format!("the installer said nothing for {} h; does it ask for something?", hours(SILENCE)))
        } else if begun.elapsed() > LIMIT {
            Some(format!("the installer did not finish within {} h", hours(LIMIT)))
        } else {
            None
        };
        if stop.is_err() || trouble.is_some() {
            child.kill().and_then(|()| child.wait()).map_err(cannot)?;
            stop?;
            return Err(told(vm, trouble.unwrap_or_default()));
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    let done = child.wait_with_output().map_err(cannot)?;
    // A terminal's Ctrl-C reached it, too.
    ctx.interrupt.check()?;
    if !done.status.success() {
        let mut words = tool::last_lines(&String::from_utf8_lossy(&done.stderr));
        words.push(done.status.to_string());
        return Err(told(vm, format!("the installer's machine ended: {}", words.join("; "))));
    }
    // QEMU ends so, too, when it is told to, and when its machine starts anew.
    if said(&vm.console_log).contains(FAREWELL) {
        return Ok(());
    }
    Err(told(vm, "the installer's machine ended before the installer was through".to_owned()))
}

fn told(vm: &Vm, message: String) -> Error {
    Error::new(id::INSTALLER_STUCK, message).with_output(tool::last_lines(&said(&vm.console_log)))
}

/// What the installer said so far, without its colours, and without the line at the foot of its screen, which has a clock.
fn said(console: &Path) -> String {
    let said = fs::read(console).unwrap_or_default();
    without_foot(&printable(&String::from_utf8_lossy(&said).replace('\r', "\n")))
}

/// What it does, and how far that is, by tens: `Installing the base system` and 80 of
/// `Installing the base system  ... 79%... 83%`, wherever that is broken into lines.
fn step(said: &str) -> Option<(&str, u8)> {
    let (before, progress) = said.rsplit_once("  ... ")?;
    let mut words = progress.rsplit(|letter: char| letter == '.' || letter.is_whitespace());
    let percent: u8 = words.find_map(|word| word.strip_suffix('%')?.parse().ok())?;
    Some((before.lines().next_back()?.trim().trim_end_matches('.'), percent / 10 * 10))
}

/// `[ (1*installer)  2 shell … ][ Nov 18  5:20 ]` is written again and again between other words.
fn without_foot(said: &str) -> String {
    let (mut words, mut rest) = (String::new(), said);
    while let Some(at) = rest.find("1*installer") {
        let begin = rest[..at].rfind('[').unwrap_or(at);
        let clock = rest[at..].find("][").map(|clock| at + clock + 2);
        let end = clock.and_then(|clock| rest[clock..].find(']').map(|end| clock + end + 1));
        words += &rest[..begin];
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    words + rest
}

/// A first file system with one more file in it. The kernel looks for the next archive at multiples of four.
fn with_file(mut first: Vec<u8>, name: &str, content: &[u8]) -> Vec<u8> {
    first.resize(first.len().next_multiple_of(4), 0);
    first.extend(archive(&[(name, content)]));
    first
}

/// An archive as the kernel unpacks it (cpio, format newc); a second one may follow a first.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let entries = files.iter().map(|(name, content)| (*name, *content, 0o100_644));
    for (number, (name, content, mode)) in entries.chain([("TRAILER!!!", &[][..], 0)]).enumerate() {
        // Magic, inode, mode, owner, group, links, time, size, four numbers of devices, length of the name, checksum.
        let name_size = name.len() + 1;
        let fields = [number + 1, mode, 0, 0, 1, 0, content.len(), 0, 0, 0, 0, name_size, 0];
        bytes.extend(b"070701");
        bytes.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
        bytes.extend(name.bytes().chain([0]));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::{io::Write, process::Command};

    use super::*;
    use crate::machine::{qemu::qmp::Qmp, tests::context};

    #[test]
    fn the_archive_is_read_by_cpio() {
        let bytes = archive(&[("preseed.cfg", b"one\n"), ("two", b"12345")]);
        assert_eq!(bytes.len() % 4, 0);
        let dir = tempfile::tempdir().unwrap();
        let mut cpio = Command::new("cpio")
            .args(["--extract", "--quiet", "--no-absolute-filenames"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        assert!(cpio.wait().unwrap().success());
        assert_eq!(fs::read(dir.path().join("preseed.cfg")).unwrap(), b"one\n");
        assert_eq!(fs::read(dir.path().join("two")).unwrap(), b"12345");
    }

    #[test]
    fn what_follows_a_first_file_system_is_where_the_kernel_looks() {
        for odd in 0..4 {
            let first = vec![0x1f; 40 + odd];
            let both = with_file(first.clone(), "preseed.cfg", b"one\n");
            let at = both.windows(6).position(|magic| magic == b"070701").unwrap();
            assert_eq!((at % 4, &both[..first.len()]), (0, &first[..]), "{odd}");
            assert!(both[first.len()..at].iter().all(|byte| *byte == 0));
        }
    }

    /// QEMU says that all is well when it is told to end, and when its machine starts anew.
    #[test]
    fn a_machine_that_only_ended_was_not_installed() {
        let dir = tempfile::tempdir().unwrap();
        let (ctx, disk) = (context(dir.path()), dir.path().join("disk.qcow2"));
        tool::output(tool::command("qemu-img", ["create", "-q", "-f", "qcow2"]).arg(&disk).arg("1M"))
            .unwrap();
        let vm = Vm { memory_mib: 64, ..machine(Accelerator::Tcg, dir.path(), disk) };
        let run = |said: &str| {
            fs::write(&vm.console_log, said).unwrap();
            std::thread::scope(|scope| {
                let lock = File::create(dir.path().join("lock")).unwrap();
                let running = scope.spawn(|| run(&ctx, &vm, dir.path(), lock));
                while !running.is_finished() {
                    let _ = Qmp::connect(&dir.path().join("qmp")).and_then(|mut qmp| qmp.quit());
                    std::thread::sleep(Duration::from_millis(50));
                }
                running.join().unwrap()
            })
        };
        let error = run("Installing the base system  ... 40%\n").unwrap_err();
        assert_eq!(error.id(), "installer-stuck");
        assert!(error.message.contains("before the installer was through"), "{error}");
        run("[ 3895.103032] reboot: Power down\n").unwrap();
    }

    #[test]
    fn what_the_installer_does_is_told_in_its_words() {
        let mut said = "Starting system log daemon: syslogd.\n".to_owned();
        assert_eq!(step(&said), None);
        for (more, expected) in [
            (
                "Checking the Debian archive mirror...  ... 25%... 100%\n",
                Some(("Checking the Debian archive mirror", 100)),
            ),
            ("Loading additional components  ... ", None),
            ("0%... 17%", Some(("Loading additional components", 10))),
            ("... 2", Some(("Loading additional components", 10))),
            ("\n29%", Some(("Loading additional components", 20))),
            ("... 100%\n\nInstalling the base system  ... 83%", Some(("Installing the base system", 80))),
        ] {
            said += more;
            assert_eq!(step(&said), expected, "{said}");
        }
    }

    #[test]
    fn a_clock_is_no_progress() {
        let foot = |minute: &str| format!("[      (1*installer)  2 shell  4- log     ][ Nov 18  {minute} ]");
        let said = format!("Installing{}... 10%{}... 20%{}", foot("5:20"), foot("5:21"), foot("5:22"));
        assert_eq!(without_foot(&said), "Installing... 10%... 20%");
        assert_eq!(without_foot(&said[..said.len() - 4]), "Installing... 10%... 20%", "half of it came yet");
    }

    /// As a mirror without some files made it ask, with what a terminal is told around it.
    #[test]
    fn a_question_is_heard_through_colours() {
        let dir = tempfile::tempdir().unwrap();
        let console = dir.path().join("console.log");
        fs::write(&console, "\u{1b}[H\u{1b}[32m[ 1*installer ]\u{1b}[19B\r\nDownloading a file failed:\r\n")
            .unwrap();
        assert!(!said(&console).contains(QUESTION));
        let question =
            "  1: Retry [*],  2: Change mirror,  3: Cancel,\r\n\u{1b}[0mPrompt: '?' for help, default=1> ";
        fs::write(&console, question).unwrap();
        assert!(said(&console).contains(QUESTION));
        assert_eq!(tool::last_lines(&said(&console)).len(), 2);
    }

    #[test]
    fn every_answer_is_one_line_of_four_words() {
        let install = Install { release: LinuxRelease::Debian12, mirror: None, uefi: false };
        let answers = install.answers();
        for line in answers.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.split(' ');
            assert_eq!(words.next(), Some("d-i"), "{line}");
            assert!(words.next().is_some_and(|name| name.contains('/')), "{line}");
            let kind = words.next().unwrap_or_default();
            assert!(
                ["string", "boolean", "select", "multiselect", "note", "password"].contains(&kind),
                "{line}"
            );
        }
        // A machine with the one firmware cannot start from a disk that was installed with the other.
        assert_ne!(Install { uefi: true, ..install }.key(), install.key());
        // Nor does it have the packages of another server.
        assert_ne!(
            Install { mirror: Some("http://mirror.example.com/debian"), ..install }.key(),
            install.key()
        );
        for must in ["netcfg/choose_interface", "partman/confirm ", "grub-installer/bootdev", "exit/poweroff"]
        {
            assert!(answers.contains(must), "{must}");
        }
    }
}
