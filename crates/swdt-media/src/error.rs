//! What can be wrong with a disc.

use std::{fmt, io};

/// The result of reading or writing a disc.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong with a disc, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    hint: Option<String>,
    cut_short: bool,
}

impl Error {
    /// What is wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, cut_short: false }
    }

    /// The disc is not complete, in these words.
    pub(crate) fn cut_short(what: impl Into<String>) -> Self {
        Self { cut_short: true, ..Self::new(what).hinted("download or copy it once more") }
    }

    /// The same, about this part of the disc.
    #[must_use]
    pub(crate) fn about(self, part: &str) -> Self {
        Self { message: format!("{part}: {}", self.message), ..self }
    }

    /// Is the disc not complete?
    pub fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// What to do about it.
    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do about it, if it is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::cut_short("it ends before it should"),
            _ => Self::new(error.to_string()),
        }
    }
}
