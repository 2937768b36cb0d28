//! What a machine shows before anybody can log in.

use std::path::PathBuf;

use super::{Host, Run};
use crate::{
    Result,
    spec::{Node, Spec},
};

/// The socket of the machine's serial line.
pub async fn console(host: &Host, spec: &Spec, node: &Node) -> Result<PathBuf> {
    Run::look(host, spec)?.machines()?.console(node).await
}

/// Writes what the machine shows on its screen to a file, as PNG.
pub async fn screenshot(host: &Host, spec: &Spec, node: &Node, to: PathBuf) -> Result<()> {
    Run::look(host, spec)?.machines()?.screenshot(node, to).await
}
