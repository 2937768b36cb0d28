//! Whether a run may go on: the rules about machines, and what was decided for good. All problems at once.

mod fixed;

pub use fixed::{changed, moved, reconfigured};

use crate::{
    Error,
    doctor::{self, Clocks, Fleet, Grade},
    plan::Known,
    spec::Spec,
};

/// What is wrong (the run stops) and what is worth a word (it goes on).
#[derive(Debug, Default)]
pub struct Findings {
    /// The run stops.
    pub errors: Vec<Error>,
    /// Node and sentence.
    pub warnings: Vec<(String, String)>,
}

/// Looks at every machine.
pub fn preflight(spec: &Spec, known: &Known, clocks: &Clocks) -> Findings {
    let mut findings = Findings::default();
    for finding in doctor::machines(&Fleet { spec, facts: &known.facts, clocks }) {
        match finding.grade {
            Grade::Problem => findings.errors.push(finding.into()),
            Grade::Warning => {
                findings.warnings.push((finding.node.clone().unwrap_or_default(), finding.told()));
            }
            // The run sees to it by itself.
            Grade::Note => {}
        }
    }
    findings
}
