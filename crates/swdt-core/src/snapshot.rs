//! Snapshots as files: what one is, what it may be called, and how it is whole or not there.
//!
//! ```text
//! <cluster>/snapshots/<name>/
//!   snapshot.json      the manifest
//!   host/              what swdt remembered of the cluster
//!   machines/<node>/   what the provider kept of a machine
//! <cluster>/snapshots/.saving/ .leaving/   not whole: of a save or a delete at work, or one that was killed
//! ```
//!
//! A snapshot is made beside and renamed when everything is on the disk, and renamed before it is removed. So whatever
//! has a name is whole.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    files::{self, failed, make_private_dir},
    id,
    spec::{Role, Spec},
    state::{ClusterDir, MOMENT, State},
};

/// The version of `snapshot.json`. Older files must stay readable.
pub const SNAPSHOT_SCHEMA: u32 = 1;

/// As long as a name can be.
const LONGEST: usize = 63;
const MANIFEST: &str = "snapshot.json";
const SAVING: &str = ".saving";
const LEAVING: &str = ".leaving";
/// How long a copy that was killed with its swdt may take to be gone.
const DYING: Duration = Duration::from_secs(10);

/// The name of a snapshot, and of its directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() || !text.chars().all(inside) || text.starts_with('-') || text.ends_with('-') {
            return Err("only lower-case letters, digits and, inside, `-`; for example `before-upgrade`");
        }
        if text.len() > LONGEST {
            return Err("at most 63 characters");
        }
        Ok(Self(text))
    }
}

impl FromStr for Name {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

/// What a snapshot is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// [`SNAPSHOT_SCHEMA`] of the writer.
    pub schema: u32,
    /// Its name.
    pub name: Name,
    /// The cluster.
    pub cluster: String,
    /// When the machines were saved, by the host's clock; for people, nothing depends on it.
    pub at: jiff::Timestamp,
    /// Version of Kubernetes.
    pub kubernetes: String,
    /// Bytes of all machines on the disk.
    pub size: u64,
    /// The machines, in the order of the configuration.
    pub nodes: Vec<SavedNode>,
}

/// A machine in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedNode {
    /// Its name.
    pub name: String,
    /// What it is in the cluster.
    pub role: Role,
    /// Did it run?
    pub running: bool,
    /// Bytes on the disk.
    pub size: u64,
}

/// All snapshots of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    cluster: ClusterDir,
    root: PathBuf,
}

impl Shelf {
    pub(crate) fn of(cluster: &ClusterDir) -> Self {
        Self { root: cluster.snapshots(), cluster: cluster.clone() }
    }

    /// The names of all that are whole, sorted.
    pub(crate) fn names(&self) -> Result<Vec<Name>> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("read", &self.root, &error)),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<Name> = names.filter_map(|name| name.parse().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// The snapshot of a name; who asks for one that is not there is told which are.
    pub(crate) fn get(&self, name: &Name) -> Result<Snapshot> {
        let dir = self.root.join(name.as_str());
        if !dir.exists() {
            let names: Vec<String> = self.names()?.into_iter().map(String::from).collect();
            let error = Error::new(id::SNAPSHOT_UNKNOWN, format!("there is no snapshot `{name}`"));
            return Err(if names.is_empty() {
                error.hinted("there is none yet; `swdt cluster snapshot save NAME` makes one")
            } else {
                error.hinted(format!("there are: {}", names.join(", ")))
            });
        }
        let path = dir.join(MANIFEST);
        let broken = |why: String| {
            Error::new(id::RECORD_UNREADABLE, format!("{} cannot be read: {why}", path.display()))
                .hinted(format!("`swdt cluster snapshot delete {name}` removes the snapshot"))
        };
        let text = fs::read_to_string(&path).map_err(|error| broken(error.to_string()))?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        if manifest.schema > SNAPSHOT_SCHEMA {
            return Err(broken(format!(
                "it was written by a newer swdt (schema {}, this one knows {SNAPSHOT_SCHEMA})",
                manifest.schema
            )));
        }
        Ok(Snapshot { dir, manifest })
    }

    /// What was remembered with each, so that it is not taken for unused.
    pub(crate) fn hosts(&self) -> Result<Vec<ClusterDir>> {
        let host = |name: &Name| ClusterDir::kept_at(self.root.join(name.as_str()).join("host"));
        Ok(self.names()?.iter().map(host).collect())
    }

    /// Refuses a name that is taken.
    pub(crate) fn vacant(&self, name: &Name) -> Result<()> {
        if !self.root.join(name.as_str()).exists() {
            return Ok(());
        }
        Err(Error::new(id::SNAPSHOT_EXISTS, format!("there is a snapshot `{name}` already")).hinted(format!(
            "choose another name, or remove it first: `swdt cluster snapshot delete {name}`"
        )))
    }

    /// Where snapshots are kept, made if needed; what killed commands left there is gone.
    pub(crate) fn tidy(&self) -> Result<&Path> {
        make_private_dir(&self.root)?;
        for left in [SAVING, LEAVING] {
            remove(&self.root.join(left))?;
        }
        Ok(&self.root)
    }

    /// Begins a snapshot with what is remembered of the cluster now.
    pub(crate) fn begin(&self) -> Result<Draft> {
        self.tidy()?;
        let draft = Draft { dir: self.root.join(SAVING), shelf: self.root.clone() };
        let host = draft.dir.join("host");
        make_private_dir(&draft.dir.join("machines"))?;
        make_private_dir(&host)?;
        for file in MOMENT {
            copy_or_remove(&self.cluster.root().join(file), &host.join(file))?;
        }
        Ok(draft)
    }

    /// Removes a snapshot; says whether there was one.
    pub(crate) fn remove(&self, name: &Name) -> Result<bool> {
        self.tidy()?;
        let (dir, leaving) = (self.root.join(name.as_str()), self.root.join(LEAVING));
        match fs::rename(&dir, &leaving) {
            Ok(()) => remove(&leaving).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("remove", &dir, &error)),
        }
    }
}

/// A snapshot that is being made.
pub(crate) struct Draft {
    dir: PathBuf,
    shelf: PathBuf,
}

impl Draft {
    /// Where a node's machine goes.
    pub(crate) fn machine(&self, node: &str) -> PathBuf {
        machine(&self.dir, node)
    }

    /// Everything is there: gives it its name.
    pub(crate) fn finish(self, manifest: &Manifest) -> Result<()> {
        let path = self.dir.join(MANIFEST);
        let text = serde_json::to_vec_pretty(manifest)
            .map_err(|error| Error::new(id::INTERNAL, format!("snapshot: {error}")))?;
        files::replace(&path, &text).map_err(|error| failed("write", &path, &error))?;
        let place = self.shelf.join(manifest.name.as_str());
        fs::rename(&self.dir, &place)
            .and_then(|()| files::sync_dir(&self.shelf))
            .map_err(|error| failed("make", &place, &error))
    }

    /// It will not be one.
    pub(crate) fn discard(self) -> Result<()> {
        remove(&self.dir)
    }
}

/// A snapshot that is there, whole.
pub(crate) struct Snapshot {
    dir: PathBuf,
    pub(crate) manifest: Manifest,
}

impl Snapshot {
    /// Where a node's machine is.
    pub(crate) fn machine(&self, node: &str) -> PathBuf {
        machine(&self.dir, node)
    }

    /// What was remembered then.
    pub(crate) fn host(&self) -> ClusterDir {
        ClusterDir::kept_at(self.dir.join("host"))
    }

    /// The cluster as it was resolved then.
    pub(crate) fn spec(&self) -> Result<Spec> {
        self.host().load_spec()
    }

    /// The state then, without what only the save itself was in the middle of.
    pub(crate) fn state(&self) -> Result<State> {
        let state = self.host().load(&self.manifest.cluster)?;
        Ok(State { midway: None, ..state })
    }

    /// Puts back what was remembered, but for the state, which says that all is well and so comes last.
    pub(crate) fn put_back(&self, cluster: &ClusterDir) -> Result<()> {
        for file in MOMENT.iter().filter(|file| **file != "state.json") {
            copy_or_remove(&self.host().root().join(file), &cluster.root().join(file))?;
        }
        Ok(())
    }
}

fn machine(snapshot: &Path, node: &str) -> PathBuf {
    snapshot.join("machines").join(node)
}

/// Makes a file what another one is; what is not there shall not be there.
fn copy_or_remove(from: &Path, to: &Path) -> Result<()> {
    match fs::read(from) {
        Ok(bytes) => files::replace(to, &bytes).map_err(|error| failed("write", to, &error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", to, &error)),
            _ => Ok(()),
        },
        Err(error) => Err(failed("read", from, &error)),
    }
}

/// Removes a directory that a dying copy may still write to.
fn remove(dir: &Path) -> Result<()> {
    let began = Instant::now();
    loop {
        match files::remove_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && began.elapsed() < DYING => {
                thread::sleep(Duration::from_millis(50));
            }
            result => return result.map_err(|error| failed("remove", dir, &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Dirs;

    fn shelf(data: &Path) -> Shelf {
        let cluster = Dirs { data: data.into(), cache: data.into() }.cluster("c");
        cluster.make().unwrap();
        cluster.save(&cluster.load("c").unwrap()).unwrap();
        Shelf::of(&cluster)
    }

    fn manifest(name: &str) -> Manifest {
        let node = SavedNode { name: "cp1".into(), role: Role::ControlPlane, running: true, size: 7 };
        Manifest {
            schema: SNAPSHOT_SCHEMA,
            name: name.parse().unwrap(),
            cluster: "c".into(),
            at: "2026-01-02T03:04:05Z".parse().unwrap(),
            kubernetes: "1.36.3".into(),
            size: 7,
            nodes: vec![node],
        }
    }

    #[test]
    fn names_are_plain_and_never_hidden() {
        for good in ["a", "before-upgrade", "2026-01-02", &"x".repeat(63)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in
            ["", ".", "..", ".saving", "a/b", "/etc", "A", "a b", "-a", "a-", "ä", "a\n", &"x".repeat(64)]
        {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_what_is_whole_has_a_name() {
        let temp = tempfile::tempdir().unwrap();
        let shelf = shelf(temp.path());
        let name: Name = "one".parse().unwrap();
        let draft = shelf.begin().unwrap();
        fs::create_dir(draft.machine("cp1")).unwrap();
        // Killed here.
        drop(draft);
        assert!(shelf.names().unwrap().is_empty());
        assert!(shelf.get(&name).err().unwrap().message.contains("no snapshot `one`"));
        let draft = shelf.begin().unwrap();
        assert!(!draft.machine("cp1").exists(), "what was left of the first is gone");
        draft.finish(&manifest("one")).unwrap();
        assert_eq!(shelf.get(&name).unwrap().manifest, manifest("one"));
        assert!(shelf.vacant(&name).unwrap_err().message.contains("already"));
        assert!(shelf.remove(&name).unwrap());
        assert!(!shelf.remove(&name).unwrap(), "twice is once");
        assert_eq!(fs::read_dir(&shelf.root).unwrap().count(), 0);
    }

    #[test]
    fn what_was_remembered_comes_back_and_what_was_not_there_goes() {
        let temp = tempfile::tempdir().unwrap();
        let shelf = shelf(temp.path());
        let file = |name: &str| shelf.cluster.root().join(name);
        fs::write(file("cluster.yaml"), "then").unwrap();
        shelf.begin().unwrap().finish(&manifest("one")).unwrap();
        fs::write(file("cluster.yaml"), "now").unwrap();
        fs::write(file("known_hosts"), "now").unwrap();
        let snapshot = shelf.get(&"one".parse().unwrap()).unwrap();
        snapshot.put_back(&shelf.cluster).unwrap();
        assert_eq!(fs::read_to_string(file("cluster.yaml")).unwrap(), "then");
        assert!(!file("known_hosts").exists());
        assert_eq!(snapshot.state().unwrap().cluster, "c");
    }

    #[test]
    fn a_manifest_of_the_first_schema_still_loads_and_a_newer_one_is_refused() {
        let text = include_str!("../tests/state/snapshot-v1.json");
        let first: Manifest = serde_json::from_str(text).unwrap();
        assert_eq!((first.nodes.len(), first.nodes[1].running), (2, false));
        let temp = tempfile::tempdir().unwrap();
        let shelf = shelf(temp.path());
        let newer = Manifest { schema: SNAPSHOT_SCHEMA + 1, ..manifest("one") };
        shelf.begin().unwrap().finish(&newer).unwrap();
        let error = shelf.get(&newer.name).err().unwrap();
        assert!(error.message.contains("newer swdt"), "{error}");
    }
}
