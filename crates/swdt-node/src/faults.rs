//! Deaths on demand, for tests: the feature `faults` lets a test end a run at a chosen point.
//! Without the feature every function here is empty.
//!
//! The points of a resource, in order: `before-receipt`, `after-receipt`, `mid-apply` (before the
//! `nth` step of a write), `after-kubeadm` (it came to a good end, and nobody has noted so), `after-apply`,
//! `after-done`; and `mid-revert`, `after-revert`.

#[cfg(not(feature = "faults"))]
mod off {
    use std::path::Path;

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
}
#[cfg(not(feature = "faults"))]
pub use off::*;

#[cfg(feature = "faults")]
mod on {
    use std::{
        cell::RefCell,
        fs,
        path::{Path, PathBuf},
        time::Duration,
    };

    use serde::Deserialize;

    /// A death to come.
    #[derive(Debug, Clone, Deserialize)]
    pub struct Fault {
        /// Id of the resource, or `*`.
        pub at: String,
        /// Name of the point.
        pub point: String,
        /// Which time the point is reached, from 1.
        #[serde(default = "first")]
        pub nth: u32,
        /// What to do then.
        pub action: Action,
    }

    /// How to die.
    #[derive(Debug, Clone, Copy, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Action {
        /// SIGKILL.
        Kill,
        /// Do not go on before there is a file `resume` beside the one that asked for the fault.
        Hang,
        /// Panic, for tests inside one process.
        Panic,
    }

    #[derive(Default)]
    struct Armed {
        fault: Option<Fault>,
        /// The file that asked for it, removed when it strikes: a fault strikes once.
        file: Option<PathBuf>,
        id: String,
        activity: &'static str,
    }

    thread_local! {
        static ARMED: RefCell<Armed> = RefCell::default();
    }

    fn first() -> u32 {
        1
    }

    /// Arms this thread; none disarms.
    pub fn arm(fault: Option<Fault>) {
        ARMED.with_borrow_mut(|armed| *armed = Armed { fault, ..Armed::default() });
    }

    /// Is a fault still to come?
    pub fn armed() -> bool {
        ARMED.with_borrow(|armed| armed.fault.is_some())
    }

    /// Arms this thread by `fault.json` of the state directory.
    pub fn load(state: &Path) {
        let file = state.join("fault.json");
        let fault = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(fault) = fault {
            ARMED.with_borrow_mut(|armed| {
                *armed = Armed { fault: Some(fault), file: Some(file), ..Armed::default() };
            });
        }
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

    /// A place to die.
    pub fn point(name: &str) {
        let Some((fault, file)) = ARMED.with_borrow_mut(|armed| {
            let id = armed.id.clone();
            let fault = armed.fault.as_mut()?;
            if fault.point != name || (fault.at != "*" && fault.at != id) {
                return None;
            }
            fault.nth -= 1;
            if fault.nth > 0 {
                return None;
            }
            Some((armed.fault.take()?, armed.file.take()))
        }) else {
            return;
        };
        if let Some(file) = &file {
            let _ = fs::remove_file(file);
        }
        match fault.action {
            // Without the hook, which would print a trace for each.
            Action::Panic => std::panic::resume_unwind(Box::new("fault")),
            Action::Kill => crate::os::die(),
            Action::Hang => {}
        }
        while !file.as_ref().is_some_and(|file| file.with_file_name("resume").exists()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
#[cfg(feature = "faults")]
pub use on::*;
