//! A directory in the PATH of the machine. Programs that run are told, so that new consoles have it at once;
//! services have it after their next start.

use swdt_wire::{EnvPath, Prior, RegistryValue, Status};

use super::registry::{before, capture, restore};
use crate::{
    Ctx, Error, Result,
    registry::{self, Raw},
    resources::{Behaviour, Reverted, foreign, path},
};

const KEY: &str = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
const NAME: &str = "Path";

impl Behaviour for EnvPath {
    fn check(&self, _ctx: &Ctx) -> Result<Status> {
        path::absolute(&self.dir)?;
        if self.dir.contains([';', '%']) {
            return Err(Error::new(format!("{:?} cannot go into PATH", self.dir)));
        }
        let now = text(registry::read(KEY, NAME)?.as_ref())?;
        Ok(if entries(&now).any(|entry| is(entry, &self.dir)) {
            Status::Satisfied
        } else {
            Status::Differs("not in the machine's PATH".into())
        })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        capture(KEY, NAME)
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        write(ctx, &with(registry::read(KEY, NAME)?.as_ref(), &self.dir)?)
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, _force: bool) -> Result<Reverted> {
        let Prior::Registry { was, keys } = prior else { return Err(foreign("directory in PATH")) };
        let now = registry::read(KEY, NAME)?;
        let before = before(was.as_ref())?;
        if now == before {
            return Ok(Reverted::Yes);
        }
        if now.as_ref() == Some(&with(before.as_ref(), &self.dir)?) {
            restore(ctx, KEY, NAME, before.as_ref(), keys)?;
            swdt_win::system::announce_environment();
            return Ok(Reverted::Yes);
        }
        // Others changed it after us, which is what it is for: only our directory goes, if it was not there.
        let had = entries(&text(before.as_ref())?).any(|entry| is(entry, &self.dir));
        if let Some(now) = now.filter(|_| !had) {
            let whole = text(Some(&now))?;
            let rest: Vec<&str> = entries(&whole).filter(|entry| !is(entry, &self.dir)).collect();
            if rest.len() < entries(&whole).count() {
                write(ctx, &now.with_text(&rest.join(";")))?;
            }
        }
        Ok(Reverted::Yes)
    }
}

fn write(ctx: &Ctx, raw: &Raw) -> Result<()> {
    registry::write(ctx, KEY, NAME, raw)?;
    swdt_win::system::announce_environment();
    Ok(())
}

/// The value with the directory at its end.
fn with(before: Option<&Raw>, dir: &str) -> Result<Raw> {
    let Some(raw) = before else { return Ok(Raw::of(&RegistryValue::Expanded(dir.to_owned()))) };
    let now = text(before)?;
    let end = if now.is_empty() || now.ends_with(';') { "" } else { ";" };
    Ok(raw.with_text(&format!("{now}{end}{dir}")))
}

fn text(raw: Option<&Raw>) -> Result<String> {
    let Some(raw) = raw else { return Ok(String::new()) };
    raw.text().ok_or_else(|| {
        Error::new("the machine's PATH in the registry is no text")
            .hinted(format!(r"look at HKEY_LOCAL_MACHINE\{KEY}, value {NAME}"))
    })
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(';')
}

/// Windows does not care for case, quotes or a last backslash.
fn is(entry: &str, dir: &str) -> bool {
    let plain = |path: &str| path.trim().trim_matches('"').trim_end_matches('\\').to_lowercase();
    plain(entry) == plain(dir)
}
