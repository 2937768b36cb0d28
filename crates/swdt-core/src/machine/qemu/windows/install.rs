//! Installs Windows once, into a base. It takes long, so a run that is killed loses nothing: QEMU goes on by itself, and
//! whoever comes next looks on.
//!
//! ```text
//! <base>.lock            held by whoever looks on
//! <base>.windows/
//!   install.json         an installation was begun, for which cluster; written before it is
//!   disk.qcow2 seed.iso vars.fd console.log
//! ```

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    super::image,
    follow::{End, Follow, Limits},
};
use crate::{
    Error, ErrorKind, Result,
    event::Reporter,
    id,
    interrupt::Interrupt,
    machine::{
        files::{self, failed},
        names::short_hash,
        patience::lock_unless,
        qemu::{
            arguments::{Accelerator, Card, Devices, Ends, Firmware, Guest, Runtime, Vm, Wire},
            process,
            room::Room,
        },
        tool,
    },
};

const NOTE: &str = "install.json";
const EXTENSION: &str = "windows";

/// One installation.
pub(in crate::machine::qemu) struct Install<'a> {
    /// The base that it becomes.
    pub(in crate::machine::qemu) to: PathBuf,
    /// Sockets of its process; a short path, because a socket's address holds 108 bytes.
    pub(in crate::machine::qemu) run: PathBuf,
    /// The directory of the cluster that it is made for.
    pub(in crate::machine::qemu) cluster: &'a Path,
    /// The node that it is made for first.
    pub(in crate::machine::qemu) node: &'a str,
    /// Microsoft's disc.
    pub(in crate::machine::qemu) iso: &'a Path,
    /// Firmware with UEFI: its program, and variables to begin with. None is BIOS.
    pub(in crate::machine::qemu) uefi: Option<(PathBuf, PathBuf)>,
    pub(in crate::machine::qemu) accelerator: Accelerator,
    pub(in crate::machine::qemu) devices: Devices,
    pub(in crate::machine::qemu) cpus: u32,
    pub(in crate::machine::qemu) memory_mib: u64,
    /// The disk as it is before: blank. Refuses where there is no room.
    pub(in crate::machine::qemu) blank_disk: &'a dyn Fn(&Path) -> Result<()>,
    /// Writes the seed.
    pub(in crate::machine::qemu) seed: &'a dyn Fn(&Path) -> Result<()>,
    pub(in crate::machine::qemu) limits: Limits,
    pub(in crate::machine::qemu) reporter: &'a Reporter,
    pub(in crate::machine::qemu) interrupt: &'a Interrupt,
}

/// An installation that was begun.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    schema: u32,
    cluster: PathBuf,
    node: String,
}

impl Install<'_> {
    /// Makes the base unless it is there, and leaves nothing else behind.
    pub(in crate::machine::qemu) fn base(&self) -> Result<()> {
        if image::is_whole(&self.to)? {
            return Ok(());
        }
        let _lock = self.lock()?;
        if image::is_whole(&self.to)? {
            return Ok(());
        }
        image::remove_damaged(&self.to, self.reporter)?;
        let vm = self.vm();
        if self.at(NOTE).exists() && process::runs(&vm.runtime) {
            self.note()?;
        } else {
            self.begin()?;
        }
        let follow = Follow {
            runtime: &vm.runtime,
            console_log: &vm.console_log,
            disk: &vm.disk,
            screenshot: self.at("screen.png"),
            limits: self.limits,
            reporter: self.reporter,
            interrupt: self.interrupt,
        };
        let ended = match follow.to_the_end() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                return Err(error.hinted(
                    "Windows goes on installing itself: the same command looks on, `swdt cluster destroy` ends it",
                ));
            }
            ended => ended,
        };
        process::stop(&vm.runtime, Duration::ZERO)?;
        files::remove_file(&self.at("seed.iso"))?;
        match ended {
            Ok(End::Sealed) => self.put_in_place(&vm.disk),
            Ok(End::Ready) => Err(Error::new(id::INTERNAL, "a base was to be sealed, and can be reached")),
            Err(error) => {
                // Half a Windows is not worth going on with; what it said and showed is kept until the next try.
                files::remove_file(&vm.disk)?;
                Err(error.hinted("run the command again to begin the installation anew"))
            }
        }
    }

    /// Whoever else installs the same is waited for.
    fn lock(&self) -> Result<File> {
        let lock = self.to.with_extension("lock");
        if let Some(lock) = files::try_lock(&lock)? {
            return Ok(lock);
        }
        self.reporter.doing("waiting for a Windows that is being installed from the same disc");
        lock_unless(self.interrupt, &lock)
    }

    /// Begins from nothing, whatever an earlier try left.
    pub(super) fn begin(&self) -> Result<()> {
        let vm = self.vm();
        process::stop(&vm.runtime, Duration::ZERO)?;
        remove_dir(&self.dir())?;
        files::make_private_dir(&self.dir())?;
        let begun = self.note().and_then(|()| self.prepare(&vm)).and_then(|()| {
            self.reporter.doing("starting Setup");
            process::start(&vm)
        });
        // Nothing is worth keeping of what never ran.
        begun.or_else(|error| remove_dir(&self.dir()).and(Err(error)))
    }

    fn prepare(&self, vm: &Vm) -> Result<()> {
        (self.blank_disk)(&vm.disk)?;
        (self.seed)(&self.at("seed.iso"))?;
        if let Some((_, vars)) = &self.uefi {
            let bytes = fs::read(vars).map_err(|error| failed("read", vars, &error))?;
            files::write_whole(&self.at("vars.fd"), &bytes)?;
        }
        Ok(())
    }

    /// Whoever looks on last is whose destruction ends it.
    fn note(&self) -> Result<()> {
        let (cluster, node) = (self.cluster.to_owned(), self.node.to_owned());
        files::write_json(&self.at(NOTE), &Note { schema: 1, cluster, node })
    }

    fn put_in_place(&self, disk: &Path) -> Result<()> {
        image::put_in_place(disk, &self.to)?;
        remove_dir(&self.dir())
    }

    fn dir(&self) -> PathBuf {
        self.to.with_extension(EXTENSION)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir().join(name)
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
            card: Card { mac: super::MAC_OF_BASES.to_owned(), wire: Wire::Nothing },
            runtime: runtime(&self.run, &self.dir()),
            console_log: self.at("console.log"),
            ends: Ends::WhenTold,
        }
    }
}

/// The process that works in a directory.
fn runtime(run: &Path, dir: &Path) -> Runtime {
    process::runtime(run, &format!("windows-{}", short_hash(&[&dir.to_string_lossy()])))
}

/// What an installation of that base, whoever began it, has taken of the host already, or left behind there.
pub(in crate::machine::qemu) fn held(run: &Path, base: &Path) -> Result<Room> {
    let dir = base.with_extension(EXTENSION);
    Ok(Room::exactly(process::memory_mib(&runtime(run, &dir)), files::size(&dir)? >> 20))
}

/// Installations that were begun for this cluster.
fn of_cluster(bases: &Path, cluster: &Path) -> impl Iterator<Item = (PathBuf, Note)> {
    let dirs = files::names(bases).into_iter().filter(|name| files::has_extension(name, EXTENSION));
    dirs.map(|name| bases.join(name)).filter_map(move |dir| {
        let note = files::read_json::<Note>(&dir.join(NOTE)).ok().flatten()?;
        (note.cluster == cluster).then_some((dir, note))
    })
}

/// Installations that this cluster began and nobody looks on at: what remains of a killed run.
pub(in crate::machine::qemu) fn abandoned(bases: &Path, cluster: &Path) -> Vec<PathBuf> {
    let nobody =
        |dir: &PathBuf| files::try_lock(&dir.with_extension("lock")).is_ok_and(|lock| lock.is_some());
    of_cluster(bases, cluster).map(|(dir, _)| dir).filter(nobody).collect()
}

/// The machine that installs what a node waits for. Nodes of one kind wait for the same one, which knows the first of them.
pub(in crate::machine::qemu) fn under_way(
    run: &Path,
    bases: &Path,
    cluster: &Path,
    node: &str,
) -> Option<Runtime> {
    let mut all: Vec<_> = of_cluster(bases, cluster)
        .map(|(dir, note)| (note.node != node, runtime(run, &dir)))
        .filter(|(_, runtime)| process::runs(runtime))
        .collect();
    all.sort_by_key(|(other, _)| *other);
    all.into_iter().next().map(|(_, runtime)| runtime)
}

/// Ends such an installation.
pub(in crate::machine::qemu) fn abandon(run: &Path, dir: &Path) -> Result<()> {
    let Some(_lock) = files::try_lock(&dir.with_extension("lock"))? else { return Ok(()) };
    process::stop(&runtime(run, dir), Duration::ZERO)?;
    remove_dir(dir)
}

fn remove_dir(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", dir, &error)),
        _ => Ok(()),
    }
}

/// A disk of that size with nothing on it.
pub(in crate::machine::qemu) fn blank(disk: &Path, gib: u64) -> Result<()> {
    files::make_private(disk)?;
    let mut command = tool::command("qemu-img", ["create", "-q", "-f", "qcow2"]);
    tool::output(command.arg(disk).arg(format!("{gib}G"))).map(drop)
}
