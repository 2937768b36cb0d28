//! Waiting, with an end.

use std::{
    io::Read,
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

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
