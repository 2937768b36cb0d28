//! The resource kinds. One file each; this list is the whole of it.

use swdt_wire::{Kind, Prior, Status};

use crate::{Ctx, Error, Result};

pub(crate) mod archive;
pub(crate) mod client_config;
pub(crate) mod condition;
mod dir;
mod file;
pub(crate) mod image;
pub(crate) mod kubeadm;
pub(crate) mod line;
pub(crate) mod manifest;
pub mod path;
mod traces;

// What Linux and Windows have nothing in common of. Windows' own kinds are in `windows/`.
#[cfg(unix)]
mod env_path;
#[cfg(unix)]
pub mod firewall;
#[cfg(unix)]
pub(crate) mod hostname;
#[cfg(unix)]
mod kernel_module;
#[cfg(unix)]
pub mod package;
#[cfg(unix)]
pub mod service;
#[cfg(unix)]
mod small;
#[cfg(unix)]
pub(crate) mod swap;
#[cfg(unix)]
pub(crate) mod sysctl;
mod waiting;
#[cfg(windows)]
pub mod windows;
#[cfg(any(windows, test))]
#[path = "windows/hints.rs"]
pub(crate) mod windows_hints;

#[cfg(unix)]
pub use kubeadm::CLUSTER_SIGNS;

/// What to do about a scanner that takes files away.
pub(crate) const QUARANTINE: &str = "if a scanner took it, `Get-MpThreatDetection` in PowerShell on the machine tells: \
     restore it or exclude its directory from scanning, and run the same command again";

/// What every kind can do.
///
/// The laws, tested for every kind: apply then check is satisfied; a second apply writes nothing;
/// apply then revert leaves the machine as it was; killed anywhere and applied again is satisfied.
pub trait Behaviour {
    /// Looks, without touching.
    fn check(&self, ctx: &Ctx) -> Result<Status>;

    /// Records what `apply` is about to change. Only called when `check` says that something differs.
    /// Bytes that will be overwritten go into the store of prior bytes here, before the receipt is written.
    fn prior(&self, ctx: &Ctx) -> Result<Prior>;

    /// What to record when an earlier receipt of the same target holds `first`: that, and whatever
    /// this act is about to change beyond it.
    fn prior_again(&self, ctx: &Ctx, first: &Prior) -> Result<Prior> {
        let _ = ctx;
        Ok(first.clone())
    }

    /// Makes it true. May find half of it done by a run that was killed.
    fn apply(&self, ctx: &Ctx, prior: &Prior) -> Result<()>;

    /// Goes back to `prior`, the state before our first write. May find half of it undone.
    /// With `force`, also where somebody else changed the thing after us; without, that is `Kept`.
    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted>;
}

/// What became of a resource that was to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reverted {
    /// As it was before us.
    Yes,
    /// Left as it is, for this reason.
    Kept(String),
}

impl Reverted {
    /// Both of two parts of one resource.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, it) | (it, Self::Yes) => it,
            (Self::Kept(one), Self::Kept(other)) => Self::Kept(format!("{one}; {other}")),
        }
    }
}

/// A receipt that tells of another kind: only a damaged or foreign file can hold one.
fn foreign(kind: &str) -> Error {
    Error::new(format!("the receipt of this {kind} tells of something else"))
}

/// The behaviour of a kind.
pub fn behaviour(kind: &Kind) -> &dyn Behaviour {
    match kind {
        Kind::File(it) => it,
        Kind::Dir(it) => it,
        Kind::Archive(it) => it,
        Kind::Line(it) => it,
        Kind::Image(it) => it,
        Kind::Manifest(it) => it,
        Kind::Condition(it) => it,
        Kind::ClientConfig(it) => it,
        Kind::KubeadmJoin(it) => it,
        Kind::Traces(it) => it,
        other => of_this_system(other),
    }
}

#[cfg(unix)]
fn of_this_system(kind: &Kind) -> &dyn Behaviour {
    match kind {
        Kind::Hostname(it) => it,
        Kind::Sysctl(it) => it,
        Kind::KernelModule(it) => it,
        Kind::Swap(it) => it,
        Kind::Package(it) => it,
        Kind::Service(it) => it,
        Kind::Firewall(it) => it,
        Kind::EnvPath(it) => it,
        Kind::KubeadmInit(it) => it,
        _ => &Elsewhere,
    }
}

#[cfg(windows)]
use windows::of_this_system;

/// A kind of another operating system: only a plan made for another machine can ask for it.
struct Elsewhere;

impl Elsewhere {
    fn error() -> Error {
        Error::new(format!("there is nothing like this on {}", std::env::consts::OS))
            .hinted("this is a mistake in swdt: report it")
    }
}

impl Behaviour for Elsewhere {
    fn check(&self, _ctx: &Ctx) -> Result<Status> {
        Err(Self::error())
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        Err(Self::error())
    }

    fn apply(&self, _ctx: &Ctx, _prior: &Prior) -> Result<()> {
        Err(Self::error())
    }

    fn revert(&self, _ctx: &Ctx, _prior: &Prior, _force: bool) -> Result<Reverted> {
        Err(Self::error())
    }
}
