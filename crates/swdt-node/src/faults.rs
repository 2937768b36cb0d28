//! Trouble on demand, for tests: the feature `faults` lets a test choose what goes wrong, at which point of which
//! resource. Without the feature every function here is empty.
//!
//! The points of a resource, in order: `before-receipt`, `receipt` (its bytes are being written), `after-receipt`,
//! `mid-apply` (before the `nth` step of a write), `file` (the bytes of a file are being written), `program` (one is
//! started), `after-kubeadm` (it came to a good end, and nobody has noted so), `after-apply`, `after-done`; and
//! `before-revert`, `mid-revert`, `after-revert`. Bytes that are sent have the point `upload`; its resource is their
//! digest.
//!
//! Faults are files in a directory beside the state directory, which a complete revert removes. Each strikes once:
//! its file goes, and with the last one the directory. One that holds the program up is renamed to `*.held`, and the
//! program goes on when somebody has removed that.

#[cfg(not(feature = "faults"))]
mod off {
    use std::{fs::File, io, path::Path, time::SystemTime};

    /// Does nothing.
    #[inline]
    pub fn load(_state: &Path) {}

    /// Does nothing.
    #[inline]
    pub fn enter(_id: &str, _activity: &'static str) {}

    /// Does nothing.
    #[inline]
    pub fn point(_name: &str) {}

    /// Does nothing.
    #[inline]
    pub fn write() {}

    /// Does nothing.
    #[inline]
    pub fn bytes(_point: &str, _file: &mut File, _from: u64) -> io::Result<()> {
        Ok(())
    }

    /// No.
    #[inline]
    pub fn spoils(_point: &str) -> bool {
        false
    }

    /// Nothing.
    #[inline]
    pub fn program() -> Option<super::Program> {
        None
    }

    /// What the clock says.
    #[inline]
    pub fn clock() -> SystemTime {
        SystemTime::now()
    }
}
#[cfg(not(feature = "faults"))]
pub use off::*;

/// What goes wrong with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// It does not come to its end.
    Endless,
    /// It works, and nobody learns how it ended.
    Lost,
}

#[cfg(feature = "faults")]
mod on {
    use std::{
        cell::RefCell,
        fs,
        io::{self, Seek},
        path::{Path, PathBuf},
        time::{Duration, SystemTime},
    };

    use serde::Deserialize;

    use super::Program;

    /// Trouble to come.
    #[derive(Debug, Clone, Deserialize)]
    pub struct Fault {
        /// Id of the resource, or `*`.
        pub at: String,
        /// Name of the point.
        pub point: String,
        /// Which time the point is reached, from 1.
        #[serde(default = "first")]
        pub nth: u32,
        /// What happens then.
        pub action: Action,
        /// The file that asked for it.
        #[serde(skip)]
        pub file: Option<PathBuf>,
    }

    /// What happens.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Action {
        /// SIGKILL.
        Kill,
        /// Nothing goes on until somebody has removed the file `*.held`.
        Hang,
        /// Panic, for tests inside one process.
        Panic,
        /// Half of the bytes are written, and the disk is full.
        Full,
        /// Half of the bytes are written, and then SIGKILL.
        Torn,
        /// Bytes are not what they should be.
        Spoilt,
        /// A program does not come to its end.
        Endless,
        /// A program works, and nobody learns how it ended.
        Lost,
        /// The clock goes back by a year.
        Back,
        /// The clock goes forward by a year.
        Forth,
    }

    #[derive(Default)]
    struct Armed {
        faults: Vec<Fault>,
        id: String,
        activity: &'static str,
        /// By how much the clock is wrong.
        skew: Option<Action>,
    }

    thread_local! {
        static ARMED: RefCell<Armed> = RefCell::default();
    }

    const YEAR: Duration = Duration::from_hours(365 * 24);

    fn first() -> u32 {
        1
    }

    /// Where the faults of a machine with this state directory are.
    pub fn dir(state: &Path) -> PathBuf {
        state.with_file_name("swdt-faults")
    }

    /// Arms this thread with one fault; none disarms.
    pub fn arm(fault: Option<Fault>) {
        let faults = fault.into_iter().collect();
        ARMED.with_borrow_mut(|armed| *armed = Armed { faults, ..Armed::default() });
    }

    /// Is a fault still to come?
    pub fn armed() -> bool {
        ARMED.with_borrow(|armed| !armed.faults.is_empty())
    }

    /// Arms this thread with the faults of a machine.
    pub fn load(state: &Path) {
        let files = fs::read_dir(dir(state)).into_iter().flatten().flatten().map(|entry| entry.path());
        let wanted = files.filter(|file| file.extension().is_some_and(|it| it == "json"));
        let faults = wanted.filter_map(|file| {
            let fault: Fault = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
            Some(Fault { file: Some(file), ..fault })
        });
        let faults = faults.collect();
        ARMED.with_borrow_mut(|armed| *armed = Armed { faults, ..Armed::default() });
    }

    /// What is worked on from now on, and what a write in it is called.
    pub fn enter(id: &str, activity: &'static str) {
        ARMED.with_borrow_mut(|armed| {
            id.clone_into(&mut armed.id);
            armed.activity = activity;
        });
    }

    /// A step of a write to the machine.
    pub fn write() {
        point(ARMED.with_borrow(|armed| armed.activity));
    }

    /// A place to die, to wait, or to look at a clock that is wrong from now on.
    pub fn point(name: &str) {
        let Some(fault) = strike(name) else { return };
        match fault.action {
            // Without the hook, which would print a trace for each.
            Action::Panic => std::panic::resume_unwind(Box::new("fault")),
            Action::Kill => crate::os::die(),
            Action::Hang => {
                let held = fault.file.map(|file| file.with_extension("held")).unwrap_or_default();
                while held.exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            skew => ARMED.with_borrow_mut(|armed| armed.skew = Some(skew)),
        }
    }

    /// A file to which bytes were written, from there on: half of them may be lost, and more with them.
    pub fn bytes(point: &str, file: &mut fs::File, from: u64) -> io::Result<()> {
        let Some(fault) = strike(point) else { return Ok(()) };
        let end = file.stream_position()?;
        file.set_len(u64::midpoint(from, end))?;
        if fault.action == Action::Torn {
            file.sync_all()?;
            crate::os::die();
        }
        Err(io::ErrorKind::StorageFull.into())
    }

    /// Are the bytes that come here spoilt?
    pub fn spoils(point: &str) -> bool {
        strike(point).is_some()
    }

    /// What is wrong with the program that is started here.
    pub fn program() -> Option<Program> {
        strike("program").map(|fault| match fault.action {
            Action::Lost => Program::Lost,
            _ => Program::Endless,
        })
    }

    /// What the clock says, rightly or not.
    pub fn clock() -> SystemTime {
        let now = SystemTime::now();
        match ARMED.with_borrow(|armed| armed.skew) {
            Some(Action::Back) => now - YEAR,
            Some(_) => now + YEAR,
            None => now,
        }
    }

    /// The fault of this point, if this is its moment.
    fn strike(point: &str) -> Option<Fault> {
        let fault = ARMED.with_borrow_mut(|armed| {
            let here = |fault: &Fault| fault.point == point && (fault.at == "*" || fault.at == armed.id);
            let mut met = None;
            for (number, fault) in armed.faults.iter_mut().enumerate().filter(|(_, fault)| here(fault)) {
                fault.nth = fault.nth.saturating_sub(1);
                if fault.nth == 0 && met.is_none() {
                    met = Some(number);
                }
            }
            met.map(|number| armed.faults.remove(number))
        })?;
        if let Some(file) = &fault.file {
            // Where nobody knows of the strike, it would come again in the next run.
            let _ = if fault.action == Action::Hang {
                fs::rename(file, file.with_extension("held"))
            } else {
                fs::remove_file(file)
            };
            let _ = file.parent().map(fs::remove_dir);
        }
        Some(fault)
    }
}
#[cfg(feature = "faults")]
pub use on::*;
