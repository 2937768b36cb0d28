//! The address that kube-proxy sends from on an overlay network.
//!
//! It must be of the node's own range, which the network's daemon learns from the cluster, and no pod may get it.
//! The plugin `host-local` takes an address for taken when there is a file of its name, so that is what we make.

use std::net::Ipv4Addr;

use swdt_wire::{Prior, SourceVip, Status};

use crate::{
    Ctx, Error, Result,
    resources::{Behaviour, Reverted, foreign, path},
};

/// Where the daemon writes the node's range, with the gateway as its address.
const RANGE: &str = "FLANNEL_SUBNET=";
/// Who has the address, and on which interface, in host-local's own form.
const RESERVED: &str = "swdt-source-vip\r\neth0";
const MODE: u32 = 0o644;

impl Behaviour for SourceVip {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let Some(address) = address(ctx, self)? else {
            return Ok(Status::Differs(format!("{} is not written yet", self.range_from)));
        };
        for (at, text) in files(self, address) {
            if ctx.read(&at)?.as_deref() != Some(text.as_bytes()) {
                return Ok(Status::Differs(format!("{at} is missing, or has other contents")));
            }
        }
        Ok(Status::Satisfied)
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        path::no_dir_in_the_way(ctx, &self.path)?;
        Ok(Prior::File(path::capture(ctx, &self.path)?))
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let Some(address) = address(ctx, self)? else {
            return Err(Error::new(format!("{} is not there", self.range_from))
                .hinted("the network's daemon writes it; its log says why it has not"));
        };
        for (at, text) in files(self, address) {
            path::make_parents(ctx, &at)?;
            ctx.write(&at, text.as_bytes(), MODE, Some(ctx.owner()))?;
        }
        Ok(())
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::File(prior) = prior else { return Err(foreign("address")) };
        // The reservation is in the plugins' own directory, and goes with it.
        path::revert(ctx, prior, true, force)
    }
}

/// What is written: the reservation first, so that the address is never used before it is ours.
fn files(it: &SourceVip, address: Ipv4Addr) -> [(String, String); 2] {
    let text = it.template.replace("SOURCE_VIP", &address.to_string());
    [(format!(r"{}\{address}", it.reserved_in), RESERVED.to_owned()), (it.path.clone(), text)]
}

/// The address after the gateway's; none while the range is not known.
fn address(ctx: &Ctx, it: &SourceVip) -> Result<Option<Ipv4Addr>> {
    let Some(text) = ctx.read_trimmed(&it.range_from)? else { return Ok(None) };
    let range = text.lines().find_map(|line| line.trim().strip_prefix(RANGE));
    let gateway = range.and_then(|range| range.split('/').next()).and_then(|ip| ip.parse::<Ipv4Addr>().ok());
    match gateway {
        Some(gateway) => Ok(Some(Ipv4Addr::from(u32::from(gateway) + 1))),
        None => Err(Error::new(format!("{} names no range of addresses", it.range_from))),
    }
}
