//! The user's wish to stop. Whoever waits asks for it, and leaves what is done as it is.

use std::sync::Arc;

use tokio::sync::watch;

use crate::{Error, Result, id};

/// Tells every part of a run that the user wants to stop.
#[derive(Clone)]
pub struct Interrupt(Arc<watch::Sender<bool>>);

impl Default for Interrupt {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Interrupt {
    /// The user wants to stop.
    pub fn set(&self) {
        self.0.send_replace(true);
    }

    /// Does the user want to stop?
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the user wants to stop.
    pub async fn wait(&self) {
        // The sender lives as long as we do, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|set| *set).await;
    }

    /// An error once the user wants to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_set() { Err(interrupted()) } else { Ok(()) }
    }
}

pub(crate) fn interrupted() -> Error {
    Error::new(id::INTERRUPTED, "stopped at your request; everything done so far is kept")
}
