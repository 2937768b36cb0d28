//! The door of a running QEMU: QMP, one JSON document a line, over a unix socket.
//!
//! Blocking, with a limit on every wait. Bytes are read by hand: a buffered reader would hide lines from whoever waits
//! on the socket. Events come between answers and are kept apart; answers are known by their id. QEMU talks to one client
//! at a time, so a client is dropped as soon as its questions are answered.

use std::{
    collections::VecDeque,
    io::{ErrorKind as Io, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::sockets;
use crate::{Error, Result, id};

/// How long QEMU may take to answer; it does so at once unless the host is very busy.
const ANSWER: Duration = Duration::from_secs(20);
/// A line longer than this is not QMP.
const LONGEST: usize = 16 << 20;

/// Something that happened to the machine by itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event {
    /// `SHUTDOWN`, `RESET`, …
    pub(super) name: String,
    /// What belongs to it.
    pub(super) data: Value,
}

/// A connection to one QEMU.
#[derive(Debug)]
pub(super) struct Qmp {
    stream: UnixStream,
    path: PathBuf,
    unread: Vec<u8>,
    events: VecDeque<Event>,
    next: u64,
    limit: Duration,
}

impl Qmp {
    /// Connects and says hello.
    pub(super) fn connect(path: &Path) -> Result<Self> {
        Self::connect_within(path, ANSWER)
    }

    fn connect_within(path: &Path, limit: Duration) -> Result<Self> {
        let stream = sockets::connect(path).map_err(|error| {
            Error::new(id::QEMU_SILENT, format!("QEMU does not listen at {}: {error}", path.display()))
        })?;
        let mut qmp = Self {
            stream,
            path: path.to_owned(),
            unread: Vec::new(),
            events: VecDeque::new(),
            next: 0,
            limit,
        };
        match qmp.document(Instant::now() + limit)? {
            Some(Line::Document(greeting)) if greeting.get("QMP").is_some() => {}
            Some(Line::Document(other)) => return Err(qmp.broken(&format!("it greets with {other}"))),
            Some(Line::Closed) => return Err(qmp.broken("it hung up before its greeting")),
            None => {
                let message = format!("QEMU at {} talks to somebody else", path.display());
                return Err(Error::new(id::MACHINE_BUSY, message));
            }
        }
        qmp.execute("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Runs a command and gives its answer.
    pub(super) fn execute(&mut self, command: &str, arguments: &Value) -> Result<Value> {
        self.ask(command, arguments)?
            .ok_or_else(|| self.broken(&format!("it hung up while it was asked `{command}`")))
    }

    /// Runs a command of the monitor for people, where QMP has none; gives what it prints.
    pub(super) fn monitor(&mut self, line: &str) -> Result<String> {
        let answer = self.execute("human-monitor-command", &json!({ "command-line": line }))?;
        Ok(answer.as_str().unwrap_or_default().trim().to_owned())
    }

    /// Ends QEMU; that it hangs up is its answer.
    pub(super) fn quit(&mut self) -> Result<()> {
        self.ask("quit", &json!({})).map(drop)
    }

    /// The next event, waiting for it that long.
    #[allow(dead_code, reason = "for whoever looks on at an installation")]
    pub(super) fn event(&mut self, limit: Duration) -> Result<Option<Event>> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            match self.document(deadline)? {
                Some(Line::Document(document)) => self.keep(&document),
                Some(Line::Closed) => return Err(self.broken("it hung up")),
                None => return Ok(None),
            }
        }
    }

    /// The answer to a command; none when QEMU hung up instead.
    fn ask(&mut self, command: &str, arguments: &Value) -> Result<Option<Value>> {
        self.next += 1;
        let id = self.next;
        let mut line = json!({ "execute": command, "arguments": arguments, "id": id }).to_string();
        line.push('\n');
        let written = self
            .stream
            .set_write_timeout(Some(self.limit))
            .and_then(|()| self.stream.write_all(line.as_bytes()));
        match written {
            Err(error) if matches!(error.kind(), Io::BrokenPipe | Io::ConnectionReset) => return Ok(None),
            Err(error) => return Err(self.broken(&format!("`{command}` could not be sent: {error}"))),
            Ok(()) => {}
        }
        let deadline = Instant::now() + self.limit;
        loop {
            match self.document(deadline)? {
                None => {
                    let seconds = self.limit.as_secs();
                    return Err(self.broken(&format!("no answer to `{command}` within {seconds} s")));
                }
                Some(Line::Closed) => return Ok(None),
                Some(Line::Document(mut answer)) if answer["id"] == id => {
                    if let Some(error) = answer.get("error") {
                        let text = error["desc"].as_str().unwrap_or("no reason given");
                        return Err(self.broken(&format!("`{command}`: {text}")));
                    }
                    return Ok(Some(answer["return"].take()));
                }
                Some(Line::Document(other)) => self.keep(&other),
            }
        }
    }

    /// Keeps an event; an answer to a question that nobody waits for any more is dropped.
    fn keep(&mut self, document: &Value) {
        if let Some(name) = document["event"].as_str() {
            self.events.push_back(Event { name: name.to_owned(), data: document["data"].clone() });
        }
    }

    /// The next line; nothing when the time is over.
    fn document(&mut self, deadline: Instant) -> Result<Option<Line>> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let document = serde_json::from_slice(&line);
                return document.map(|document| Some(Line::Document(document))).map_err(|_| {
                    self.broken(&format!("it says {:?}", String::from_utf8_lossy(line.trim_ascii())))
                });
            }
            if self.unread.len() > LONGEST {
                return Err(self.broken("it says more than anybody can read"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut bytes = [0; 4096];
            let read = self.stream.set_read_timeout(Some(left)).and_then(|()| self.stream.read(&mut bytes));
            match read {
                Ok(0) => return Ok(Some(Line::Closed)),
                Ok(count) => self.unread.extend_from_slice(&bytes[..count]),
                Err(error) if matches!(error.kind(), Io::WouldBlock | Io::TimedOut | Io::Interrupted) => {}
                Err(error) if error.kind() == Io::ConnectionReset => return Ok(Some(Line::Closed)),
                Err(error) => return Err(self.broken(&error.to_string())),
            }
        }
    }

    fn broken(&self, what: &str) -> Error {
        Error::new(id::QEMU_SILENT, format!("QEMU at {}: {what}", self.path.display()))
    }
}

/// What comes from QEMU.
enum Line {
    Document(Value),
    Closed,
}

/// What becomes of a talk with a QEMU that says these bytes, for a fuzzer.
#[cfg(feature = "fuzz")]
pub(crate) fn hear(bytes: &[u8], dir: &Path) -> Result<String> {
    use std::os::unix::net::UnixListener;

    let path = dir.join("qmp");
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket of our own");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("somebody connects");
            // Whoever has heard enough hangs up.
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        let mut qmp = Qmp::connect(&path)?;
        let status = qmp.execute("query-status", &json!({}))?;
        Ok(format!("{status} {:?}", qmp.event(Duration::ZERO)?.map(|event| event.name)))
    })
}

#[cfg(test)]
mod tests {
    use std::{os::unix::net::UnixListener, thread};

    use super::*;

    const GREETING: &str = r#"{"QMP": {"version": {}, "capabilities": []}}"#;
    const SHORT: Duration = Duration::from_millis(300);

    /// A QEMU that reads a line before each further line of its part; `""` reads and says nothing.
    fn qemu(part: &'static [&'static str]) -> (tempfile::TempDir, PathBuf, thread::JoinHandle<Vec<String>>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("qmp");
        let listener = UnixListener::bind(&path).unwrap();
        let script = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            for (index, line) in part.iter().enumerate() {
                if index > 0 {
                    heard.push(read_line(&mut stream));
                }
                // In two pieces, as a socket may deliver them.
                let (one, two) = line.split_at(line.len() / 2);
                stream.write_all(one.as_bytes()).unwrap();
                thread::sleep(Duration::from_millis(5));
                stream.write_all(two.as_bytes()).unwrap();
            }
            heard
        });
        (dir, path, script)
    }

    fn read_line(stream: &mut UnixStream) -> String {
        let mut text = Vec::new();
        let mut byte = [0];
        while stream.read(&mut byte).unwrap_or(0) == 1 && byte[0] != b'\n' {
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn answers_are_told_from_events_by_their_id() {
        let (_dir, path, script) = qemu(&[
            concat!(r#"{"QMP": {}}"#, "\r\n"),
            concat!(r#"{"return": {}, "id": 1}"#, "\r\n"),
            concat!(
                r#"{"event": "RESET", "data": {"guest": true}}"#,
                "\r\n",
                r#"{"return": "stale", "id": 1}"#,
                "\r\n",
                r#"{"return": {"status": "running"}, "id": 2}"#,
                "\r\n",
                r#"{"event": "POWERDOWN"}"#,
                "\r\n"
            ),
        ]);
        let mut qmp = Qmp::connect(&path).unwrap();
        assert_eq!(qmp.execute("query-status", &json!({})).unwrap()["status"], "running");
        let reset = qmp.event(SHORT).unwrap().unwrap();
        assert_eq!((reset.name.as_str(), &reset.data["guest"]), ("RESET", &json!(true)));
        assert_eq!(qmp.event(SHORT).unwrap().unwrap().name, "POWERDOWN");
        let heard = script.join().unwrap();
        assert_eq!(heard[1], r#"{"arguments":{},"execute":"query-status","id":2}"#);
    }

    #[test]
    fn what_qemu_refuses_is_said_in_its_words() {
        let (_dir, path, _script) = qemu(&[
            concat!(r#"{"QMP": {}}"#, "\n"),
            concat!(r#"{"return": {}, "id": 1}"#, "\n"),
            concat!(r#"{"error": {"class": "GenericError", "desc": "no such device"}, "id": 2}"#, "\n"),
        ]);
        let mut qmp = Qmp::connect(&path).unwrap();
        let error = qmp.execute("eject", &json!({})).unwrap_err();
        assert!(error.message.ends_with("`eject`: no such device"), "{error}");
    }

    #[test]
    fn a_closed_door_is_an_error_except_for_quit() {
        let part: &[&str] =
            &[concat!(r#"{"QMP": {}}"#, "\n"), concat!(r#"{"return": {}, "id": 1}"#, "\n"), ""];
        let (_dir, path, _script) = qemu(part);
        let error = Qmp::connect(&path).unwrap().execute("stop", &json!({})).unwrap_err();
        assert!(error.message.contains("hung up while it was asked `stop`"), "{error}");
        let (_dir, path, _script) = qemu(part);
        Qmp::connect(&path).unwrap().quit().unwrap();
    }

    #[test]
    fn every_wait_ends() {
        let (_dir, path, script) = qemu(&[""]);
        let error = Qmp::connect_within(&path, SHORT).unwrap_err();
        assert!(error.message.contains("hung up before its greeting"), "{error}");
        script.join().unwrap();

        // Somebody else is connected: the kernel takes the connection, QEMU does not.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("qmp");
        let _listener = UnixListener::bind(&path).unwrap();
        assert_eq!(Qmp::connect_within(&path, SHORT).unwrap_err().id(), "machine-busy");

        let error = Qmp::connect(&dir.path().join("nobody")).unwrap_err();
        assert!(error.message.contains("does not listen"), "{error}");
    }

    #[test]
    fn what_is_no_qmp_is_refused() {
        let (_dir, path, _script) = qemu(&["SSH-2.0-OpenSSH\r\n"]);
        let error = Qmp::connect(&path).unwrap_err();
        assert!(error.message.contains("SSH-2.0"), "{error}");
        let (_dir, path, _script) = qemu(&["{}\n"]);
        assert!(Qmp::connect(&path).unwrap_err().message.contains("greets"), "{GREETING}");
    }
}
