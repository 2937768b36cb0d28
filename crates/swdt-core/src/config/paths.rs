//! Paths in the file: relative to the file, `~/` is the home directory.

use std::path::{Path, PathBuf};

use super::values::{Parsed, Wrong};
use crate::{id, words::brief};

/// What paths are relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paths<'a> {
    pub(super) home: Option<&'a Path>,
    pub(super) base: &'a Path,
}

impl Paths<'_> {
    /// The path that was meant, of something that may be at the place of the example.
    pub(super) fn resolve(self, text: &str, example: &str) -> Parsed<PathBuf> {
        let wrong = |message: String, hint: &str| {
            Err(Wrong { entry: id::VALUE_INVALID, message, hint: hint.to_owned() })
        };
        if text.trim().is_empty() || text.contains(char::is_control) {
            return wrong(format!("`{}` is not a path", brief(text)), &format!("for example `{example}`"));
        }
        if text.contains("://") {
            let hint = format!("fetch it first, and write where it is, for example `{example}`");
            return wrong(
                format!("`{}` is an address, not the path of a file on this host", brief(text)),
                &hint,
            );
        }
        if text.starts_with(['$', '%']) {
            let hint = format!("write the whole path, or one below `~/`, for example `{example}`");
            return wrong(format!("`{}`: variables are not replaced in this file", brief(text)), &hint);
        }
        let path = if let Some(rest) = text.strip_prefix("~/").or_else(|| text.strip_prefix(r"~\")) {
            match self.home {
                Some(home) => home.join(rest),
                None => {
                    return wrong(
                        "`~/` needs a home directory, and you have none".into(),
                        "write the whole path",
                    );
                }
            }
        } else if text.starts_with('~') {
            return wrong(format!("`{}`: only `~/` is understood", brief(text)), "write the whole path");
        } else {
            self.base.join(text)
        };
        // Drops `./` in the middle; keeps `..`, which may go through a link.
        Ok(path.components().collect())
    }
}
