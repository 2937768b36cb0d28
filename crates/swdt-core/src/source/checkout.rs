//! Source trees on this host, built with `go build` for each platform, and again when they changed.
//!
//! A tree as the module proxy gives it will do too: of the directories that its go.mod points to, those that are
//! there are used, and the published modules of the same release take the place of those that are not.

use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
    process::Stdio,
    time::UNIX_EPOCH,
};

use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::{
    Artifact, Context, Made, Want, blocking,
    build::link_flags,
    cache::{Blob, Key, hex},
    go::{self, Go},
    hide,
    recipe::{Module, Program, recipe},
    space,
    wrapper::{self, GoMod},
};
use crate::{Error, Result, files::failed, id};

/// Builds the programs of a piece from its source tree.
pub(super) async fn obtain(ctx: &Context, want: &Want, tree: &Path) -> Result<Vec<Artifact>> {
    let from = format!("built from {}", tree.display());
    let state = blocking({
        let tree = tree.to_owned();
        move || fingerprint(&tree)
    })
    .await?;
    build(ctx, want, tree, &state, &from).await
}

/// Fetches a branch, tag or commit of a repository and builds it.
pub(super) async fn clone(
    ctx: &Context,
    want: &Want,
    repository: Option<&String>,
    reference: &str,
) -> Result<Vec<Artifact>> {
    let module = module(want)?;
    let repository = repository.map_or(module.repository, String::as_str);
    for word in [repository, reference] {
        if word.starts_with('-') {
            return Err(Error::new(
                id::VALUE_INVALID,
                format!("`{word}` is neither a repository nor a revision"),
            ));
        }
    }
    let scratch = ctx.cache.scratch()?;
    let dir = scratch.path();
    ctx.reporter.doing(format!("fetching {reference} of {repository}"));
    git(ctx, dir, &["init", "--quiet"]).await?;
    git(ctx, dir, &["fetch", "--quiet", "--depth=1", "--", repository, reference]).await.map_err(
        |error| error.hinted(format!("is `{reference}` a tag, branch or commit of {repository}?")),
    )?;
    git(ctx, dir, &["checkout", "--quiet", "FETCH_HEAD"]).await?;
    let commit = git(ctx, dir, &["rev-parse", "HEAD"]).await?;
    let from = format!("built from {repository} at {reference} ({})", commit.trim());
    build(ctx, want, dir, commit.trim(), &from).await
}

fn module(want: &Want) -> Result<Module> {
    match recipe(want.piece).made {
        Made::Go(module) => Ok(module),
        Made::Own(_) => {
            Err(Error::new(id::SOURCE_IMPOSSIBLE, format!("{} has no source tree to build", want.piece)))
        }
        Made::Package(name, why) => {
            Err(Error::new(id::SOURCE_IMPOSSIBLE, format!("{} cannot be built here: {why}", want.piece))
                .hinted(format!("leave the source away: the node's own package `{name}` serves it")))
        }
    }
}

async fn build(ctx: &Context, want: &Want, tree: &Path, state: &str, from: &str) -> Result<Vec<Artifact>> {
    let module = module(want)?;
    let dir = tree.join(module.directory);
    if !dir.join("go.mod").is_file() {
        let message = format!("{} is no source tree of {}: there is no go.mod", dir.display(), want.piece);
        return Err(Error::new(id::SOURCE_TREE_WRONG, message));
    }
    let go = ctx.go().await?;
    let target = GoMod::read(ctx, &go, &dir, "go.mod").await?;
    if target.module() != module.path {
        let message = format!(
            "{} is the module {}, not {}, of which {} is a part",
            dir.display(),
            target.module(),
            module.path,
            want.piece
        );
        return Err(Error::new(id::SOURCE_TREE_WRONG, message).hinted("name the tree of that module"));
    }
    let (neighbours, lacks) = wrapper::neighbours(&dir, &target);
    let state = with_neighbours(state, tree, neighbours).await?;
    let tree = Tree { module, target, dir, lacks };
    let flags = ctx.flags(link_flags(&tree.module, &want.version, want.platform));
    let key = |name: &str| {
        Key::new(&("checkout", &state, name, &flags, go.version().to_string(), want.platform.as_str()))
    };
    let whole = Key::new(&("checkout", &state, want.platform.as_str()))?;
    let _held = ctx.cache.hold(&whole, want.piece.as_str(), &ctx.reporter).await?;
    let mut found = Vec::new();
    for program in recipe(want.piece).programs(want.platform) {
        let (key, file) = (key(program.name)?, program.file(want.platform));
        if let Some((record, blob)) = ctx.cache.recall(&key)? {
            found.push(Artifact::new(file, blob, record.from));
            continue;
        }
        let blob = tree.compile(ctx, &go, want, program).await?;
        ctx.cache.remember(&key, &blob, from)?;
        found.push(Artifact::new(file, blob, from.to_owned()));
    }
    Ok(found)
}

/// A source tree that can be built.
struct Tree {
    module: Module,
    target: GoMod,
    dir: PathBuf,
    /// Was it unpacked from a module's zip? Then directories are missing that its go.mod points to.
    lacks: bool,
}

impl Tree {
    async fn compile(&self, ctx: &Context, go: &Go, want: &Want, program: &Program) -> Result<Blob> {
        let what = format!("building {} in {}", program.name, self.dir.display());
        ctx.reporter.doing(what.clone());
        let scratch = ctx.cache.scratch()?;
        let out = scratch.path().join("out");
        let ldflags = format!("-ldflags={}", link_flags(&self.module, &want.version, want.platform));
        let (to, package) = (out.display().to_string(), program.import(self.module.path));
        let verb: &[&str] = if program.tests { &["test", "-c", "-vet=off"] } else { &["build"] };
        let args = [verb, &["-v", "-trimpath", &ldflags, "-o", &to]].concat();
        let command = if self.lacks {
            let path = scratch.path().join("go.mod");
            let text = wrapper::around_tree(&self.dir, &self.target, &want.version);
            fs::write(&path, text).map_err(|error| failed("write", &path, &error))?;
            let go = self.target.go.as_deref().map_or_else(|| go.clone(), |needed| go.at_least(needed));
            let args = args.into_iter().chain(["-mod=mod", &package]);
            go.build(scratch.path(), &scratch, want.platform, self.module.cgo, args)
        } else {
            let args = args.into_iter().chain([package.as_str()]);
            let mut command = go.build(&self.dir, &scratch, want.platform, self.module.cgo, args);
            // A tree may have a workspace of its own, as Kubernetes has, and may want a Go of its own.
            command.env("GOWORK", "").env("GOTOOLCHAIN", format!("go{}+auto", go.version()));
            command
        };
        let built = go::run(command, &what, &ctx.reporter).await;
        built.map_err(|error| space::explain(error, ctx.cache.go()))?;
        ctx.cache.adopt(&out)
    }
}

/// The state of a tree together with that of directories outside of it that it is built with.
async fn with_neighbours(state: &str, tree: &Path, neighbours: Vec<PathBuf>) -> Result<String> {
    let tree = tree.to_owned();
    let states = blocking(move || {
        let real = |path: &Path| path.canonicalize().map_err(|error| failed("read", path, &error));
        let tree = real(&tree)?;
        let mut states = Vec::new();
        for neighbour in neighbours {
            let neighbour = real(&neighbour)?;
            if !neighbour.starts_with(&tree) {
                states.push(fingerprint(&neighbour)?);
            }
        }
        Ok(states)
    })
    .await?;
    Ok(states.iter().fold(state.to_owned(), |all, one| format!("{all} {one}")))
}

async fn git(ctx: &Context, dir: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(args).stdin(Stdio::null()).kill_on_drop(true);
    // A question that nobody sees would hang.
    command.env("GIT_TERMINAL_PROMPT", "0");
    hide(command.as_std_mut(), &ctx.wanted.hidden);
    let output = command.output().await.map_err(|error| {
        Error::new(id::PROGRAM_MISSING, format!("cannot run `git`: {error}")).hinted("install git")
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().rev().take(10).map(str::to_owned).collect::<Vec<_>>();
    let message = format!("git {} ended with {}", args.first().unwrap_or(&""), output.status);
    Err(Error::new(id::GIT_FAILED, message).with_output(said.into_iter().rev().collect()))
}

/// Changes when a file of the tree is added, removed or written. Names, sizes and times: reading a tree of the
/// size of Kubernetes would take longer than Go takes to see that nothing changed.
fn fingerprint(tree: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(tree.as_os_str().as_encoded_bytes());
    let mut open = vec![tree.to_owned()];
    while let Some(dir) = open.pop() {
        for (path, meta) in sorted(&dir)? {
            if meta.is_dir() {
                open.push(path);
                continue;
            }
            let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update(format!("\0{}\0{}\0", meta.len(), modified.unwrap_or_default().as_nanos()));
        }
    }
    Ok(hex(&hash.finalize()))
}

/// The entries of a directory but Git's own and what builds leave.
fn sorted(dir: &Path) -> Result<Vec<(PathBuf, Metadata)>> {
    let wrong = |error: std::io::Error| failed("read", dir, &error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        if entry.file_name() != ".git" && entry.file_name() != "_output" {
            entries.push((entry.path(), entry.metadata().map_err(wrong)?));
        }
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(entries)
}
