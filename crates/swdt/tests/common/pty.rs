//! A program on a terminal of its own: keys go in, a screen comes out.

use std::{
    fs::File,
    io::{Read, Write},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcgetpgrp, tcsetwinsize},
};

/// How long a screen may take to show something.
const PATIENCE: Duration = Duration::from_secs(90);

/// A program on a terminal.
pub struct Terminal {
    master: File,
    child: Child,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    /// Starts a command on a terminal of that size, which becomes its own.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        tcsetwinsize(&master, size(columns, rows)).unwrap();
        let slave = File::options().read(true).write(true).open(name).unwrap();
        let slave = || Stdio::from(slave.try_clone().unwrap());
        let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(command.get_current_dir().unwrap_or(std::path::Path::new("/")))
            .env_clear()
            .envs(set)
            .env("TERM", "xterm-256color")
            .stdin(slave())
            .stdout(slave())
            .stderr(slave())
            .spawn()
            .unwrap();
        let screen = vt100::Parser::new(rows, columns, 0);
        let seen = Arc::new(Mutex::new(Seen { screen, bytes: Vec::new() }));
        let master = File::from(master);
        let (mut output, reader) = (master.try_clone().unwrap(), seen.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // It ends with an error when the last program on the terminal does.
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                let mut seen = reader.lock().unwrap();
                seen.screen.process(&buffer[..length]);
                seen.bytes.extend_from_slice(&buffer[..length]);
            }
        });
        Self { master, child, seen }
    }

    /// Types, as a terminal sends it.
    pub fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.seen.lock().unwrap().screen.screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.master, size(columns, rows)).unwrap();
    }

    /// Sends the program a signal.
    pub fn signal(&self, name: &str) {
        let program = tcgetpgrp(&self.master).unwrap().as_raw_nonzero().to_string();
        assert!(Command::new("kill").args(["-s", name, &program]).status().unwrap().success());
    }

    /// What is on the screen now.
    pub fn screen(&self) -> String {
        self.seen.lock().unwrap().screen.screen().contents()
    }

    /// Every byte so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.lock().unwrap().bytes.clone()
    }

    /// Is it the screen of a program that will give it back?
    pub fn is_borrowed(&self) -> bool {
        self.seen.lock().unwrap().screen.screen().alternate_screen()
    }

    /// Does the terminal show what is typed?
    pub fn echoes(&self) -> bool {
        tcgetattr(&self.master).unwrap().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    /// Waits until the screen says this.
    pub fn until(&self, words: &str) {
        self.until_all(&[words]);
    }

    /// Waits until the screen says all of this at once.
    pub fn until_all(&self, words: &[&str]) {
        let began = Instant::now();
        while !words.iter().all(|words| self.screen().contains(words)) {
            assert!(began.elapsed() < PATIENCE, "{words:?} never came:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for its end; gives the exit code.
    pub fn end(&mut self) -> i32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(began.elapsed() < PATIENCE, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
