//! The node programs: small, static, one per system, and one that tests can make fail.

use std::{fs, path::PathBuf};

use crate::sh::{self, Result};

const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// What a node program may weigh, in bytes.
const SIZE_LIMIT: u64 = 3_000_000;

/// The command that tests and quickstart run.
pub(crate) fn swdt() -> PathBuf {
    sh::target().join("debug/swdt")
}

/// Builds them and puts them beside `swdt`. Gives the path of the one that ships.
pub(crate) fn build() -> Result<PathBuf> {
    let shipped = built("agent", &["--profile", "agent"], "swdt-node-linux-amd64")?;
    let size = fs::metadata(&shipped).map_err(|error| error.to_string())?.len();
    sh::say(&format!("{}: {} kB", shipped.display(), size / 1000));
    if size > SIZE_LIMIT {
        return Err(format!("the node program weighs {size} bytes; at most {SIZE_LIMIT} are allowed"));
    }
    built("debug", &["--features", "faults"], "swdt-node-linux-amd64-faults")?;
    Ok(shipped)
}

fn built(profile: &str, flags: &[&str], name: &str) -> Result<PathBuf> {
    // Static, so that it runs on any distribution. Its own target directory, since the flags differ
    // from those of everything else and cargo would build all of that again.
    sh::cargo(&["build", "--package", "swdt-node", "--bin", "swdt-node", "--target", TRIPLE])
        .args(flags)
        .env("RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .run()?;
    let from = sh::target().join(TRIPLE).join(profile).join("swdt-node");
    let beside = sh::target().join("debug");
    let to = beside.join(name);
    fs::create_dir_all(&beside).map_err(|error| error.to_string())?;
    fs::copy(&from, &to).map_err(|error| format!("{} -> {}: {error}", from.display(), to.display()))?;
    Ok(to)
}
