//! Installs Windows once, into a base. It takes long, so a run that is killed loses nothing: QEMU goes on by itself, and
//! whoever comes next looks on.
//!
//! ```text
//! <dir>/install.json     an installation was begun; written before it is
//! <dir>/disk.qcow2 seed.iso vars.fd console.log
//! ```

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;

use super::follow::{End, Follow, Limits};
use crate::{
    Error, ErrorKind, Result,
    event::Reporter,
    machine::{
        files::{self, failed},
        qemu::{
            arguments::{Accelerator, Card, Devices, Firmware, Guest, Vm, Wire},
            process,
        },
        tool,
    },
};

/// One installation.
pub(in crate::machine::qemu) struct Install<'a> {
    /// Where it is made.
    pub(in crate::machine::qemu) dir: PathBuf,
    /// Microsoft's disc.
    pub(in crate::machine::qemu) iso: &'a Path,
    /// Firmware with UEFI: its program, and variables to begin with. None is BIOS.
    pub(in crate::machine::qemu) uefi: Option<(PathBuf, PathBuf)>,
    pub(in crate::machine::qemu) accelerator: Accelerator,
    pub(in crate::machine::qemu) devices: Devices,
    pub(in crate::machine::qemu) cpus: u32,
    pub(in crate::machine::qemu) memory_mib: u64,
    /// The disk as it is before: blank.
    pub(in crate::machine::qemu) blank_disk: &'a dyn Fn(&Path) -> Result<()>,
    /// Writes the seed.
    pub(in crate::machine::qemu) seed: &'a dyn Fn(&Path) -> Result<()>,
    pub(in crate::machine::qemu) limits: Limits,
    pub(in crate::machine::qemu) reporter: &'a Reporter,
}

impl Install<'_> {
    /// Makes the base unless it is there, and leaves nothing else behind.
    pub(in crate::machine::qemu) fn base(&self, to: &Path) -> Result<()> {
        to.parent().map_or(Ok(()), files::make_dir)?;
        let _lock = files::lock(&to.with_extension("lock"))?;
        if to.is_file() {
            return Ok(());
        }
        let vm = self.vm();
        if !(self.note().exists() && process::runs(&vm.runtime)) {
            self.begin()?;
        }
        let follow = Follow {
            runtime: &vm.runtime,
            console_log: &vm.console_log,
            disk: &vm.disk,
            screenshot: self.dir.join("screen.png"),
            limits: self.limits,
            reporter: self.reporter,
        };
        let ended = follow.to_the_end(0);
        // What failed is not worth going on with; what it said is kept until the next try.
        process::stop(&vm.runtime, Duration::ZERO)?;
        files::remove_file(&self.at("seed.iso"))?;
        match ended? {
            End::Sealed => self.put_in_place(&vm.disk, to),
            End::Ready => Err(Error::new(ErrorKind::Internal, "a base was to be sealed, and can be reached")),
        }
    }

    /// Begins from nothing, whatever an earlier try left.
    pub(super) fn begin(&self) -> Result<()> {
        let vm = self.vm();
        process::stop(&vm.runtime, Duration::ZERO)?;
        if let Err(error) = fs::remove_dir_all(&self.dir)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(failed("remove", &self.dir, &error));
        }
        files::make_dir(&self.dir)?;
        files::write_json(&self.note(), &json!({ "schema": 1, "iso": self.iso.to_string_lossy() }))?;
        (self.blank_disk)(&vm.disk)?;
        (self.seed)(&self.at("seed.iso"))?;
        if let Some((_, vars)) = &self.uefi {
            let bytes = fs::read(vars).map_err(|error| failed("read", vars, &error))?;
            files::write_whole(&self.at("vars.fd"), &bytes)?;
        }
        self.reporter.doing("starting Setup");
        process::start(&vm)
    }

    fn put_in_place(&self, disk: &Path, to: &Path) -> Result<()> {
        fs::set_permissions(disk, fs::Permissions::from_mode(0o444))
            .map_err(|error| failed("protect", disk, &error))?;
        fs::rename(disk, to).map_err(|error| failed("rename", disk, &error))?;
        fs::remove_dir_all(&self.dir).map_err(|error| failed("remove", &self.dir, &error))
    }

    fn note(&self) -> PathBuf {
        self.at("install.json")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The machine that installs: no network, since nothing of it is to be found on the way.
    pub(super) fn vm(&self) -> Vm {
        let firmware = match &self.uefi {
            Some((code, _)) => {
                Firmware::Uefi { code: code.clone(), vars: self.at("vars.fd"), secure_boot: false }
            }
            None => Firmware::Bios,
        };
        Vm {
            name: "swdt-windows".into(),
            guest: Guest::Windows,
            accelerator: self.accelerator.clone(),
            firmware,
            tpm: None,
            cpus: self.cpus,
            memory_mib: self.memory_mib,
            devices: self.devices,
            disk: self.at("disk.qcow2"),
            discs: vec![self.iso.to_owned(), self.at("seed.iso")],
            kernel: None,
            card: Card {
                mac: super::MAC_OF_BASES.to_owned(),
                wire: Wire::Segment { port: self.at("port"), switch: self.at("nobody") },
            },
            runtime: process::runtime(&self.dir, "vm"),
            console_log: self.at("console.log"),
            once: false,
        }
    }
}

/// A disk of that size with nothing on it.
pub(in crate::machine::qemu) fn blank(disk: &Path, gib: u64) -> Result<()> {
    let mut command = tool::command("qemu-img", ["create", "-q", "-f", "qcow2"]);
    tool::output(command.arg(disk).arg(format!("{gib}G"))).map(drop)
}
