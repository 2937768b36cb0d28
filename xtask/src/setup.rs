//! What a fresh Debian machine lacks.

use std::path::Path;

use crate::{
    agents::WINDOWS,
    sh::{self, Result},
};

/// Debian packages that machines on this host and the tests need.
const PACKAGES: &[&str] = &[
    "ca-certificates",
    "cpio",
    "genisoimage",
    "iproute2",
    "kmod",
    "mmdebstrap",
    "mtools",
    "nftables",
    "openssh-client",
    "openssh-server",
    "ovmf",
    "procps",
    "qemu-system-x86",
    "qemu-utils",
    "swtpm",
    "systemd-container",
    "uidmap",
    "util-linux",
    "wimtools",
    "wixl",
    "xorriso",
];

/// Installs what is missing; does nothing, and needs no network, when all is there.
pub(crate) fn packages() -> Result<()> {
    install(PACKAGES)
}

/// What building programs for Windows takes: a linker, and the standard library of Rust for it.
pub(crate) fn windows() -> Result<()> {
    install(&["gcc-mingw-w64-x86-64"])?;
    let library = sh::command("rustc").args(&["--print", "target-libdir", "--target", WINDOWS]).read()?;
    // A Rust without rustup may have it, too.
    if Path::new(library.trim()).is_dir() {
        return Ok(());
    }
    sh::command("rustup")
        .args(&["target", "add", WINDOWS])
        .run()
        .map_err(|error| format!("{error}\nadd that target to the toolchain yourself"))
}

/// Installs those of `names` that are missing.
pub(crate) fn install(names: &[&str]) -> Result<()> {
    let missing: Vec<&str> = names.iter().copied().filter(|name| !installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    sh::say(&format!("installing {}", missing.join(" ")));
    apt_get(&["update", "-qq"])?;
    let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
    arguments.extend(missing);
    apt_get(&arguments)
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    sh::command("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // Tests start servers of their own; the packages' must not start by themselves.
        .env("RUNLEVEL", "1")
        .run()
        .map_err(|error| format!("{error}\nrun this as root on Debian, or install the packages yourself"))
}

fn installed(name: &str) -> bool {
    let query = sh::command("dpkg-query").args(&["-W", "-f", "${db:Status-Status}", name]).read();
    query.is_ok_and(|status| status == "installed")
}
