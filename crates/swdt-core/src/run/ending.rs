//! How a run on a node ended, in words.

use swdt_wire::{Busy, NodeFailure, Summary};

use crate::{Error, Result, id, interrupt::interrupted};

/// How a run on a node ended, as an error if it did not end well.
pub(super) fn fail_on(summary: &Summary) -> Result<()> {
    let Some(failure) = &summary.failure else { return Ok(()) };
    Err(match failure.clone() {
        NodeFailure::Resource { id, message, output, hint } => {
            let error = Error::new(id::RESOURCE_FAILED, message).at(&id).with_output(output);
            hint.into_iter().fold(error, Error::hinted)
        }
        NodeFailure::Busy(busy) => self::busy(&busy),
        NodeFailure::OtherCluster { cluster } => Error::new(
            id::MACHINE_OF_OTHER_CLUSTER,
            format!("this machine is a node of the cluster `{cluster}`"),
        )
        .hinted(format!(
            "destroy that cluster first (`swdt cluster destroy --cluster {cluster}`), or use another machine"
        )),
        NodeFailure::Wire { node } => Error::new(
            id::WIRE_MISMATCH,
            format!("the node program speaks wire version {node}, this swdt {}", swdt_wire::WIRE_VERSION),
        ),
        NodeFailure::UnknownRun => Error::new(id::INTERNAL, "the machine does not know this run"),
        NodeFailure::Died => {
            Error::new(id::NODE_PROGRAM_DIED, "the node program ended unexpectedly, again and again")
                .hinted("look whether the machine restarts by itself or kills processes (`dmesg` there)")
        }
        NodeFailure::Cancelled => interrupted(),
        NodeFailure::Unusable { message, hint } => {
            hint.into_iter().fold(Error::new(id::MACHINE_UNUSABLE, message), Error::hinted)
        }
    })
}

/// Who works on the machine, since when, and how to look. The lock dies with its owner, so waiting is never in vain.
fn busy(busy: &Busy) -> Error {
    let since = i64::try_from(busy.since).ok().and_then(|since| jiff::Timestamp::from_second(since).ok());
    let since = since.map_or_else(String::new, |since| {
        format!(" since {}, by its clock", since.strftime("%Y-%m-%d %H:%M:%S UTC"))
    });
    let message = format!(
        "{} works on this machine for the cluster {}{since} (process {} there)",
        busy.who, busy.cluster, busy.pid
    );
    Error::new(id::MACHINE_BUSY, message)
        .hinted(format!("to look: `swdt cluster logs --follow --cluster {}`, as {}", busy.cluster, busy.who))
        .hinted("wait for it to end and run the same command again; whoever dies holds the machine no longer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_says_who_since_when_and_how_to_look() {
        let busy = Busy {
            run: "20261116t080000-1a2b-3".into(),
            cluster: "proof".into(),
            who: "ada@desk".into(),
            pid: 4711,
            since: 1_794_816_000,
        };
        let summary = Summary { failure: Some(NodeFailure::Busy(busy)), ..Summary::default() };
        let error = fail_on(&summary).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ada@desk works on this machine for the cluster proof since 2026-11-16 08:00:00 UTC, by its clock \
             (process 4711 there)"
        );
        assert_eq!(error.id(), "machine-busy");
        assert!(error.hints[0].contains("swdt cluster logs --follow --cluster proof"), "{:?}", error.hints);
    }
}
