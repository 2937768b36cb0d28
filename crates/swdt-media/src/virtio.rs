//! The virtio-win disc: drivers for the devices that QEMU is fast with. Microsoft's discs lack them.
//!
//! ```text
//! <driver>/<2k19|2k22|2k25>/amd64/…     viostor/2k22/amd64/viostor.inf
//! ```

use std::{
    io::{Read, Seek},
    path::Path,
};

use crate::{Error, Result, iso::Iso, windows::Release};

/// What a node has: disk, network, memory, randomness and the serial channel. Others are left where they are.
const DRIVERS: [&str; 5] = ["viostor", "NetKVM", "Balloon", "viorng", "vioserial"];
/// Without these there is no disk and no network.
const NEEDED: [&str; 2] = ["viostor", "NetKVM"];

/// A file of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverFile {
    /// Where it goes, below the folder of drivers: `viostor/viostor.inf`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Takes the drivers of one release, and of no other: Setup would take whichever it finds first.
pub fn drivers<R: Read + Seek>(disc: R, release: Release) -> Result<Vec<DriverFile>> {
    let mut disc = Iso::open(disc)?;
    let mut files = Vec::new();
    for driver in DRIVERS {
        let folder = format!("{driver}/{}/amd64", release.virtio());
        for entry in disc.list(&folder)?.unwrap_or_default() {
            // Symbols for debuggers are larger than all the rest.
            if entry.directory || is_symbols(&entry.name) {
                continue;
            }
            let bytes = disc.read(&format!("{folder}/{}", entry.name))?.unwrap_or_default();
            files.push(DriverFile { path: format!("{driver}/{}", entry.name), bytes });
        }
    }
    let has = |driver: &str| {
        let inf = format!("{driver}/{driver}.inf").to_lowercase();
        files.iter().any(|file| file.path.to_lowercase() == inf)
    };
    let lacks: Vec<&str> = NEEDED.into_iter().filter(|driver| !has(driver)).collect();
    if lacks.is_empty() {
        return Ok(files);
    }
    let message = format!("it has no driver {} for {release} (amd64)", lacks.join(" and "));
    Err(Error::new(message).hinted(WHERE))
}

fn is_symbols(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdb"))
}

const WHERE: &str = "a newer one has them: https://fedorapeople.org/groups/virt/virtio-win/direct-downloads/stable-virtio/virtio-win.iso";
