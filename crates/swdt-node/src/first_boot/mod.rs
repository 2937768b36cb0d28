//! The first boot of a Windows that swdt installed: from Setup's last question to an SSH server that lets us in.
//!
//! ```text
//! specialize   first-boot          started by the answers, from the seed: puts itself and what it needs aside
//! after Setup  first-boot finish   started by SetupComplete.cmd: everything in `STEPS`, then all of it goes
//! for a base   first-boot seal     started by `finish`: waits for Setup's end, then Windows is made anonymous
//! ```
//!
//! All of them run as the system, before anybody can log in. Each step looks before it acts, so that a machine that was
//! switched off in the middle goes on where it was. The host listens at the serial port; every line there stands in a
//! log on the machine too.
//!
//! Kinds of resources do the work where they can, but by themselves and without receipts: nothing of this is ever
//! undone, the machine goes as a whole.

mod place;
mod seal;
mod ssh;
mod steps;
mod tell;

use std::{fs, path::PathBuf, time::Duration};

use swdt_wire::{FIRST_BOOT_VERSION, FirstBoot, FirstBootWord as Word, Status};

use crate::{Ctx, Error, Result, resources::Behaviour};
pub use place::place;
pub use seal::seal;
use steps::{SEAL_STEPS, STEPS, Step};
use tell::Teller;

/// Where everything lies between the two parts; for administrators and the system alone.
const DIR: &str = r"C:\ProgramData\swdt-first-boot";

/// What is in it.
const PROGRAM: &str = r"C:\ProgramData\swdt-first-boot\swdt-node.exe";
const MANIFEST: &str = r"C:\ProgramData\swdt-first-boot\first-boot.json";
const OPENSSH: &str = r"C:\ProgramData\swdt-first-boot\openssh.msi";

/// Services and adapters may need a moment after Setup.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(3);

/// Does everything that is left once Setup is done.
pub fn finish(ctx: &Ctx) -> Result<()> {
    let teller = Teller::open();
    let done = (|| {
        let wanted = read(&PathBuf::from(MANIFEST))?;
        let steps = if wanted.seal { SEAL_STEPS } else { STEPS };
        steps.iter().try_for_each(|step| patiently(ctx, &teller, step, &wanted))?;
        if wanted.seal { seal::begin() } else { Ok(false) }
    })();
    teller.end(done.map(|sealing| (!sealing).then_some(Word::Ready)))
}

/// One step, tried again for a while where it fails.
fn patiently(ctx: &Ctx, teller: &Teller, (name, work): &Step, wanted: &FirstBoot) -> Result<()> {
    teller.tell(Word::Step, name);
    for _ in 1..TRIES {
        let before = ctx.writes();
        match work(ctx, wanted) {
            Ok(()) => {
                teller.log(if ctx.writes() == before { "nothing to do" } else { "done" });
                return Ok(());
            }
            Err(error) => teller.log(&words(&error)),
        }
        ctx.pause(PAUSE)?;
    }
    work(ctx, wanted).map_err(|error| Error { message: format!("{name}: {error}"), ..error })
}

/// Makes a resource true; see the top of this file for why without a receipt.
fn make(ctx: &Ctx, kind: &dyn Behaviour) -> Result<()> {
    if kind.check(ctx)? == Status::Satisfied {
        return Ok(());
    }
    kind.apply(ctx, &kind.prior(ctx)?)?;
    match kind.check(ctx)? {
        Status::Satisfied => Ok(()),
        Status::Differs(how) => Err(Error::new(format!("it was done, and is not so: {how}"))),
    }
}

fn read(path: &std::path::Path) -> Result<FirstBoot> {
    let bytes = fs::read(path).map_err(|error| Error::io("read", path, &error))?;
    let wanted: FirstBoot = serde_json::from_slice(&bytes)
        .map_err(|error| Error::new(format!("{} cannot be understood: {error}", path.display())))?;
    if wanted.version != FIRST_BOOT_VERSION {
        return Err(Error::new(format!("{} has the unknown version {}", path.display(), wanted.version)));
    }
    Ok(wanted)
}

/// An error in one line.
fn words(error: &Error) -> String {
    let parts = [Some(error.message.clone()), error.output.last().cloned(), error.hint.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
