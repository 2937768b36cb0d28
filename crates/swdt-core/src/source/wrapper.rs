//! The wrapper module, in which modules are built that cannot be built by themselves.
//!
//! The zip of a module like `k8s.io/kubernetes` lacks the directories that its own go.mod points to
//! (`=> ./staging/…`). An empty module requires it and puts the published module of the same release in place of
//! each such directory. The same serves a source tree that was unpacked from such a zip.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use semver::Version;
use serde::Deserialize;

use super::{
    Context,
    build::Job,
    go::{self, Go},
    patch,
};
use crate::{Error, Result, files::failed, id};

/// How many versions are named to somebody who asked for one that does not exist.
const NEAR: usize = 4;

/// What `go mod download -json` says.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Downloaded {
    go_mod: Option<String>,
    dir: Option<String>,
    error: Option<String>,
}

/// What `go mod edit -json` says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct GoMod {
    #[serde(default)]
    module: Option<Named>,
    pub(super) go: Option<String>,
    #[serde(default)]
    godebug: Option<Vec<Setting>>,
    #[serde(default)]
    require: Option<Vec<Place>>,
    #[serde(default)]
    replace: Option<Vec<Replace>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    path: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Setting {
    key: String,
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Replace {
    old: Place,
    new: Place,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Place {
    path: String,
    #[serde(default)]
    version: Option<String>,
}

impl GoMod {
    /// Reads a go.mod by asking Go.
    pub(super) async fn read(ctx: &Context, go: &Go, dir: &Path, path: &str) -> Result<Self> {
        let command = go.command(dir, ["mod", "edit", "-json", path]);
        let said = go::run(command, &format!("reading {path}"), &ctx.reporter).await?;
        serde_json::from_str(&said).map_err(|error| Error::new(id::GO_FAILED, format!("{path}: {error}")))
    }

    /// The module's own path.
    pub(super) fn module(&self) -> &str {
        self.module.as_ref().map_or("", |module| &module.path)
    }

    /// Directories that stand for required modules: module, and directory as written. What nothing requires is a
    /// trap for those who import it by mistake, as etcd has one.
    pub(super) fn directories(&self) -> impl Iterator<Item = (&str, &str)> {
        let required = |path: &str| self.require.iter().flatten().any(|place| place.path == path);
        let replaces = self.replace.iter().flatten();
        replaces
            .filter(|replace| replace.new.version.is_none())
            .map(|replace| (replace.old.path.as_str(), replace.new.path.as_str()))
            .filter(move |(old, _)| required(old))
    }

    /// The beginning of a wrapper: behaves as this go.mod says.
    fn begin(&self) -> String {
        let mut text = format!("module swdt.local/build\n\ngo {}\n\n", self.go.as_deref().unwrap_or("1.21"));
        for setting in self.godebug.iter().flatten() {
            let _ = writeln!(text, "godebug {}={}", setting.key, setting.value);
        }
        text
    }
}

/// Makes the wrapper of a published module; gives the Go that is new enough for it.
pub(super) async fn published(ctx: &Context, go: &Go, job: &Job, dir: &Path) -> Result<Go> {
    let path = dir.join("go.mod");
    let write = |text: &str| fs::write(&path, text).map_err(|error| failed("write", &path, &error));
    write("module swdt.local/build\n\ngo 1.21\n")?;
    let version = patch::release(&job.version);
    let downloaded = match download(ctx, go, dir, job.module.path, &version).await {
        Err(error) if unknown(&error) => return Err(no_such_version(ctx, go, job, dir, error).await),
        downloaded => downloaded?,
    };
    let go_mod = downloaded.go_mod(job.module.path)?;
    let target = GoMod::read(ctx, go, dir, &go_mod).await?;
    let changed = patch::apply(ctx, go, job, dir).await?;
    write(&around_release(job, &target, &changed))?;
    Ok(target.go.as_deref().map_or_else(|| go.clone(), |needed| go.at_least(needed)))
}

/// Has Go fetch a module, from inside a module in `dir`.
pub(super) async fn download(
    ctx: &Context,
    go: &Go,
    dir: &Path,
    module: &str,
    version: &Version,
) -> Result<Downloaded> {
    let wanted = format!("{module}@v{version}");
    let command = go.command(dir, ["mod", "download", "-json", &wanted]);
    let said = go::run(command, &format!("downloading {wanted}"), &ctx.reporter).await;
    let said = said.map_err(|error| super::space::explain(error, ctx.cache.go()))?;
    let strange = |why: String| Error::new(id::GO_FAILED, format!("{wanted}: {why}"));
    let downloaded: Downloaded = serde_json::from_str(&said).map_err(|error| strange(error.to_string()))?;
    match downloaded.error {
        Some(error) => Err(strange(error)),
        None => Ok(downloaded),
    }
}

impl Downloaded {
    /// Its go.mod.
    fn go_mod(&self, module: &str) -> Result<String> {
        absolute(self.go_mod.as_ref(), module, "go.mod")
    }

    /// Where it was unpacked.
    pub(super) fn dir(&self, module: &str) -> Result<PathBuf> {
        absolute(self.dir.as_ref(), module, "directory").map(PathBuf::from)
    }
}

/// An answer without a path must not become a path.
fn absolute(path: Option<&String>, module: &str, what: &str) -> Result<String> {
    let path = path.filter(|path| Path::new(path).is_absolute());
    path.cloned().ok_or_else(|| Error::new(id::GO_FAILED, format!("{module}: go names no {what}")))
}

/// Does the proxy not know this version? (`.info` is what it is asked first.)
fn unknown(error: &Error) -> bool {
    let said = error.output.join("\n");
    let refused = ["404", "410", "403"].iter().any(|code| said.contains(&format!(".info: {code}")));
    refused || said.contains("unknown revision")
}

async fn no_such_version(ctx: &Context, go: &Go, job: &Job, dir: &Path, error: Error) -> Error {
    let (path, version) = (job.module.path, &job.version);
    let command = go.command(dir, ["list", "-m", "-versions", path]);
    let listed = go::run(command, &format!("listing versions of {path}"), &ctx.reporter).await;
    let known = listed.unwrap_or_default();
    let known = known.split_whitespace().filter_map(|word| Version::parse(word.strip_prefix('v')?).ok());
    let near = near(version, known.collect());
    let message = format!("the module proxy knows no version {version} of {path}");
    let mut told = error.meaning(id::VERSION_UNKNOWN).saying(message);
    told.hints.clear();
    match near.as_slice() {
        [] => told.hinted("choose a version that was released"),
        near => told.hinted(format!("near to it, it knows {}", near.join(", "))),
    }
}

/// The known versions that are nearest: of the same minor, else of the nearest ones.
fn near(wanted: &Version, mut known: Vec<Version>) -> Vec<String> {
    let far = |version: &Version| {
        let apart = |a: u64, b: u64| a.abs_diff(b);
        (
            apart(version.major, wanted.major),
            apart(version.minor, wanted.minor),
            apart(version.patch, wanted.patch),
            !version.pre.is_empty(),
        )
    };
    known.sort_by_key(far);
    known.truncate(NEAR);
    known.sort();
    known.iter().map(ToString::to_string).collect()
}

/// The go.mod around a release: takes published modules in place of the directories that the zip does not have, and
/// changed ones in place of either.
fn around_release(job: &Job, target: &GoMod, changed: &BTreeMap<&str, PathBuf>) -> String {
    let mut text = target.begin();
    let version = patch::release(&job.version);
    let _ = writeln!(text, "require {} v{version}", job.module.path);
    let siblings =
        target.directories().filter(|(old, new)| new.starts_with('.') && !changed.contains_key(old));
    for (old, _) in siblings {
        let _ = writeln!(text, "replace {old} => {old} v{}", sibling(job.module.path, &version));
    }
    for (module, dir) in changed {
        let _ = writeln!(text, "replace {module} => {}", quoted(dir));
    }
    text
}

/// The version of modules that are released together with the target: those of Kubernetes 1.36.3 are 0.36.3.
pub(super) fn sibling(module: &str, version: &Version) -> Version {
    if module == "k8s.io/kubernetes" { Version { major: 0, ..version.clone() } } else { version.clone() }
}

/// Directories that a tree points to, split into those that are there and whether others are missing.
pub(super) fn neighbours(tree: &Path, target: &GoMod) -> (Vec<PathBuf>, bool) {
    let (there, missing): (Vec<_>, Vec<_>) =
        target.directories().map(|(_, new)| tree.join(new)).partition(|dir| dir.join("go.mod").is_file());
    (there, !missing.is_empty())
}

/// The go.mod around a tree that lacks directories it points to, as one unpacked from a module zip does. What the
/// tree has, or replaces by another module, stays as it says.
pub(super) fn around_tree(tree: &Path, target: &GoMod, version: &Version) -> String {
    let (mut text, module) = (target.begin(), target.module());
    let _ = writeln!(text, "require {module} v{version}");
    let _ = writeln!(text, "replace {module} => {}", quoted(tree));
    for (old, new) in target.directories() {
        let dir = tree.join(new);
        if dir.join("go.mod").is_file() {
            let _ = writeln!(text, "replace {old} => {}", quoted(&dir));
        } else {
            let _ = writeln!(text, "replace {old} => {old} v{}", sibling(module, version));
        }
    }
    let others = target.replace.iter().flatten();
    for (replace, version) in others.filter_map(|one| Some((one, one.new.version.as_ref()?))) {
        let at = replace.old.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let _ = writeln!(text, "replace {}{at} => {} {version}", replace.old.path, replace.new.path);
    }
    text
}

/// A path as go.mod takes it, whatever is in it.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        source::recipe::{Made, recipe},
        spec::{ComponentName, Platform},
    };

    const TARGET: &str = r#"{"Module": {"Path": "k8s.io/kubernetes"}, "Go": "1.26.0",
        "Godebug": [{"Key": "default", "Value": "go1.26"}],
        "Require": [{"Path": "k8s.io/api", "Version": "v0.0.0"}, {"Path": "example.org/x", "Version": "v0.1.0"},
                    {"Path": "k8s.io/client-go", "Version": "v0.0.0"}],
        "Replace": [
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
        {"Old": {"Path": "k8s.io/client-go"}, "New": {"Path": "./client-go"}},
        {"Old": {"Path": "k8s.io/trap"}, "New": {"Path": "./FORBIDDEN_DEPENDENCY"}},
        {"Old": {"Path": "example.org/x"}, "New": {"Path": "example.org/y", "Version": "v1.0.0"}}]}"#;

    #[test]
    fn the_wrapper_replaces_required_directories_only() {
        let target: GoMod = serde_json::from_str(TARGET).unwrap();
        let Made::Go(module) = recipe(ComponentName::Kubeadm.into()).made else { panic!() };
        let mut job = Job {
            module,
            version: Version::new(1, 36, 3),
            platform: Platform::LinuxAmd64,
            programs: vec![],
            patches: &[],
        };
        assert_eq!(
            around_release(&job, &target, &BTreeMap::new()),
            "module swdt.local/build\n\ngo 1.26.0\n\ngodebug default=go1.26\n\
             require k8s.io/kubernetes v1.36.3\nreplace k8s.io/api => k8s.io/api v0.36.3\n\
             replace k8s.io/client-go => k8s.io/client-go v0.36.3\n"
        );
        job.version = "1.36.3+rehearsal".parse().unwrap();
        let changed = BTreeMap::from([("k8s.io/client-go", PathBuf::from("/patched/client-go"))]);
        let text = around_release(&job, &target, &changed);
        assert!(text.ends_with(
            "require k8s.io/kubernetes v1.36.3\nreplace k8s.io/api => k8s.io/api v0.36.3\n\
             replace k8s.io/client-go => \"/patched/client-go\"\n"
        ));
    }

    #[test]
    fn what_an_unpacked_tree_has_is_used_and_what_it_lacks_is_the_published_one() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("client-go")).unwrap();
        fs::write(dir.path().join("client-go/go.mod"), "").unwrap();
        let target: GoMod = serde_json::from_str(TARGET).unwrap();
        let text = around_tree(dir.path(), &target, &Version::new(1, 36, 3));
        for line in [
            "replace k8s.io/api => k8s.io/api v0.36.3\n".to_owned(),
            format!("replace k8s.io/client-go => \"{}/./client-go\"\n", dir.path().display()),
            format!("replace k8s.io/kubernetes => \"{}\"\n", dir.path().display()),
            "replace example.org/x => example.org/y v1.0.0\n".to_owned(),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
        assert!(neighbours(dir.path(), &target).1);
    }

    #[test]
    fn versions_near_to_one_that_does_not_exist_are_named() {
        let known = ["1.34.0", "1.36.1", "1.36.3", "1.36.0-rc.0", "0.1.0", "1.37.0"];
        let known = known.iter().map(|version| version.parse().unwrap()).collect();
        assert_eq!(near(&Version::new(1, 36, 99), known), ["1.36.0-rc.0", "1.36.1", "1.36.3", "1.37.0"]);
    }
}
