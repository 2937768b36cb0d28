//! A machine that behaves as Windows does: Debian with Wine, an SSH server that speaks as the one of Windows,
//! and stand-ins for what Wine lacks. Every stand-in is in `docs/ground.md`; there are no others.

mod kubelet;

use std::{fs, path::Path};

use swdt_core::{
    Error, Result, id,
    machine::{Recipe, Rehearsal, StandIn},
};

pub use kubelet::PATCHES;

/// Where drive C: is in the file system of such a machine.
pub const DRIVE_C: &str = "/srv/windows/drive_c";

/// A file of such a machine with a number of seconds: logins are refused that long after each boot, as OpenSSH for
/// Windows does while Windows is not ready.
pub const LOGINS_REFUSED: &str = "/etc/swdt/logins-refused";

/// While a machine has this file, what a session started goes on when the session ends. OpenSSH for Windows does
/// either, depending on its version and on how the session ends.
pub const CHILDREN_STAY: &str = "/etc/swdt/children-stay";

/// Wine 10, and a drive C: that says it is Windows Server 2022.
const RECIPE: Recipe =
    Recipe { suite: "trixie", packages: &["wine", "wine64"], finish: include_str!("root.sh") };

/// A file that is built, and where it goes: in drive C:, or in the root.
struct Built {
    name: &'static str,
    to: &'static [&'static str],
    /// Its bytes, when a release carries them inside.
    bytes: Option<&'static [u8]>,
}

#[cfg(feature = "embed")]
macro_rules! bytes {
    ($name:literal) => {
        Some(include_bytes!(concat!(env!("SWDT_AGENTS_DIR"), "/", $name)).as_slice())
    };
}
#[cfg(not(feature = "embed"))]
macro_rules! bytes {
    ($name:literal) => {
        None
    };
}
macro_rules! built {
    ($($name:literal => [$($to:literal),+ $(,)?]),+ $(,)?) => {
        &[$(Built { name: $name, to: &[$($to),+], bytes: bytes!($name) }),+]
    };
}

/// What `cargo xtask agents` builds.
const BUILT: &[Built] = built![
    "swdt-standins.exe" => [
        "windows/system32/dism.exe",
        "windows/system32/netsh.exe",
        "windows/system32/shutdown.exe",
        "windows/system32/sshd-session.exe",
        "windows/system32/Sysprep/sysprep.exe",
        // What the feature Containers brings with the restart after it.
        "/usr/lib/swdt/features/Containers/hns.exe",
        "/usr/lib/swdt/features/Containers/hnsdiag.exe",
    ],
    "swdt_hns.dll" => [
        "/usr/lib/swdt/features/Containers/computenetwork.dll",
        "/usr/lib/swdt/features/Containers/vmcompute.dll",
    ],
    // Tests put it beside the program that needs it: Wine's own is good for all others.
    "netapi32.dll" => ["/usr/lib/swdt/netapi32.dll"],
    "pdh.dll" => ["windows/system32/pdh.dll"],
    "adapters.so" => ["/usr/lib/swdt/adapters.so"],
];

/// Such machines, with stand-ins that [`stand_ins`] gives.
pub const fn rehearsal(files: fn() -> Result<Vec<StandIn>>) -> Rehearsal {
    Rehearsal { recipe: RECIPE, files, service: "windows.service" }
}

/// The stand-ins: those inside this program, or else those in the directory that `cargo xtask agents` fills.
pub fn stand_ins(dir: &Path) -> Result<Vec<StandIn>> {
    let mut files = Vec::new();
    for built in BUILT {
        let bytes = match built.bytes {
            Some(bytes) => bytes.to_vec(),
            None => read(&dir.join(built.name))?,
        };
        for to in built.to {
            let path = if to.starts_with('/') { (*to).to_owned() } else { format!("{DRIVE_C}/{to}") };
            files.push(StandIn { path, bytes: bytes.clone() });
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| {
        Error::new(id::NODE_PROGRAM_MISSING, format!("no stand-in at {}: {error}", path.display()))
            .hinted("`cargo xtask agents` builds it")
    })
}
