//! The cluster file: `swdt.dev/v1alpha1`, kind `Cluster`.
//!
//! ```text
//! bytes ─► tree ─► shape ─► v1alpha1 ─► resolve ─► Spec
//!          spans   schema   as written  defaults and rules
//! ```
//!
//! A value that fails a stage is reported there and left out; the later stages look at everything else. So one
//! run tells every problem of a file, each at its place, and a mistake is never reported twice.

mod decode;
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

pub use decode::MAX_BYTES;
pub use problem::{Piece, Problem, Problems, Style};

use crate::spec::Spec;
use problem::Span;
use shape::Findings;
use site::Site;

/// Reads a cluster file.
///
/// Relative paths in the file are relative to `base_dir`, and `~/` is `home`. The file system is not touched.
pub fn load(file_name: &str, bytes: &[u8], home: Option<&Path>, base_dir: &Path) -> Result<Spec, Problems> {
    let text = decode::decode(file_name, bytes)?;
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
