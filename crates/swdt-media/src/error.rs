//! What can be wrong with a disc.

use std::{fmt, io};

/// The result of reading or writing a disc.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong with a disc, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    hint: Option<String>,
}

impl Error {
    /// What is wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
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
            io::ErrorKind::UnexpectedEof => Self::new("it ends before it should")
                .hinted("it is not complete: download or copy it once more"),
            _ => Self::new(error.to_string()),
        }
    }
}
