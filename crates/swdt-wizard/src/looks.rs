//! Looking while somebody types: is there a machine at that address, does it let us in, what is it?
//!
//! A login is tried as soon as nobody has typed for a moment. What the machine is, is asked once the user goes on to
//! something else: half an address may be the address of another machine.

use std::collections::BTreeMap;

use swdt_core::{
    Error, Result,
    run::{Candidate, Seen},
    spec::Node,
};
use swdt_wire::Facts;

/// Whoever can look at machines. Both calls may take long; they are made beside the keyboard.
pub trait Prober: Send + Sync {
    /// Logs in; gives the place.
    fn enter(&self, candidate: &Candidate) -> Result<String>;
    /// Finds out what the machine is.
    fn look(&self, candidate: &Candidate) -> Result<Seen>;
}

/// What is known of a machine.
#[derive(Debug)]
pub(crate) enum Known {
    /// Somebody tries to log in.
    Entering,
    /// It let us in.
    Entered(String),
    /// Somebody looks what it is.
    Looking,
    /// This is what it is.
    Seen(Box<Seen>),
    /// It did not work.
    Failed(Box<Error>),
}

/// What shall be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    Enter(Candidate),
    At(Candidate),
}

/// Everything that is known of machines.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    known: Vec<(Candidate, Known)>,
}

impl Looks {
    pub(crate) fn of(&self, candidate: &Candidate) -> Option<&Known> {
        self.known.iter().find(|(other, _)| other == candidate).map(|(_, known)| known)
    }

    pub(crate) fn learn(&mut self, candidate: &Candidate, known: Known) {
        self.known.retain(|(other, _)| other != candidate);
        self.known.push((candidate.clone(), known));
    }

    /// What to do next about a machine, if something is; `settled` when nobody is about to change its address.
    pub(crate) fn next(&self, candidate: &Candidate, settled: bool) -> Option<Look> {
        match self.of(candidate) {
            None => Some(Look::Enter(candidate.clone())),
            Some(Known::Entered(_)) if settled => Some(Look::At(candidate.clone())),
            _ => None,
        }
    }

    /// What failed may be tried again.
    pub(crate) fn forget_failures(&mut self) {
        self.known.retain(|(_, known)| !matches!(known, Known::Failed(_)));
    }

    /// Is somebody looking?
    pub(crate) fn busy(&self) -> bool {
        self.known.iter().any(|(_, known)| matches!(known, Known::Entering | Known::Looking))
    }

    /// What is known of these nodes.
    pub(crate) fn facts<'a>(
        &self,
        nodes: impl Iterator<Item = (&'a Node, Candidate)>,
    ) -> BTreeMap<String, Facts> {
        let seen = nodes.filter_map(|(node, candidate)| match self.of(&candidate)? {
            Known::Seen(seen) => Some((node.name.clone(), seen.facts.clone())),
            _ => None,
        });
        seen.collect()
    }
}

impl Look {
    pub(crate) fn candidate(&self) -> &Candidate {
        let (Self::Enter(candidate) | Self::At(candidate)) = self;
        candidate
    }

    /// What is known while it is done.
    pub(crate) fn meanwhile(&self) -> Known {
        match self {
            Self::Enter(_) => Known::Entering,
            Self::At(_) => Known::Looking,
        }
    }

    /// Does it.
    pub(crate) fn take(&self, prober: &dyn Prober) -> Known {
        let known = match self {
            Self::Enter(candidate) => prober.enter(candidate).map(Known::Entered),
            Self::At(candidate) => prober.look(candidate).map(|seen| Known::Seen(Box::new(seen))),
        };
        known.unwrap_or_else(|error| Known::Failed(Box::new(error)))
    }
}
