//! Builds programs at any version through the Go module proxy.
//!
//! The zip of a module like `k8s.io/kubernetes` lacks the directories that its own go.mod points to
//! (`=> ./staging/…`), so it cannot be built by itself. An empty **wrapper module** requires it and puts the
//! published module of the same release in place of each such directory.

use std::{fmt::Write, fs, path::Path, time::Instant};

use semver::Version;
use serde::{Deserialize, Serialize};

use super::{
    Context,
    cache::{Blob, Key},
    go::{self, Go},
    recipe::{Module, Program},
};
use crate::{Error, ErrorKind, Result, files::failed, spec::Platform};

/// One `go build`: several programs of one module share what is compiled for them.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) module: Module,
    pub(super) version: Version,
    pub(super) platform: Platform,
    pub(super) programs: Vec<&'static Program>,
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
}

impl Job {
    fn key(&self, ctx: &Context, program: &Program) -> Result<Key> {
        Key::new(&Inputs {
            source: "build",
            module: self.module.path,
            version: self.version.to_string(),
            package: program.import(self.module.path),
            flags: link_flags(&self.module, &self.version, self.platform),
            cgo: self.module.cgo,
            go: ctx.go_version().to_string(),
            platform: self.platform.as_str(),
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
            Error::new(ErrorKind::Internal, format!("{what} was built, but is not in the cache"))
                .hinted("does something else clean the cache directory?")
        })
    }

    async fn make(&self, ctx: &Context, what: &str, programs: &[&'static Program]) -> Result<()> {
        let (begun, reporter) = (Instant::now(), &ctx.reporter);
        let names: Vec<_> = programs.iter().map(|program| program.name).collect();
        let minutes = self.module.minutes;
        reporter.doing(format!(
            "building {} from {what} (up to {minutes} min on two processors, once)",
            names.join(", ")
        ));
        let go = ctx.go().await?;
        let scratch = ctx.cache.scratch()?;
        let go = wrap(&go, self, scratch.path(), ctx).await?;
        let out = scratch.path().join("out");
        fs::create_dir(&out).map_err(|error| failed("create", &out, &error))?;

        let flags = link_flags(&self.module, &self.version, self.platform);
        let ldflags = format!("-ldflags={flags}");
        let out_arg = format!("{}/", out.display());
        let imports: Vec<String> = programs.iter().map(|program| program.import(self.module.path)).collect();
        let args = ["build", "-v", "-mod=mod", "-trimpath", &ldflags, "-o", &out_arg];
        let args = args.into_iter().chain(imports.iter().map(String::as_str));
        let command = go.build(scratch.path(), &scratch, self.platform, self.module.cgo, args);
        go::run(command, &format!("building {what}"), reporter).await?;

        let from = format!("built from {what} with Go {}", go.version());
        for program in programs {
            let path = out.join(program.built_as(self.module.path, self.platform));
            let blob = ctx.cache.adopt(&path)?;
            ctx.cache.remember(&self.key(ctx, program)?, &blob, &from)?;
        }
        reporter.doing(format!("built {} in {} s", names.join(", "), begun.elapsed().as_secs()));
        Ok(())
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

/// What `go mod download -json` says.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Downloaded {
    go_mod: Option<String>,
    error: Option<String>,
}

/// What `go mod edit -json` says.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoMod {
    go: Option<String>,
    #[serde(default)]
    godebug: Option<Vec<Setting>>,
    #[serde(default)]
    require: Option<Vec<Place>>,
    #[serde(default)]
    replace: Option<Vec<Replace>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Setting {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Replace {
    old: Place,
    new: Place,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Place {
    path: String,
    #[serde(default)]
    version: Option<String>,
}

/// Makes the wrapper module; gives the Go that is new enough for it.
async fn wrap(go: &Go, job: &Job, dir: &Path, ctx: &Context) -> Result<Go> {
    let path = dir.join("go.mod");
    let write = |text: &str| fs::write(&path, text).map_err(|error| failed("write", &path, &error));
    write("module swdt.local/build\n\ngo 1.21\n")?;
    let wanted = format!("{}@v{}", job.module.path, job.version);
    let command = go.command(dir, ["mod", "download", "-json", &wanted]);
    let said = go::run(command, &format!("downloading {wanted}"), &ctx.reporter).await?;
    let strange = |why: String| Error::new(ErrorKind::Download, format!("{wanted}: {why}"));
    let downloaded: Downloaded = serde_json::from_str(&said).map_err(|error| strange(error.to_string()))?;
    if let Some(error) = downloaded.error {
        return Err(strange(error));
    }
    // An answer without a path must not become a path.
    let go_mod = downloaded.go_mod.filter(|path| Path::new(path).is_absolute());
    let go_mod = go_mod.ok_or_else(|| strange("go names no go.mod".to_owned()))?;
    let command = go.command(dir, ["mod", "edit", "-json", &go_mod]);
    let said = go::run(command, &format!("reading {wanted}"), &ctx.reporter).await?;
    let target: GoMod = serde_json::from_str(&said).map_err(|error| strange(error.to_string()))?;
    write(&wrapper(job, &target))?;
    Ok(target.go.as_deref().map_or_else(|| go.clone(), |needed| go.at_least(needed)))
}

/// The go.mod of the wrapper: requires the target, behaves as the target's own go.mod says, and takes published
/// modules in place of the directories that the zip does not have.
fn wrapper(job: &Job, target: &GoMod) -> String {
    let mut text = format!("module swdt.local/build\n\ngo {}\n\n", target.go.as_deref().unwrap_or("1.21"));
    for setting in target.godebug.iter().flatten() {
        let _ = writeln!(text, "godebug {}={}", setting.key, setting.value);
    }
    let _ = writeln!(text, "require {} v{}", job.module.path, job.version);
    let is_directory = |place: &Place| place.version.is_none() && place.path.starts_with('.');
    // What nothing requires is a trap for those who import it by mistake, as etcd has one.
    let required = |path: &str| target.require.iter().flatten().any(|place| place.path == path);
    for replace in target.replace.iter().flatten().filter(|replace| is_directory(&replace.new)) {
        let old = &replace.old.path;
        if required(old) {
            let _ = writeln!(text, "replace {old} => {old} v{}", sibling(&job.module, &job.version));
        }
    }
    text
}

/// The version of modules that are released together with the target: those of Kubernetes 1.36.3 are 0.36.3.
fn sibling(module: &Module, version: &Version) -> Version {
    if module.path == "k8s.io/kubernetes" { Version { major: 0, ..version.clone() } } else { version.clone() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapper_replaces_required_directories_only() {
        let target: GoMod = serde_json::from_str(
            r#"{"Go": "1.26.0", "Godebug": [{"Key": "default", "Value": "go1.26"}],
                "Require": [{"Path": "k8s.io/api", "Version": "v0.0.0"}, {"Path": "example.org/x", "Version": "v0.1.0"}],
                "Replace": [
                {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
                {"Old": {"Path": "k8s.io/trap"}, "New": {"Path": "./FORBIDDEN_DEPENDENCY"}},
                {"Old": {"Path": "example.org/x"}, "New": {"Path": "example.org/y", "Version": "v1.0.0"}}]}"#,
        )
        .unwrap();
        let crate::source::recipe::Made::Go(module) =
            crate::source::recipe::recipe(crate::spec::ComponentName::Kubeadm.into()).made
        else {
            panic!()
        };
        let job =
            Job { module, version: Version::new(1, 36, 3), platform: Platform::LinuxAmd64, programs: vec![] };
        assert_eq!(
            wrapper(&job, &target),
            "module swdt.local/build\n\ngo 1.26.0\n\ngodebug default=go1.26\n\
             require k8s.io/kubernetes v1.36.3\nreplace k8s.io/api => k8s.io/api v0.36.3\n"
        );
    }
}
