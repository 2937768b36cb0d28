//! Not written yet.

use swdt_wire::{Prior, Service, Status};

use super::{Behaviour, Reverted};
use crate::{Ctx, Error, Result};

impl Behaviour for Service {
    fn check(&self, _ctx: &Ctx) -> Result<Status> {
        Err(Error::new("not written yet"))
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        Err(Error::new("not written yet"))
    }

    fn apply(&self, _ctx: &Ctx, _prior: &Prior) -> Result<()> {
        Err(Error::new("not written yet"))
    }

    fn revert(&self, _ctx: &Ctx, _prior: &Prior, _force: bool) -> Result<Reverted> {
        Err(Error::new("not written yet"))
    }
}
