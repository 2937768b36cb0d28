//! What executes the machines' instructions: the processor itself, if it truly can.
//!
//! `/dev/kvm` may be there and not work: inside another machine, or where a feature is missing. So a boot sector is run
//! (`probe.s`) that goes where every kernel goes, and the answer is kept for this boot of the host.

use std::{
    fs,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{arguments::Accelerator, process::QEMU};
use crate::{
    Error, Result,
    event::Reporter,
    id,
    machine::{Context, files, tool},
};

const DEVICE: &str = "/dev/kvm";
/// How long the probe may take; a tenth of a second is usual where KVM works.
const LIMIT: Duration = Duration::from_secs(5);
/// What QEMU ends with when the probe says `0x15`.
const DONE: i32 = (0x15 << 1) | 1;
/// Processors to show, the best first: some hosts cannot pass on this one feature (MSR 0x10a).
const PROCESSORS: &[&str] = &["host", "host,arch_capabilities=off"];

/// `probe.s`, assembled.
const PROBE: &[u8] = &[
    0xfa, 0x31, 0xc0, 0x8e, 0xd8, 0x8e, 0xc0, 0x8e, 0xd0, 0xbc, 0x00, 0x70, 0xfc, 0x66, 0xbf, 0x00, 0x10,
    0x00, 0x00, 0x0f, 0x22, 0xdf, 0x66, 0x31, 0xc0, 0x66, 0xb9, 0x00, 0x0c, 0x00, 0x00, 0x66, 0xf3, 0xab,
    0x66, 0xc7, 0x06, 0x00, 0x10, 0x03, 0x20, 0x00, 0x00, 0x66, 0xc7, 0x06, 0x00, 0x20, 0x03, 0x30, 0x00,
    0x00, 0x66, 0xc7, 0x06, 0x00, 0x30, 0x83, 0x00, 0x00, 0x00, 0x0f, 0x20, 0xe0, 0x66, 0x83, 0xc8, 0x20,
    0x0f, 0x22, 0xe0, 0x66, 0xb9, 0x80, 0x00, 0x00, 0xc0, 0x0f, 0x32, 0x66, 0x0d, 0x00, 0x01, 0x00, 0x00,
    0x0f, 0x30, 0x66, 0x0f, 0x01, 0x16, 0x90, 0x7c, 0x0f, 0x20, 0xc0, 0x66, 0x0d, 0x01, 0x00, 0x00, 0x80,
    0x0f, 0x22, 0xc0, 0xea, 0x6e, 0x7c, 0x08, 0x00, 0xb9, 0x80, 0xf0, 0xfa, 0x02, 0xff, 0xc9, 0x75, 0xfc,
    0xb0, 0x15, 0xe6, 0xf4, 0xf4, 0xeb, 0xfd, 0x66, 0x90, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x9a, 0x20, 0x00, 0x0f, 0x00, 0x80, 0x7c, 0x00, 0x00,
];

/// What was found out, and when it is worth no more.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probed {
    /// This boot, this kernel, this QEMU, this user, and what the device says to them.
    of: String,
    accelerator: Accelerator,
    /// Why not the processor itself.
    why: Option<String>,
}

/// What this host runs machines with. Says so, once, when it is slow.
pub(super) fn choose(ctx: &Context) -> Result<Accelerator> {
    let probed = probed(&ctx.cache_dir, &ctx.reporter)?;
    if let Some(why) = &probed.why {
        ctx.reporter.warn(format!(
            "virtual machines are emulated, ten to twenty times slower than they could be: {why}"
        ));
    }
    Ok(probed.accelerator)
}

/// The same for whoever only wants to know: why the processor itself does not run machines; none where it does.
pub(super) fn why_not(cache_dir: &Path) -> Result<Option<String>> {
    probed(cache_dir, &Reporter::silent()).map(|probed| probed.why)
}

/// What was found out in this boot of the host, or is now.
fn probed(cache_dir: &Path, reporter: &Reporter) -> Result<Probed> {
    let file = cache_dir.join("qemu/accelerator.json");
    let _lock = files::lock(&cache_dir.join("qemu/accelerator.lock"))?;
    let of = identity()?;
    if let Some(known) = files::read_json::<Probed>(&file).ok().flatten().filter(|known| known.of == of) {
        return Ok(known);
    }
    reporter.doing("trying whether this host can run virtual machines at full speed");
    let probed = probe(of, &cache_dir.join("qemu"))?;
    files::write_json(&file, &probed)?;
    Ok(probed)
}

fn identity() -> Result<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let version = tool::run(QEMU, ["--version"])?;
    Ok(format!(
        "{} {} {} user {} {}",
        read("/proc/sys/kernel/random/boot_id"),
        read("/proc/sys/kernel/osrelease"),
        version.lines().next().unwrap_or_default(),
        nix::unistd::geteuid(),
        // Whoever loaded the module or joined the group is not told the same again.
        open(Path::new(DEVICE)).map_or_else(|error| error.to_string(), |_| "open".to_owned()),
    ))
}

fn open(device: &Path) -> std::io::Result<fs::File> {
    fs::OpenOptions::new().read(true).write(true).open(device)
}

fn probe(of: String, dir: &Path) -> Result<Probed> {
    let emulated = |of, why: String| Probed { of, accelerator: Accelerator::Tcg, why: Some(why) };
    let device = Path::new(DEVICE);
    if !device.exists() {
        let why = "this host has no /dev/kvm; in a virtual machine, nested virtualisation is off";
        return Ok(emulated(of, why.to_owned()));
    }
    if let Err(error) = open(device) {
        let why = format!("/dev/kvm cannot be opened ({error}); add your user to the group `kvm`");
        return Ok(emulated(of, why));
    }
    let mut sector = PROBE.to_vec();
    sector.resize(510, 0);
    sector.extend([0x55, 0xaa]);
    let image = dir.join("probe.img");
    files::write_whole(&image, &sector)?;
    let mut last = String::new();
    for cpu in PROCESSORS {
        match run(&image, &["-accel", "kvm", "-cpu", cpu])? {
            Ran::Done => {
                let accelerator = Accelerator::Kvm { cpu: (*cpu).to_owned() };
                return Ok(Probed { of, accelerator, why: None });
            }
            Ran::Stuck => {
                "/dev/kvm is there, but a machine on it gets stuck in 64-bit code".clone_into(&mut last);
            }
            Ran::Refused(words) => last = format!("KVM does not work here: {words}"),
        }
    }
    Ok(emulated(of, last))
}

/// What became of the probe.
#[derive(Debug, PartialEq)]
enum Ran {
    Done,
    Stuck,
    Refused(String),
}

fn run(image: &Path, how: &[&str]) -> Result<Ran> {
    let words = ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-m", "64"];
    let mut command = tool::command(QEMU, words);
    command.args(how).args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-blockdev"]);
    let file = format!("driver=file,filename={},node-name=probe", image.to_string_lossy().replace(',', ",,"));
    command.arg(file).args(["-device", "ide-hd,drive=probe"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let cannot = |error: std::io::Error| Error::new(id::TOOL_FAILED, format!("cannot run {QEMU}: {error}"));
    let mut child = command.spawn().map_err(cannot)?;
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        if child.try_wait().map_err(cannot)?.is_some() {
            let done = child.wait_with_output().map_err(cannot)?;
            if done.status.code() == Some(DONE) {
                return Ok(Ran::Done);
            }
            let words =
                String::from_utf8_lossy(&done.stderr).trim().lines().last().unwrap_or_default().to_owned();
            return Ok(Ran::Refused(words));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().and_then(|()| child.wait()).map_err(cannot)?;
    Ok(Ran::Stuck)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(code: &[u8]) -> tempfile::NamedTempFile {
        let mut sector = code.to_vec();
        sector.resize(510, 0);
        sector.extend([0x55, 0xaa]);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), sector).unwrap();
        file
    }

    #[test]
    fn the_probe_runs_to_its_end_where_machines_run() {
        let tcg = ["-accel", "tcg", "-cpu", "max"];
        assert_eq!(run(image(PROBE).path(), &tcg).unwrap(), Ran::Done);
        // `hlt; jmp` for ever: a machine that gets nowhere.
        assert_eq!(run(image(&[0xfa, 0xf4, 0xeb, 0xfd]).path(), &tcg).unwrap(), Ran::Stuck);
    }

    #[test]
    fn what_qemu_refuses_is_kept() {
        let ran = run(image(PROBE).path(), &["-accel", "tcg", "-cpu", "host"]).unwrap();
        assert!(matches!(&ran, Ran::Refused(words) if words.contains("requires KVM")), "{ran:?}");
    }
}
