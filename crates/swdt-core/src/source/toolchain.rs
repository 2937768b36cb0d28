//! Go itself, for hosts without one: the module proxy serves toolchains as ordinary module zips.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use semver::Version;
use sha2::{Digest, Sha256};

use super::{
    blocking,
    cache::{Cache, Key, hex},
    http::Http,
};
use crate::{Error, Result, event::Reporter, files::failed, id};

/// Which Go, and how to get it.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// The installed one: `go`, or a path.
    pub(super) program: PathBuf,
    /// The version that builds everything.
    pub(super) version: Version,
    /// Module proxy.
    pub(super) proxy: String,
    /// Checksums of the toolchain's zip as `go.sum` writes them, by host (`linux-amd64`).
    pub(super) sums: BTreeMap<String, String>,
    /// How to reach the proxy.
    pub(super) http: Http,
    /// The user's own settings of Go.
    pub(super) env: BTreeMap<String, String>,
    /// Variables that it must not see.
    pub(super) hidden: Vec<String>,
}

/// Fetches the toolchain once and gives its `go`.
pub(super) async fn fetch(cache: &Cache, wanted: &Wanted, why: &str, reporter: &Reporter) -> Result<PathBuf> {
    let host = host();
    let (name, version) = (format!("go{}.{host}", wanted.version), &wanted.version);
    let home = cache.go().join(&name);
    let program = home.join("bin").join(format!("go{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    let sum = wanted.sums.get(&host).cloned().ok_or_else(|| {
        Error::new(
            id::PROGRAM_MISSING,
            format!("{why}, and the checksum of Go {version} for {host} is not known"),
        )
        .hinted("install Go 1.21 or later, or choose another source")
    })?;
    let key = Key::new(&("toolchain", &name))?;
    let _held = cache.hold(&key, &format!("Go {version}"), reporter).await?;
    if program.is_file() {
        return Ok(program);
    }
    reporter.doing(format!("{why}: fetching Go {version} from {} (70 MB, once)", wanted.proxy));
    let url = format!("{}/golang.org/toolchain/@v/v0.0.1-{name}.zip", wanted.proxy.trim_end_matches('/'));
    let (cache, http) = (cache.clone(), wanted.http.clone());
    blocking(move || {
        let zip = http.fetch(&cache, &url)?;
        let scratch = cache.scratch()?;
        let fresh = scratch.path().join("go");
        let found = unpack(&zip, &format!("golang.org/toolchain@v0.0.1-{name}/"), &fresh)?;
        let _ = fs::remove_file(&zip);
        if found != sum {
            return Err(Error::new(
                id::CHECKSUM_MISMATCH,
                format!("{url} is not the Go that is known: its checksum is {found}, not {sum}"),
            )
            .hinted("is there a proxy in between that changes files? install Go 1.21 or later yourself"));
        }
        fs::create_dir_all(cache.go()).map_err(|error| failed("create", cache.go(), &error))?;
        fs::rename(&fresh, &home).map_err(|error| failed("keep", &home, &error))?;
        Ok(program)
    })
    .await
}

/// What Go calls this host.
fn host() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        arch => arch,
    };
    format!("{os}-{arch}")
}

/// Unpacks a module zip and gives the checksum that `go.sum` has for it: SHA-256 of the sorted list of the
/// files' SHA-256 (golang.org/x/mod/sumdb/dirhash, Hash1).
pub(crate) fn unpack(zip: &Path, prefix: &str, to: &Path) -> Result<String> {
    let bad = |why: String| Error::new(id::ARCHIVE_DAMAGED, format!("{}: {why}", zip.display()));
    let file = File::open(zip).map_err(|error| failed("read", zip, &error))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| bad(error.to_string()))?;
    let mut sums = BTreeMap::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| bad(error.to_string()))?;
        let name = entry.name().to_owned();
        let below =
            name.strip_prefix(prefix).map(Path::new).ok_or_else(|| bad(format!("strange file {name}")))?;
        if !below.components().all(|part| matches!(part, std::path::Component::Normal(_))) {
            return Err(bad(format!("strange file {name}")));
        }
        let target = to.join(below);
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|error| bad(error.to_string()))?;
        sums.insert(name, hex(&Sha256::digest(&bytes)));
        write(&target, &bytes)?;
    }
    let mut whole = Sha256::new();
    for (name, sum) in &sums {
        whole.update(format!("{sum}  {name}\n"));
    }
    Ok(format!("h1:{}", base64(&whole.finalize())))
}

/// Module zips keep no modes; every program of the toolchain lies in one of these.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| failed("create", parent, &error))?;
    }
    fs::write(path, bytes).map_err(|error| failed("write", path, &error))?;
    #[cfg(unix)]
    if path.components().any(|part| part.as_os_str() == "bin" || part.as_os_str() == "tool") {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            .map_err(|error| failed("make executable", path, &error))?;
    }
    Ok(())
}

/// Standard base64, as `go.sum` has it.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = if at <= chunk.len() { DIGITS[(word >> (18 - 6 * at) & 63) as usize] } else { b'=' };
            text.push(char::from(digit));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_usual_one() {
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(base64(b"M"), "TQ==");
    }
}
