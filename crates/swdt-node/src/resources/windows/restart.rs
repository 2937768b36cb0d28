//! Nothing on the machine waits for a restart: otherwise the machine is restarted, which ends this run as well.

use std::time::Duration;

use swdt_wire::{Prior, Restart, Status};

use crate::{
    Ctx, Error, Result, facts,
    resources::{Behaviour, Reverted},
};

/// How long Windows may take to come to its end.
const LOOKS: u32 = 600;
const PAUSE: Duration = Duration::from_secs(1);

impl Behaviour for Restart {
    fn check(&self, _ctx: &Ctx) -> Result<Status> {
        let why = facts::pending_reboot();
        Ok(if why.is_empty() { Status::Satisfied } else { Status::Differs(why.join(", ")) })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        Ok(Prior::Nothing)
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let why = facts::pending_reboot().join(", ");
        // Said at once: there is no later.
        ctx.say(&format!("the machine is restarted for {why}"));
        ctx.change(&["shutdown.exe", "/r", "/t", "0"])?;
        for _ in 0..LOOKS {
            ctx.pause(PAUSE)?;
        }
        Err(Error::new("Windows was asked to restart ten minutes ago, and has not")
            .hinted("somebody may have cancelled it; restart the machine, then run the same command again"))
    }

    fn revert(&self, _ctx: &Ctx, _prior: &Prior, _force: bool) -> Result<Reverted> {
        Ok(Reverted::Yes)
    }
}
