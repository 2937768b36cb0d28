//! Builds programs at any version through the Go module proxy.

use std::{fs, time::Instant};

use semver::Version;
use serde::Serialize;

use super::{
    Context, blocking,
    cache::{Blob, Key, Scratch},
    go::{self, Go},
    patch::Patch,
    recipe::{Module, Program},
    space, wrapper,
};
use crate::{Error, Result, files::failed, id, spec::Platform};

/// One `go build`: several programs of one module share what is compiled for them.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) module: Module,
    pub(super) version: Version,
    pub(super) platform: Platform,
    pub(super) programs: Vec<&'static Program>,
    /// Changes to the release, where the version says that there are some.
    pub(super) patches: &'static [Patch],
}

/// A program, and how it came to be.
#[derive(Debug, Clone)]
pub(super) struct Built {
    pub(super) program: &'static Program,
    pub(super) blob: Blob,
    pub(super) from: String,
}

/// Everything that can change the bytes of a program.
#[derive(Serialize)]
struct Inputs<'a> {
    source: &'static str,
    module: &'a str,
    version: String,
    package: String,
    flags: String,
    cgo: bool,
    go: String,
    platform: &'static str,
    #[serde(skip_serializing_if = "<[Patch]>::is_empty")]
    patches: &'static [Patch],
}

impl Job {
    fn key(&self, ctx: &Context, program: &Program) -> Result<Key> {
        Key::new(&Inputs {
            source: "build",
            module: self.module.path,
            version: self.version.to_string(),
            package: program.import(self.module.path),
            flags: ctx.flags(link_flags(&self.module, &self.version, self.platform)),
            cgo: self.module.cgo,
            go: ctx.go_version().to_string(),
            platform: self.platform.as_str(),
            patches: self.patches,
        })
    }

    /// What was built earlier from the same inputs; none unless all of it is there.
    pub(super) fn recall(&self, ctx: &Context) -> Result<Option<Vec<Built>>> {
        let found: Vec<_> =
            self.programs.iter().map(|program| self.recall_one(ctx, program)).collect::<Result<_>>()?;
        Ok(found.into_iter().collect())
    }

    fn recall_one(&self, ctx: &Context, program: &'static Program) -> Result<Option<Built>> {
        let record = ctx.cache.recall(&self.key(ctx, program)?)?;
        Ok(record.map(|(record, blob)| Built { program, blob, from: record.from }))
    }

    /// Builds what is not there yet.
    pub(super) async fn run(&self, ctx: &Context) -> Result<Vec<Built>> {
        let what = format!("{} v{} for {}", self.module.path, self.version, self.platform.as_str());
        let key = Key::new(&("build", self.module.path, self.version.to_string(), self.platform.as_str()))?;
        let _held = ctx.cache.hold(&key, &what, &ctx.reporter).await?;
        let mut missing = Vec::new();
        for program in &self.programs {
            if self.recall_one(ctx, program)?.is_none() {
                missing.push(*program);
            }
        }
        if !missing.is_empty() {
            self.make(ctx, &what, &missing).await?;
        }
        self.recall(ctx)?.ok_or_else(|| {
            Error::new(id::INTERNAL, format!("{what} was built, but is not in the cache"))
                .hinted("does something else clean the cache directory?")
        })
    }

    async fn make(&self, ctx: &Context, what: &str, programs: &[&'static Program]) -> Result<()> {
        let (begun, reporter) = (Instant::now(), &ctx.reporter);
        let names: Vec<_> = programs.iter().map(|program| program.name).collect();
        let minutes = self.module.minutes;
        blocking({
            let (cache, what, mib) = (ctx.cache.go().to_owned(), what.to_owned(), self.module.mib);
            move || space::enough(&cache, &what, mib)
        })
        .await?;
        reporter.doing(format!(
            "building {} from {what} (up to {minutes} min on two processors, once)",
            names.join(", ")
        ));
        let go = ctx.go().await?;
        let scratch = ctx.cache.scratch()?;
        let go = wrapper::published(ctx, &go, self, scratch.path()).await?;
        let out = scratch.path().join("out");
        fs::create_dir(&out).map_err(|error| failed("create", &out, &error))?;

        let from = format!("built from {what} with Go {}", go.version());
        let (tests, plain): (Vec<_>, Vec<_>) = programs.iter().partition(|program| program.tests);
        let plain: Vec<&Program> = plain;
        if !plain.is_empty() {
            let imports: Vec<String> = plain.iter().map(|program| program.import(self.module.path)).collect();
            let imports: Vec<&str> = imports.iter().map(String::as_str).collect();
            self.compile(ctx, &go, &scratch, &["build"], &format!("{}/", out.display()), &imports).await?;
        }
        for program in plain {
            let path = out.join(program.built_as(self.module.path, self.platform));
            let blob = ctx.cache.adopt(&path)?;
            ctx.cache.remember(&self.key(ctx, program)?, &blob, &from)?;
        }
        for program in tests {
            let (path, import) = (out.join(program.name), program.import(self.module.path));
            let to = path.display().to_string();
            self.compile(ctx, &go, &scratch, &["test", "-c", "-vet=off"], &to, &[&import]).await?;
            let blob = ctx.cache.adopt(&path)?;
            ctx.cache.remember(&self.key(ctx, program)?, &blob, &from)?;
        }
        reporter.doing(format!("built {} in {} s", names.join(", "), begun.elapsed().as_secs()));
        Ok(())
    }

    /// One run of the compiler, in the wrapper module.
    async fn compile(
        &self,
        ctx: &Context,
        go: &Go,
        scratch: &Scratch,
        verb: &[&str],
        to: &str,
        imports: &[&str],
    ) -> Result<()> {
        let ldflags = format!("-ldflags={}", link_flags(&self.module, &self.version, self.platform));
        let args = [verb, &["-v", "-mod=mod", "-trimpath", &ldflags, "-o", to], imports].concat();
        let command = go.build(scratch.path(), scratch, self.platform, self.module.cgo, args);
        let what = format!("building {} v{}", self.module.path, self.version);
        let built = go::run(command, &what, &ctx.reporter).await;
        built.map(drop).map_err(|error| space::explain(error, ctx.cache.go()))
    }
}

/// Flags for the linker: no symbols, the version, and no library of the build host.
pub(super) fn link_flags(module: &Module, version: &Version, platform: Platform) -> String {
    let mut flags = format!("-s -w {}", (module.stamp)(version)).trim_end().to_owned();
    if module.cgo && platform.os() == crate::spec::OsFamily::Linux {
        flags.push_str(" -linkmode external -extldflags -static");
    }
    flags
}

fn own_key(ctx: &Context, source: &str, program: &Program, platform: Platform) -> Result<Key> {
    Key::new(&("own", program.name, source, ctx.go_version().to_string(), platform.as_str()))
}

/// What was built of swdt's own earlier; none unless all of it is there.
pub(super) fn recall_own(
    ctx: &Context,
    source: &str,
    programs: &[&'static Program],
    platform: Platform,
) -> Result<Option<Vec<Built>>> {
    let recall = |program: &&'static Program| {
        let record = ctx.cache.recall(&own_key(ctx, source, program, platform)?)?;
        Ok(record.map(|(record, blob)| Built { program, blob, from: record.from }))
    };
    let found: Vec<_> = programs.iter().map(recall).collect::<Result<_>>()?;
    Ok(found.into_iter().collect())
}

/// Builds the few lines that swdt carries.
pub(super) async fn own(
    ctx: &Context,
    source: &str,
    program: &'static Program,
    platform: Platform,
) -> Result<Built> {
    let key = own_key(ctx, source, program, platform)?;
    let go = ctx.go().await?;
    let scratch = ctx.cache.scratch()?;
    let write = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, text).map_err(|error| failed("write", &path, &error))
    };
    write("go.mod", "module swdt.local/own\n\ngo 1.21\n")?;
    write("main.go", source)?;
    let command = go.build(
        scratch.path(),
        &scratch,
        platform,
        false,
        ["build", "-trimpath", "-ldflags=-s -w", "-o", "out", "."],
    );
    go::run(command, &format!("building {}", program.name), &ctx.reporter).await?;
    let blob = ctx.cache.adopt(&scratch.path().join("out"))?;
    let from = format!("swdt's own, built with Go {}", go.version());
    ctx.cache.remember(&key, &blob, &from)?;
    Ok(Built { program, blob, from })
}
