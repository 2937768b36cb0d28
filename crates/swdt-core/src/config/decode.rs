//! From bytes to text, before anybody looks at it as YAML.

use super::problem::{Problem, Problems, Span};
use crate::id;

/// The longest file that is read: some thousand nodes.
pub const MAX_BYTES: usize = 1 << 20;

/// The bytes as text, or why they are none.
pub(super) fn decode<'b>(file_name: &str, bytes: &'b [u8]) -> Result<&'b str, Problems> {
    let refuse = |text: &str, at: usize, message: &str, hint: &str| {
        let problem = Problem::new(id::FILE_NOT_TEXT, Span::new(at, at + 1), message).hint(hint);
        Err(Problems::new(file_name, text, Vec::new(), vec![problem]))
    };
    if bytes.len() > MAX_BYTES {
        let message = format!("the file is too large: at most {MAX_BYTES} bytes are read");
        return refuse("", 0, &message, "is this the right file?");
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let hint = "save it as UTF-8; in Windows PowerShell: `Out-File -Encoding utf8`";
        return refuse("", 0, "the file is UTF-16, not UTF-8", hint);
    }
    let hint = "a cluster file is UTF-8 text; is this the right file?";
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let text = String::from_utf8_lossy(bytes);
            return refuse(&text, error.valid_up_to(), "the file is not UTF-8 text", hint);
        }
    };
    if let Some(at) = text.find('\0') {
        return refuse(text, at, "the file has a NUL byte, so it is not text", hint);
    }
    // Editors on Windows put a byte order mark in front.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let blank =
        |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#') || line.trim() == "---";
    if text.lines().all(blank) {
        let hint = "begin with `apiVersion: swdt.dev/v1alpha1` and `kind: Cluster`";
        return refuse("", 0, "the file is empty", hint);
    }
    Ok(text)
}
