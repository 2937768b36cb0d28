use crate::{Ctx, Result};
use swdt_wire::Facts;
pub fn gather(_ctx: &Ctx) -> Result<Facts> {
    todo!()
}
