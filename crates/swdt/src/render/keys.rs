//! Keys while a run is on the screen. The terminal keeps making signals, so that Ctrl-C is what it always is; it only
//! hands on single keys and does not echo them. It is given back at the end, and whoever works in the background leaves
//! it alone.

#[cfg(unix)]
mod terminal {
    use std::{
        io,
        sync::{
            Arc, Mutex,
            atomic::{AtomicBool, Ordering},
        },
        thread,
        time::Duration,
    };

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        process::getpgrp,
        termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr},
    };

    /// How the terminal was; there is one at most.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// Who stops listening when dropped.
    pub(in crate::render) struct Keys(Arc<AtomicBool>);

    impl Keys {
        /// Hands every key to `take`, from a thread of its own; none where there is no terminal of ours.
        pub(in crate::render) fn listen(take: impl Fn(u8) + Send + 'static) -> Option<Self> {
            if !isatty(io::stdin()) || !ours() {
                return None;
            }
            let before = tcgetattr(io::stdin()).ok()?;
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            *lock() = Some(before);
            if tcsetattr(io::stdin(), OptionalActions::Now, &quiet).is_err() {
                give_back();
                return None;
            }
            let over = Arc::new(AtomicBool::new(false));
            let keys = Self(over.clone());
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    if let Some(key) = next() {
                        take(key);
                    }
                }
            });
            Some(keys)
        }
    }

    impl Drop for Keys {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
            give_back();
        }
    }

    /// Makes the terminal as it was.
    pub(crate) fn give_back() {
        if let Some(before) = lock().take()
            && ours()
        {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        }
    }

    /// Is the terminal without echo because of us?
    pub(crate) fn are_taken() -> bool {
        lock().is_some()
    }

    fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
        BEFORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// In the foreground? Whoever is not is stopped when it touches the terminal.
    fn ours() -> bool {
        tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
    }

    /// The next key, if one comes soon.
    fn next() -> Option<u8> {
        let soon = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let stdin = io::stdin();
        let ready = match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&soon)) {
            Ok(0) => return None,
            answer => answer.is_ok(),
        };
        let mut key = [0];
        if ready && ours() && matches!(rustix::io::read(&stdin, &mut key), Ok(1)) {
            return Some(key[0]);
        }
        // Of another's terminal nothing is taken; one that is gone is always ready and never has anything.
        thread::sleep(Duration::from_millis(200));
        None
    }
}

#[cfg(not(unix))]
mod terminal {
    pub(in crate::render) struct Keys;

    impl Keys {
        pub(in crate::render) fn listen(_take: impl Fn(u8) + Send + 'static) -> Option<Self> {
            None
        }
    }

    pub(crate) fn give_back() {}

    pub(crate) fn are_taken() -> bool {
        false
    }
}

pub(super) use terminal::Keys;
pub(crate) use terminal::{are_taken, give_back};
