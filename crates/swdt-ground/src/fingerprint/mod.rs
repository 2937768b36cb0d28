//! Everything about a machine that a run might change and must put back.
//!
//! A fingerprint is a map from a name (`file /etc/hosts`, `package runc`) to a value; two of them give a
//! diff that a person can read. Times are left out: putting a file back cannot bring its old time back.

mod exclusions;
mod take;
mod windows;

use std::{collections::BTreeMap, fmt};

pub use exclusions::Exclusions;

/// What a machine was like at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    entries: BTreeMap<String, String>,
}

/// One difference between two fingerprints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub name: String,
    /// As it was; nothing if it was not there.
    pub before: Option<String>,
    /// As it is; nothing if it is no longer there.
    pub after: Option<String>,
}

/// All differences between two fingerprints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff(pub Vec<Change>);

impl Fingerprint {
    /// How many things were looked at.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Was nothing looked at?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One entry, `file /etc/hosts` or the like.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.entries.get(name).map(String::as_str)
    }

    /// What is different in a later fingerprint.
    pub fn diff(&self, later: &Self) -> Diff {
        let mut names: Vec<_> = self.entries.keys().chain(later.entries.keys()).collect();
        names.sort();
        names.dedup();
        let changes = names.into_iter().filter_map(|name| {
            let (before, after) = (self.entries.get(name).cloned(), later.entries.get(name).cloned());
            (before != after).then(|| Change { name: name.clone(), before, after })
        });
        Diff(changes.collect())
    }
}

impl Diff {
    /// Is nothing different?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Change { name, before, after } in &self.0 {
            match (before, after) {
                (None, Some(after)) => writeln!(f, "+ {name}: {after}")?,
                (Some(before), None) => writeln!(f, "- {name}: {before}")?,
                (before, after) => {
                    let text = |side: &Option<String>| side.clone().unwrap_or_default();
                    writeln!(f, "~ {name}:\n    was {}\n    is  {}", text(before), text(after))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[(&str, &str)]) -> Fingerprint {
        let pairs = entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Fingerprint { entries: pairs.collect() }
    }

    #[test]
    fn a_diff_reads_like_one() {
        let before = of(&[("file /a", "x"), ("file /b", "y"), ("file /c", "z")]);
        let after = of(&[("file /a", "x"), ("file /b", "Y"), ("package d", "1")]);
        let text = before.diff(&after).to_string();
        assert_eq!(text, "~ file /b:\n    was y\n    is  Y\n- file /c: z\n+ package d: 1\n");
        assert!(before.diff(&before).is_empty());
    }
}
