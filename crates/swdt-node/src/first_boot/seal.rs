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
pub fn seal(ctx: &Ctx) -> Result<()> {
    let teller = Teller::open();
    let done = (|| {
        let busy = || IN_PROGRESS.iter().any(|name| registry::number(SETUP, name) != 0);
        for _ in 0..PATIENCE {
            if !busy() {
                break;
            }
            ctx.pause(PAUSE)?;
        }
        if busy() {
            return Err(Error::new("Setup does not come to an end"));
        }
        ctx.remove_file(MANIFEST)?;
        ctx.remove_file(OPENSSH)?;
        teller.tell(Word::Sealing, "");
        ctx.change(&[SYSPREP, "/generalize", "/oobe", "/shutdown", "/quiet"]).map_err(|error| {
            let why = fs::read_to_string(COMPLAINTS).unwrap_or_default();
            let last = why.lines().rev().find(|line| !line.trim().is_empty());
            Error { output: last.map(str::to_owned).into_iter().collect(), ..error }
        })
    })();
    teller.end(done.map(|()| None))
}
