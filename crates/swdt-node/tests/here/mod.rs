//! Cases on the machine this runs on, by the library itself.

use std::process::Command;

use swdt_node::{
    Ctx, Error,
    resources::{Reverted, behaviour},
};
use swdt_wire::{Kind, Outcome, Prior, Status};

use crate::cases::Machine;

/// The machine this runs on, by the library itself.
pub(crate) struct Here {
    ctx: Ctx,
    prior: Option<Prior>,
}

impl Here {
    /// This machine.
    pub(crate) fn new() -> Self {
        Self { ctx: Ctx::new("/"), prior: None }
    }
}

impl Machine for Here {
    fn program(&mut self, argv: &[String]) -> Result<String, String> {
        let output = Command::new(&argv[0])
            .args(&argv[1..])
            .output()
            .map_err(|error| format!("{}: {error}", argv[0]))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        Err(format!(
            "`{}`: {}\n{text}{}",
            argv.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    fn check(&mut self, kind: &Kind) -> Result<Status, String> {
        let writes = self.ctx.writes();
        let status = behaviour(kind).check(&self.ctx).map_err(|error| words(&error))?;
        if self.ctx.writes() == writes { Ok(status) } else { Err("check writes".into()) }
    }

    fn apply(&mut self, kind: &Kind) -> Result<(Vec<String>, u64), String> {
        let it = behaviour(kind);
        let writes = self.ctx.writes();
        if let Status::Differs(_) = self.check(kind)? {
            let now = it.prior(&self.ctx).map_err(|error| words(&error))?;
            let prior = self.prior.get_or_insert(now);
            it.apply(&self.ctx, prior).map_err(|error| words(&error))?;
        }
        Ok((self.ctx.take_notes(), self.ctx.writes() - writes))
    }

    fn revert(&mut self, kind: &Kind, force: bool) -> Result<Outcome, String> {
        let prior = self.prior.as_ref().ok_or("nothing was applied")?;
        match behaviour(kind).revert(&self.ctx, prior, force).map_err(|error| words(&error))? {
            Reverted::Yes => Ok(Outcome::Reverted),
            Reverted::Kept(reason) => Ok(Outcome::Kept(reason)),
        }
    }

    fn forget(&mut self) {
        self.prior = None;
        self.ctx.take_notes();
    }
}

fn words(error: &Error) -> String {
    format!(
        "{}\n{}\nhint: {}",
        error.message,
        error.output.join("\n"),
        error.hint.as_deref().unwrap_or("none")
    )
}
