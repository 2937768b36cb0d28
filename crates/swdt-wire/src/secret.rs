use std::fmt;

use serde::{Deserialize, Serialize};

/// A value that may travel on standard input but must never be printed.
///
/// It serializes in full, because the wire must carry it; it never reaches a receipt, since
/// [`crate::Resource::redacted`] replaces it first.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
