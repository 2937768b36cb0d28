//! Looks on while Setup runs: presses the key it asks for, says how far it seems to be, and ends when our own program has
//! said its last word.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use serde_json::json;

use super::{
    keys::Keys,
    phase::Phase,
    serial::{Said, Serial},
};
use crate::{
    Error, Result,
    event::Reporter,
    id,
    interrupt::Interrupt,
    machine::{
        qemu::{arguments::Runtime, process, qmp::Qmp},
        tool,
    },
};

/// So often the firmware may start the disc: once, and again when a key was missed.
const MOST_DISCS: u32 = 4;
/// Nothing to start, so often, will not change.
const MOST_RESETS: u32 = 3;
/// What was said longer ago than this was not said just now.
const JUST_NOW: Duration = Duration::from_secs(3);

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(in crate::machine::qemu) struct Limits {
    /// From the start of the disc until Windows starts from its own disk.
    pub(in crate::machine::qemu) copy: Duration,
    /// All of it.
    pub(in crate::machine::qemu) all: Duration,
}

impl Limits {
    /// Others allow an hour with KVM; a translator needs ten times that.
    pub(in crate::machine::qemu) fn of(translated: bool) -> Self {
        let hour = Duration::from_hours(if translated { 10 } else { 1 });
        Self { copy: hour / 2, all: hour * 2 }
    }
}

/// How an installation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::machine::qemu) enum End {
    /// Our program says that the machine can be reached.
    Ready,
    /// The machine switched itself off, sealed.
    Sealed,
}

/// An installation under way.
pub(in crate::machine::qemu) struct Follow<'a> {
    pub(in crate::machine::qemu) runtime: &'a Runtime,
    pub(in crate::machine::qemu) console_log: &'a Path,
    pub(in crate::machine::qemu) disk: &'a Path,
    /// Where its screen is kept when it fails.
    pub(in crate::machine::qemu) screenshot: PathBuf,
    pub(in crate::machine::qemu) limits: Limits,
    pub(in crate::machine::qemu) reporter: &'a Reporter,
    pub(in crate::machine::qemu) interrupt: &'a Interrupt,
}

/// What is known while it goes on.
struct State {
    phase: Phase,
    keys: Keys,
    discs: u32,
    /// How often we began once more, because the firmware found nothing.
    resets: u32,
    told: String,
}

impl Follow<'_> {
    /// Looks on until the end. What was said before the call counts for the phase; keys are pressed only for what is
    /// said now, because a late key does harm.
    pub(in crate::machine::qemu) fn to_the_end(&self) -> Result<End> {
        let begun = Instant::now();
        let mut serial = Serial::of(self.console_log);
        let mut state =
            State { phase: Phase::Firmware, keys: Keys::default(), discs: 0, resets: 0, told: String::new() };
        let mut fresh = self.just_now();
        loop {
            // Asked before it is heard: a machine that is off has said everything.
            let (off, runs) = (self.is_off(), process::runs(self.runtime));
            let said = serial.more();
            for (index, it) in said.iter().enumerate() {
                // Of what was said long ago only the last word may still wait for us.
                let waits = *it == Said::NothingToStart && index + 1 == said.len();
                self.heard(&mut state, it, fresh || waits)?;
            }
            fresh = true;
            self.tell(&mut state);
            match &state.phase {
                Phase::Ready => return Ok(End::Ready),
                Phase::Failed(why) => return Err(self.failed(&format!("the first boot failed: {why}"))),
                // Both signs: its word, and that it went off by itself. A word that was lost costs a second try, and half
                // a Windows is never taken for a whole one.
                Phase::Sealed if off => return Ok(End::Sealed),
                _ if off => {
                    return Err(
                        self.failed("the machine switched itself off before it said that it was done")
                    );
                }
                _ if !runs => {
                    return Err(self.failed("the machine went off in the middle of it"));
                }
                _ => {}
            }
            self.interrupt.check()?;
            self.in_time(&state, begun.elapsed())?;
            if state.keys.due(Instant::now()) {
                // QEMU may be busy with somebody else; the next key is half a second away.
                let key = json!({ "keys": [{ "type": "qcode", "data": "ret" }] });
                let _ = Qmp::connect(&self.runtime.qmp).and_then(|mut qmp| qmp.execute("send-key", &key));
            }
            std::thread::sleep(state.keys.pause());
        }
    }

    /// Did the machine switch itself off? Its process stays; one that somebody ended is no such machine.
    fn is_off(&self) -> bool {
        Qmp::connect(&self.runtime.qmp)
            .and_then(|mut qmp| qmp.execute("query-status", &json!({})))
            .is_ok_and(|answer| answer["status"] == "shutdown")
    }

    /// Was the last line written a moment ago?
    fn just_now(&self) -> bool {
        let written = fs::metadata(self.console_log).and_then(|meta| meta.modified());
        let age = written.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_none_or(|age| age < JUST_NOW)
    }

    fn heard(&self, state: &mut State, said: &Said, now: bool) -> Result<()> {
        match said {
            Said::StartsDisc => {
                state.discs += 1;
                if state.discs > MOST_DISCS {
                    return Err(self.failed("the firmware starts the disc again and again"));
                }
                if now {
                    state.keys.disc_starts(Instant::now());
                }
            }
            // Nobody pressed a key in time, or there is nothing on the disk yet: once more from the beginning.
            Said::NothingToStart if now && state.resets < MOST_RESETS => {
                state.resets += 1;
                state.keys.enough();
                Qmp::connect(&self.runtime.qmp)
                    .and_then(|mut qmp| qmp.execute("system_reset", &json!({})))?;
            }
            Said::NothingToStart if now => {
                return Err(self.failed("the firmware finds nothing to start"));
            }
            Said::DiscRefused | Said::StartsDisk => state.keys.enough(),
            _ => {}
        }
        let phase = std::mem::replace(&mut state.phase, Phase::Firmware);
        state.phase = phase.after(said);
        Ok(())
    }

    /// Says where it is when that changed.
    fn tell(&self, state: &mut State) {
        // What the disk takes on the host, not what it could hold.
        let disk_mib = fs::metadata(self.disk).map_or(0, |meta| (meta.blocks() * 512) >> 20);
        let told = state.phase.told(disk_mib);
        if told != state.told {
            self.reporter.doing(told.clone());
            state.told = told;
        }
    }

    fn in_time(&self, state: &State, taken: Duration) -> Result<()> {
        // Old firmware says nothing, so only what was seen to be started is known to hang.
        let limit = if state.phase == Phase::Disc { self.limits.copy } else { self.limits.all };
        if taken < limit {
            return Ok(());
        }
        let minutes = limit.as_secs() / 60;
        Err(self.failed(&format!("it takes longer than {minutes} minutes ({})", state.told)))
    }

    /// What a person needs to see why: the screen, and the end of the serial line.
    fn failed(&self, why: &str) -> Error {
        let log = fs::read(self.console_log).unwrap_or_default();
        let mut error = Error::new(id::WINDOWS_NOT_UP, format!("Windows did not come up: {why}"))
            .with_output(tool::last_lines(&String::from_utf8_lossy(&log)));
        error.log = Some(self.console_log.to_owned());
        if process::screenshot(self.runtime, &self.screenshot).is_ok() {
            error = error.hinted(format!("its screen is in {}", self.screenshot.display()));
        }
        error.hinted("Setup shows what it does not like on the screen only: a key of another edition, no key where the disc wants one, a language that is not on the disc, a disk without a driver")
    }
}

/// Takes the discs out of a machine that runs, and removes the seed: it held a password and a host key.
pub(in crate::machine::qemu) fn eject(runtime: &Runtime, discs: usize, seed: &Path) -> Result<()> {
    let mut qmp = Qmp::connect(&runtime.qmp)?;
    for index in 0..discs {
        qmp.execute("eject", &json!({ "id": format!("disc{index}"), "force": true }))?;
    }
    crate::machine::files::remove_file(seed)
}
