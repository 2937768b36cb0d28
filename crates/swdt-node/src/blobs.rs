//! The store of bytes by their hash.

use std::{
    fs::{self, File},
    io::{self, Read},
};

use crate::{Error, Result, disk, faults, os, state::State};

/// Takes bytes into the store. They are there under their hash completely, or not at all.
pub fn put(state: &State, sha256: &str, from: &mut impl Read) -> Result<()> {
    let path = state.blob(sha256)?;
    state.verify()?;
    if path.exists() {
        return Ok(());
    }
    faults::load(state.dir());
    faults::enter(sha256, "");
    let dir = state.ensure("blobs")?;
    // Two uploads of one blob may go on at once.
    let upload = dir.join(format!(".{sha256}.{}", std::process::id()));
    let written = (|| {
        let mut file = os::private(File::options().write(true).create(true).truncate(true)).open(&upload)?;
        if faults::spoils("upload") {
            let _ = from.read(&mut [0])?;
        }
        let found = disk::copy_hashing(from, &mut file)?;
        if found != sha256 {
            return Err(io::Error::other(format!("the bytes have another hash, {found}")));
        }
        file.sync_all()?;
        fs::rename(&upload, &path)?;
        disk::sync_dir(&dir)
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&upload);
        Error::io("store", &path, &error)
    })
}

/// Something went wrong with these blobs. One whose bytes are not what its name says any more is removed, so that the
/// next run sends it again instead of failing for ever.
pub fn doubt(state: &State, used: &[&str], error: Error) -> Error {
    let damaged = |sha256: &&&str| {
        let path = state.dir().join("blobs").join(sha256);
        let found = path.is_file().then(|| disk::sha256_file(&path));
        matches!(found, Some(Ok(found)) if found != **sha256) && fs::remove_file(&path).is_ok()
    };
    match used.iter().filter(damaged).count() {
        0 => error,
        _ => error.hinted(
            "bytes that lay on this machine were damaged and are removed; the same command sends them again",
        ),
    }
}

/// Which of these blobs are not here.
pub fn missing(state: &State, wanted: &[&str]) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for sha256 in wanted {
        if !state.blob(sha256)?.exists() {
            missing.push((*sha256).to_owned());
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ctx;

    #[test]
    fn bytes_are_there_completely_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let state = State::of(&Ctx::new(root.path()));
        let good = disk::sha256_hex(b"hello");
        assert!(put(&state, &good, &mut &b"hell"[..]).is_err());
        assert_eq!(fs::read_dir(state.dir().join("blobs")).unwrap().count(), 0);
        assert_eq!(missing(&state, &[&good]).unwrap(), [good.as_str()]);
        put(&state, &good, &mut &b"hello"[..]).unwrap();
        put(&state, &good, &mut &b"whatever, it is here already"[..]).unwrap();
        assert_eq!(fs::read(state.blob(&good).unwrap()).unwrap(), b"hello");
        assert!(missing(&state, &[&good]).unwrap().is_empty());
        let error = || Error::new("whatever it was");
        assert_eq!(doubt(&state, &[&good], error()).hint, None);
        fs::write(state.blob(&good).unwrap(), "hullo").unwrap();
        assert!(doubt(&state, &[&good], error()).hint.unwrap().contains("damaged"));
        assert_eq!(missing(&state, &[&good]).unwrap(), [good.as_str()], "it is sent again");
    }
}
