//! From what is wanted to what is there: the source that was named, or the first that can serve.

use std::{collections::BTreeSet, path::Path};

use semver::Version;

use super::{
    Artifact, Context, Made, Sources, Supply, Want, binary, blocking,
    build::{self, Built, Job},
    bundle,
    cache::Blob,
    checkout, files,
    lock::Lock,
    patch,
    recipe::recipe,
    release, space, url,
};
use crate::{
    Error, Result, id,
    spec::{Platform, Source},
};

impl Artifact {
    pub(super) fn new(name: String, blob: Blob, from: String) -> Self {
        Self { name, path: blob.path, sha256: blob.sha256, size: blob.size, from }
    }
}

/// How far a want got without building through Go modules.
enum First {
    Served(Supply),
    Build(Job),
}

impl First {
    /// Refuses programs for another platform, before anything is built.
    fn fits(self, want: &Want) -> Result<Self> {
        if let Self::Served(supply) = &self {
            fit(supply, want)?;
        }
        Ok(self)
    }
}

/// Are these programs for the platform that is wanted?
fn fit(supply: &Supply, want: &Want) -> Result<()> {
    let check =
        |program: &Artifact| binary::check(&program.path, &program.name, want.platform, &program.from);
    supply.programs().iter().try_for_each(check)
}

impl Sources {
    /// Resolves everything that is wanted, in the same order. What was pinned is used; what is resolved is pinned.
    /// Programs of one module are built together, because they share most of what is compiled.
    pub async fn resolve(&self, wants: &[Want], lock: &mut Lock) -> Result<Vec<Supply>> {
        self.ctx.use_cache()?;
        let mut said = BTreeSet::new();
        let (mut firsts, mut errors) = (Vec::new(), Vec::new());
        for want in wants {
            match self.first(want, lock, &mut said).await.and_then(|first| first.fits(want)) {
                Ok(first) => firsts.push(first),
                Err(error) => errors.push(error.at(&label(want))),
            }
        }
        // Everything that can be told is told before minutes are spent on building.
        if let Some(error) = Error::all(errors) {
            return Err(error);
        }
        let jobs = merged(&firsts);
        for job in &jobs {
            job.run(&self.ctx).await?;
        }
        if !jobs.is_empty() {
            self.trim().await?;
        }
        let mut supplies = Vec::new();
        for (want, first) in wants.iter().zip(firsts) {
            let supply = match first {
                First::Served(supply) => supply,
                First::Build(job) => Supply::Programs(artifacts(job.run(&self.ctx).await?, want.platform)),
            };
            fit(&supply, want)?;
            lock.pin(want, &supply).map_err(|error| error.at(&label(want)))?;
            supplies.push(supply);
        }
        Ok(supplies)
    }

    /// Keeps what Go compiled within its bound. Another swdt that compiles now may have to do some of it again.
    async fn trim(&self) -> Result<()> {
        let Some(go) = self.ctx.go.get() else { return Ok(()) };
        let (packages, limit) = (go.packages().to_owned(), self.ctx.go_cache_mib.saturating_mul(space::MIB));
        let freed = blocking(move || Ok(space::trim(&packages, limit))).await?;
        if freed > 0 {
            let (freed, limit) = (freed / space::MIB, self.ctx.go_cache_mib);
            self.ctx.reporter.doing(format!("removed {freed} MiB of what Go compiled; {limit} MiB are kept"));
        }
        Ok(())
    }

    /// The same for one want.
    pub async fn resolve_one(&self, want: &Want, lock: &mut Lock) -> Result<Supply> {
        let mut supplies = self.resolve(std::slice::from_ref(want), lock).await?;
        supplies.pop().ok_or_else(|| Error::new(id::INTERNAL, "nothing was resolved"))
    }

    /// What is in the cache for a want already; asks nobody. Files, source trees and bundles are not looked at.
    pub fn at_hand(&self, want: &Want) -> Result<Option<Vec<Artifact>>> {
        let ctx = &self.ctx;
        let (release, build) = match &want.source {
            None => (Some(None), Some(want.version.clone())),
            Some(Source::Release { mirror }) => (Some(mirror.as_deref()), None),
            Some(Source::Build { repository: None, reference }) => (None, tag(reference)),
            Some(_) => (None, None),
        };
        if let Some(mirror) = release
            && let Some(found) = release::recall(ctx, want, mirror)?
        {
            return Ok(Some(found));
        }
        let Some(version) = build else { return Ok(None) };
        let recipe = recipe(want.piece);
        let programs: Vec<_> = recipe.programs(want.platform).collect();
        let found = match recipe.made {
            Made::Go(module) => {
                let patches = patch::of(ctx, want.piece, &version)?;
                Job { module, version, platform: want.platform, programs, patches }.recall(ctx)?
            }
            Made::Own(source) => build::recall_own(ctx, source, &programs, want.platform)?,
            Made::Package(..) => None,
        };
        Ok(found.map(|found| artifacts(found, want.platform)))
    }

    async fn first(&self, want: &Want, lock: &Lock, said: &mut BTreeSet<String>) -> Result<First> {
        if recipe(want.piece).programs(want.platform).next().is_none() {
            let message = format!("{} has no programs for {}", want.piece, want.platform.as_str());
            return Err(Error::new(id::SOURCE_LACKS, message));
        }
        if let Some(pinned) = lock.pinned(want, &self.ctx.cache)? {
            return Ok(First::Served(Supply::Programs(pinned)));
        }
        if let (Made::Package(name, _), Some(why)) = (recipe(want.piece).made, lock.package(want)) {
            return Ok(First::Served(Supply::Package { name, why }));
        }
        match &want.source {
            Some(source) => named(&self.ctx, want, source).await,
            None => self.wherever(want, said).await,
        }
    }

    /// Bundle, release, build: what is in the cache first, so that a second cluster fetches nothing.
    async fn wherever(&self, want: &Want, said: &mut BTreeSet<String>) -> Result<First> {
        let ctx = &self.ctx;
        for path in &self.bundles {
            if let Some(found) = bundle::obtain(ctx, want, path)? {
                return Ok(served(found));
            }
        }
        if let Some(found) = self.at_hand(want)? {
            return Ok(served(found));
        }
        let build = from_source(ctx, want, &want.version).await;
        // Nobody releases what is changed.
        if matches!(build, Ok(First::Served(_))) || patch::is_rehearsed(&want.version) {
            return build;
        }
        let why = match release::obtain(ctx, want, None).await {
            Ok(found) => return Ok(served(found)),
            Err(error) => error.to_string(),
        };
        if let Made::Package(name, cannot) = recipe(want.piece).made {
            let why = format!("{why}; {cannot}");
            ctx.reporter.warn(format!("{}: {why}; the node's own package `{name}` is used", want.piece));
            return Ok(First::Served(Supply::Package { name, why }));
        }
        if said.insert(why.clone()) {
            ctx.reporter.warn(format!("no release of {}: {why}; it is built from source", want.piece));
        }
        build
    }
}

/// The source that the user named; used, or failed.
async fn named(ctx: &Context, want: &Want, source: &Source) -> Result<First> {
    let absent = || {
        let message = format!("the source of {} has nothing for {}", want.piece, want.platform.as_str());
        Error::new(id::SOURCE_LACKS, message).hinted("add an entry for that platform")
    };
    Ok(match source {
        Source::Release { mirror } => {
            let mirror = mirror.as_deref();
            served(match release::recall(ctx, want, mirror)? {
                Some(found) => found,
                None => release::obtain(ctx, want, mirror).await?,
            })
        }
        Source::Files(files) => {
            served(files::obtain(ctx, want, files.get(&want.platform).ok_or_else(absent)?)?)
        }
        Source::Url(downloads) => {
            served(url::obtain(ctx, want, downloads.get(&want.platform).ok_or_else(absent)?).await?)
        }
        Source::Checkout { path } => served(checkout::obtain(ctx, want, path).await?),
        Source::Bundle { path } => {
            served(bundle::obtain(ctx, want, path)?.ok_or_else(|| missing(want, path))?)
        }
        Source::Build { repository: None, reference } => match tag(reference) {
            Some(version) => from_source(ctx, want, &version).await?,
            None => served(checkout::clone(ctx, want, None, reference).await?),
        },
        Source::Build { repository: Some(repository), reference } => {
            served(checkout::clone(ctx, want, Some(repository), reference).await?)
        }
    })
}

fn missing(want: &Want, path: &Path) -> Error {
    let message = format!("{} has no {}", path.display(), label(want));
    Error::new(id::SOURCE_LACKS, message)
        .hinted("make the bundle again with this version, or choose another source")
}

/// From source, through Go modules.
async fn from_source(ctx: &Context, want: &Want, version: &Version) -> Result<First> {
    let recipe = recipe(want.piece);
    let programs: Vec<_> = recipe.programs(want.platform).collect();
    match recipe.made {
        Made::Go(module) => {
            let (version, patches) = (version.clone(), patch::of(ctx, want.piece, version)?);
            Ok(First::Build(Job { module, version, platform: want.platform, programs, patches }))
        }
        Made::Own(source) => {
            let mut built = Vec::new();
            for program in programs {
                built.push(build::own(ctx, source, program, want.platform).await?);
            }
            Ok(served(artifacts(built, want.platform)))
        }
        Made::Package(name, why) => {
            Err(Error::new(id::SOURCE_IMPOSSIBLE, format!("{} cannot be built here: {why}", want.piece))
                .hinted(format!("leave the source away: the node's own package `{name}` serves it")))
        }
    }
}

/// `v1.36.3` is a tag that the module proxy knows; anything else is a branch or a commit.
fn tag(reference: &str) -> Option<Version> {
    Version::parse(reference.strip_prefix('v').unwrap_or(reference)).ok()
}

fn served(artifacts: Vec<Artifact>) -> First {
    First::Served(Supply::Programs(artifacts))
}

fn artifacts(built: Vec<Built>, platform: Platform) -> Vec<Artifact> {
    built
        .into_iter()
        .map(|built| Artifact::new(built.program.file(platform), built.blob, built.from))
        .collect()
}

/// What is to be built, one job for each module, version and platform.
fn merged(firsts: &[First]) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for first in firsts {
        let First::Build(job) = first else { continue };
        let same = |other: &&mut Job| {
            (other.module.path, &other.version, other.platform)
                == (job.module.path, &job.version, job.platform)
        };
        match jobs.iter_mut().find(same) {
            Some(other) => other
                .programs
                .extend(job.programs.iter().filter(|&new| !other.programs.contains(new)).collect::<Vec<_>>()),
            None => jobs.push(job.clone()),
        }
    }
    jobs
}

pub(super) fn label(want: &Want) -> String {
    format!("{} {} for {}", want.piece, want.version, want.platform.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::ComponentName;

    #[test]
    fn programs_of_one_module_are_built_together() {
        let first = |component: ComponentName| {
            let recipe = recipe(component.into());
            let Made::Go(module) = recipe.made else { panic!() };
            let platform = Platform::LinuxAmd64;
            let programs = recipe.programs(platform).collect();
            First::Build(Job { module, version: Version::new(1, 36, 3), platform, programs, patches: &[] })
        };
        let firsts =
            [first(ComponentName::Kubeadm), first(ComponentName::Etcd), first(ComponentName::Kubelet)];
        let jobs = merged(&firsts);
        let names: Vec<Vec<_>> =
            jobs.iter().map(|job| job.programs.iter().map(|program| program.name).collect()).collect();
        assert_eq!(names, [vec!["kubeadm", "kubelet"], vec!["etcd"]]);
    }

    #[test]
    fn tags_are_told_from_branches() {
        assert_eq!(tag("v1.36.3"), Some(Version::new(1, 36, 3)));
        assert!(tag("v1.37.0-rc.1").is_some());
        assert_eq!(tag("release-1.36"), None);
        assert_eq!(tag("0123abc"), None);
    }
}
