//! A support bundle: one archive that somebody can look through and send to somebody else.
//!
//! What goes in is named here and in [`objects`], piece by piece; nothing is taken because it lies in a directory.
//! Everything passes [`Redactor`] on its way in. What was left out or could not be had is said in `index.md`.

mod index;
pub mod objects;
mod redact;

use std::{
    io::{Cursor, Write},
    path::Path,
};

use zip::{ZipWriter, write::SimpleFileOptions};

pub use redact::Redactor;

use crate::{Error, Result, files, id};

/// More of a file than this is cut at its beginning: the end tells why something failed.
const LONGEST: usize = 4 << 20;

/// What is collected, until it is written.
pub struct Bundle {
    redactor: Redactor,
    entries: Vec<Entry>,
    missing: Vec<Missing>,
}

/// A file of the archive.
struct Entry {
    path: String,
    about: String,
    text: String,
    removed: usize,
    cut: bool,
}

/// What could not be collected.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Missing {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

impl Bundle {
    /// An empty one.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, entries: Vec::new(), missing: Vec::new() }
    }

    /// Adds a file, for the reason given.
    pub fn add(&mut self, path: impl Into<String>, about: impl Into<String>, text: &str) {
        let (text, cut) = end_of(text);
        let (text, removed) = self.redactor.redact(text);
        self.entries.push(Entry { path: path.into(), about: about.into(), text, removed, cut });
    }

    /// Adds a file of this host; one that is not there is missing.
    pub fn add_file(&mut self, path: impl Into<String>, about: &str, file: &Path) {
        match std::fs::read(file) {
            Ok(bytes) => self.add(path, about, &String::from_utf8_lossy(&bytes)),
            Err(error) => self.lacks(path, format!("{}: {error}", file.display())),
        }
    }

    /// Remembers what could not be collected, and why.
    pub fn lacks(&mut self, what: impl Into<String>, why: impl Into<String>) {
        let (why, _) = self.redactor.redact(&why.into());
        self.missing.push(Missing { what: what.into(), why });
    }

    /// What could not be collected.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// How many files there are, the index included.
    pub fn files(&self) -> usize {
        self.entries.len() + 1
    }

    /// Writes the archive, for its owner only; gives its size.
    pub fn write(&self, path: &Path, head: &str) -> Result<u64> {
        let broken = |error: &dyn std::fmt::Display| {
            Error::new(id::INTERNAL, format!("the archive cannot be made: {error}"))
        };
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().unix_permissions(0o600).last_modified_time(now());
        let index = index::text(head, &self.entries, &self.missing);
        let files = self.entries.iter().map(|entry| (entry.path.as_str(), entry.text.as_str()));
        for (name, text) in std::iter::once(("index.md", index.as_str())).chain(files) {
            zip.start_file(name, options).map_err(|error| broken(&error))?;
            zip.write_all(text.as_bytes()).map_err(|error| broken(&error))?;
        }
        let bytes = zip.finish().map_err(|error| broken(&error))?.into_inner();
        files::replace(path, &bytes).map_err(|error| {
            Error::new(id::OUTPUT_NOT_WRITTEN, format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(bytes.len() as u64)
    }
}

/// In UTC, for archives know no zones.
fn now() -> zip::DateTime {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let part = |number: i8| u8::try_from(number).unwrap_or_default();
    let year = u16::try_from(now.year()).unwrap_or_default();
    let (date, time) = ((part(now.month()), part(now.day())), (part(now.hour()), part(now.minute())));
    zip::DateTime::from_date_and_time(year, date.0, date.1, time.0, time.1, part(now.second()))
        .unwrap_or_default()
}

/// The end of a long text, from the beginning of a line on.
fn end_of(text: &str) -> (&str, bool) {
    if text.len() <= LONGEST {
        return (text, false);
    }
    let from = (text.len() - LONGEST..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    let rest = &text[from..];
    (rest.split_once('\n').map_or(rest, |(_, lines)| lines), true)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_was_put_in_comes_out_redacted_with_an_index_and_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.zip");
        let mut bundle = Bundle::new(Redactor::new(vec!["hunter22".into()]));
        bundle.add("host/a.log", "what a said", "join with abcdef.0123456789abcdef or hunter22\n");
        bundle.add_file("host/none", "nothing", &dir.path().join("none"));
        bundle.lacks("nodes/w1", "no answer; password=swordfish");
        assert_eq!((bundle.files(), bundle.missing().len()), (2, 2));
        assert!(bundle.write(&path, "# Support bundle of demo\n").unwrap() > 100);

        let mut archive = zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
        let mut read = |name: &str| {
            let mut text = String::new();
            archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
            text
        };
        assert_eq!(read("host/a.log"), "join with <token removed> or <secret removed>\n");
        let index = read("index.md");
        for words in
            ["# Support bundle of demo", "| host/a.log | what a said |", "host/none", "no answer", "Secrets"]
        {
            assert!(index.contains(words), "`{words}` is not in\n{index}");
        }
        assert!(!index.contains("swordfish"), "{index}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn of_a_long_text_the_end_stays_in_whole_lines() {
        let text = "ä line\n".repeat(LONGEST / 4);
        let (rest, cut) = end_of(&text);
        assert!(cut && rest.len() <= LONGEST && rest.starts_with("ä line\n"), "{}", rest.len());
        assert_eq!(end_of("short"), ("short", false));
    }
}
