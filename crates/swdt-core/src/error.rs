//! One error type for the whole host half: its entry in the index of errors, what, where, the last output, the log, hints,
//! and the command that goes on.

mod entry;
pub mod id;

use std::{fmt, path::PathBuf};

pub use entry::{Entry, On};

/// What sort of thing went wrong; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// The command line was wrong.
    Usage,
    /// A file the user wrote was wrong.
    Config,
    /// The host or a machine lacks something that must be there first.
    Prerequisite,
    /// Bytes could not be fetched or were not the right ones.
    Download,
    /// A machine could not be made, started, stopped or removed.
    Machine,
    /// A machine could not be reached or would not let us in.
    Connection,
    /// A resource could not be made true, or undone.
    Resource,
    /// The cluster as a whole did not come up.
    Cluster,
    /// Somebody else works on the same cluster or machine.
    Busy,
    /// The user stopped the run.
    Interrupted,
    /// A mistake in swdt.
    Internal,
}

impl ErrorKind {
    /// Every kind, for documentation and tests.
    pub const ALL: &[Self] = &[
        Self::Usage,
        Self::Config,
        Self::Prerequisite,
        Self::Download,
        Self::Machine,
        Self::Connection,
        Self::Resource,
        Self::Cluster,
        Self::Busy,
        Self::Interrupted,
        Self::Internal,
    ];

    /// The exit code of the command.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Config => 3,
            Self::Prerequisite => 4,
            Self::Download => 5,
            Self::Machine => 6,
            Self::Connection => 7,
            Self::Resource => 8,
            Self::Cluster => 9,
            Self::Busy => 10,
            Self::Internal => 70,
            Self::Interrupted => 130,
        }
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Config => "configuration",
            Self::Prerequisite => "prerequisite",
            Self::Download => "download",
            Self::Machine => "machine",
            Self::Connection => "connection",
            Self::Resource => "resource",
            Self::Cluster => "cluster",
            Self::Busy => "busy",
            Self::Interrupted => "interrupted",
            Self::Internal => "a mistake in swdt",
        }
    }
}

/// What went wrong.
#[derive(Debug, Clone)]
pub struct Error {
    /// Both of one entry, so that neither can be without the other.
    id: &'static str,
    kind: ErrorKind,
    /// One sentence: what happened.
    pub message: String,
    /// Why it is so, where that does not go without saying.
    pub why: Option<String>,
    /// The node it happened on.
    pub node: Option<String>,
    /// The resource it happened with.
    pub resource: Option<String>,
    /// The last lines of output of what failed.
    pub output: Vec<String>,
    /// Where more is written.
    pub log: Option<PathBuf>,
    /// What to do about it.
    pub hints: Vec<String>,
    /// The host key that a machine showed and nobody knows, as the file would pin it.
    pub unknown_host_key: Option<String>,
    /// Further errors of the same run (other nodes, other rules), all told at once.
    pub others: Vec<Error>,
}

/// A result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of that entry.
    pub fn new(entry: &Entry, message: impl Into<String>) -> Self {
        Self {
            id: entry.id,
            kind: entry.kind,
            message: message.into(),
            why: None,
            node: None,
            resource: None,
            output: Vec::new(),
            log: None,
            hints: Vec::new(),
            unknown_host_key: None,
            others: Vec::new(),
        }
    }

    /// What `swdt explain` looks up.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Decides the exit code.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Is it one of that entry?
    pub fn is(&self, entry: &Entry) -> bool {
        self.id == entry.id
    }

    /// The same error, where whoever asked knows better what it means.
    #[must_use]
    pub fn meaning(mut self, entry: &Entry) -> Self {
        (self.id, self.kind) = (entry.id, entry.kind);
        self
    }

    /// The same error, in other words.
    #[must_use]
    pub fn saying(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// The same error, of this node (kept if it names one already), with all that were told with it.
    #[must_use]
    pub fn on(mut self, node: &str) -> Self {
        for error in
            std::iter::once(&mut self.node).chain(self.others.iter_mut().map(|error| &mut error.node))
        {
            error.get_or_insert_with(|| node.to_owned());
        }
        self
    }

    /// The same error, with this resource.
    #[must_use]
    pub fn at(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// The same error, with the reason.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// The same error with one more hint.
    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same error with the output of what failed.
    #[must_use]
    pub fn with_output(mut self, output: Vec<String>) -> Self {
        self.output = output;
        self
    }

    /// Several errors as one: the first leads, the others follow, with all that were told with each.
    pub fn all(errors: Vec<Self>) -> Option<Self> {
        let mut errors = errors.into_iter().flat_map(|mut error| {
            let others = std::mem::take(&mut error.others);
            std::iter::once(error).chain(others)
        });
        let mut first = errors.next()?;
        first.others = errors.collect();
        Some(first)
    }

    /// All that is wrong, in one line.
    pub fn summary(&self) -> String {
        let all = std::iter::once(self).chain(&self.others);
        all.map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = &self.node {
            write!(f, "{node}: ")?;
        }
        if let Some(resource) = &self.resource {
            write!(f, "{resource}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_with_an_error_is_told_with_all_and_of_its_node() {
        let error = |message: &str| Error::new(id::CONFIG_INVALID, message);
        let two = Error::all(vec![error("b"), error("c").on("n2")]).unwrap().on("n1");
        let all = Error::all(vec![error("a"), two, error("d")]).unwrap();
        let told: Vec<String> = std::iter::once(&all).chain(&all.others).map(Error::to_string).collect();
        assert_eq!(told, ["a", "n1: b", "n2: c", "d"]);
        assert!(all.others.iter().all(|error| error.others.is_empty()), "{all:?}");
    }
}
