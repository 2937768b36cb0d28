//! A machine that behaves as Windows does: Debian with Wine, an SSH server that speaks as the one of Windows,
//! and stand-ins for what Wine lacks. Every stand-in is in `STANDINS.md`; there are no others.

mod kubelet;

use std::{fs, path::Path};

use swdt_core::{Error, ErrorKind, Result, machine::Recipe};

pub use kubelet::PATCHES;

/// The root of such machines: Wine 10, and a drive C: that says it is Windows Server 2022.
pub const RECIPE: Recipe =
    Recipe { suite: "trixie", packages: &["wine", "wine64"], finish: include_str!("root.sh") };

/// Who logs in.
pub const USER: &str = "Administrator";

/// Where drive C: is in the file system of such a machine.
pub const DRIVE_C: &str = "/srv/windows/drive_c";

/// A file of such a machine that is built, and not part of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// Where it goes.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What is built, and where it goes.
const BUILT: [(&str, &str); 9] = [
    ("swdt-standins.exe", "windows/system32/dism.exe"),
    ("swdt-standins.exe", "windows/system32/netsh.exe"),
    ("swdt-standins.exe", "windows/system32/sshd-session.exe"),
    // What the feature Containers brings with the restart after it.
    ("swdt-standins.exe", "/usr/lib/swdt/features/Containers/hns.exe"),
    ("swdt-standins.exe", "/usr/lib/swdt/features/Containers/hnsdiag.exe"),
    ("swdt_hns.dll", "/usr/lib/swdt/features/Containers/computenetwork.dll"),
    ("swdt_hns.dll", "/usr/lib/swdt/features/Containers/vmcompute.dll"),
    ("pdh.dll", "windows/system32/pdh.dll"),
    ("adapters.so", "/usr/lib/swdt/adapters.so"),
];

/// What starts a machine's Windows once its files are there.
pub const START: [&str; 4] = ["systemctl", "enable", "--now", "windows.service"];

/// The stand-ins, from the directory that `cargo xtask agents` fills.
pub fn stand_ins(dir: &Path) -> Result<Vec<StandIn>> {
    BUILT
        .iter()
        .map(|(name, to)| {
            let from = dir.join(name);
            let bytes = fs::read(&from).map_err(|error| {
                Error::new(ErrorKind::Prerequisite, format!("no stand-in at {}: {error}", from.display()))
                    .hinted("`cargo xtask agents` builds it")
            })?;
            let path = if to.starts_with('/') { (*to).to_owned() } else { format!("{DRIVE_C}/{to}") };
            Ok(StandIn { path, bytes })
        })
        .collect()
}
