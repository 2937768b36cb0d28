//! Virtual machines by QEMU: real kernels, real firmware, on any Linux host; no libvirt, and without root if need be.
//!
//! ```text
//! <cache>/qemu/bases/<key>.qcow2       what disks begin as, shared, never written to
//! <cache>/qemu/accelerator.json        whether the processor itself can run machines, tried once a boot
//! <cluster>/network.json               the range and the nodes' addresses
//! <cluster>/machines/<node>/
//!   machine.json                       the ledger entry, written before each act
//!   ssh_host_ed25519_key               planted, so the host key is known before first contact
//!   disk.qcow2 seed.iso vars.fd tpm/   the machine
//!   console.log                        what it said on its serial line
//! /run/swdt/<cluster>/                 sockets and process ids (`names`)
//! ```
//!
//! One detached process a machine, known by a path on its command line (`process`). Names follow from the cluster's
//! directory alone, so everything is found and removed whatever was killed, and whenever.

mod accelerator;
mod arguments;
mod firmware;
mod image;
mod ledger;
mod names;
mod plug;
mod process;
pub(crate) mod qmp;
mod require;
mod room;
mod seed;
mod segment;
mod snapshot;
mod sockets;
mod switch;
#[cfg(test)]
mod tests;
mod tpm;
mod traces;
pub(crate) mod windows;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

pub(super) use room::memory_left_mib;
pub use segment::SWITCH_COMMAND;
pub use switch::serve as serve_switch;

use self::{
    arguments::{Accelerator, Devices, Ends, Guest, Vm},
    ledger::Entry,
    names::MachineNames,
    plug::Plugged,
    room::Room,
    windows::Setup,
};
use super::{
    Context, MachineState, Provider, Reached, Snapshots, files,
    names::maker_of,
    patience::{patience_unless, ssh_answers},
    record::Stage,
    tool,
};
use crate::{
    Error, Result,
    doctor::{self, HostFacts, Kvm},
    id, keys,
    spec::{Endpoint, Firmware, Image, MachineSpec, Node, OsFamily, Place, ProviderName, VmSpec},
};

/// How long a machine may take from launch to SSH: half a minute is usual with KVM, two are without.
const BOOT: Duration = Duration::from_mins(5);
const BOOT_EMULATED: Duration = Duration::from_mins(20);
/// How long a machine may take to shut down when its state matters.
const SHUTDOWN: Duration = Duration::from_mins(3);

/// Makes machines by QEMU.
pub(super) struct Qemu;

/// Everything on this host that belongs to the cluster and these nodes of it, for people to read; nothing
/// once the cluster is destroyed.
pub fn traces(ctx: &Context, nodes: &[&str]) -> Vec<String> {
    traces::of_cluster(ctx, nodes)
}

impl Provider for Qemu {
    fn look(&self, host: &mut HostFacts, nodes: &[&Node], cache_dir: &Path) {
        let vms: Vec<&VmSpec> = nodes.iter().filter_map(|node| specs(node).ok()).map(|(_, vm)| vm).collect();
        require::look(host, &vms);
        host.kvm = accelerator::why_not(cache_dir).ok().map(|why| why.map_or(Kvm::Works, Kvm::Emulated));
        let version = |program| tool::run(program, ["--version"]).ok()?.lines().next().map(str::to_owned);
        host.qemu = version(process::QEMU);
        host.swtpm = version(tpm::SWTPM);
    }

    fn usable(&self) -> Result<()> {
        require::check(&[])
    }

    fn wants(&self, host: &mut HostFacts, ctx: &Context, nodes: &[Node]) -> Result<()> {
        let (mut wanted, mut held, mut absent) = (Room::default(), Vec::new(), Vec::new());
        for node in nodes {
            let (spec, vm) = specs(node)?;
            match self.status(ctx, &node.name)? {
                MachineState::Absent => {
                    wanted.add(spec.memory_mib, vm.disk_gib);
                    // Half a machine of an earlier run goes before the whole one is made.
                    let half = MachineNames::of(ctx, &node.name);
                    let taken = files::size(&half.dir)? >> 20;
                    held.push((
                        ctx.cluster_dir.as_path(),
                        Room::exactly(process::memory_mib(&half.runtime()), taken),
                    ));
                    absent.push((node.name.as_str(), vm));
                }
                MachineState::Stopped => wanted.add(spec.memory_mib, 0),
                MachineState::Running => {}
            }
        }
        let Setup { mut errors, wanted: setup, held: begun } = windows::require(ctx, &absent);
        // Without QEMU's programs nothing can be said of images; and nothing more of what is no medium at all.
        if host.qemu_lacks.is_empty() {
            absent.retain(|(node, _)| errors.iter().all(|error| error.node.as_deref() != Some(node)));
            let look = |(node, vm): &(&str, &VmSpec)| image::require(ctx, vm).map_err(|error| error.on(node));
            errors.extend(absent.iter().filter_map(|it| look(it).err()));
        }
        held.push((&ctx.cache_dir, begun));
        room::look(host, &[(ctx.cluster_dir.as_path(), wanted), (&ctx.cache_dir, setup)], &held);
        Error::all(errors).map_or(Ok(()), Err)
    }

    fn require(&self, ctx: &Context, nodes: &[Node]) -> Result<()> {
        let vms: Vec<&VmSpec> = nodes.iter().filter_map(|node| specs(node).ok()).map(|(_, vm)| vm).collect();
        let mut host = HostFacts { wanted: vec![ProviderName::Qemu], ..HostFacts::default() };
        require::look(&mut host, &vms);
        let wrong = self.wants(&mut host, ctx, nodes).err();
        let lacks = doctor::require(&host).err();
        Error::all(wrong.into_iter().chain(lacks).collect()).map_or(Ok(()), Err)
    }

    fn missing_packages(&self) -> Vec<&'static str> {
        require::missing_packages()
    }

    fn ensure(&self, ctx: &Context, node: &Node) -> Result<Reached> {
        let (spec, vm) = specs(node)?;
        require::check(&[vm])?;
        let names = MachineNames::of(ctx, &node.name);
        let entry = match Entry::load(&names)? {
            Some(entry) if entry.stage == Stage::Ready => entry,
            Some(_) => {
                clear(ctx, &names)?;
                create(ctx, &names, spec, vm)?
            }
            None => create(ctx, &names, spec, vm)?,
        };
        run(ctx, &names, node, &entry, spec, vm)
    }

    fn start(&self, ctx: &Context, node: &Node) -> Result<Reached> {
        let (spec, vm) = specs(node)?;
        require::check(&[vm])?;
        let names = MachineNames::of(ctx, &node.name);
        let entry = Entry::load(&names)?.filter(|entry| entry.stage == Stage::Ready);
        let entry =
            entry.ok_or_else(|| Error::new(id::MACHINE_NOT_MADE, "there is no such machine to start"))?;
        run(ctx, &names, node, &entry, spec, vm)
    }

    fn stop(&self, ctx: &Context, node: &str) -> Result<()> {
        let names = MachineNames::of(ctx, node);
        ctx.reporter.for_node(node).doing("shutting down");
        if !end(&names, SHUTDOWN)? {
            ctx.reporter.for_node(node).warn("did not shut down by itself, and was switched off");
        }
        Ok(())
    }

    fn status(&self, ctx: &Context, node: &str) -> Result<MachineState> {
        let names = MachineNames::of(ctx, node);
        let made = Entry::load(&names)?.is_some_and(|entry| entry.stage == Stage::Ready);
        Ok(match (made, process::runs(&names.runtime())) {
            (false, _) => MachineState::Absent,
            (true, false) => MachineState::Stopped,
            (true, true) => MachineState::Running,
        })
    }

    fn destroy(&self, ctx: &Context, node: &str) -> Result<()> {
        ctx.reporter.for_node(node).doing("removing the machine");
        clear(ctx, &MachineNames::of(ctx, node))
    }

    fn destroy_cluster(&self, ctx: &Context, named: &[String]) -> Result<()> {
        let abandoned = windows::abandon(ctx).err();
        let mut nodes = ledger::nodes(ctx);
        let unbooked = |node: &&String| {
            maker_of(ctx, node).is_none() && !traces::of_machine(&MachineNames::of(ctx, node)).is_empty()
        };
        nodes.extend(named.iter().filter(unbooked).cloned());
        let work = |node: &String| self.destroy(ctx, node).map_err(|error| error.on(node));
        let errors = nodes.iter().filter_map(|node| work(node).err()).chain(abandoned);
        if let Some(error) = Error::all(errors.collect()) {
            return Err(error);
        }
        if segment::traces(ctx).is_empty() { Ok(()) } else { segment::remove(ctx) }
    }

    fn console_log(&self, ctx: &Context, node: &str) -> Option<PathBuf> {
        Some(MachineNames::of(ctx, node).console())
    }

    fn console(&self, ctx: &Context, node: &str) -> Result<PathBuf> {
        running(ctx, node).map(|runtime| runtime.console)
    }

    fn screenshot(&self, ctx: &Context, node: &str, to: &Path) -> Result<()> {
        running(ctx, node).and_then(|runtime| process::screenshot(&runtime, to))
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Some(self)
    }
}

fn specs(node: &Node) -> Result<(&MachineSpec, &VmSpec)> {
    match &node.place {
        Place::Machine(spec) => spec.vm.as_ref().map(|vm| (spec, vm)),
        Place::Existing { .. } => None,
    }
    .ok_or_else(|| Error::new(id::INTERNAL, "not a virtual machine"))
}

/// The machine's process; before the machine is made, that which installs its Windows.
fn running(ctx: &Context, node: &str) -> Result<arguments::Runtime> {
    let names = MachineNames::of(ctx, node);
    let runtime = names.runtime();
    if process::runs(&runtime) {
        return Ok(runtime);
    }
    if Entry::load(&names)?.is_some() {
        return Err(Error::new(id::MACHINE_STOPPED, "the machine does not run")
            .hinted(format!("start it with `swdt node start {node}`")));
    }
    windows::under_way(ctx, node).ok_or_else(|| {
        Error::new(id::MACHINE_NOT_MADE, "the machine is not made yet")
            .hinted("make it with `swdt cluster create`")
    })
}

/// Makes a machine that has never run.
fn create(ctx: &Context, names: &MachineNames, spec: &MachineSpec, vm: &VmSpec) -> Result<Entry> {
    let base = match &vm.image {
        Image::Windows(image) => windows::base(ctx, &names.node, image, vm)?,
        image => image::ensure(ctx, image, vm.firmware)?,
    };
    image::base_fits(&base, vm.disk_gib)?;
    // Not before: what made the base may have needed the same room, and has given it back.
    room::enough(&[(&ctx.cluster_dir, Room::of(spec.memory_mib, vm.disk_gib))])?;
    let mut entry =
        Entry::new(base.key.clone(), image::mark(&base.path), vm.firmware, plug::choose(vm.wiring));
    entry.save(names)?;
    ctx.reporter.for_node(&names.node).doing("making the machine");
    let plugged = plug::plug(ctx, names, entry.wiring)?;
    match &vm.image {
        Image::Windows(image) => windows::seed(ctx, names, &plugged, image)?,
        _ => seed::write(ctx, names, &plugged)?,
    }
    image::overlay(&base, &names.disk(), vm.disk_gib)?;
    entry.stage = Stage::Ready;
    entry.save(names)?;
    Ok(entry)
}

/// Starts the machine unless it runs, and waits until SSH answers.
fn run(
    ctx: &Context,
    names: &MachineNames,
    node: &Node,
    entry: &Entry,
    spec: &MachineSpec,
    vm: &VmSpec,
) -> Result<Reached> {
    let plugged = plug::plug(ctx, names, entry.wiring)?;
    let accelerator = accelerator::choose(ctx)?;
    if !process::runs(&names.runtime()) {
        ctx.reporter.for_node(&names.node).doing("starting the machine");
        room::enough(&[(&ctx.cluster_dir, Room::of(spec.memory_mib, 0))])?;
        image::stands(ctx, entry)?;
        image::grow(&names.disk(), vm.disk_gib)?;
        launch(names, node, entry, spec, vm, &plugged, accelerator.clone())?;
    }
    if node.os == OsFamily::Windows {
        windows::first_boot(ctx, names, entry, accelerator == Accelerator::Tcg)?;
    }
    let limit = if accelerator == Accelerator::Tcg { BOOT_EMULATED } else { BOOT };
    wait_for_ssh(ctx, names, node.os, &plugged, limit)?;
    let endpoint = Endpoint {
        address: plugged.ssh.ip().to_string(),
        port: plugged.ssh.port(),
        ip: Some(plugged.ip()),
        api: plugged.api,
    };
    Ok(Reached { endpoint, host_key: Some(keys::ensure(&names.host_key())?) })
}

fn launch(
    names: &MachineNames,
    node: &Node,
    entry: &Entry,
    spec: &MachineSpec,
    vm: &VmSpec,
    plugged: &Plugged,
    accelerator: Accelerator,
) -> Result<()> {
    let devices = match &vm.image {
        Image::Windows(image) => windows::devices(image),
        _ => Devices::Virtio,
    };
    let secure_boot = entry.firmware == Firmware::SecureBoot;
    let firmware = match entry.firmware {
        Firmware::Bios => arguments::Firmware::Bios,
        Firmware::Uefi | Firmware::SecureBoot => {
            let pair = firmware::find(secure_boot)?;
            firmware::plant_vars(&pair, &names.vars())?;
            arguments::Firmware::Uefi { code: pair.code, vars: names.vars(), secure_boot }
        }
    };
    let tpm = secure_boot.then(|| names.tpm());
    tpm.as_ref().map_or(Ok(()), tpm::Tpm::start)?;
    // Sockets of a process that is gone would keep QEMU from making its own.
    files::remove_file(&names.port())?;
    process::start(&Vm {
        name: names.process.clone(),
        guest: match node.os {
            OsFamily::Linux => Guest::Linux,
            OsFamily::Windows => Guest::Windows,
        },
        accelerator,
        firmware,
        tpm: tpm.map(|tpm| tpm.socket),
        cpus: spec.cpus,
        memory_mib: spec.memory_mib,
        devices,
        disk: names.disk(),
        // That of Windows goes after the first boot.
        discs: Some(names.seed()).filter(|seed| seed.exists()).into_iter().collect(),
        kernel: None,
        card: plugged.card.clone(),
        runtime: names.runtime(),
        console_log: names.console(),
        ends: Ends::WhenOff,
    })
}

fn wait_for_ssh(
    ctx: &Context,
    names: &MachineNames,
    os: OsFamily,
    plugged: &Plugged,
    limit: Duration,
) -> Result<()> {
    let begun = Instant::now();
    let answer = patience_unless(&ctx.interrupt, limit, || {
        if ssh_answers(plugged.ssh) {
            return Some(true);
        }
        (!process::runs(&names.runtime())).then_some(false)
    })?;
    let message = match answer {
        Some(true) => return Ok(()),
        Some(false) => {
            format!("the machine stopped {} s after it was started", begun.elapsed().as_secs())
        }
        None => format!("the machine did not answer on {} within {} s", plugged.ssh, limit.as_secs()),
    };
    let console = fs::read(names.console()).unwrap_or_default();
    let console = String::from_utf8_lossy(&console);
    let mut error = Error::new(id::MACHINE_SILENT, message).with_output(tool::last_lines(&console));
    if process::screenshot(&names.runtime(), &names.screenshot()).is_ok() {
        error = error.hinted(format!("what its screen shows is in {}", names.screenshot().display()));
    }
    if console.is_empty() && os == OsFamily::Linux {
        error = error.hinted("it said nothing on its serial line: does the image boot with this `firmware`?");
    } else if ["Security Violation", "Access Denied"].iter().any(|words| console.contains(words)) {
        error = error.hinted(
            "the firmware refused what is not signed: write `firmware: uefi`, or take a signed image",
        );
    } else if answer.is_none() {
        error = error.hinted(match os {
            OsFamily::Linux => {
                "if it shows a login, it has no network or no sshd: the image must have cloud-init, which reads its \
                 address from a disc (NoCloud)"
            }
            OsFamily::Windows => {
                "if it shows a login, it has no network or no sshd: it said on its serial line how its first boot went"
            }
        });
    }
    error = error.hinted(format!("look on with `swdt node console {}`", names.node));
    error.log = Some(names.console());
    Err(error)
}

/// Ends the machine's process and its TPM; says whether the machine went by itself.
fn end(names: &MachineNames, grace: Duration) -> Result<bool> {
    let by_itself = process::stop(&names.runtime(), grace)?;
    names.tpm().stop()?;
    Ok(by_itself)
}

/// Removes a machine, whatever is there of it, and makes sure that nothing is left.
fn clear(ctx: &Context, names: &MachineNames) -> Result<()> {
    if let Ok(Some(mut entry)) = Entry::load(names) {
        entry.stage = Stage::Deleting;
        entry.save(names)?;
    }
    end(names, Duration::ZERO)?;
    plug::unplug(ctx, names)?;
    match fs::remove_dir_all(&names.dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(files::failed("remove", &names.dir, &error));
        }
        _ => {}
    }
    let left = traces::of_machine(names);
    if left.is_empty() {
        return Ok(());
    }
    let message = format!("could not remove everything of the machine: {}", left.join(", "));
    Err(Error::new(id::MACHINE_LEFT_OVER, message))
}
