//! [`Package`]: packages of the distribution, any version.
//!
//! Only what is missing is installed. What exactly comes along is asked of the package manager
//! before the act and recorded, so that revert removes these packages and no others.

pub(crate) mod apt;
pub(crate) mod dnf;
pub(crate) mod hints;
pub(crate) mod locks;

use swdt_wire::{Package, Prior, Status};

use super::{Behaviour, Reverted};
use crate::{Ctx, Error, Result};

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manager {
    /// apt and dpkg.
    Apt,
    /// dnf (4 or 5) and rpm.
    Dnf,
}

impl Manager {
    /// As facts and receipts call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Apt => "apt",
            Self::Dnf => "dnf",
        }
    }

    fn named(name: &str) -> Result<Self> {
        match name {
            "apt" => Ok(Self::Apt),
            "dnf" => Ok(Self::Dnf),
            other => Err(Error::new(format!(
                "a receipt tells of package manager {other:?}, which is not known here"
            ))),
        }
    }
}

/// The package manager whose database describes this machine. Either program may be installed as a
/// guest on the other's distribution, so having the program is not enough for apt.
pub(crate) fn manager(ctx: &Ctx) -> Option<Manager> {
    let has_dpkg_database =
        std::fs::metadata(ctx.path("/var/lib/dpkg/status")).is_ok_and(|status| status.len() > 0);
    if has_dpkg_database && ctx.has_program("apt-get") {
        Some(Manager::Apt)
    } else if ctx.has_program("rpm") && dnf::PROGRAMS.iter().any(|program| ctx.has_program(program)) {
        Some(Manager::Dnf)
    } else {
        None
    }
}

/// What installing would do, as the package manager foretells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    adds: Vec<String>,
    upgrades: Vec<String>,
    removes: Vec<String>,
}

impl Plan {
    /// Installing must never take away what somebody else installed.
    fn refuse_removals(&self, names: &[String]) -> Result<()> {
        if self.removes.is_empty() {
            return Ok(());
        }
        Err(Error::new(format!(
            "installing {} would remove {}; nothing was changed",
            names.join(", "),
            self.removes.join(", ")
        ))
        .hinted("remove or replace the conflicting packages yourself if you do not need them, then run the same command again"))
    }
}

fn required(ctx: &Ctx) -> Result<Manager> {
    if !ctx.live() {
        return Err(Error::new("packages can only be looked at on a real machine"));
    }
    manager(ctx).ok_or_else(|| {
        Error::new("there is neither apt nor dnf on this machine, so packages cannot be installed").hinted(
            "use Debian, Ubuntu or Fedora, or install the packages yourself and leave them out with --skip",
        )
    })
}

fn missing(ctx: &Ctx, manager: Manager, names: &[String]) -> Result<Vec<String>> {
    match manager {
        Manager::Apt => apt::missing(ctx, names),
        Manager::Dnf => dnf::missing(ctx, names),
    }
}

impl Behaviour for Package {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let missing = missing(ctx, required(ctx)?, &self.names)?;
        Ok(if missing.is_empty() {
            Status::Satisfied
        } else {
            Status::Differs(format!("not installed: {}", missing.join(", ")))
        })
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        let manager = required(ctx)?;
        let missing = missing(ctx, manager, &self.names)?;
        let (plan, config_files) = match manager {
            Manager::Apt => {
                let plan = apt::plan(ctx, &missing)?;
                let config_files = apt::with_config_files(ctx, &plan.adds)?;
                (plan, config_files)
            }
            Manager::Dnf => (dnf::plan(ctx, &missing)?, Vec::new()),
        };
        plan.refuse_removals(&missing)?;
        if !plan.upgrades.is_empty() {
            ctx.note(format!(
                "installing {} also upgrades {}; upgrades are not undone",
                missing.join(", "),
                plan.upgrades.join(", ")
            ));
        }
        Ok(Prior::Package { manager: manager.name().into(), adds: plan.adds, config_files })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let manager = required(ctx)?;
        match manager {
            // A run that was killed may have left packages unpacked that `missing` no longer needs.
            Manager::Apt => apt::install(ctx, &missing(ctx, manager, &self.names)?),
            Manager::Dnf => dnf::install(ctx, &missing(ctx, manager, &self.names)?),
        }
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Package { manager, adds, config_files } = prior else {
            return Err(Error::new("the receipt of a package tells of something else"));
        };
        match Manager::named(manager)? {
            Manager::Apt => apt::remove(ctx, adds, config_files, force),
            Manager::Dnf => dnf::remove(ctx, adds, force),
        }
    }
}

/// Why packages stay although we brought them.
fn needed_by(others: &[String]) -> Reverted {
    Reverted::Kept(format!("{} installed since would have to go with them", others.join(", ")))
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
