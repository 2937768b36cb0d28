//! The wizard: what it must know of this host, and who looks at machines for it.

use std::{fs, path::Path, sync::Arc};

use swdt_core::{
    Error, Result, catalog, id, machine,
    run::{self, Candidate, Seen},
    spec::ProviderName,
};
use swdt_wizard::{Host, Model, Outcome, Prober};

use super::{super::block_on, base_dir, written::Place};
use crate::{args::Global, host, out};

/// Asks until the user has had enough.
pub(super) fn run(global: &Global, model: &mut Model) -> Result<Outcome> {
    // Without node programs nothing can be looked at; a file can still be written.
    let prober = Arc::new(Machines(host::host(global, false)));
    swdt_wizard::run(model, prober)
        .map_err(|error| Error::new(id::TERMINAL_LOST, format!("the terminal does not answer: {error}")))
}

/// What the wizard must know of this host.
pub(super) fn host(output: &Path, place: &Place) -> Result<Host> {
    let catalog = catalog::catalog()?;
    let mut versions: Vec<_> = catalog.kubernetes.iter().map(|minor| minor.newest.clone()).collect();
    versions.sort_by_key(|version| (*version != catalog.default, std::cmp::Reverse(version.clone())));
    let cpus = std::thread::available_parallelism().map_or(0, |cpus| cpus.get() as u64);
    Ok(Host {
        keys: keys(),
        cpus,
        memory_mib: memory_mib().unwrap_or_default(),
        cannot_make: machine::can_make(ProviderName::Nspawn).err().map(|error| error.message),
        cannot_virtualise: machine::can_make(ProviderName::Qemu).err().map(|error| error.message),
        makes_windows: host::has_rehearsals(),
        versions: versions.iter().map(ToString::to_string).collect(),
        home: host::home(),
        directory: base_dir(output)?,
        file: output.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        replaces: place.replaces(),
        plain: !out::colour_on_stdout(),
    })
}

/// Private keys in `~/.ssh`, as the file would name them.
fn keys() -> Vec<String> {
    let name = |path: &std::path::PathBuf| Some(format!("~/.ssh/{}", path.file_name()?.to_string_lossy()));
    host::keys().iter().filter_map(name).collect()
}

/// Memory of this host, where the kernel says it.
fn memory_mib() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

/// Looks at machines as every run does.
struct Machines(Result<run::Host>);

impl Machines {
    fn host(&self) -> Result<&run::Host> {
        self.0.as_ref().map_err(Clone::clone)
    }
}

impl Prober for Machines {
    fn enter(&self, candidate: &Candidate) -> Result<String> {
        block_on(candidate.enter(self.host()?))
    }

    fn look(&self, candidate: &Candidate) -> Result<Seen> {
        block_on(candidate.look(self.host()?))
    }
}
