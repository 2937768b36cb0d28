//! What can go wrong on a machine.

use std::{fmt, io, path::Path};

/// What went wrong on this machine.
#[derive(Debug)]
pub struct Error {
    /// One sentence.
    pub message: String,
    /// The last lines of the program that failed, if one did.
    pub output: Vec<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with nothing but a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), output: Vec::new(), hint: None }
    }

    /// A failed file operation: `doing` is "read", "write", "remove", …
    pub fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Some("free some space on this file system and run the same command again".to_owned())
            }
            io::ErrorKind::ReadOnlyFilesystem => Some(
                "remount the file system read-write; if it turned read-only by itself, look at `dmesg`"
                    .to_owned(),
            ),
            _ => None,
        };
        #[cfg(windows)]
        let hint = hint.or_else(|| crate::resources::windows::file_hint(path, error));
        Self { message: format!("cannot {doing} {}: {error}", path.display()), output: Vec::new(), hint }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
