//! UEFI for machines: found through the descriptors that distributions install beside QEMU.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{
    Error, Result, id,
    machine::files::{self, failed},
};

/// Where descriptors are, the more important first.
const PLACES: &[&str] = &["/etc/qemu/firmware", "/usr/share/qemu/firmware"];

/// A pair of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    /// The program, shared.
    pub(super) code: PathBuf,
    /// Variables to begin with; each machine has its own copy.
    pub(super) vars: PathBuf,
}

/// What of a descriptor matters here; the format is QEMU's own (docs/interop/firmware.json).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Descriptor {
    interface_types: Vec<String>,
    mapping: Mapping,
    targets: Vec<Target>,
    features: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Mapping {
    device: String,
    executable: Option<File>,
    nvram_template: Option<File>,
}

#[derive(Debug, Deserialize)]
struct File {
    filename: PathBuf,
    format: String,
}

#[derive(Debug, Deserialize)]
struct Target {
    architecture: String,
    machines: Vec<String>,
}

impl Descriptor {
    /// The files, if this firmware is for our machines and is what is wanted.
    fn fits(self, secure_boot: bool) -> Option<Pair> {
        let has = |name: &str| self.features.iter().any(|feature| feature == name);
        let ours = |target: &Target| {
            target.architecture == "x86_64" && target.machines.iter().any(|name| name.starts_with("pc-q35"))
        };
        let signed = has("secure-boot") && has("enrolled-keys");
        let wanted = self.interface_types.iter().any(|kind| kind == "uefi")
            && self.mapping.device == "flash"
            && self.targets.iter().any(ours)
            && if secure_boot { signed } else { !has("requires-smm") };
        let (code, vars) = (self.mapping.executable?, self.mapping.nvram_template?);
        (wanted && code.format == "raw" && vars.format == "raw")
            .then_some(Pair { code: code.filename, vars: vars.filename })
    }
}

/// The firmware of this host, with keys enrolled where only what is signed shall start.
pub(super) fn find(secure_boot: bool) -> Result<Pair> {
    find_in(PLACES.iter().map(Path::new), secure_boot).ok_or_else(|| {
        let what = if secure_boot { "UEFI firmware with Secure Boot" } else { "UEFI firmware" };
        Error::new(id::PROGRAM_MISSING, format!("this host has no {what} for virtual machines"))
            .hinted("Debian, Ubuntu: apt-get install --yes ovmf")
            .hinted("Fedora: dnf install --assumeyes edk2-ovmf")
    })
}

fn find_in<'a>(places: impl Iterator<Item = &'a Path>, secure_boot: bool) -> Option<Pair> {
    // Within a directory the name decides, by its number: that is the rule of the format.
    let descriptors = places.flat_map(|dir| files::names(dir).into_iter().map(move |name| dir.join(name)));
    descriptors
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| serde_json::from_slice::<Descriptor>(&fs::read(path).ok()?).ok())
        .filter_map(|descriptor| descriptor.fits(secure_boot))
        .find(|pair| pair.code.is_file() && pair.vars.is_file())
}

/// Gives a machine variables of its own, if it has none.
pub(super) fn plant_vars(pair: &Pair, to: &Path) -> Result<()> {
    if to.exists() {
        return Ok(());
    }
    let bytes = fs::read(&pair.vars).map_err(|error| failed("read", &pair.vars, &error))?;
    files::write_whole(to, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(dir: &Path, name: &str, features: &[&str]) {
        let (code, vars) = (dir.join(format!("{name}.code")), dir.join(format!("{name}.vars")));
        fs::write(&code, "").unwrap();
        fs::write(&vars, "").unwrap();
        let text = serde_json::json!({
            "description": name,
            "interface-types": ["uefi"],
            "mapping": {
                "device": "flash",
                "executable": { "filename": code, "format": "raw" },
                "nvram-template": { "filename": vars, "format": "raw" },
            },
            "targets": [{ "architecture": "x86_64", "machines": ["pc-q35-*"] }],
            "features": features,
        });
        fs::write(dir.join(format!("{name}.json")), text.to_string()).unwrap();
    }

    #[test]
    fn the_first_that_fits_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        descriptor(dir.path(), "40-keys", &["secure-boot", "enrolled-keys", "requires-smm"]);
        descriptor(dir.path(), "50-no-keys", &["secure-boot", "requires-smm"]);
        descriptor(dir.path(), "60-plain", &["acpi-s3"]);
        fs::write(dir.path().join("30-broken.json"), "{").unwrap();
        let find = |secure| find_in([dir.path()].into_iter(), secure).unwrap().code;
        assert_eq!(find(true), dir.path().join("40-keys.code"));
        assert_eq!(find(false), dir.path().join("60-plain.code"));
        fs::remove_file(dir.path().join("60-plain.vars")).unwrap();
        assert_eq!(find_in([dir.path()].into_iter(), false), None, "a file that is gone is no firmware");
    }

    #[test]
    fn the_host_of_the_tests_has_both() {
        assert_ne!(find(true).unwrap(), find(false).unwrap());
    }
}
