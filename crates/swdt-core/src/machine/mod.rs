//! Machines: where nodes live. A provider makes them, finds them again and removes them without trace.
//!
//! ```text
//! <data>/clusters/<name>/machines/<node>/   what a provider keeps of one machine
//! <data>/clusters/<name>/snapshots/…/<node>/  what it keeps of one machine at a moment
//! <data>/host/                              what all clusters of this host share, counted
//! <cache>/<provider>/                       what can be made again: roots, images
//! ```
//!
//! Providers are blocking and dull; [`Machines`] is the asynchronous door to them. Whatever is made is
//! written down before it is made, so a killed run can always be cleaned up by `destroy`.

mod existing;
mod files;
#[cfg(target_os = "linux")]
mod host_facts;
mod host_packages;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
pub(crate) mod network;
#[cfg(target_os = "linux")]
pub mod nspawn;
#[cfg(target_os = "linux")]
mod patience;
#[cfg(target_os = "linux")]
pub mod qemu;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
pub(crate) mod resolver;
#[cfg(target_os = "linux")]
mod shared_kernel;
mod tool;
pub mod windows;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

#[cfg(target_os = "linux")]
pub use host_facts::look_at_host;
pub use host_packages::HostPackages;

use crate::{
    Error, Result,
    doctor::HostFacts,
    event::Reporter,
    id,
    interrupt::Interrupt,
    source::Settings,
    spec::{Endpoint, Node, Place, ProviderName},
};

/// All a provider knows of the world.
#[derive(Clone)]
pub struct Context {
    /// Name of the cluster.
    pub cluster: String,
    /// `<data>/clusters/<name>`.
    pub cluster_dir: PathBuf,
    /// What can be made again, shared by all clusters.
    pub cache_dir: PathBuf,
    /// `<data>/host`: counted state of the host that all clusters share.
    pub host_dir: PathBuf,
    /// The public key that may log in, `ssh-ed25519 AAAA…`.
    pub authorized_key: String,
    /// What the root of Linux machines is.
    pub recipe: Recipe,
    /// What machines that behave as Windows are made of; none where swdt has no rehearsals.
    pub rehearsal: Option<Rehearsal>,
    /// Where images of virtual machines come from.
    pub sources: Settings,
    /// The node program for Windows, which does the first boot of machines that are made; none where it cannot be found.
    pub windows_program: Option<Arc<[u8]>>,
    /// This program: it is the switch between virtual machines, too.
    pub program: PathBuf,
    /// Where to say what goes on.
    pub reporter: Reporter,
    /// Set when the user wants to stop: nobody waits for a machine any longer, and the machine goes on.
    pub interrupt: Interrupt,
}

impl Context {
    /// What machines that behave as Windows are made of.
    fn rehearsal(&self) -> Result<Rehearsal> {
        self.rehearsal.ok_or_else(|| {
            Error::new(id::REHEARSAL_MISSING, "this swdt was built without rehearsals of Windows")
                .hinted("build it with the feature `rehearsal`")
        })
    }
}

/// What the root of made machines is; the plain one by default.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// The release of Debian.
    pub suite: &'static str,
    /// Further packages; tests of package managers and firewalls need some.
    pub packages: &'static [&'static str],
    /// A shell script that gives the root its last touch, with the root's path in `$root`.
    pub finish: &'static str,
}

impl Default for Recipe {
    fn default() -> Self {
        Self { suite: "bookworm", packages: &[], finish: "" }
    }
}

/// What machines that behave as Windows are made of.
#[derive(Debug, Clone, Copy)]
pub struct Rehearsal {
    /// Their root.
    pub recipe: Recipe,
    /// Further files of each machine.
    pub files: fn() -> Result<Vec<StandIn>>,
    /// The service that is their Windows.
    pub service: &'static str,
}

/// A file that a machine has before its first boot; a program or a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// Where it goes.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What is there of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MachineState {
    /// Nothing, or only the beginnings of one.
    Absent,
    /// It was made and does not run.
    Stopped,
    /// It runs; for existing machines this is presumed.
    Running,
}

/// A machine that runs, and how to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Where it answers.
    pub endpoint: Endpoint,
    /// Its host key, `ssh-ed25519 AAAA…`, when it was planted and so is known before first contact.
    pub host_key: Option<String>,
}

/// Who makes machines. Every call may be repeated, also after a run that was killed in the middle.
trait Provider: Sync {
    /// What this host has for the machines of these nodes.
    fn look(&self, host: &mut HostFacts, nodes: &[&Node], cache_dir: &Path);
    /// Everything this host lacks for the smallest machine, in one error.
    fn usable(&self) -> Result<()>;
    /// What these machines take of this host that are not made or do not run: into the facts, for the rules of `doctor`
    /// to judge. What no rule is about is an error: what is wrong with what they are made of.
    fn wants(&self, _: &mut HostFacts, _: &Context, _: &[Node]) -> Result<()> {
        Ok(())
    }
    /// Everything this host lacks for these machines together, in one error.
    fn require(&self, ctx: &Context, nodes: &[Node]) -> Result<()>;
    /// Debian packages that would bring the programs this host lacks.
    fn missing_packages(&self) -> Vec<&'static str>;
    /// Makes the machine if there is none, starts it if it is stopped, waits until SSH answers.
    fn ensure(&self, ctx: &Context, node: &Node) -> Result<Reached>;
    /// Starts a machine that was made before.
    fn start(&self, ctx: &Context, node: &Node) -> Result<Reached>;
    /// Asks the machine to shut down; when it will not, ends it.
    fn stop(&self, ctx: &Context, node: &str) -> Result<()>;
    /// What is there of the machine.
    fn status(&self, ctx: &Context, node: &str) -> Result<MachineState>;
    /// Removes the machine; nothing of it is left, or the error says what.
    fn destroy(&self, ctx: &Context, node: &str) -> Result<()>;
    /// Removes every machine of the cluster and what they shared; of these nodes also what the books do not tell.
    fn destroy_cluster(&self, ctx: &Context, nodes: &[String]) -> Result<()>;
    /// Where the machine's console is written.
    fn console_log(&self, ctx: &Context, node: &str) -> Option<PathBuf>;
    /// The socket of the machine's serial line, while it runs.
    fn console(&self, _: &Context, _: &str) -> Result<PathBuf> {
        Err(no_screen("no serial line to talk on"))
    }
    /// Writes what the machine shows on its screen to a file, as PNG.
    fn screenshot(&self, _: &Context, _: &str, _: &Path) -> Result<()> {
        Err(no_screen("no screen"))
    }
    /// Who keeps its machines as they are at a moment; none where the provider cannot.
    fn snapshots(&self) -> Option<&dyn Snapshots> {
        None
    }
}

/// What a provider can that has snapshots. Everything is kept in the directory that
/// is given, so that a snapshot goes when its directory goes. Every call may be repeated, also after a kill.
trait Snapshots: Sync {
    /// How many bytes are there of the machine, whether it runs or not; none for one that is not there.
    fn size(&self, ctx: &Context, node: &str) -> Result<u64>;
    /// Keeps a stopped machine in a directory that does not exist yet; gives how many bytes that took.
    fn save(&self, ctx: &Context, node: &str, to: &Path) -> Result<u64>;
    /// Refuses what this host could not put back; changes nothing.
    fn check(&self, ctx: &Context, node: &Node, from: &Path) -> Result<()>;
    /// Makes the machine what it was, stopped, whatever is there of it now. One that runs is ended without ceremony.
    fn restore(&self, ctx: &Context, node: &str, from: &Path) -> Result<()>;
}

/// The providers of this host that make machines, and the names they are known by.
const MAKERS: &[(&[ProviderName], &dyn Provider)] = &[
    #[cfg(target_os = "linux")]
    (&[ProviderName::Nspawn, ProviderName::Rehearsal], &nspawn::Nspawn),
    #[cfg(target_os = "linux")]
    (&[ProviderName::Qemu], &qemu::Qemu),
];

fn no_screen(what: &str) -> Error {
    Error::new(id::MACHINE_CANNOT, format!("this machine has {what}"))
        .hinted("virtual machines have one; `swdt node logs` tells what this machine said")
}

fn provider_of(node: &Node) -> Result<&'static dyn Provider> {
    match &node.place {
        Place::Existing { .. } => Ok(&existing::Existing),
        Place::Machine(machine) => maker(machine.provider),
    }
}

fn snapshots_of(node: &Node) -> Result<&'static dyn Snapshots> {
    provider_of(node)?.snapshots().ok_or_else(|| {
        Error::new(id::MACHINE_CANNOT, "swdt cannot take snapshots of this machine").on(&node.name)
    })
}

fn maker(name: ProviderName) -> Result<&'static dyn Provider> {
    let found = MAKERS.iter().find(|(names, _)| names.contains(&name));
    found.map(|(_, provider)| *provider).ok_or_else(|| {
        Error::new(id::HOST_UNFIT, format!("this host cannot make machines by `{}`", name.as_str()))
    })
}

/// Nodes whose machines are made, by who makes them.
fn by_provider(nodes: &[Node]) -> Vec<(ProviderName, Vec<Node>)> {
    let mut all: Vec<(ProviderName, Vec<Node>)> = Vec::new();
    for node in nodes {
        let Place::Machine(machine) = &node.place else { continue };
        match all.iter_mut().find(|(provider, _)| *provider == machine.provider) {
            Some((_, nodes)) => nodes.push(node.clone()),
            None => all.push((machine.provider, vec![node.clone()])),
        }
    }
    all
}

/// Can this host make machines in this way? Tells everything that is missing.
pub fn can_make(provider: ProviderName) -> Result<()> {
    maker(provider)?.usable()
}

/// Removes what the machines of a cluster shared, after the last of them.
#[cfg(target_os = "linux")]
fn remove_shared(ctx: &Context) -> Result<()> {
    let _ = std::fs::remove_dir(names::machines_dir(ctx));
    if network::load(ctx)?.is_none() && network::traces(ctx).is_empty() {
        return Ok(());
    }
    // The claim goes last: it is what a run that goes on after a kill sees.
    shared_kernel::release(ctx)?;
    network::remove(ctx)?;
    let left = network::traces(ctx);
    if left.is_empty() {
        return Ok(());
    }
    let message = format!("could not remove everything of the cluster: {}", left.join(", "));
    Err(Error::new(id::MACHINE_LEFT_OVER, message))
}

/// The machines of one cluster.
#[derive(Clone)]
pub struct Machines {
    ctx: Arc<Context>,
}

impl Machines {
    /// The machines of the cluster of that context.
    pub fn new(ctx: Context) -> Self {
        Self { ctx: Arc::new(ctx) }
    }

    /// The same for what must not be left out, whatever the user wishes.
    #[must_use]
    pub fn to_the_end(&self) -> Self {
        Self::new(Context { interrupt: Interrupt::default(), ..(*self.ctx).clone() })
    }

    /// Does this host have what the providers of these nodes need? Tells everything that is missing.
    pub async fn require(&self, nodes: &[Node]) -> Result<()> {
        let mut errors = Vec::new();
        for (name, nodes) in by_provider(nodes) {
            if name == ProviderName::Rehearsal {
                errors.extend(self.ctx.rehearsal().err());
            }
            let provider = maker(name)?;
            errors.extend(self.run(move |ctx| provider.require(ctx, &nodes)).await.err());
        }
        Error::all(errors).map_or(Ok(()), Err)
    }

    /// The same for whoever judges the host by itself: what these machines take goes into the facts; the rest is told.
    pub async fn wants(&self, host: &mut HostFacts, nodes: &[Node]) -> Result<()> {
        let mut errors = Vec::new();
        for (name, nodes) in by_provider(nodes) {
            if name == ProviderName::Rehearsal {
                errors.extend(self.ctx.rehearsal().err());
            }
            let (provider, mut facts) = (maker(name)?, host.clone());
            let asked = self.run(move |ctx| {
                let wrong = provider.wants(&mut facts, ctx, &nodes).err();
                Ok((facts, wrong))
            });
            let (facts, wrong) = asked.await?;
            *host = facts;
            errors.extend(wrong);
        }
        Error::all(errors).map_or(Ok(()), Err)
    }

    /// Makes the node's machine if there is none, starts it if it is stopped, waits until SSH answers.
    pub async fn ensure(&self, node: &Node) -> Result<Reached> {
        let (provider, node) = (provider_of(node)?, node.clone());
        self.run(move |ctx| provider.ensure(ctx, &node).map_err(|error| error.on(&node.name))).await
    }

    /// Starts a machine that was made before.
    pub async fn start(&self, node: &Node) -> Result<Reached> {
        let (provider, node) = (provider_of(node)?, node.clone());
        self.run(move |ctx| provider.start(ctx, &node).map_err(|error| error.on(&node.name))).await
    }

    /// Shuts the machine down, by force after a while.
    pub async fn stop(&self, node: &Node) -> Result<()> {
        let (provider, name) = (provider_of(node)?, node.name.clone());
        self.run(move |ctx| provider.stop(ctx, &name).map_err(|error| error.on(&name))).await
    }

    /// What is there of the machine.
    pub async fn status(&self, node: &Node) -> Result<MachineState> {
        let (provider, name) = (provider_of(node)?, node.name.clone());
        self.run(move |ctx| provider.status(ctx, &name).map_err(|error| error.on(&name))).await
    }

    /// Removes the machine. Existing machines are refused: they are not ours.
    pub async fn destroy(&self, node: &Node) -> Result<()> {
        let (provider, name) = (provider_of(node)?, node.name.clone());
        self.run(move |ctx| provider.destroy(ctx, &name).map_err(|error| error.on(&name))).await
    }

    /// Removes every machine that was made for the cluster, also those the configuration no longer
    /// names, and what they shared: networks, settings of the host. Of these nodes also what is left of a
    /// machine whose books were lost.
    pub async fn destroy_cluster(&self, nodes: &[Node]) -> Result<()> {
        let made = |node: &Node| match &node.place {
            Place::Machine(machine) => Some((machine.provider, node.name.clone())),
            Place::Existing { .. } => None,
        };
        let nodes: Vec<(ProviderName, String)> = nodes.iter().filter_map(made).collect();
        self.run(move |ctx| {
            let errors = MAKERS.iter().filter_map(|(providers, maker)| {
                let named = nodes.iter().filter(|(provider, _)| providers.contains(provider));
                let named: Vec<String> = named.map(|(_, node)| node.clone()).collect();
                maker.destroy_cluster(ctx, &named).err()
            });
            if let Some(error) = Error::all(errors.collect()) {
                return Err(error);
            }
            #[cfg(target_os = "linux")]
            remove_shared(ctx)?;
            Ok(())
        })
        .await
    }

    /// Can this host keep the node's machine as it is at a moment?
    pub fn has_snapshots(node: &Node) -> bool {
        snapshots_of(node).is_ok()
    }

    /// How many bytes there are of the machine.
    pub async fn size(&self, node: &Node) -> Result<u64> {
        let (provider, name) = (snapshots_of(node)?, node.name.clone());
        self.run(move |ctx| provider.size(ctx, &name).map_err(|error| error.on(&name))).await
    }

    /// Keeps a stopped machine in a directory that does not exist yet; gives how many bytes that took.
    pub async fn save(&self, node: &Node, to: PathBuf) -> Result<u64> {
        let (provider, name) = (snapshots_of(node)?, node.name.clone());
        self.run(move |ctx| provider.save(ctx, &name, &to).map_err(|error| error.on(&name))).await
    }

    /// Refuses a kept machine that this host could not put back; changes nothing.
    pub async fn check_saved(&self, node: &Node, from: PathBuf) -> Result<()> {
        let (provider, node) = (snapshots_of(node)?, node.clone());
        self.run(move |ctx| provider.check(ctx, &node, &from).map_err(|error| error.on(&node.name))).await
    }

    /// Makes a machine what it was when it was kept, and stopped; whatever is there of it now.
    pub async fn restore(&self, node: &Node, from: PathBuf) -> Result<()> {
        let (provider, name) = (snapshots_of(node)?, node.name.clone());
        self.run(move |ctx| provider.restore(ctx, &name, &from).map_err(|error| error.on(&name))).await
    }

    /// The socket of the machine's serial line, while it runs.
    pub async fn console(&self, node: &Node) -> Result<PathBuf> {
        let (provider, name) = (provider_of(node)?, node.name.clone());
        self.run(move |ctx| provider.console(ctx, &name).map_err(|error| error.on(&name))).await
    }

    /// Writes what the machine shows on its screen to a file, as PNG.
    pub async fn screenshot(&self, node: &Node, to: PathBuf) -> Result<()> {
        let (provider, name) = (provider_of(node)?, node.name.clone());
        self.run(move |ctx| provider.screenshot(ctx, &name, &to).map_err(|error| error.on(&name))).await
    }

    /// Where the machine's console is written, if it has one.
    pub fn console_log(&self, node: &Node) -> Option<PathBuf> {
        provider_of(node).ok()?.console_log(&self.ctx, &node.name)
    }

    /// Runs blocking work beside the asynchronous world.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Context) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let ctx = self.ctx.clone();
        tokio::task::spawn_blocking(move || work(&ctx)).await.unwrap_or_else(|panic| {
            Err(Error::new(id::INTERNAL, format!("work on a machine broke off: {panic}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A context of a cluster that has nothing yet.
    pub(super) fn context(dir: &Path) -> Context {
        Context {
            cluster: "c".into(),
            cluster_dir: dir.join("cluster"),
            cache_dir: dir.join("cache"),
            host_dir: dir.join("host"),
            authorized_key: String::new(),
            recipe: Recipe::default(),
            rehearsal: None,
            sources: Settings::new(dir.join("cache")),
            windows_program: None,
            program: "swdt".into(),
            reporter: Reporter::silent(),
            interrupt: Interrupt::default(),
        }
    }
}
