//! `cluster report`: what swdt keeps of a cluster, put together. Asks nobody and changes nothing.

use super::{Host, Run};
use crate::{
    Error, Result, id, journal,
    report::{Report, Sources},
    spec::Spec,
};

/// Everything there is to tell of a cluster, without its secrets.
pub fn report(host: &Host, spec: &Spec) -> Result<Report> {
    let run = Run::look(host, spec)?;
    let events = journal::read(&run.dir.events())?;
    let redactor = run.redactor();
    let state = run.state().clone();
    let sources = Sources {
        spec,
        state: &state,
        known: &run.known(),
        artifacts: run.locked.as_ref(),
        events: &events,
        now: jiff::Timestamp::now(),
        clean: &|text| redactor.redact(text).0,
    };
    Report::of(&sources).ok_or_else(|| {
        Error::new(id::CLUSTER_NONE, format!("nothing was recorded of the cluster {} yet", spec.name))
            .because("a report is made from what happened in runs, and no run has begun")
            .hinted("`swdt cluster create` makes the cluster, and records how")
    })
}
