//! Linux machines by systemd-nspawn: a Debian of its own in seconds, at native speed, on the host's kernel. With
//! Wine in it, such a machine behaves as Windows does, as far as Wine does: provider `rehearsal`.
//!
//! ```text
//! <cache>/nspawn/roots/<key>/          a whole Debian, shared, never written to
//! <cluster>/network.json               the range and the nodes' addresses
//! <cluster>/machines/<node>/
//!   machine.json                       the ledger entry, written before each act
//!   ssh_host_ed25519_key               planted, so the host key is known before first contact
//!   upper/ work/ merged/               the overlay over the root; merged is what the machine sees
//!   volumes/                           real directories for containerd, kubelet and etcd
//!   launch.sh console.log              what runs it, what it said
//! ```
//!
//! Names of cgroups, links, bridge and table follow from the cluster's directory alone (`names`), so
//! they are found and removed whatever was killed, and whenever.

pub(crate) mod cgroup;
mod ledger;
mod mounts;
mod names;
mod plant;
mod process;
mod require;
mod root;
mod snapshot;
mod traces;

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use self::{cgroup::Hierarchies, ledger::Entry, names::MachineNames, plant::Plants};
use super::{
    Context, MachineState, Provider, Reached, Recipe, Rehearsal, Snapshots, files,
    names::{ClusterNames, maker_of},
    network,
    patience::{patience, patience_unless, ssh_answers},
    record::Stage,
    shared_kernel, tool,
};
use crate::{
    Error, Result,
    doctor::HostFacts,
    id, keys,
    spec::{Endpoint, MachineSpec, Node, Place, ProviderName},
};

/// How long a machine may take from launch to SSH; four seconds are usual.
const BOOT: Duration = Duration::from_mins(2);
/// How long a machine may take to shut down when its state matters.
const SHUTDOWN: Duration = Duration::from_mins(1);
/// How long a machine may take to shut down when it is removed anyway.
const FAREWELL: Duration = Duration::from_secs(5);
const SSH_PORT: u16 = 22;

/// Makes machines by systemd-nspawn.
pub(super) struct Nspawn;

/// A running machine as the host sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// Its first process; its namespaces are the machine's.
    pub init: i32,
    /// Its file system.
    pub root: PathBuf,
}

/// Looks into a machine from the host, without SSH; nothing when it does not run.
pub fn inside(ctx: &Context, node: &str) -> Option<Inside> {
    let names = MachineNames::of(ctx, node);
    let init = process::init(&Hierarchies::find(), &names)?;
    Some(Inside { init, root: names.merged() })
}

/// Everything on this host that belongs to the cluster and these nodes of it, for people to read; nothing
/// once the cluster is destroyed.
pub fn traces(ctx: &Context, nodes: &[&str]) -> Vec<String> {
    traces::of_cluster(ctx, nodes)
}

impl Provider for Nspawn {
    fn look(&self, host: &mut HostFacts, _: &[&Node], _: &Path) {
        require::look(host);
    }

    fn usable(&self) -> Result<()> {
        require::check()
    }

    fn require(&self, _: &Context, _: &[Node]) -> Result<()> {
        self.usable()
    }

    fn missing_packages(&self) -> Vec<&'static str> {
        require::missing_packages()
    }

    fn ensure(&self, ctx: &Context, node: &Node) -> Result<Reached> {
        require::check()?;
        let spec = machine_spec(node)?;
        let names = MachineNames::of(ctx, &node.name);
        let entry = match Entry::load(&names)? {
            Some(entry) if entry.stage == Stage::Ready => entry,
            Some(_) => {
                clear(&names)?;
                create(ctx, &names, spec)?
            }
            None => create(ctx, &names, spec)?,
        };
        run(ctx, &names, &resized(&names, entry, spec)?, spec)
    }

    fn start(&self, ctx: &Context, node: &Node) -> Result<Reached> {
        require::check()?;
        let names = MachineNames::of(ctx, &node.name);
        let entry = Entry::load(&names)?.filter(|entry| entry.stage == Stage::Ready);
        let entry =
            entry.ok_or_else(|| Error::new(id::MACHINE_NOT_MADE, "there is no such machine to start"))?;
        let spec = machine_spec(node)?;
        run(ctx, &names, &resized(&names, entry, spec)?, spec)
    }

    fn stop(&self, ctx: &Context, node: &str) -> Result<()> {
        let names = MachineNames::of(ctx, node);
        let groups = Hierarchies::find();
        ctx.reporter.for_node(node).doing("shutting down");
        process::stop(&groups, &names, SHUTDOWN)?;
        mounts::unmount_below(&names.merged())?;
        groups.remove(&names.cgroup)
    }

    fn status(&self, ctx: &Context, node: &str) -> Result<MachineState> {
        let names = MachineNames::of(ctx, node);
        let made = Entry::load(&names)?.is_some_and(|entry| entry.stage == Stage::Ready);
        Ok(match (made, Hierarchies::find().processes(&names.cgroup).is_empty()) {
            (false, _) => MachineState::Absent,
            (true, true) => MachineState::Stopped,
            (true, false) => MachineState::Running,
        })
    }

    fn destroy(&self, ctx: &Context, node: &str) -> Result<()> {
        let names = MachineNames::of(ctx, node);
        ctx.reporter.for_node(node).doing("removing the machine");
        clear(&names)?;
        network::forget(ctx, node)
    }

    fn destroy_cluster(&self, ctx: &Context, named: &[String]) -> Result<()> {
        let mut nodes = ledger::nodes(ctx);
        let groups = Hierarchies::find();
        let unbooked = |node: &&String| {
            maker_of(ctx, node).is_none()
                && !nodes.contains(node)
                && !traces::of_machine(&groups, &MachineNames::of(ctx, node)).is_empty()
        };
        let unbooked: Vec<String> = named.iter().filter(unbooked).cloned().collect();
        nodes.extend(unbooked);
        if nodes.is_empty() {
            return Ok(());
        }
        require::check()?;
        let errors: Vec<_> = std::thread::scope(|scope| {
            let work = |node: &String| self.destroy(ctx, node).map_err(|error| error.on(node));
            let threads: Vec<_> = nodes.iter().map(|node| scope.spawn(move || work(node))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()?.err()).collect()
        });
        Error::all(errors).map_or(Ok(()), Err)
    }

    fn console_log(&self, ctx: &Context, node: &str) -> Option<PathBuf> {
        Some(MachineNames::of(ctx, node).console())
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Some(self)
    }
}

fn machine_spec(node: &Node) -> Result<&MachineSpec> {
    match &node.place {
        Place::Machine(spec) => Ok(spec),
        Place::Existing { .. } => Err(Error::new(id::INTERNAL, "an existing machine is not made")),
    }
}

/// What makes the machine behave as Windows does, where it shall.
fn windows(ctx: &Context, spec: &MachineSpec) -> Result<Option<Rehearsal>> {
    match spec.provider {
        ProviderName::Rehearsal => ctx.rehearsal().map(Some),
        ProviderName::Nspawn | ProviderName::Qemu => Ok(None),
    }
}

fn recipe(ctx: &Context, windows: Option<Rehearsal>) -> Recipe {
    windows.map_or(ctx.recipe, |windows| windows.recipe)
}

/// Makes a machine that has never run.
fn create(ctx: &Context, names: &MachineNames, spec: &MachineSpec) -> Result<Entry> {
    let windows = windows(ctx, spec)?;
    let recipe = recipe(ctx, windows);
    let mut entry = Entry::new(spec, root::key(recipe));
    entry.save(names)?;
    let root = root::ensure(ctx, recipe, &entry.root)?;
    ctx.reporter.for_node(&names.node).doing("making the machine");
    let (network, address) = prepare_host(ctx, names)?;
    keys::ensure(&names.host_key())?;
    mounts::mount_overlay(names, &root)?;
    let plants = Plants {
        address,
        network: network.network,
        gateway: network.gateway(),
        authorized_key: &ctx.authorized_key,
        cgroup_v1: Hierarchies::find().has_v1(),
    };
    plant::plant(names, &plants)?;
    if let Some(windows) = windows {
        plant::windows(names, windows)?;
    }
    entry.stage = Stage::Ready;
    entry.save(names)?;
    Ok(entry)
}

/// The entry with the sizes that are asked for now.
fn resized(names: &MachineNames, mut entry: Entry, spec: &MachineSpec) -> Result<Entry> {
    if (entry.cpus, entry.memory_mib) != (spec.cpus, spec.memory_mib) {
        (entry.cpus, entry.memory_mib) = (spec.cpus, spec.memory_mib);
        entry.save(names)?;
    }
    Ok(entry)
}

/// What every machine of the cluster needs of the host; gone after a reboot of the host, so made true
/// before every start.
fn prepare_host(ctx: &Context, names: &MachineNames) -> Result<(network::Network, Ipv4Addr)> {
    let prepared = network::ensure(ctx, &names.node)?;
    shared_kernel::hold(ctx)?;
    Ok(prepared)
}

/// Starts the machine unless it runs, and waits until SSH answers.
fn run(ctx: &Context, names: &MachineNames, entry: &Entry, spec: &MachineSpec) -> Result<Reached> {
    let groups = Hierarchies::find();
    let (_, address) = prepare_host(ctx, names)?;
    groups.make(&names.cgroup, entry.cpus, entry.memory_mib)?;
    if groups.processes(&names.cgroup).is_empty() {
        ctx.reporter.for_node(&names.node).doing("starting the machine");
        let root = root::ensure(ctx, recipe(ctx, windows(ctx, spec)?), &entry.root)?;
        mounts::mount_overlay(names, &root)?;
        process::launch(names, &ClusterNames::of(ctx), &groups)?;
    }
    wait_for_ssh(ctx, &groups, names, address)?;
    let ip = IpAddr::V4(address);
    let endpoint = Endpoint { address: ip.to_string(), port: SSH_PORT, ip: Some(ip), api: None };
    Ok(Reached { endpoint, host_key: Some(keys::ensure(&names.host_key())?) })
}

fn wait_for_ssh(ctx: &Context, groups: &Hierarchies, names: &MachineNames, address: Ipv4Addr) -> Result<()> {
    let begun = Instant::now();
    let answer = patience_unless(&ctx.interrupt, BOOT, || {
        // The launcher needs a moment to enter its cgroup.
        let dead = begun.elapsed() > Duration::from_secs(2) && groups.processes(&names.cgroup).is_empty();
        if dead { Some(false) } else { ssh_answers((address, SSH_PORT).into()).then_some(true) }
    })?;
    let message = match answer {
        Some(true) => return Ok(()),
        Some(false) => "the machine stopped while it was starting".to_owned(),
        None => format!("the machine did not answer on {address}:{SSH_PORT} within {} s", BOOT.as_secs()),
    };
    let console = fs::read(names.console()).unwrap_or_default();
    let mut error = Error::new(id::MACHINE_SILENT, message)
        .with_output(tool::last_lines(&String::from_utf8_lossy(&console)))
        .hinted("the console says more");
    error.log = Some(names.console());
    Err(error)
}

/// Removes a machine, whatever is there of it, and makes sure that nothing is left.
fn clear(names: &MachineNames) -> Result<()> {
    let groups = Hierarchies::find();
    if let Ok(Some(mut entry)) = Entry::load(names) {
        entry.stage = Stage::Deleting;
        entry.save(names)?;
    }
    end(&groups, names)?;
    mounts::remove_tree(&names.dir)?;
    verify_gone(&groups, names)
}

/// Ends a machine whose state no longer matters, with all that it had of the host: a killed nspawn clears up nothing, and
/// the next one would stumble over it.
fn end(groups: &Hierarchies, names: &MachineNames) -> Result<()> {
    let lock = traces::nspawn_lock(names);
    process::stop(groups, names, FAREWELL)?;
    groups.remove(&names.cgroup)?;
    lock.map_or(Ok(()), |lock| files::remove_file(&lock))?;
    mounts::unmount_below(&names.dir)?;
    network::remove_link(&names.link);
    names.nspawn_leftovers().iter().try_for_each(|path| mounts::remove_tree(path))
}

/// The kernel takes a dead machine's link away in its own time.
fn verify_gone(groups: &Hierarchies, names: &MachineNames) -> Result<()> {
    let gone =
        patience(Duration::from_secs(5), || traces::of_machine(groups, names).is_empty().then_some(()));
    gone.ok_or_else(|| {
        let left = traces::of_machine(groups, names).join(", ");
        Error::new(id::MACHINE_LEFT_OVER, format!("could not remove everything of the machine: {left}"))
    })
}
