//! The node programs: small, static, one per system, and one of each that tests can make fail. And what the
//! rehearsal of Windows needs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    setup,
    sh::{self, Result},
};

pub(crate) const LINUX: &str = "x86_64-unknown-linux-gnu";
pub(crate) const WINDOWS: &str = "x86_64-pc-windows-gnu";
/// Links programs of Windows.
const MINGW: &str = "x86_64-w64-mingw32-gcc";
/// What a node program may weigh, in bytes.
const SIZE_LIMIT: u64 = 3_000_000;

/// The command that tests and quickstart run.
pub(crate) fn swdt() -> PathBuf {
    sh::target().join("debug/swdt")
}

/// Builds them and puts them beside `swdt`. Gives the path of the one for Linux that ships.
pub(crate) fn build() -> Result<PathBuf> {
    setup::windows()?;
    let linux = node(LINUX, "agent", &["--profile", "agent"], "swdt-node-linux-amd64")?;
    let windows = node(WINDOWS, "agent", &["--profile", "agent"], "swdt-node-windows-amd64.exe")?;
    for shipped in [&linux, &windows] {
        let size = fs::metadata(shipped).map_err(|error| error.to_string())?.len();
        sh::say(&format!("{}: {} kB", shipped.display(), size / 1000));
        if size > SIZE_LIMIT {
            return Err(format!("the node program weighs {size} bytes; at most {SIZE_LIMIT} are allowed"));
        }
    }
    node(LINUX, "debug", &["--features", "faults"], "swdt-node-linux-amd64-faults")?;
    node(WINDOWS, "debug", &["--features", "faults"], "swdt-node-windows-amd64-faults.exe")?;
    rehearsal()?;
    Ok(linux)
}

fn node(triple: &str, profile: &str, flags: &[&str], name: &str) -> Result<PathBuf> {
    built("swdt-node", triple, profile, flags, name)
}

/// The stand-ins of a rehearsed Windows.
fn rehearsal() -> Result<()> {
    built("swdt-standins", WINDOWS, "agent", &["--profile", "agent"], "swdt-standins.exe")?;
    library("swdt-hns", "swdt_hns.dll")?;
    let sources = sh::root().join("crates/swdt-rehearsal/c");
    let compile = |compiler: &str, source: &str, to: &str, last: &[&str]| {
        let (from, to) = (sources.join(source), sh::target().join("debug").join(to));
        let (from, to) = (from.to_string_lossy().into_owned(), to.to_string_lossy().into_owned());
        sh::command(compiler).args(&["-shared", "-fPIC", "-O2", "-o", &to, &from]).args(last).run()
    };
    compile(MINGW, "netapi32.c", "netapi32.dll", &[])?;
    compile(MINGW, "pdh.c", "pdh.dll", &[])?;
    compile("cc", "adapters.c", "adapters.so", &["-ldl"])
}

fn built(package: &str, triple: &str, profile: &str, flags: &[&str], name: &str) -> Result<PathBuf> {
    let ending = if triple == WINDOWS { ".exe" } else { "" };
    compiled(&[&["--package", package, "--bin", package, "--target", triple], flags].concat())?;
    beside(&PathBuf::from(triple).join(profile).join(format!("{package}{ending}")), name)
}

/// A library of Windows.
fn library(package: &str, name: &str) -> Result<PathBuf> {
    compiled(&["--package", package, "--lib", "--target", WINDOWS, "--profile", "agent"])?;
    beside(&PathBuf::from(WINDOWS).join("agent").join(name), name)
}

fn compiled(flags: &[&str]) -> Result<()> {
    // Static, so that it runs on any machine. Its own target directory, since the flags differ
    // from those of everything else and cargo would build all of that again.
    sh::cargo(&["build"])
        .args(flags)
        .env("RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", MINGW)
        .run()
}

/// Copies what was built to where tests and `swdt` look.
fn beside(built: &Path, name: &str) -> Result<PathBuf> {
    let (from, beside) = (sh::target().join(built), sh::target().join("debug"));
    let to = beside.join(name);
    fs::create_dir_all(&beside).map_err(|error| error.to_string())?;
    fs::copy(&from, &to).map_err(|error| format!("{} -> {}: {error}", from.display(), to.display()))?;
    Ok(to)
}
