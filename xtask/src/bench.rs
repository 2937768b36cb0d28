//! Measurements. Both sides in one run; ratios are printed, never asserted.

use crate::sh::Result;

pub(crate) fn run() -> Result<()> {
    Err("not yet".into())
}
