//! What swdt remembers on the host, and the name of every file it keeps.
//!
//! ```text
//! <data>/pace.json    how long phases took on this host
//! <data>/clusters/<name>/
//!   cluster.yaml      the configuration as given at the last create
//!   spec.json         the same, resolved: what every later command works from
//!   artifacts.json    what the nodes get, by digest; lock.json pins what it came from
//!   state.json        machines, where they are, what they were (no secrets)
//!   events.jsonl      every event of every run
//!   logs/<node>.log   what the node and its programs said
//!   id_ed25519        key for machines that swdt makes
//!   known_hosts       host keys that swdt planted or was told to trust
//!   machines/<node>/  files of machines that swdt makes
//!   snapshots/<name>/ machines as they were, and what was remembered then (`snapshot.rs`)
//!   lock              who works on the cluster now
//! ```
//!
//! The machine is the truth: nothing here is needed to know what a machine looks like, only to
//! find it again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    fs, io,
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use swdt_wire::Facts;

use crate::{
    Error, Result,
    artifact::{Artifact, Artifacts},
    files::{self, failed, make_private_dir},
    id,
    spec::{Endpoint, Spec},
};

/// The version of `state.json`. Older files must stay readable.
pub const STATE_SCHEMA: u32 = 1;
/// The version of `spec.json`; the first files did not name it.
pub const SPEC_SCHEMA: u32 = 1;
/// The version of `artifacts.json`; the first files did not name it.
pub const ARTIFACTS_SCHEMA: u32 = 1;
/// The version of `lock.json`.
pub const LOCK_SCHEMA: u32 = 1;
/// What a command may write, and must therefore understand.
const SCHEMAS: [(&str, u32); 4] = [
    ("state.json", STATE_SCHEMA),
    ("spec.json", SPEC_SCHEMA),
    ("artifacts.json", ARTIFACTS_SCHEMA),
    ("lock.json", LOCK_SCHEMA),
];

/// What is remembered of a cluster as it is at a moment. The rest is history, keys, or the providers' own.
pub(crate) const MOMENT: &[&str] =
    &["cluster.yaml", "spec.json", "artifacts.json", "lock.json", "known_hosts", "state.json"];

/// Where everything lies.
#[derive(Debug, Clone)]
pub struct Dirs {
    /// Clusters and host-wide state.
    pub data: PathBuf,
    /// What can be made again: machine roots, artifacts.
    pub cache: PathBuf,
}

impl Dirs {
    /// The directory of a cluster.
    pub fn cluster(&self, name: &str) -> ClusterDir {
        ClusterDir { root: self.data.join("clusters").join(name) }
    }

    /// How long phases took on this host (`pace.rs`).
    pub(crate) fn pace(&self) -> PathBuf {
        self.data.join("pace.json")
    }

    /// What the provider of shared-kernel machines changed on the host.
    pub fn host(&self) -> PathBuf {
        self.data.join("host")
    }

    /// The clusters there are, by name.
    pub fn clusters(&self) -> Result<Vec<String>> {
        let root = self.data.join("clusters");
        let entries = match fs::read_dir(&root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("read", &root, &error)),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| self.cluster(name).exists()).collect();
        names.sort();
        Ok(names)
    }
}

/// The directory of one cluster.
#[derive(Debug, Clone)]
pub struct ClusterDir {
    root: PathBuf,
}

impl ClusterDir {
    /// The same files in another place: kept by a snapshot.
    pub(crate) fn kept_at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The configuration as given.
    pub fn config(&self) -> PathBuf {
        self.root.join("cluster.yaml")
    }

    /// What the nodes get, by digest.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts.json")
    }

    /// Every event of every run.
    pub fn events(&self) -> PathBuf {
        self.root.join("events.jsonl")
    }

    /// What a node and its programs said.
    pub fn log(&self, node: &str) -> PathBuf {
        self.root.join("logs").join(format!("{node}.log"))
    }

    /// Key for machines that swdt makes.
    pub fn key(&self) -> PathBuf {
        self.root.join("id_ed25519")
    }

    /// Host keys that swdt planted or was told to trust.
    pub fn known_hosts(&self) -> PathBuf {
        self.root.join("known_hosts")
    }

    /// Where snapshots are.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    fn state(&self) -> PathBuf {
        self.root.join("state.json")
    }

    fn spec(&self) -> PathBuf {
        self.root.join("spec.json")
    }

    /// Is there such a cluster? One that lost a file, or that we may not look into, is one, too.
    pub fn exists(&self) -> bool {
        [self.state(), self.spec()].iter().any(|file| file.try_exists().unwrap_or(true))
    }

    /// Makes the directory, for its owner only.
    pub fn make(&self) -> Result<()> {
        make_private_dir(&self.root.join("logs"))?;
        make_private_dir(&self.root)
    }

    /// What is remembered; an empty state when there is none yet.
    pub fn load(&self, name: &str) -> Result<State> {
        let path = self.state();
        let damaged = |why: &dyn Display| {
            unreadable(&path, why).hinted("`swdt cluster destroy NAME` can do without it")
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            // It is written first.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.spec().exists() => {
                return Ok(State::new(name));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(damaged(&"it is gone")),
            Err(error) => return Err(failed("read", &path, &error)),
        };
        files::refuse_newer(&path, text.as_bytes(), STATE_SCHEMA)?;
        serde_json::from_str(&text).map_err(|error| damaged(&error))
    }

    /// The cluster as the last create resolved it.
    pub fn load_spec(&self) -> Result<Spec> {
        let path = self.spec();
        let text = fs::read_to_string(&path).map_err(|error| failed("read", &path, &error))?;
        files::refuse_newer(&path, text.as_bytes(), SPEC_SCHEMA)?;
        serde_json::from_str(&text).map_err(|error| unreadable(&path, &error))
    }

    /// The file that the cluster was made from.
    pub fn read_config(&self) -> Result<Vec<u8>> {
        let path = self.config();
        fs::read(&path).map_err(|error| failed("read", &path, &error))
    }

    /// Remembers the cluster as given and as resolved.
    pub fn save_spec(&self, spec: &Spec, config: &[u8]) -> Result<()> {
        #[derive(Serialize)]
        struct Written<'a> {
            schema: u32,
            #[serde(flatten)]
            spec: &'a Spec,
        }
        let text = serde_json::to_string_pretty(&Written { schema: SPEC_SCHEMA, spec })
            .map_err(|error| Error::new(id::INTERNAL, format!("spec: {error}")))?;
        replace(&self.config(), config)?;
        replace(&self.spec(), text.as_bytes())
    }

    /// Writes what is remembered, at once or not at all.
    pub fn save(&self, state: &State) -> Result<()> {
        let mut text = serde_json::to_string_pretty(state)
            .map_err(|error| Error::new(id::INTERNAL, format!("state: {error}")))?;
        text.push('\n');
        replace(&self.state(), text.as_bytes())
    }

    /// Refuses a cluster that a newer swdt wrote something of: whatever this one wrote would damage it.
    pub fn understood(&self) -> Result<()> {
        for (name, known) in SCHEMAS {
            let path = self.root.join(name);
            match fs::read(&path) {
                Ok(text) => files::refuse_newer(&path, &text, known)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("read", &path, &error)),
            }
        }
        Ok(())
    }

    /// Takes the cluster for one command. Given back when the value is dropped or the process ends,
    /// however it ends.
    pub fn lock(&self, holder: &Holder) -> Result<ClusterLock> {
        self.understood()?;
        let path = self.root.join("lock");
        let mut file = files::private()
            .read(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| failed("open", &path, &error))?;
        if file.try_lock().is_err() {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            let message = match serde_json::from_str::<Holder>(&text) {
                Ok(other) => other.words(),
                Err(_) => "another swdt works on this cluster".to_owned(),
            };
            return Err(Error::new(id::CLUSTER_BUSY, message)
                .hinted("wait for it to end, or follow it with `swdt cluster logs --follow`"));
        }
        let text = serde_json::to_vec(holder).unwrap_or_default();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(&text))
            .map_err(|error| failed("write", &path, &error))?;
        Ok(ClusterLock { _file: file })
    }

    /// Who works on the cluster now, in words; nobody where the lock is free. A lock dies with its process.
    pub fn holder(&self) -> Option<String> {
        let mut file = fs::File::open(self.root.join("lock")).ok()?;
        if file.try_lock_shared().is_ok() {
            return None;
        }
        let mut text = String::new();
        let _ = file.read_to_string(&mut text);
        Some(
            serde_json::from_str::<Holder>(&text).map_or_else(|_| "another swdt".to_owned(), |it| it.words()),
        )
    }

    /// Removes everything remembered of the cluster.
    pub fn remove(&self) -> Result<()> {
        fs::remove_dir_all(&self.root).map_err(|error| failed("remove", &self.root, &error))
    }
}

/// A file of ours that is not as we wrote it.
fn unreadable(path: &Path, why: &dyn Display) -> Error {
    Error::new(id::RECORD_UNREADABLE, format!("{} cannot be read: {why}", path.display()))
        .hinted("it is written by swdt alone: put it back as it was")
        .hinted("or move the cluster's directory away; `swdt cluster adopt --config FILE` remembers it again")
}

/// Who holds a cluster, for whoever finds it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// `cluster create`.
    pub command: String,
    /// `user@host`.
    pub who: String,
    /// Process id.
    pub pid: u32,
    /// Since when.
    pub since: String,
}

impl Holder {
    fn words(&self) -> String {
        let Self { command, since, pid, who } = self;
        format!("`swdt {command}` works on this cluster since {since} (process {pid}, {who})")
    }
}

/// Held while a command works on a cluster.
#[derive(Debug)]
pub struct ClusterLock {
    _file: fs::File,
}

/// What is remembered of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// [`STATE_SCHEMA`] of the writer.
    pub schema: u32,
    /// The cluster's name.
    pub cluster: String,
    /// When and how the last run ended.
    #[serde(default)]
    pub last_run: Option<LastRun>,
    /// Digest of the cluster's authority, `sha256:…`, once there is one.
    #[serde(default)]
    pub ca_hash: Option<String>,
    /// That authority itself, PEM in base64.
    #[serde(default)]
    pub authority: Option<String>,
    /// Where the control plane was made, once it was.
    #[serde(default)]
    pub made_at: Option<String>,
    /// Machines, by node name.
    #[serde(default)]
    pub nodes: BTreeMap<String, NodeState>,
    /// Nodes that left. Whoever asks again that they leave has not mistyped a name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left: BTreeSet<String>,
    /// Images that the user brought, by their full names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<String, LoadedImage>,
    /// The work on a snapshot whose end we have not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub midway: Option<Midway>,
}

/// What a command about snapshots is in the middle of. Written before its first act, so that it is known after a kill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Midway {
    /// Machines are stopped to be saved.
    Saving {
        /// Those that ran before, and shall run after.
        running: BTreeSet<String>,
    },
    /// Machines are put back; until all are, they are of different times.
    Restoring {
        /// The snapshot.
        snapshot: String,
    },
}

/// An image that the user brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedImage {
    /// Digest of its manifest, `sha256:…`.
    pub digest: String,
    /// Where it came from, in words.
    pub from: String,
    /// On which nodes it is.
    pub nodes: BTreeSet<String>,
}

impl State {
    pub(crate) fn new(cluster: &str) -> Self {
        Self {
            schema: STATE_SCHEMA,
            cluster: cluster.to_owned(),
            last_run: None,
            ca_hash: None,
            authority: None,
            made_at: None,
            nodes: BTreeMap::new(),
            left: BTreeSet::new(),
            images: BTreeMap::new(),
            midway: None,
        }
    }

    /// What the nodes get, with what the user replaced on them.
    pub fn with_replaced(&self, mut artifacts: Artifacts) -> Artifacts {
        for (name, node) in &self.nodes {
            artifacts.replace(name, &node.replaced);
        }
        artifacts
    }

    /// Refuses a cluster whose machines are of different times.
    pub(crate) fn whole(&self) -> Result<()> {
        let Some(Midway::Restoring { snapshot }) = &self.midway else { return Ok(()) };
        let message =
            format!("restoring the snapshot {snapshot} was broken off, so machines are of different times");
        Err(Error::new(id::RESTORE_MIDWAY, message)
            .hinted(format!("`swdt cluster snapshot restore {snapshot}` goes on"))
            .hinted("`swdt cluster destroy` removes the cluster"))
    }

    /// The entry of a node, made if needed.
    pub fn node(&mut self, name: &str) -> &mut NodeState {
        self.nodes.entry(name.to_owned()).or_default()
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// `create`, `destroy`.
    pub command: String,
    /// When it ended.
    pub at: jiff::Timestamp,
    /// Why it failed; none when it did not.
    pub error: Option<String>,
}

/// What is remembered of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeState {
    /// How far the machine is.
    #[serde(default)]
    pub stage: Stage,
    /// Did swdt make the machine?
    #[serde(default)]
    pub made: bool,
    /// Where it is reached.
    #[serde(default)]
    pub endpoint: Option<Endpoint>,
    /// The host key we planted, `ssh-ed25519 AAAA…`; none for machines that were there before.
    #[serde(default)]
    pub host_key: Option<String>,
    /// What it was when last seen.
    #[serde(default)]
    pub facts: Option<Facts>,
    /// The last phase that was seen complete.
    #[serde(default)]
    pub phase: Option<String>,
    /// The furthest phase that was ever begun: what may be there of us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
    /// Programs that the user replaced on it, by the names of their files: `kubelet.exe`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced: BTreeMap<String, Artifact>,
    /// A run on the node whose end we have not seen; the next command follows it first.
    #[serde(default)]
    pub open_run: Option<String>,
}

/// How far a machine is. Written before the act it names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Being made, or never reached yet.
    #[default]
    Creating,
    /// There, and let us in.
    Ready,
    /// Being undone.
    Deleting,
}

fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    files::replace(path, bytes).map_err(|error| failed("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder() -> Holder {
        Holder { command: "cluster create".into(), who: "ada@example".into(), pid: 7, since: "12:00".into() }
    }

    #[test]
    fn state_survives_and_a_newer_one_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dirs { data: temp.path().into(), cache: temp.path().into() }.cluster("c");
        dir.make().unwrap();
        assert!(!dir.exists());
        let mut state = dir.load("c").unwrap();
        state.node("a").stage = Stage::Ready;
        dir.save(&state).unwrap();
        assert_eq!(dir.load("c").unwrap(), state);
        state.schema = STATE_SCHEMA + 1;
        dir.save(&state).unwrap();
        assert!(dir.load("c").unwrap_err().message.contains("newer swdt"));
    }

    #[test]
    fn a_second_holder_is_refused_and_told_who() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dirs { data: temp.path().into(), cache: temp.path().into() }.cluster("c");
        dir.make().unwrap();
        let held = dir.lock(&holder()).unwrap();
        let refused = dir.lock(&holder()).unwrap_err();
        assert_eq!(refused.id(), "cluster-busy");
        assert!(refused.message.contains("ada@example"), "{refused}");
        drop(held);
        dir.lock(&holder()).unwrap();
    }

    #[test]
    fn state_of_the_first_schema_still_loads() {
        let text = include_str!("../tests/state/v1.json");
        let state: State = serde_json::from_str(text).unwrap();
        assert_eq!(state.nodes["cp1"].stage, Stage::Ready);
        assert_eq!(state.nodes["cp1"].facts.as_ref().unwrap().os.id, "debian");
        assert_eq!(state.nodes["w2"].replaced["kubelet"].from, "file /home/ada/kubelet");
    }
}
