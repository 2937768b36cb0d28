//! The cluster file: `swdt.dev/v1alpha1`, kind `Cluster`.
//!
//! ```text
//! bytes ─► tree ─► shape ─► v1alpha1 ─► resolve ─► Spec
//!          spans   schema   as written  defaults and rules
//! ```
//!
//! A value that fails a stage is reported there and left out; the later stages look at everything else. So one
//! run tells every problem of a file, each at its place, and a mistake is never reported twice.

mod apart;
mod decode;
pub mod edit;
mod explain;
mod hint;
mod marks;
mod migrate;
mod paths;
mod problem;
mod render;
mod resolve;
mod schema;
mod shape;
mod site;
mod syntax;
mod tree;
mod v1alpha1;
mod values;

use std::path::Path;

pub use apart::{Apart, apart, kubernetes};
pub use decode::MAX_BYTES;
pub use explain::{Below, Explained, explain};
pub use migrate::{Migrated, migrate};
pub use problem::{Piece, Problem, Problems, Style};
pub use schema::schema;

use crate::{
    id,
    spec::{Node, Spec},
};
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
    if let Some(spec) = spec.filter(|_| findings.problems.is_empty()) {
        return Ok(spec);
    }
    if findings.problems.is_empty() {
        let message = "swdt could not understand this file, and does not know why";
        let problem = Problem::new(id::CONFIG_INVALID, Span::new(0, 0), message)
            .hint("this is a mistake in swdt: report it");
        findings.problems.push(problem);
    }
    Err(Problems::new(file_name, text, findings.secrets, findings.problems))
}

/// The nodes of a file that may have problems elsewhere, each at its place in the list; none where something is wrong
/// with the node itself.
pub fn nodes(bytes: &[u8], home: Option<&Path>, base_dir: &Path) -> Vec<Option<Node>> {
    let sound = || {
        let text = decode::decode("", bytes).ok()?;
        let mut tree = tree::parse(text).0?;
        let foreign = shape::check(&mut tree, schema()).foreign;
        let raw: v1alpha1::Cluster = serde_json::from_value(tree.to_json()).ok().filter(|_| !foreign)?;
        Some(resolve::each_node(&raw, Site::root(&tree), home, base_dir))
    };
    sound().unwrap_or_default()
}

/// The stages, one after the other; what they find is kept even if there is no result.
fn read(text: &str, home: Option<&Path>, base_dir: &Path, findings: &mut Findings) -> Option<Spec> {
    let (tree, problems) = tree::parse(text);
    if !problems.is_empty() {
        // What is not in the tree can be no secret of it, and is shown nevertheless.
        findings.secrets.extend(shape::secrets_in_lines(text));
    }
    findings.problems.extend(problems);
    let mut tree = tree?;
    let shape = shape::check(&mut tree, schema());
    let sound = !shape.foreign;
    findings.problems.extend(shape.problems);
    findings.secrets.extend(shape.secrets);
    let raw: v1alpha1::Cluster = serde_json::from_value(tree.to_json()).ok().filter(|_| sound)?;
    let (spec, rules) = resolve::cluster(&raw, Site::root(&tree), home, base_dir);
    findings.problems.extend(rules.problems);
    findings.secrets.extend(rules.secrets);
    spec
}
