//! While Setup still runs: what is needed later goes from the seed to the machine's own disk.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use swdt_wire::{Blob, FirstBootWord as Word};

use super::{DIR, MANIFEST, OPENSSH, PROGRAM, Teller, read};
use crate::{Ctx, Error, Result, disk, os};

/// Windows runs this once, when Setup is done. Nothing in it is a value. What failed stays, to be looked at and
/// started again.
const SCRIPT: &str = concat!(
    "@echo off\r\n",
    r"C:\ProgramData\swdt-first-boot\swdt-node.exe first-boot finish",
    "\r\nif errorlevel 1 exit /b 1\r\n",
    r"rd /s /q C:\ProgramData\swdt-first-boot",
    "\r\n(goto) 2>nul & del \"%~f0\"\r\n",
);
const SCRIPTS: &str = r"C:\Windows\Setup\Scripts";
const SETUP_COMPLETE: &str = r"C:\Windows\Setup\Scripts\SetupComplete.cmd";

/// Copies this program and what lies beside it, and sees to it that it is started again after Setup.
pub fn place(ctx: &Ctx) -> Result<()> {
    let teller = Teller::open();
    teller.tell(Word::Started, env!("CARGO_PKG_VERSION"));
    teller.end(put_aside(ctx).map(|()| None))
}

fn put_aside(ctx: &Ctx) -> Result<()> {
    let program = env::current_exe().map_err(|error| Error::new(format!("where am I? {error}")))?;
    let seed = program.parent().map(Path::to_path_buf).unwrap_or_default();
    let wanted = read(&seed.join("first-boot.json"))?;
    let dir = PathBuf::from(DIR);
    os::make_private_dir(&dir).map_err(|error| Error::io("make", &dir, &error))?;
    if let Some(why) = os::distrust(&dir).map_err(|error| Error::io("look at", &dir, &error))? {
        return Err(Error::new(format!("{DIR} {why}")));
    }
    copy(ctx, &program, PROGRAM, None)?;
    if let Some(package) = &wanted.openssh {
        copy(ctx, &seed.join("openssh.msi"), OPENSSH, Some(package))?;
    }
    // Last: where it is, all is there.
    copy(ctx, &seed.join("first-boot.json"), MANIFEST, None)?;

    let there = ctx.read(SETUP_COMPLETE)?;
    match there.as_deref() {
        Some(text) if text == SCRIPT.as_bytes() => Ok(()),
        Some(_) => {
            let error = Error::new(format!("there is a {SETUP_COMPLETE} already, of somebody else"));
            Err(error.hinted("take it off the disk this machine is made from"))
        }
        None => {
            let scripts = PathBuf::from(SCRIPTS);
            os::make_public_dir(&scripts).map_err(|error| Error::io("make", &scripts, &error))?;
            ctx.write(SETUP_COMPLETE, SCRIPT.as_bytes(), 0o644, None)
        }
    }
}

/// Copies a file, once. What has a digest must have exactly these bytes.
fn copy(ctx: &Ctx, from: &Path, to: &str, known: Option<&Blob>) -> Result<()> {
    let sha256 = disk::sha256_file(from)?;
    if let Some(known) = known.filter(|known| known.sha256 != sha256) {
        return Err(Error::new(format!(
            "{} is not what it should be: SHA-256 {sha256} and not {}",
            from.display(),
            known.sha256
        )));
    }
    if Path::new(to).exists() && disk::sha256_file(Path::new(to))? == sha256 {
        return Ok(());
    }
    let mut source = fs::File::open(from).map_err(|error| Error::io("read", from, &error))?;
    ctx.replace(to, &disk::Attributes::mode(0o600), |file| {
        let copied = disk::copy_hashing(&mut source, file)?;
        if copied == sha256 {
            Ok(())
        } else {
            Err(std::io::Error::other("the seed cannot be read twice alike"))
        }
    })
}
