//! A base: Windows is made anonymous, so that each machine made from it becomes one of its own.

use std::{env, fs, time::Duration};

use swdt_wire::FirstBootWord as Word;

use super::{MANIFEST, OPENSSH, Teller};
use crate::{Ctx, Error, Result, os, program, registry};

/// Setup is over when neither of these is set.
const SETUP: &str = r"SYSTEM\Setup";
const IN_PROGRESS: [&str; 2] = ["SystemSetupInProgress", "OOBEInProgress"];
const PATIENCE: u32 = 360;
const PAUSE: Duration = Duration::from_secs(5);

/// How far Windows itself says that it is.
const STATE: &str = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State";
const IMAGE_STATE: &str = "ImageState";
const ANONYMOUS: &str = "IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE";

/// The machine is gone after the last word, so that is said so often, and given so long to get out of the port.
const SAID: u32 = 3;
const BETWEEN: Duration = Duration::from_secs(1);

const SYSPREP: &str = r"C:\Windows\System32\Sysprep\sysprep.exe";
const COMPLAINTS: &str = r"C:\Windows\System32\Sysprep\Panther\setuperr.log";

/// Starts [`seal`] on its own: Setup waits for us, and sysprep for Setup. Says that it did.
pub(super) fn begin() -> Result<bool> {
    let program = env::current_exe().map_err(|error| Error::new(format!("where am I? {error}")))?;
    let mut command = program::command(&program, &["first-boot", "seal"]);
    let null = std::process::Stdio::null;
    os::spawn_detached(command.stdin(null()).stdout(null()).stderr(null()))
        .map_err(|error| Error::io("run", &program, &error))?;
    Ok(true)
}

/// Waits for the end of Setup, then makes Windows anonymous and switches the machine off.
///
/// sysprep could switch it off by itself, but also tells nobody when it failed. So it is asked to come back, Windows is
/// asked what it is now, and only then the last word is said.
pub fn seal(ctx: &Ctx) -> Result<()> {
    let teller = Teller::open();
    let done = (|| {
        let busy = || IN_PROGRESS.iter().any(|name| registry::number(SETUP, name) != 0);
        if !until(ctx, || !busy())? {
            return Err(Error::new("Setup does not come to an end"));
        }
        ctx.remove_file(MANIFEST)?;
        ctx.remove_file(OPENSSH)?;
        teller.tell(Word::Sealing, "");
        ctx.change(&[SYSPREP, "/generalize", "/oobe", "/quit", "/quiet"]).map_err(complained)?;
        let state = || registry::text(STATE, IMAGE_STATE);
        if !until(ctx, || state() == ANONYMOUS)? {
            return Err(complained(Error::new(format!("sysprep ended, and Windows is {:?}", state()))));
        }
        for _ in 0..SAID {
            teller.tell(Word::Sealed, "");
            ctx.pause(BETWEEN)?;
        }
        ctx.change(&["shutdown.exe", "/s", "/t", "0"])
    })();
    teller.end(done.map(|()| None))
}

/// Waits until something is so; says whether it is.
fn until(ctx: &Ctx, is_so: impl Fn() -> bool) -> Result<bool> {
    for _ in 0..PATIENCE * os::slowness() {
        if is_so() {
            return Ok(true);
        }
        ctx.pause(PAUSE)?;
    }
    Ok(is_so())
}

/// The same with what sysprep wrote down last.
fn complained(error: Error) -> Error {
    let why = fs::read_to_string(COMPLAINTS).unwrap_or_default();
    let last = why.lines().rev().find(|line| !line.trim().is_empty());
    Error { output: last.map(str::to_owned).into_iter().collect(), ..error }
}
