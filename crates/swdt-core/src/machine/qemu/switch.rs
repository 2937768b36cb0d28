//! A small learning switch between machines, for hosts where swdt is not root: Ethernet frames over unix datagram sockets,
//! in a directory that only its owner may enter.
//!
//! Every port is a socket `<name>.net` in the directory; the switch's own is called `switch`. It keeps nothing: killed and
//! started again, it learns anew. It ends by itself when its socket is taken away.

use std::{
    collections::HashMap,
    fs,
    os::unix::{fs::MetadataExt, net::UnixDatagram},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    Error, Result, id,
    machine::files::{self, failed},
};

/// The switch's own socket.
pub(super) const SOCKET: &str = "switch";
/// How names of ports end.
pub(super) const PORT: &str = "net";
/// The port of the way out.
pub(super) const GATEWAY: &str = "gateway.net";
/// The gateway's cards begin so (libslirp's own rule); machines' begin with `52:54`.
const GATEWAY_CARDS: [u8; 2] = [0x52, 0x55];
/// How long a port may be busy before a frame for it is dropped, as a real switch would.
const BUSY: Duration = Duration::from_millis(20);
/// How long nothing is tried with a port that was busy.
const REST: Duration = Duration::from_millis(200);
/// Between two looks whether we are still wanted.
const LOOK: Duration = Duration::from_secs(2);
/// More than any frame.
const LARGEST: usize = 70_000;

/// The address of a network card.
type Mac = [u8; 6];

/// Who is behind which port.
#[derive(Debug, Default)]
struct Table {
    learned: HashMap<Mac, String>,
}

impl Table {
    /// The ports a frame goes to. The gateway gets what is for it and what is for all, nothing else: it would answer in
    /// the name of another machine.
    fn route(&mut self, frame: &[u8], from: &str, ports: impl FnOnce() -> Vec<String>) -> Vec<String> {
        let (Some(to), Some(source)) = (mac(frame, 0), mac(frame, 6)) else { return Vec::new() };
        if source[0] & 1 == 0 {
            self.learned.insert(source, from.to_owned());
        }
        if to[..2] == GATEWAY_CARDS {
            return vec![GATEWAY.to_owned()];
        }
        let for_all = to[0] & 1 == 1;
        if let Some(port) = self.learned.get(&to).filter(|_| !for_all) {
            return if port == from { Vec::new() } else { vec![port.clone()] };
        }
        ports().into_iter().filter(|port| port != from && (for_all || port != GATEWAY)).collect()
    }
}

fn mac(frame: &[u8], at: usize) -> Option<Mac> {
    frame.get(at..at + 6)?.try_into().ok()
}

/// Runs the switch of a directory until its socket is taken away.
pub fn serve(dir: &Path) -> Result<()> {
    let path = dir.join(SOCKET);
    files::remove_file(&path)?;
    let broken = |error: std::io::Error| {
        Error::new(id::SWITCH_FAILED, format!("the switch at {}: {error}", path.display()))
    };
    let socket = UnixDatagram::bind(&path).map_err(broken)?;
    socket.set_read_timeout(Some(LOOK)).map_err(broken)?;
    socket.set_write_timeout(Some(BUSY)).map_err(broken)?;
    let own = identity(&path)?;
    let (mut table, mut resting) = (Table::default(), HashMap::<String, Instant>::new());
    let (mut frame, mut looked) = (vec![0; LARGEST], Instant::now());
    loop {
        if looked.elapsed() > LOOK {
            looked = Instant::now();
            if identity(&path).ok() != Some(own) {
                return Ok(());
            }
        }
        // Whatever goes wrong with one frame is not worth the others.
        let Ok((size, sender)) = socket.recv_from(&mut frame) else { continue };
        let Some(from) = sender.as_pathname().and_then(Path::file_name).map(|name| name.to_string_lossy())
        else {
            continue;
        };
        for port in table.route(&frame[..size], &from, || ports(dir)) {
            if resting.get(&port).is_some_and(|since| since.elapsed() < REST) {
                continue;
            }
            if socket.send_to(&frame[..size], dir.join(&port)).is_ok() {
                resting.remove(&port);
            } else {
                resting.insert(port, Instant::now());
            }
        }
    }
}

fn identity(path: &Path) -> Result<(u64, u64)> {
    let meta = fs::metadata(path).map_err(|error| failed("look at", path, &error))?;
    Ok((meta.dev(), meta.ino()))
}

fn ports(dir: &Path) -> Vec<String> {
    files::names(dir).into_iter().filter(|name| files::has_extension(name, PORT)).collect()
}

/// The socket of a port.
pub(super) fn port(dir: &Path, id: &str) -> PathBuf {
    dir.join(format!("{id}.{PORT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: Mac, from: Mac) -> Vec<u8> {
        [to.as_slice(), from.as_slice(), &[0x08, 0x00, 1, 2, 3]].concat()
    }

    const A: Mac = [0x52, 0x54, 0, 0, 0, 1];
    const B: Mac = [0x52, 0x54, 0, 0, 0, 2];
    const OUT: Mac = [0x52, 0x55, 10, 213, 0, 1];
    const ALL: Mac = [0xff; 6];

    fn all() -> Vec<String> {
        ["a.net", "b.net", "c.net", GATEWAY].map(str::to_owned).to_vec()
    }

    #[test]
    fn the_gateway_hears_only_what_is_meant_for_it() {
        let mut table = Table::default();
        assert_eq!(
            table.route(&frame(B, A), "a.net", all),
            ["b.net", "c.net"],
            "an unknown card is looked for"
        );
        assert_eq!(table.route(&frame(ALL, A), "a.net", all), ["b.net", "c.net", GATEWAY]);
        assert_eq!(table.route(&frame(OUT, A), "a.net", all), [GATEWAY]);
        assert_eq!(table.route(&frame(A, B), "b.net", all), ["a.net"], "learned");
        assert_eq!(table.route(&frame(A, OUT), GATEWAY, all), ["a.net"]);
    }

    #[test]
    fn a_machine_that_moved_is_found_again_and_nonsense_goes_nowhere() {
        let mut table = Table::default();
        table.route(&frame(ALL, A), "a.net", all);
        table.route(&frame(ALL, A), "c.net", all);
        assert_eq!(table.route(&frame(A, B), "b.net", all), ["c.net"]);
        assert!(table.route(&frame(A, B), "c.net", all).is_empty(), "never back where it came from");
        assert!(table.route(&[1, 2, 3], "a.net", all).is_empty());
    }

    #[test]
    fn frames_pass_until_the_socket_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let bind = |id: &str| UnixDatagram::bind(port(dir.path(), id)).unwrap();
        let (a, b) = (bind("a"), bind("b"));
        b.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let path = dir.path().to_owned();
        let running = std::thread::spawn(move || serve(&path));
        while !dir.path().join(SOCKET).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        a.send_to(&frame(ALL, A), dir.path().join(SOCKET)).unwrap();
        let mut got = [0; 100];
        let size = b.recv(&mut got).unwrap();
        assert_eq!(got[..size], frame(ALL, A));
        fs::remove_file(dir.path().join(SOCKET)).unwrap();
        running.join().unwrap().unwrap();
    }
}
