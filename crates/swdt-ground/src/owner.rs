//! Whose a ground is. A process is its id and its start time: ids are used again.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};
use swdt_core::{Error, Result, id};

/// The process that a ground belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Owner {
    pid: u32,
    start_time: u64,
}

impl Owner {
    /// This process.
    pub(crate) fn me() -> Self {
        let pid = std::process::id();
        Self { pid, start_time: stat(pid).map_or(0, |(_, start)| start) }
    }

    /// Does it still live? A zombie does not.
    pub(crate) fn lives(&self) -> bool {
        stat(self.pid).is_some_and(|(state, start)| start == self.start_time && !"ZXx".contains(state))
    }

    /// Reads the owner of a ground; none is known when the file is missing or broken.
    pub(crate) fn of(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(dir.join("owner.json")).ok()?).ok()
    }

    /// Writes it down; before anything else of the ground exists.
    pub(crate) fn save(&self, dir: &Path) -> Result<()> {
        let path = dir.join("owner.json");
        serde_json::to_vec(self)
            .map_err(Into::into)
            .and_then(|bytes| fs::write(&path, bytes))
            .map_err(|error| Error::new(id::INTERNAL, format!("cannot write {}: {error}", path.display())))
    }
}

/// State and start time of a process; the name before them may hold anything, blanks and brackets too.
fn stat(pid: u32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((state, words.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_successor_is_another() {
        let me = Owner::me();
        assert!(me.start_time > 0 && me.lives());
        assert!(!Owner { start_time: me.start_time + 1, ..me }.lives());
    }
}
