//! Builds of a published module with a few exact changes, for nodes that are no real Windows.
//!
//! Such a build has a version of its own: that of the release, and the mark `+rehearsal`. So the lock, the cache and the
//! node itself say what it is, and nobody takes it for the release.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use semver::{BuildMetadata, Version};
use serde::Serialize;

use super::{
    Context, Piece, blocking,
    build::Job,
    go::Go,
    wrapper::{self, sibling},
};
use crate::{
    Error, Result,
    files::failed,
    id,
    spec::{ComponentName, REHEARSAL},
};

/// One change to one file of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Patch {
    /// `k8s.io/client-go`; the module that is built, or one that is released together with it.
    pub module: &'static str,
    /// Its path in the module.
    pub file: &'static str,
    /// What is there, exactly once.
    pub old: &'static str,
    /// What is to be there instead.
    pub new: &'static str,
}

/// The version of the build for rehearsals.
pub(super) fn rehearsed(version: &Version) -> Version {
    Version { build: BuildMetadata::new(REHEARSAL).unwrap_or_default(), ..version.clone() }
}

/// The release that a build is made from.
pub(super) fn release(version: &Version) -> Version {
    if is_rehearsed(version) {
        return Version { build: BuildMetadata::EMPTY, ..version.clone() };
    }
    version.clone()
}

/// Is this the version of a build for rehearsals?
pub(super) fn is_rehearsed(version: &Version) -> bool {
    version.build.as_str() == REHEARSAL
}

/// The changes that make this version of a piece.
pub(super) fn of(ctx: &Context, piece: Piece, version: &Version) -> Result<&'static [Patch]> {
    if !is_rehearsed(version) {
        return Ok(&[]);
    }
    if piece != Piece::Component(ComponentName::Kubelet) {
        let message = format!("{piece} {version}: only kubelet has a build of its own for rehearsals");
        return Err(Error::new(id::VERSION_UNKNOWN, message).hinted(format!("write {}", release(version))));
    }
    if ctx.patches.is_empty() {
        return Err(Error::new(id::REHEARSAL_MISSING, "this swdt was built without rehearsals of Windows")
            .hinted("build it with the feature `rehearsal`"));
    }
    Ok(ctx.patches)
}

/// Modules that a job changes, each as a directory of its own below `dir`.
pub(super) async fn apply(
    ctx: &Context,
    go: &Go,
    job: &Job,
    dir: &Path,
) -> Result<BTreeMap<&'static str, PathBuf>> {
    let mut changed = BTreeMap::new();
    for patch in job.patches {
        if changed.contains_key(patch.module) {
            continue;
        }
        let of_release = release(&job.version);
        let version =
            if patch.module == job.module.path { of_release } else { sibling(job.module.path, &of_release) };
        let from = wrapper::download(ctx, go, dir, patch.module, &version).await?.dir(patch.module)?;
        let to = dir.join("patched").join(patch.module);
        let patches: Vec<_> = job.patches.iter().filter(|other| other.module == patch.module).collect();
        blocking({
            let to = to.clone();
            move || {
                link_tree(&from, &to)?;
                patches.into_iter().try_for_each(|patch| change(&to, patch))
            }
        })
        .await?;
        changed.insert(patch.module, to);
    }
    Ok(changed)
}

/// The same files under another directory. They are not copied: only what is changed takes space.
fn link_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(|error| failed("create", to, &error))?;
    let read = |error: io::Error| failed("read", from, &error);
    for entry in fs::read_dir(from).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(read)?.is_dir() {
            link_tree(&from, &to)?;
        } else {
            fs::hard_link(&from, &to).map_err(|error| failed("link", &to, &error))?;
        }
    }
    Ok(())
}

/// Makes one change; the file that was linked stays as it is.
fn change(tree: &Path, patch: &Patch) -> Result<()> {
    let file = tree.join(patch.file);
    let text = fs::read_to_string(&file).map_err(|error| failed("read", &file, &error))?;
    let count = text.matches(patch.old).count();
    if count != 1 {
        let message = format!(
            "{} of {} is not what the change for rehearsals expects: its text is there {count} times, not once",
            patch.file, patch.module
        );
        return Err(Error::new(id::REHEARSAL_MISSING, message)
            .hinted("this release of Kubernetes needs a newer swdt for rehearsals; choose an older one"));
    }
    fs::remove_file(&file).map_err(|error| failed("remove", &file, &error))?;
    fs::write(&file, text.replace(patch.old, patch.new)).map_err(|error| failed("write", &file, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: Patch = Patch { module: "example.org/m", file: "a/b.go", old: "one", new: "two" };

    fn tree(text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("module/a")).unwrap();
        fs::write(dir.path().join("module/a/b.go"), text).unwrap();
        link_tree(&dir.path().join("module"), &dir.path().join("linked")).unwrap();
        dir
    }

    #[test]
    fn a_change_leaves_the_module_itself_alone() {
        let dir = tree("zero one three");
        change(&dir.path().join("linked"), &PATCH).unwrap();
        let read = |of: &str| fs::read_to_string(dir.path().join(of).join("a/b.go")).unwrap();
        assert_eq!((read("module").as_str(), read("linked").as_str()), ("zero one three", "zero two three"));
    }

    #[test]
    fn a_text_that_is_not_there_exactly_once_is_refused() {
        for (text, count) in [("zero", "0 times"), ("one and one", "2 times")] {
            let dir = tree(text);
            let error = change(&dir.path().join("linked"), &PATCH).unwrap_err();
            assert!(error.message.contains(count) && error.message.contains("a/b.go"), "{error}");
        }
    }

    #[test]
    fn a_build_for_rehearsals_has_a_version_of_its_own() {
        let version = Version::new(1, 36, 3);
        let marked = rehearsed(&version);
        assert_eq!(marked.to_string(), "1.36.3+rehearsal");
        assert!(is_rehearsed(&marked) && !is_rehearsed(&version));
        assert_eq!(release(&marked), version);
        // Somebody's own mark is theirs.
        let own: Version = "1.36.3+k3s1".parse().unwrap();
        assert_eq!(release(&own), own);
    }
}
