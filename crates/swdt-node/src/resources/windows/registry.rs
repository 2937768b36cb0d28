//! A value in the registry.

use swdt_wire::{Prior, Registry, RegistryWas, Status};

use crate::{
    Ctx, Error, Result,
    registry::{self, Raw},
    resources::{Behaviour, Reverted, foreign},
};

impl Behaviour for Registry {
    fn check(&self, _ctx: &Ctx) -> Result<Status> {
        validate(&self.key)?;
        Ok(match registry::read(&self.key, &self.name)? {
            Some(raw) if raw == Raw::of(&self.value) => Status::Satisfied,
            Some(raw) => Status::Differs(match (raw.number(), raw.text()) {
                (Some(number), _) => format!("is {number}"),
                (_, Some(text)) => format!("is {text:?}"),
                _ => "has another type".into(),
            }),
            None => Status::Differs("missing".into()),
        })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        capture(&self.key, &self.name)
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        registry::write(ctx, &self.key, &self.name, &Raw::of(&self.value))
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Registry { was, keys } = prior else { return Err(foreign("registry value")) };
        let now = registry::read(&self.key, &self.name)?;
        let before = before(was.as_ref())?;
        let ours = now.as_ref() == Some(&Raw::of(&self.value));
        if !ours && !force && now != before {
            return Ok(Reverted::Kept(format!(
                r"{}\{} was changed after swdt wrote it",
                self.key, self.name
            )));
        }
        restore(ctx, &self.key, &self.name, before.as_ref(), keys)?;
        Ok(Reverted::Yes)
    }
}

/// What is there before a value is written.
pub(super) fn capture(key: &str, name: &str) -> Result<Prior> {
    let was = registry::read(key, name)?.map(|raw| raw.was());
    Ok(Prior::Registry { was, keys: registry::missing_keys(key) })
}

/// The value a receipt tells of.
pub(super) fn before(was: Option<&RegistryWas>) -> Result<Option<Raw>> {
    was.map(Raw::from_was).transpose()
}

/// Puts a value back, and takes away the keys that were made for it.
pub(super) fn restore(ctx: &Ctx, key: &str, name: &str, before: Option<&Raw>, keys: &[String]) -> Result<()> {
    match before {
        Some(raw) if registry::read(key, name)?.as_ref() == Some(raw) => {}
        Some(raw) => registry::write(ctx, key, name, raw)?,
        None => registry::remove(ctx, key, name)?,
    }
    keys.iter().rev().try_for_each(|key| registry::remove_empty_key(ctx, key))
}

fn validate(key: &str) -> Result<()> {
    let good = !key.is_empty() && key.split('\\').all(|part| !part.is_empty() && part.len() < 256);
    if good { Ok(()) } else { Err(Error::new(format!("{key:?} is no key of the registry"))) }
}
