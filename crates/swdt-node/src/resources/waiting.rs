//! Waiting for something that becomes true by itself; each reason why not yet is told once.

use std::time::{Duration, Instant};

use crate::{Ctx, Result};

const PAUSE: Duration = Duration::from_millis(500);

/// A wait with an end.
pub(super) struct Waiting {
    begun: Instant,
    patience: Duration,
    told: String,
}

impl Waiting {
    pub(super) fn new(patience: Duration) -> Self {
        Self { begun: Instant::now(), patience, told: String::new() }
    }

    /// Has it been too long?
    pub(super) fn is_over(&self) -> bool {
        self.begun.elapsed() >= self.patience
    }

    /// Tells why it goes on, if that is news, and waits a moment.
    pub(super) fn for_want_of(&mut self, ctx: &Ctx, why: String) -> Result<()> {
        if why != self.told {
            ctx.say(&format!("waiting: {why}"));
            self.told = why;
        }
        a_moment(ctx)
    }
}

/// Waits a moment.
pub(super) fn a_moment(ctx: &Ctx) -> Result<()> {
    ctx.pause(PAUSE)
}
