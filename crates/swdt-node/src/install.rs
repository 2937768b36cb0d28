//! Puts this program where it belongs, from wherever it was sent to: `swdt-node install`.
//!
//! On Linux a few words of shell do that. On Windows the shell may be cmd or PowerShell, so the program does
//! it itself: a directory for administrators alone, and in it the program under its SHA-256.

use std::{fs, io};

use crate::{Ctx, Error, Result, disk, state::State};

/// Copies this program to `bin\<sha256>.exe` of the state directory ; whoever sent it removes it where it was.
/// A program that runs cannot be removed on Windows.
pub fn install(ctx: &Ctx) -> Result<()> {
    let here =
        std::env::current_exe().map_err(|error| Error::new(format!("cannot find this program: {error}")))?;
    let dir = State::of(ctx).ensure("bin")?;
    let sha256 = disk::sha256_file(&here)?;
    let to = dir.join(format!("{sha256}.exe"));
    if !to.exists() {
        let mut from = fs::File::open(&here).map_err(|error| Error::io("read", &here, &error))?;
        disk::replace(&to, &disk::Attributes::mode(0o600), |file| {
            let copied = disk::copy_hashing(&mut from, file)?;
            if copied == sha256 { Ok(()) } else { Err(io::Error::other("it changes while it is read")) }
        })?;
    }
    Ok(())
}
