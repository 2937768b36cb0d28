//! The cluster file: `swdt.dev/v1alpha1`, kind `Cluster`.
//!
//! ```text
//! bytes ─► tree ─► shape ─► v1alpha1 ─► resolve ─► Spec
//!          spans   schema   as written  defaults and rules
//! ```
//!
//! A value that fails a stage is reported there and left out; the later stages look at everything else. So one
//! run tells every problem of a file, each at its place, and a mistake is never reported twice.

mod paths;
mod problem;
mod render;
mod resolve;
mod shape;
mod site;
mod suggest;
mod syntax;
mod tree;
mod v1alpha1;
mod values;

use std::path::Path;

pub use problem::{Piece, Problem, Problems, Style};

use crate::spec::Spec;
use problem::Span;
use shape::Findings;
use site::Site;

/// The longest file that is read: some thousand nodes.
pub const MAX_BYTES: usize = 1 << 20;

/// Reads a cluster file.
///
/// Relative paths in the file are relative to `base_dir`, and `~/` is `home`. The file system is not touched.
pub fn load(file_name: &str, bytes: &[u8], home: Option<&Path>, base_dir: &Path) -> Result<Spec, Problems> {
    let text =
        decode(bytes).map_err(|(text, problem)| Problems::new(file_name, &text, vec![], vec![problem]))?;
    let mut findings = Findings::default();
    let spec = read(text, home, base_dir, &mut findings);
    match spec {
        Some(spec) if findings.problems.is_empty() => Ok(spec),
        _ => {
            if findings.problems.is_empty() {
                let message = "swdt could not understand this file, and does not know why";
                findings
                    .problems
                    .push(Problem::new(Span::new(0, 0), message).hint("please report this as a bug"));
            }
            Err(Problems::new(file_name, text, findings.secrets, findings.problems))
        }
    }
}

/// The JSON Schema of the file, for editors and for [`load`] itself.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(v1alpha1::Cluster);
    schema.insert("$id".to_owned(), "https://swdt.dev/schema/v1alpha1/cluster.json".into());
    schema.to_value()
}

fn read(text: &str, home: Option<&Path>, base_dir: &Path, findings: &mut Findings) -> Option<Spec> {
    let (tree, problems) = tree::parse(text);
    findings.problems.extend(problems);
    let mut tree = tree?;
    let shape = shape::check(&mut tree, &schema());
    let sound = !shape.foreign;
    findings.problems.extend(shape.problems);
    findings.secrets.extend(shape.secrets);
    let raw: v1alpha1::Cluster = serde_json::from_value(tree.to_json()).ok().filter(|_| sound)?;
    let (spec, rules) = resolve::cluster(&raw, Site::root(&tree), home, base_dir);
    findings.problems.extend(rules.problems);
    findings.secrets.extend(rules.secrets);
    spec
}

/// The bytes as text, or why they are none with as much of the text as can be shown.
fn decode(bytes: &[u8]) -> Result<&str, (String, Problem)> {
    let nothing =
        |message: String, hint: &str| (String::new(), Problem::new(Span::new(0, 0), message).hint(hint));
    if bytes.len() > MAX_BYTES {
        let message = format!("the file is too large: {} bytes, at most {MAX_BYTES} are read", bytes.len());
        return Err(nothing(message, "is this the right file?"));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let hint = "save it as UTF-8; in Windows PowerShell: `Out-File -Encoding utf8`";
        return Err(nothing("the file is UTF-16, not UTF-8".to_owned(), hint));
    }
    let binary = |at: usize, message: &str| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        (
            text,
            Problem::new(Span::new(at, at + 1), message)
                .hint("a cluster file is UTF-8 text; is this the right file?"),
        )
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| binary(error.valid_up_to(), "the file is not UTF-8 text"))?;
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(binary(at, "the file has a NUL byte, so it is not text"));
    }
    // Editors on Windows put a byte order mark in front.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let blank =
        |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#') || line.trim() == "---";
    if text.lines().all(blank) {
        return Err(nothing(
            "the file is empty".to_owned(),
            "begin with `apiVersion: swdt.dev/v1alpha1` and `kind: Cluster`",
        ));
    }
    Ok(text)
}
