//! The documentation as a web site.

use crate::sh::{self, Result};

const MDBOOK: &str = "0.5.4";

/// Builds the book and says where it is. The program that does it is compiled once, into the cache.
pub(crate) fn run() -> Result<()> {
    let tools = sh::cache().join("tools").join(format!("mdbook-{MDBOOK}"));
    let mdbook = tools.join("bin/mdbook");
    if !mdbook.exists() {
        let root = tools.to_string_lossy().into_owned();
        sh::cargo(&["install", "--locked", "--version", MDBOOK, "--root", &root, "mdbook"]).run()?;
    }
    let to = sh::target().join("book");
    let to = to.to_string_lossy();
    sh::command(&mdbook.to_string_lossy()).args(&["build", "docs", "--dest-dir", &to]).run()?;
    sh::say(&format!("{to}/index.html"));
    Ok(())
}
