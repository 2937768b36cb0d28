//! A network of the Host Network Service that a program makes by itself.
//!
//! Nothing is made here: whether it was there is written into the receipt, and if it was not, it goes when undone,
//! with its endpoints and the load balancers before them.

use swdt_win::hns::{self, Hns};
use swdt_wire::{HnsNetwork, Kind, Prior, Status};

use crate::{
    Ctx, Error, Result,
    receipts::Receipts,
    resources::{Behaviour, Reverted, condition::Verdict, foreign},
    state::State,
};

/// What a call gets when nobody listens: the service does not run.
const UNAVAILABLE: u32 = 0x8007_06ba;

impl Behaviour for HnsNetwork {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let receipts = Receipts::open(State::of(ctx).receipts(), "")?;
        let recorded = receipts.live_target(&Kind::HnsNetwork(self.clone()).target()).is_some();
        Ok(if recorded {
            Status::Satisfied
        } else {
            Status::Differs("it is not recorded yet whether it was there before".into())
        })
    }

    fn prior(&self, _ctx: &Ctx) -> Result<Prior> {
        let there = Hns::load().and_then(|hns| hns.network(&self.name))?.is_some();
        Ok(Prior::HnsNetwork { there })
    }

    fn apply(&self, _ctx: &Ctx, _prior: &Prior) -> Result<()> {
        Ok(())
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, _force: bool) -> Result<Reverted> {
        let Prior::HnsNetwork { there } = prior else { return Err(foreign("network")) };
        let hns = match Hns::load() {
            // Who took HNS away took its networks too.
            Err(hns::Error::Missing(_)) => return Ok(Reverted::Yes),
            loaded => loaded?,
        };
        if !there && let Some(network) = hns.network(&self.name)? {
            ctx.count_write();
            hns.delete(&network)?;
        }
        Ok(Reverted::Yes)
    }
}

/// Is it there, and has it found an address of the machine?
pub(in crate::resources) fn ready(name: &str) -> Result<Verdict> {
    let network = match Hns::load().and_then(|hns| hns.network(name)) {
        Ok(Some(network)) => network,
        Ok(None) => return Ok(Verdict::Not(format!("there is no network {name}"))),
        // Both may come: with a restart, or when somebody starts it.
        Err(error @ (hns::Error::Missing(_) | hns::Error::Refused(_, UNAVAILABLE, _))) => {
            return Ok(Verdict::Not(error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(match network.address {
        Some(_) => Verdict::True,
        None => Verdict::Not(format!("the network {name} has no address of the machine yet")),
    })
}

/// Names of all networks, sorted; none where there is no HNS.
pub(crate) fn names() -> Vec<String> {
    let networks = Hns::load().and_then(|hns| hns.networks()).unwrap_or_default();
    let mut names: Vec<String> = networks.into_iter().map(|network| network.name).collect();
    names.sort();
    names
}

impl From<hns::Error> for Error {
    fn from(error: hns::Error) -> Self {
        let hint = match error {
            hns::Error::Missing(_) => {
                Some("the feature Containers brings it; has the machine been restarted since?")
            }
            hns::Error::Refused(_, UNAVAILABLE, _) => {
                Some("its service does not run: `sc start hns` starts it")
            }
            _ => None,
        };
        Self { message: error.to_string(), output: Vec::new(), hint: hint.map(str::to_owned) }
    }
}
