//! Makes resources true in order, undoes them in reverse, and says what happens.

use swdt_wire::{
    Checked, Entry, Kind, NodeEventKind as Event, NodeFailure, Outcome, Prior, Resource, Status, Summary,
};

use crate::{
    Ctx, Error, Events, Result, blobs, facts, faults,
    receipts::{Live, Receipts},
    resources::{self, Reverted, behaviour},
    state::State,
};

/// A piece of work: on which machine, told to whom, until when.
pub struct Job<'a> {
    /// The machine.
    pub ctx: &'a Ctx,
    /// Whom to tell.
    pub events: Events,
    /// Asked between resources: stop here?
    pub cancelled: &'a dyn Fn() -> bool,
}

/// Looks at the machine and, without touching it, at each resource.
pub fn check(ctx: &Ctx, events: &Events, resources: &[Resource]) -> Result<()> {
    events.send(Event::Facts(Box::new(facts::gather(ctx)?)));
    let state = State::of(ctx);
    for resource in resources {
        // Something of a later phase may not even be possible to look at yet. It is not true, then;
        // whether that is a failure turns out when it is to be made true.
        let status = behaviour(&resource.kind)
            .check(ctx)
            .unwrap_or_else(|error| Status::Differs(format!("cannot be looked at: {error}")));
        let missing_blobs = match status {
            Status::Satisfied => Vec::new(),
            Status::Differs(_) => blobs::missing(&state, &resource.kind.blobs())?,
        };
        events.send(Event::Checked(Checked { id: resource.id.clone(), status, missing_blobs }));
    }
    Ok(())
}

/// Makes resources true for a cluster. The first failure ends it.
pub fn apply(job: &Job, receipts: &mut Receipts, cluster: &str, resources: &[Resource]) -> Summary {
    let failure = resources
        .iter()
        .find_map(|resource| job.step(&resource.id, || apply_one(job.ctx, receipts, cluster, resource)));
    job.summary(receipts, failure)
}

/// Undoes everything the receipts tell of, last first. The first failure ends it. What somebody changed after us
/// is kept, and so is its receipt, until it is forced or kept a second time.
pub fn revert(job: &Job, receipts: &mut Receipts, force: bool) -> Summary {
    let failure = receipts
        .live()
        .iter()
        .rev()
        .find_map(|live| job.step(live.id(), || revert_one(job.ctx, receipts, live, force)));
    let kept = receipts.live().iter().filter(|live| live.kept).count() as u64;
    Summary { kept, ..job.summary(receipts, failure) }
}

/// Undoes some resources and leaves the others. What somebody changed after us is kept.
pub fn revert_some(job: &Job, receipts: &mut Receipts, ids: &[String]) -> Summary {
    let failure = receipts
        .live()
        .iter()
        .rev()
        .filter(|live| !live.kept && ids.iter().any(|id| id == live.id()))
        .find_map(|live| {
            job.step(live.id(), || {
                hand_on(receipts, live)?;
                revert_one(job.ctx, receipts, live, false)
            })
        });
    job.summary(receipts, failure)
}

/// The file that the next line of ours was written into had this line in it, and is not what shall be there in the
/// end: the next one learns what was there before both.
fn hand_on(receipts: &mut Receipts, going: &Live) -> Result<()> {
    let Prior::Line { file, .. } = &going.prior else { return Ok(()) };
    let lives = receipts.live();
    let later = lives.iter().skip_while(|live| live.target != going.target).skip(1);
    for live in later {
        if let (Prior::Line { file: theirs, present }, Some(resource)) = (&live.prior, live.resources.last())
            && theirs.path == file.path
        {
            let prior = Box::new(Prior::Line { file: file.clone(), present: *present });
            return receipts.append(Entry::Intent { resource: resource.clone(), prior });
        }
    }
    Ok(())
}

fn apply_one(ctx: &Ctx, receipts: &mut Receipts, cluster: &str, resource: &Resource) -> Result<Outcome> {
    let kind = behaviour(&resource.kind);
    if kind.check(ctx)? == Status::Satisfied {
        return Ok(Outcome::Unchanged);
    }
    let target = resource.kind.target();
    faults::enter(&resource.id, "");
    let before = receipts.live_target(&target);
    let doubted = |error| blobs::doubt(&State::of(ctx), &resource.kind.blobs(), error);
    let prior = match &before {
        Some(live) => kind.prior_again(ctx, &live.prior),
        None => kind.prior(ctx),
    };
    let prior = prior.map_err(doubted)?;
    faults::point("before-receipt");
    // What changes nothing on this machine needs no way back, and leaves no receipt.
    let undoable = prior != Prior::Nothing;
    if undoable {
        if receipts.cluster().is_none() {
            receipts.append(Entry::Opened { cluster: cluster.to_owned() })?;
        }
        let redacted = resource.redacted();
        // A run that was killed may have said the same already.
        let said = before.is_some_and(|live| live.prior == prior && live.resources.last() == Some(&redacted));
        if !said {
            receipts.append(Entry::Intent { resource: redacted, prior: Box::new(prior.clone()) })?;
        }
    }
    faults::point("after-receipt");
    faults::enter(&resource.id, "mid-apply");
    let writes = ctx.writes();
    kind.apply(ctx, &prior).map_err(doubted)?;
    faults::point("after-apply");
    if let Status::Differs(what) = kind.check(ctx)? {
        return Err(Error::new(format!("still differs: {what}")).hinted(undone_by(&resource.kind, &what)));
    }
    if undoable {
        receipts.append(Entry::Done { target })?;
    }
    faults::point("after-done");
    // It became true while it was waited for.
    let waited = !undoable && ctx.writes() == writes;
    Ok(if waited { Outcome::Unchanged } else { Outcome::Changed })
}

/// Who undoes what was just done? A file that vanishes at once is a scanner's doing, on Windows.
fn undone_by(kind: &Kind, what: &str) -> &'static str {
    let file = matches!(kind, Kind::File(_) | Kind::Archive(_));
    if cfg!(windows) && file && what.contains("missing") {
        resources::QUARANTINE
    } else {
        "something else on this machine keeps changing it back; find and stop that first"
    }
}

fn revert_one(ctx: &Ctx, receipts: &mut Receipts, live: &Live, force: bool) -> Result<Outcome> {
    faults::enter(live.id(), "mid-revert");
    faults::point("before-revert");
    if live.prior == Prior::Nothing {
        receipts.append(Entry::Reverted { target: live.target.clone() })?;
        return Ok(Outcome::Reverted);
    }
    let Some(resource) = what_holds(ctx, live) else { return Ok(Outcome::Reverted) };
    let reverted = behaviour(&resource.kind).revert(ctx, &live.prior, force)?;
    faults::point("after-revert");
    let target = live.target.clone();
    Ok(match reverted {
        Reverted::Yes => {
            receipts.append(Entry::Reverted { target })?;
            Outcome::Reverted
        }
        Reverted::Kept(why) => {
            // Whoever was told once and does not insist, leaves it; and more than force there is not.
            let for_good = force || live.kept;
            receipts.append(if for_good { Entry::Reverted { target } } else { Entry::Kept { target } })?;
            Outcome::Kept(why)
        }
    })
}

/// The version of a resource that a machine has now. A run killed between two versions left the
/// older one; that is ours as well.
fn what_holds<'a>(ctx: &Ctx, live: &'a Live) -> Option<&'a Resource> {
    let newest_first = || live.resources.iter().rev();
    newest_first()
        .find(|it| behaviour(&it.kind).check(ctx).is_ok_and(|status| status == Status::Satisfied))
        // A receipt cannot tell whether it is the secret that stands there, so it has to be taken for it.
        .or_else(|| newest_first().find(|it| it.kind.is_secret()))
        .or(live.resources.last())
}

impl Job<'_> {
    /// Works on one resource and tells of it; a failure if it does not go well.
    fn step(&self, id: &str, work: impl FnOnce() -> Result<Outcome>) -> Option<NodeFailure> {
        if (self.cancelled)() {
            return Some(NodeFailure::Cancelled);
        }
        self.events.send(Event::Started { id: id.to_owned() });
        let (events, of) = (self.events.clone(), id.to_owned());
        self.ctx.on_output(move |line| {
            events.send(Event::Output { id: of.clone(), line: line.to_owned() });
        });
        let before = self.ctx.writes();
        let worked = work();
        for message in self.ctx.take_notes() {
            self.events.send(Event::Note { id: Some(id.to_owned()), message });
        }
        match worked {
            Ok(outcome) => {
                let writes = self.ctx.writes() - before;
                self.events.send(Event::Done { id: id.to_owned(), outcome, writes });
                None
            }
            Err(_) if self.ctx.stopped() => Some(NodeFailure::Cancelled),
            Err(Error { message, output, hint }) => {
                Some(NodeFailure::Resource { id: id.to_owned(), message, output, hint })
            }
        }
    }

    fn summary(&self, receipts: &Receipts, failure: Option<NodeFailure>) -> Summary {
        let writes = self.ctx.writes() + receipts.appended();
        Summary { writes, reboot: self.ctx.wants_reboot(), failure, ..Summary::default() }
    }
}
