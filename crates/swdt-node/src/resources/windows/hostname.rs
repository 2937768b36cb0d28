//! The machine's name. Windows takes a new one with the next restart.

use swdt_win::system;
use swdt_wire::{Hostname, Prior, Status};

use crate::{
    Ctx, Error, Result, registry,
    resources::{Behaviour, Reverted, foreign},
};

/// The name after the next restart.
const KEY: &str = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters";
const NAME: &str = "NV Hostname";

/// What NetBIOS takes; a longer name would be two names.
const LONGEST: usize = 15;

impl Behaviour for Hostname {
    fn check(&self, _ctx: &Ctx) -> Result<Status> {
        validate(&self.name)?;
        let next = next();
        Ok(if next.eq_ignore_ascii_case(&self.name) {
            Status::Satisfied
        } else {
            Status::Differs(format!("the machine is called {next:?}"))
        })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        Ok(Prior::ComputerName { was: next() })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        rename(ctx, &self.name)
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::ComputerName { was } = prior else { return Err(foreign("hostname")) };
        let now = next();
        if now.eq_ignore_ascii_case(was) {
            return Ok(Reverted::Yes);
        }
        if !now.eq_ignore_ascii_case(&self.name) && !force {
            return Ok(Reverted::Kept(format!("the machine was renamed to {now:?} after swdt named it")));
        }
        rename(ctx, was)?;
        Ok(Reverted::Yes)
    }
}

fn rename(ctx: &Ctx, name: &str) -> Result<()> {
    ctx.count_write();
    system::set_computer_name(name)
        .map_err(|error| Error::new(format!("cannot name the machine {name}: {error}")))?;
    ctx.want_reboot();
    Ok(())
}

/// The name the machine will have: the one it has, unless it was given another.
fn next() -> String {
    let next = registry::text(KEY, NAME);
    if next.is_empty() { system::computer_name().unwrap_or_default() } else { next }
}

/// A name that Windows, kubeadm and DNS take.
fn validate(name: &str) -> Result<()> {
    let good = (1..=LONGEST).contains(&name.len())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.bytes().all(|byte| byte.is_ascii_digit());
    if good {
        return Ok(());
    }
    Err(Error::new(format!("{name:?} is no name a Windows machine can have"))
        .hinted(format!("use lower-case letters, digits and dashes, {LONGEST} at most, not digits alone")))
}
