//! How long phases took on this host before, so that somebody can be told how long one may take. `<data>/pace.json`.
//!
//! Only like is compared with like: the same command with as many machines of the same kinds. What was never seen is not
//! guessed. An estimate is worth no failure: what cannot be read or written here is left out.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    files,
    spec::{OsFamily, Place, Spec},
    state::Dirs,
};

/// The version of the file; another one is not read, and begun anew.
const SCHEMA: u32 = 1;
/// How many runs are remembered. A host changes, and old times mislead.
const KEPT: usize = 5;

/// How long phases of one command on one kind of cluster took.
pub(crate) struct Pace {
    path: PathBuf,
    /// `create, 2 nspawn linux, 1 rehearsal windows`.
    like: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    schema: u32,
    /// By what is alike, then by phase: milliseconds, the newest last.
    took: BTreeMap<String, BTreeMap<String, Vec<u64>>>,
}

impl Pace {
    pub(crate) fn of(dirs: &Dirs, command: &str, spec: &Spec) -> Self {
        let mut kinds: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for node in &spec.nodes {
            let who = match &node.place {
                Place::Existing { .. } => "existing",
                Place::Machine(machine) => machine.provider.as_str(),
            };
            let os = match node.os {
                OsFamily::Linux => "linux",
                OsFamily::Windows => "windows",
            };
            *kinds.entry((who, os)).or_default() += 1;
        }
        let kinds = kinds.into_iter().map(|((who, os), number)| format!(", {number} {who} {os}"));
        Self { path: dirs.pace(), like: format!("{command}{}", kinds.collect::<String>()) }
    }

    /// How long a phase usually takes: the middle of what was seen.
    pub(crate) fn usual(&self, phase: &str) -> Option<u64> {
        let kept = self.read();
        let mut seen = kept.took.get(&self.like)?.get(phase)?.clone();
        seen.sort_unstable();
        seen.get(seen.len() / 2).copied()
    }

    /// Remembers how long a phase took that had something to do.
    pub(crate) fn learn(&self, phase: &str, took_ms: u64) {
        let mut kept = self.read();
        let seen = kept.took.entry(self.like.clone()).or_default().entry(phase.to_owned()).or_default();
        seen.push(took_ms);
        let old = seen.len().saturating_sub(KEPT);
        seen.drain(..old);
        if let Ok(text) = serde_json::to_vec(&kept) {
            let _ = files::replace(&self.path, &text);
        }
    }

    fn read(&self) -> Kept {
        let text = fs::read(&self.path).unwrap_or_default();
        let kept = serde_json::from_slice(&text).ok().filter(|kept: &Kept| kept.schema == SCHEMA);
        kept.unwrap_or_else(|| Kept { schema: SCHEMA, ..Kept::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        serde_json::from_str(include_str!("../tests/state/spec-v1.json")).unwrap()
    }

    #[test]
    fn only_like_is_compared_with_like_and_nothing_is_guessed() {
        let temp = tempfile::tempdir().unwrap();
        let dirs = Dirs { data: temp.path().into(), cache: temp.path().into() };
        let pace = Pace::of(&dirs, "create", &spec());
        assert_eq!(pace.usual("runtime"), None);
        for took in [90_000, 40_000, 41_000] {
            pace.learn("runtime", took);
        }
        assert_eq!(pace.usual("runtime"), Some(41_000), "one that was slow decides nothing");
        assert_eq!(pace.usual("join"), None);
        assert_eq!(Pace::of(&dirs, "update", &spec()).usual("runtime"), None);
        let mut smaller = spec();
        smaller.nodes.pop();
        assert_eq!(Pace::of(&dirs, "create", &smaller).usual("runtime"), None);
        for _ in 0..KEPT {
            pace.learn("runtime", 10_000);
        }
        assert_eq!(pace.usual("runtime"), Some(10_000), "a host that became faster is believed");
    }

    #[test]
    fn what_cannot_be_read_is_begun_anew() {
        let temp = tempfile::tempdir().unwrap();
        let dirs = Dirs { data: temp.path().into(), cache: temp.path().into() };
        let pace = Pace::of(&dirs, "create", &spec());
        for text in ["", "{", r#"{"schema":2,"took":{}}"#, r#"{"schema":1,"took":7}"#] {
            fs::write(dirs.pace(), text).unwrap();
            assert_eq!(pace.usual("join"), None, "{text}");
        }
        pace.learn("join", 7);
        assert_eq!(pace.usual("join"), Some(7));
        let nowhere = Dirs { data: temp.path().join("no/such"), cache: temp.path().into() };
        Pace::of(&nowhere, "create", &spec()).learn("join", 7);
    }
}
