//! The receipts of a machine: one line before each act, on disk before the act begins.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Seek, Write},
    path::PathBuf,
};

use serde::Deserialize;
use swdt_wire::{Entry, Prior, RECEIPT_VERSION, Receipt, Resource};

use crate::{Error, Result, disk, faults, os};

/// The receipt file, read once and only appended to.
#[derive(Debug)]
pub struct Receipts {
    path: PathBuf,
    run: String,
    entries: Vec<Entry>,
    /// Length of the whole lines; what is beyond was torn by a power cut.
    length: u64,
    file: Option<File>,
    appended: u64,
}

/// What every version of a receipt has.
#[derive(Deserialize)]
struct Envelope {
    schema: u32,
}

/// A target that was touched and not undone.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// [`swdt_wire::Kind::target`].
    pub target: String,
    /// Everything it was to be, newest last. A killed run can have left any of these.
    pub resources: Vec<Resource>,
    /// What was there before the first of them.
    pub prior: Prior,
    /// It was to be undone, and left as somebody had changed it.
    pub kept: bool,
}

/// What is ours on a machine, by target. Receipts that cannot be read are an error as soon as something is to be
/// changed; here they tell nothing.
pub fn ours(path: PathBuf) -> BTreeSet<String> {
    let receipts = Receipts::open(path, "");
    receipts.map(|receipts| receipts.live().into_iter().map(|live| live.target).collect()).unwrap_or_default()
}

impl Live {
    /// The id it was last known by.
    pub fn id(&self) -> &str {
        self.resources.last().map_or(self.target.as_str(), |resource| &resource.id)
    }
}

impl Receipts {
    /// Reads the receipts, for a run that may write more. Nothing there is an empty list.
    ///
    /// A last line without its end was being written when the power went: its act had not begun, so
    /// it says nothing. Any other line that cannot be read is an error, for guessing would undo wrongly.
    pub fn open(path: PathBuf, run: &str) -> Result<Self> {
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io("read", &path, &error)),
        };
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut entries = Vec::new();
        for (number, line) in text[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            let at = format!("line {} of {}", number + 1, path.display());
            // First of all: what a newer one says may be nothing that can be read here.
            if serde_json::from_slice::<Envelope>(line).is_ok_and(|line| line.schema > RECEIPT_VERSION) {
                return Err(Error::new(format!("{at} was written by a newer swdt"))
                    .hinted("use that version of swdt, or a newer one"));
            }
            let receipt: Receipt = serde_json::from_slice(line).map_err(|error| {
                Error::new(format!("{at} cannot be read: {error}"))
                    .hinted("repair or remove that line by hand; without it, what it tells of is not undone")
            })?;
            entries.push(receipt.entry);
        }
        Ok(Self { path, run: run.to_owned(), entries, length: whole as u64, file: None, appended: 0 })
    }

    /// Lines written by this run.
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// The cluster this machine belongs to, if to one: to none any more when all that is left of it was kept.
    pub fn cluster(&self) -> Option<&str> {
        let live = self.live();
        if !live.is_empty() && live.iter().all(|live| live.kept) {
            return None;
        }
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Opened { cluster } => Some(cluster.as_str()),
            _ => None,
        })
    }

    /// What is not undone yet, in the order of the first touch.
    pub fn live(&self) -> Vec<Live> {
        let mut all: Vec<Live> = Vec::new();
        for entry in &self.entries {
            match entry {
                Entry::Intent { resource, prior } => {
                    let target = resource.kind.target();
                    // What was kept is what was there before whoever begins anew.
                    all.retain(|live| !(live.kept && live.target == target));
                    if let Some(live) = all.iter_mut().find(|live| live.target == target) {
                        live.resources.push(resource.clone());
                        // Never poorer than the first: see `Behaviour::prior_again`.
                        live.prior = (**prior).clone();
                    } else {
                        all.push(Live {
                            target,
                            resources: vec![resource.clone()],
                            prior: (**prior).clone(),
                            kept: false,
                        });
                    }
                }
                Entry::Kept { target } => {
                    all.iter_mut().filter(|live| live.target == *target).for_each(|live| live.kept = true);
                }
                Entry::Reverted { target } => all.retain(|live| live.target != *target),
                Entry::Opened { .. } | Entry::Done { .. } => {}
            }
        }
        all
    }

    /// One target of [`Self::live`] that was not kept.
    pub fn live_target(&self, target: &str) -> Option<Live> {
        self.live().into_iter().find(|live| live.target == target && !live.kept)
    }

    /// Writes a line. When this returns, it is on disk.
    pub fn append(&mut self, entry: Entry) -> Result<()> {
        let at = disk::now();
        let receipt = Receipt { schema: RECEIPT_VERSION, at, run: self.run.clone(), entry };
        let mut line = serde_json::to_vec(&receipt).map_err(|error| Error::new(error.to_string()))?;
        line.push(b'\n');
        self.write(&line).map_err(|error| Error::io("write", &self.path, &error))?;
        self.length += line.len() as u64;
        self.appended += 1;
        self.entries.push(receipt.entry);
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            let file =
                os::private(File::options().write(true).create(true).truncate(false)).open(&self.path)?;
            if let Some(dir) = self.path.parent() {
                disk::sync_dir(dir)?;
            }
            self.file = Some(file);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        // Also takes away a torn line, or what a full disk left of the last try.
        file.set_len(self.length)?;
        file.seek(io::SeekFrom::End(0))?;
        file.write_all(line)?;
        faults::bytes("receipt", file, self.length)?;
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use swdt_wire::{Dir, Inode, InodeKind, Kind, PathPrior};

    use super::*;

    fn intent(path: &str, mode: u32) -> Entry {
        let was = Some(Inode { mode: 0o700, uid: 0, gid: 0, what: InodeKind::Dir });
        Entry::Intent {
            resource: Resource::new("a/b", Kind::Dir(Dir { path: path.into(), mode })),
            prior: Box::new(Prior::Dir(PathPrior { path: path.into(), was, parents: Vec::new() })),
        }
    }

    #[test]
    fn live_targets_are_those_not_undone_since() {
        let dir = tempfile::tempdir().unwrap();
        let mut receipts = Receipts::open(dir.path().join("r"), "run").unwrap();
        for entry in [
            Entry::Opened { cluster: "one".into() },
            intent("/a", 1),
            intent("/b", 2),
            Entry::Done { target: "dir:/b".into() },
            intent("/a", 3),
            Entry::Reverted { target: "dir:/b".into() },
            intent("/b", 4),
            intent("/c", 5),
            Entry::Kept { target: "dir:/c".into() },
            intent("/d", 6),
            Entry::Kept { target: "dir:/d".into() },
            intent("/d", 7),
        ] {
            receipts.append(entry).unwrap();
        }
        let again = Receipts::open(dir.path().join("r"), "run").unwrap();
        assert_eq!(again.live(), receipts.live());
        assert_eq!(again.cluster(), Some("one"));
        let live = again.live();
        let seen: Vec<_> =
            live.iter().map(|live| (live.target.as_str(), live.resources.len(), live.kept)).collect();
        assert_eq!(
            seen,
            [("dir:/a", 2, false), ("dir:/b", 1, false), ("dir:/c", 1, true), ("dir:/d", 1, false)]
        );
        assert_eq!(again.live_target("dir:/c"), None, "whoever begins anew finds it as it was left");
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_a_broken_one_in_the_middle_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r");
        let mut receipts = Receipts::open(path.clone(), "run").unwrap();
        receipts.append(intent("/a", 1)).unwrap();
        receipts.append(intent("/b", 1)).unwrap();
        let text = fs::read(&path).unwrap();
        for cut in text.len() / 2 + 1..text.len() {
            fs::write(&path, &text[..cut]).unwrap();
            let mut torn = Receipts::open(path.clone(), "run").unwrap();
            assert_eq!(torn.live().len(), 1);
            torn.append(intent("/c", 1)).unwrap();
            assert_eq!(Receipts::open(path.clone(), "run").unwrap().live().len(), 2);
        }
        let mut broken = text.clone();
        broken[3] = b'!';
        fs::write(&path, &broken).unwrap();
        let error = Receipts::open(path.clone(), "run").unwrap_err();
        assert!(error.message.starts_with(&format!("line 1 of {}", path.display())), "{error}");
    }
}
