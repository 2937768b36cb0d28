//! Programs and images without a cluster: what `swdt source fetch` and `build` do.

use std::time::Instant;

use super::{Sink, fetch::assembled};
use crate::{
    Result,
    catalog::Versions,
    event::EventKind,
    interrupt::{Interrupt, interrupted},
    journal::Journal,
    source::{Artifact, Settings, Sources, Supply, Want, image, lock::Lock},
    spec::OsFamily,
};

/// What came of a want.
#[derive(Debug)]
pub struct Fetched {
    /// What was wanted.
    pub want: Want,
    /// What serves it.
    pub supply: Supply,
    /// The image made of it, where it is one: its name, and its archive.
    pub image: Option<(String, Artifact)>,
}

/// Gets everything that is wanted into the cache; images are assembled if asked.
pub async fn fetch(
    settings: Settings,
    wants: Vec<Want>,
    images: Option<&Versions>,
    lock: &mut Lock,
    interrupt: &Interrupt,
    sink: Sink,
) -> Result<Vec<Fetched>> {
    let reporter = Journal::unkept(sink).reporter();
    let sources = Sources::new(settings, reporter.clone())?;
    let begun = Instant::now();
    reporter.say(EventKind::PhaseStarted { phase: "fetch".into(), title: "Fetch".into(), usual_ms: None });
    let fetched = tokio::select! {
        fetched = all(&sources, wants, images, lock) => fetched,
        () = interrupt.wait() => Err(interrupted()),
    };
    let error = fetched.as_ref().err().map(ToString::to_string);
    if fetched.is_ok() {
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        reporter.say(EventKind::PhaseDone { phase: "fetch".into(), took_ms });
    }
    reporter.say(EventKind::Finished { ok: fetched.is_ok(), writes: 0, error });
    fetched
}

async fn all(
    sources: &Sources,
    wants: Vec<Want>,
    images: Option<&Versions>,
    lock: &mut Lock,
) -> Result<Vec<Fetched>> {
    let supplies = sources.resolve(&wants, lock).await?;
    let mut fetched = Vec::new();
    for (want, supply) in wants.into_iter().zip(supplies) {
        let is_image = want.platform.os() == OsFamily::Linux && image::pieces().any(|one| one == want.piece);
        let image = match images.filter(|_| is_image) {
            Some(versions) => assembled(sources, versions, &want, &supply).await?,
            None => None,
        };
        fetched.push(Fetched { want, supply, image });
    }
    Ok(fetched)
}
