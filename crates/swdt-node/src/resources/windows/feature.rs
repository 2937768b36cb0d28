//! An optional feature of Windows, by dism.exe. Some are there only after a restart.

use swdt_wire::{Feature, Prior, Status};

use super::hints;
use crate::{
    Ctx, Error, Result,
    resources::{Behaviour, Reverted, foreign},
};

/// What dism answers when it worked and the machine must be restarted.
const RESTART: i32 = 3010;

impl Behaviour for Feature {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let state = state(ctx, &self.name)?;
        Ok(if enabled(&state) { Status::Satisfied } else { Status::Differs(state.to_lowercase()) })
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        // Features it needs that are off are enabled with it; which those are, dism alone knows. Undone is
        // what was asked for; what only it needed is harmless and left.
        state(ctx, &self.name)?;
        Ok(Prior::Feature { adds: vec![self.name.clone()] })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        dism(ctx, &self.name, &["/Enable-Feature", "/All"])
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, _force: bool) -> Result<Reverted> {
        let Prior::Feature { adds } = prior else { return Err(foreign("feature")) };
        for name in adds.iter().rev() {
            if enabled(&state(ctx, name)?) {
                dism(ctx, name, &["/Disable-Feature"])?;
            }
        }
        Ok(Reverted::Yes)
    }
}

fn enabled(state: &str) -> bool {
    matches!(state, "Enabled" | "Enable Pending")
}

fn dism(ctx: &Ctx, feature: &str, what: &[&str]) -> Result<()> {
    let name = format!("/FeatureName:{feature}");
    let argv =
        [&["dism.exe", "/English", "/Online", "/NoRestart", "/Quiet"], what, &[name.as_str()]].concat();
    match ctx.change_accepting(&argv, &[0, RESTART]) {
        Ok(RESTART) => {
            ctx.want_reboot();
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) => {
            let said = [error.message.as_str()].into_iter().chain(error.output.iter().map(String::as_str));
            let hint = hints::of_dism(feature, &said.collect::<Vec<_>>());
            Err(error.hinted(hint))
        }
    }
}

/// In dism's words: `Enabled`, `Disabled`, `Enable Pending`, `Disable Pending`, …
fn state(ctx: &Ctx, name: &str) -> Result<String> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        return Err(Error::new(format!("{name:?} is no name of a feature")));
    }
    let feature = format!("/FeatureName:{name}");
    let said = ctx.query_once(&["dism.exe", "/English", "/Online", "/Get-FeatureInfo", &feature])?;
    let state = said.stdout.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        (field.trim() == "State").then(|| value.trim().to_owned())
    });
    if let Some(state) = state.filter(|_| said.ok()) {
        return Ok(state);
    }
    let lines: Vec<&str> = said.stdout.lines().filter(|line| !line.trim().is_empty()).collect();
    Err(Error {
        message: format!("dism.exe cannot tell the state of the feature {name}"),
        hint: Some(hints::of_dism(name, &lines)),
        output: lines.into_iter().map(str::to_owned).collect(),
    })
}
