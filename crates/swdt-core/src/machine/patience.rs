//! Waiting, with an end.

use std::{
    fs::File,
    io::Read,
    net::{SocketAddr, TcpStream},
    path::Path,
    time::{Duration, Instant},
};

use super::files;
use crate::{Result, interrupt::Interrupt};

/// Asks again and again until there is an answer or the time is over.
pub(super) fn patience<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let answer = ask();
        if answer.is_some() || begun.elapsed() >= limit {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The same, for as long as the user does not want to stop.
pub(super) fn patience_unless<T>(
    interrupt: &Interrupt,
    limit: Duration,
    mut ask: impl FnMut() -> Option<T>,
) -> Result<Option<T>> {
    patience(limit, || match interrupt.check() {
        Ok(()) => ask().map(Ok),
        Err(stop) => Some(Err(stop)),
    })
    .transpose()
}

/// A lock that others may hold for very long.
pub(super) fn lock_unless(interrupt: &Interrupt, path: &Path) -> Result<File> {
    loop {
        if let Some(lock) = files::try_lock(path)? {
            return Ok(lock);
        }
        interrupt.check()?;
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// How long a connection may take.
const CONNECT: Duration = Duration::from_millis(500);
/// How long sshd may take to say its name: a busy, emulated machine needs a while to start a process.
const GREETING: Duration = Duration::from_secs(5);

/// An open port is not enough: sshd must say its name.
pub(super) fn ssh_answers(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(&address, CONNECT) else {
        return false;
    };
    let mut banner = [0; 4];
    stream.set_read_timeout(Some(GREETING)).is_ok()
        && stream.read_exact(&mut banner).is_ok()
        && &banner == b"SSH-"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_to_stop_waits_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (wish, path) = (Interrupt::default(), dir.path().join("lock"));
        let hour = Duration::from_hours(1);
        assert_eq!(patience_unless(&wish, Duration::ZERO, || None::<()>).unwrap(), None);
        let held = lock_unless(&wish, &path).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                wish.set();
            });
            let error = patience_unless(&wish, hour, || None::<()>).unwrap_err();
            assert_eq!(error.id(), "interrupted");
        });
        assert_eq!(lock_unless(&wish, &path).unwrap_err().id(), "interrupted");
        drop(held);
    }
}
