//! One conversation: a request in, events out.
//!
//! The first event is `Hello` with number 0; it belongs to the conversation. What a run tells is
//! numbered from 1, the same in every conversation that follows it.

use std::fs;

use serde::Deserialize;
use swdt_wire::{Mode, NodeEventKind, NodeFailure, Request, Secret, Summary, WIRE_VERSION};

use crate::{
    Ctx, Error, Events, Result,
    detach::{self, Verdict, failed, unusable},
    disk, engine, kubectl, logs, os,
    receipts::Receipts,
    resources::image,
    state::{RunId, State},
    tail,
};

/// What every version of a request has.
#[derive(Deserialize)]
struct Envelope {
    wire: u32,
    #[serde(default)]
    run: String,
}

/// Answers a request. The last event is always `Finished`.
pub fn serve(ctx: &Ctx, request: &[u8], events: &Events) {
    let envelope = serde_json::from_slice::<Envelope>(request);
    let hello = |run: &str| {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let run = run.to_owned();
        events.send(NodeEventKind::Hello { wire: WIRE_VERSION, version, run, at: disk::now() });
    };
    hello(envelope.as_ref().map_or("", |envelope| &envelope.run));
    let answered = match envelope {
        Ok(envelope) if envelope.wire != WIRE_VERSION => Ok(Some(NodeFailure::Wire { node: WIRE_VERSION })),
        Err(error) => Err(unreadable(&error)),
        Ok(_) => match serde_json::from_slice(request) {
            Ok(parsed) => answer(ctx, &parsed, request, events),
            Err(error) => Err(unreadable(&error)),
        },
    };
    match answered {
        // Finished was passed on.
        Ok(None) => {}
        Ok(Some(failure)) => events.finish(failed(failure)),
        Err(error) => events.finish(failed(unusable(error))),
    }
}

/// Only the place: serde's own words could quote a secret that stands there.
fn unreadable(error: &serde_json::Error) -> Error {
    Error::new(format!("the request cannot be read at line {} column {}", error.line(), error.column()))
}

/// Does what the request says and finishes, unless something fails.
fn answer(ctx: &Ctx, request: &Request, bytes: &[u8], events: &Events) -> Result<Option<NodeFailure>> {
    let state = State::of(ctx);
    match &request.mode {
        Mode::Facts => engine::check(ctx, events, &[])?,
        Mode::Receipts => {
            as_root(ctx)?;
            engine::check(ctx, events, &[])?;
            let receipts = Receipts::open(state.receipts(), &request.run)?;
            let live: Vec<_> =
                receipts.live().into_iter().filter_map(|mut live| live.resources.pop()).collect();
            let cluster = receipts.cluster().filter(|_| !live.is_empty()).map(ToOwned::to_owned);
            events.send(NodeEventKind::Receipts { cluster, live });
        }
        Mode::Check { resources } => engine::check(ctx, events, resources)?,
        Mode::Apply { .. } | Mode::Revert { .. } | Mode::RevertSome { .. } => {
            let run = RunId::parse(&request.run)?;
            as_root(ctx)?;
            let apply = matches!(request.mode, Mode::Apply { .. });
            if apply || state.exists() {
                return start(ctx, &state, &run, bytes, events);
            }
        }
        Mode::Attach { run, after } => {
            let run = RunId::parse(run)?;
            let Some(file) = tail::open(&state, &run)? else { return Ok(Some(NodeFailure::UnknownRun)) };
            return tail::follow(&state, &run, file, *after, events);
        }
        Mode::Kubectl { arguments, input } => {
            if let Some(refused) = refused(ctx, request)? {
                return Ok(Some(refused));
            }
            let input = input.as_ref().map_or("", Secret::expose);
            let said = kubectl::ask(ctx, arguments, input)?;
            events.send(NodeEventKind::Answer {
                code: said.code,
                stdout: Secret::new(said.stdout),
                stderr: said.stderr,
            });
        }
        Mode::Pull { reference } => {
            if let Some(refused) = refused(ctx, request)? {
                return Ok(Some(refused));
            }
            let said = image::pull(ctx, reference)?;
            events.send(NodeEventKind::Answer {
                code: said.code,
                stdout: Secret::new(said.stdout),
                stderr: said.stderr,
            });
        }
        Mode::Logs { of, lines } => {
            if let Some(refused) = refused(ctx, request)? {
                return Ok(Some(refused));
            }
            logs::tell(ctx, of, *lines as usize, events);
        }
        Mode::Cancel { run } => {
            let run = RunId::parse(run)?;
            if !state.run(&run).exists() {
                return Ok(Some(NodeFailure::UnknownRun));
            }
            let marker = state.cancel(&run);
            fs::write(&marker, "").map_err(|error| Error::io("write", &marker, &error))?;
        }
    }
    events.finish(Summary::default());
    Ok(None)
}

/// The bytes of a word in hex.
pub fn unhex(word: &str) -> Option<Vec<u8>> {
    let digits = word.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

/// Runs kubectl on our own streams; gives its exit code.
pub fn stand_in(ctx: &Ctx, request: &[u8]) -> Result<u8> {
    let request: Request = serde_json::from_slice(request).map_err(|error| unreadable(&error))?;
    let Mode::Kubectl { arguments, .. } = &request.mode else {
        return Err(Error::new("only kubectl can be run like this"));
    };
    match refused(ctx, &request)? {
        Some(NodeFailure::OtherCluster { cluster }) => {
            Err(Error::new(format!("this machine is a node of the cluster `{cluster}`")))
        }
        _ => kubectl::stand_in(ctx, arguments),
    }
}

/// Why a question is not answered. Read only: a run may go on meanwhile.
fn refused(ctx: &Ctx, request: &Request) -> Result<Option<NodeFailure>> {
    as_root(ctx)?;
    let receipts = Receipts::open(State::of(ctx).receipts(), &request.run)?;
    let other = receipts.cluster().filter(|cluster| **cluster != request.cluster);
    Ok(other.map(|cluster| NodeFailure::OtherCluster { cluster: cluster.to_owned() }))
}

fn as_root(ctx: &Ctx) -> Result<()> {
    match os::not_privileged().filter(|_| ctx.live()) {
        Some((what, hint)) => Err(Error::new(what).hinted(hint)),
        None => Ok(()),
    }
}

/// Starts a run and follows it. A request that comes a second time, because its answer was lost,
/// follows the first.
fn start(
    ctx: &Ctx,
    state: &State,
    run: &RunId,
    bytes: &[u8],
    events: &Events,
) -> Result<Option<NodeFailure>> {
    state.verify()?;
    let mut hold = None;
    if !state.events(run).exists() {
        match detach::start(ctx, run, bytes)? {
            (Verdict::Follow, asked) => hold = Some(asked),
            (Verdict::Refused(failure), _) => return Ok(Some(failure)),
        }
    }
    let Some(file) = tail::open(state, run)? else { return Ok(Some(NodeFailure::UnknownRun)) };
    drop(hold);
    tail::follow(state, run, file, 0, events)
}
