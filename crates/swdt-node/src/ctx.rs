//! The doors to the machine. Everything a resource reads or changes goes through [`Ctx`], so that
//! writes are counted where they happen and a scratch root can stand in for `/` in tests.

use std::{
    cell::{Cell, RefCell},
    fs, io,
    io::{BufRead, BufReader, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub use crate::disk::{hex, replace_file, sha256_hex};
use crate::{
    Error, Result,
    disk::{self, Attributes},
    faults,
};

/// How many lines of a failed program's output an error carries.
const LAST_LINES: usize = 20;

/// The machine, as a resource sees it.
pub struct Ctx {
    root: PathBuf,
    state: PathBuf,
    writes: Cell<u64>,
    notes: RefCell<Vec<String>>,
    output: RefCell<Sink>,
}

/// Takes the lines of running programs.
type Sink = Box<dyn FnMut(&str)>;

/// What a program said.
#[derive(Debug, Clone)]
pub struct Said {
    /// Exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Said {
    /// Did it exit with 0?
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }
}

impl Ctx {
    /// A machine whose `/` is `root`; on a real machine that is `/`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let state = root.join(&swdt_wire::LINUX_STATE_DIR[1..]);
        Self {
            root,
            state,
            writes: Cell::new(0),
            notes: RefCell::default(),
            output: RefCell::new(Box::new(|_| ())),
        }
    }

    /// Where lines of running programs go.
    pub fn on_output(&self, sink: impl FnMut(&str) + 'static) {
        *self.output.borrow_mut() = Box::new(sink);
    }

    /// Is this a real machine, and not a scratch root?
    pub fn live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where the node half keeps its own files.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Where the real file of an absolute path is.
    pub fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// Whom our files belong to: root, or in a scratch root whoever plays with it.
    pub fn owner(&self) -> (u32, u32) {
        if self.live() {
            return (0, 0);
        }
        (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
    }

    /// Writes to the machine so far.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }

    /// Counts one write. Call it just before the write.
    pub fn count_write(&self) {
        faults::write();
        self.writes.set(self.writes.get() + 1);
    }

    /// Tells the user something that is no failure.
    pub fn note(&self, message: impl Into<String>) {
        self.notes.borrow_mut().push(message.into());
    }

    /// The notes since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// The bytes of a file; none when there is nothing.
    pub fn read(&self, absolute: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path(absolute);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &path, &error)),
        }
    }

    /// The text of a file, trimmed; none when there is nothing.
    pub fn read_trimmed(&self, absolute: &str) -> Result<Option<String>> {
        Ok(self.read(absolute)?.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
    }

    /// Replaces a file at once; see [`disk::replace`].
    pub fn write(&self, absolute: &str, bytes: &[u8], mode: u32, owner: Option<(u32, u32)>) -> Result<()> {
        self.replace(absolute, &Attributes { mode, owner, mtime: None }, |file| file.write_all(bytes))
    }

    /// Replaces a file at once with whatever `writer` writes; see [`disk::replace`].
    pub fn replace(
        &self,
        absolute: &str,
        with: &Attributes,
        writer: impl FnOnce(&mut fs::File) -> io::Result<()>,
    ) -> Result<()> {
        self.count_write();
        disk::replace(&self.path(absolute), with, writer)
    }

    /// Puts a link at a path at once, in place of a file or another link.
    pub fn link(&self, absolute: &str, to: &str, owner: (u32, u32)) -> Result<()> {
        self.count_write();
        let path = self.path(absolute);
        let temporary = disk::temporary(&path);
        let _ = fs::remove_file(&temporary);
        std::os::unix::fs::symlink(to, &temporary)
            .and_then(|()| std::os::unix::fs::lchown(&temporary, Some(owner.0), Some(owner.1)))
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(|error| Error::io("write", &path, &error))
    }

    /// Writes into a file of the kernel, which cannot be replaced; it must exist.
    pub fn poke(&self, absolute: &str, text: &str) -> Result<()> {
        self.count_write();
        let path = self.path(absolute);
        fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| Error::io("write", &path, &error))
    }

    /// Sets owner and permission bits of a directory.
    pub fn set_mode(&self, absolute: &str, mode: u32, owner: (u32, u32)) -> Result<()> {
        self.count_write();
        let path = self.path(absolute);
        std::os::unix::fs::chown(&path, Some(owner.0), Some(owner.1))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(|error| Error::io("set the mode of", &path, &error))
    }

    /// Creates one directory (its parent exists).
    pub fn make_dir(&self, absolute: &str, mode: u32) -> Result<()> {
        self.count_write();
        let path = self.path(absolute);
        fs::create_dir(&path)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(|error| Error::io("create", &path, &error))
    }

    /// Removes a file or link; nothing there is fine.
    pub fn remove_file(&self, absolute: &str) -> Result<()> {
        let path = self.path(absolute);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(());
        }
        self.count_write();
        fs::remove_file(&path).map_err(|error| Error::io("remove", &path, &error))
    }

    /// Removes a directory if it is empty; says whether it is gone.
    pub fn remove_empty_dir(&self, absolute: &str) -> Result<bool> {
        let path = self.path(absolute);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(true);
        }
        self.count_write();
        match fs::remove_dir(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(Error::io("remove", &path, &error)),
        }
    }

    /// Runs a program that only looks. A program that is not there is an error; a non-zero exit is not.
    pub fn query(&self, argv: &[&str]) -> Result<Said> {
        let output = command(argv)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::new(format!("cannot run {}: {error}", argv[0])))?;
        Ok(Said {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a program that changes the machine: counted, its lines passed on as they come, and a
    /// non-zero exit is an error with the last of them.
    pub fn change(&self, argv: &[&str]) -> Result<()> {
        self.count_write();
        let mut child = command(argv)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::new(format!("cannot run {}: {error}", argv[0])))?;
        let mut last = Vec::new();
        let (sender, lines) = std::sync::mpsc::channel();
        let streams: [Option<Box<dyn io::Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        std::thread::scope(|scope| {
            for stream in streams.into_iter().flatten() {
                let sender = sender.clone();
                scope.spawn(move || {
                    for line in BufReader::new(stream).split(b'\n').map_while(io::Result::ok) {
                        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                        if sender.send(line).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for line in lines {
                (self.output.borrow_mut())(&line);
                last.push(line);
                if last.len() > LAST_LINES {
                    last.remove(0);
                }
            }
        });
        let status =
            child.wait().map_err(|error| Error::new(format!("cannot wait for {}: {error}", argv[0])))?;
        if status.success() {
            return Ok(());
        }
        Err(Error { message: format!("`{}` failed: {status}", argv.join(" ")), output: last, hint: None })
    }

    /// Is there such a program?
    pub fn has_program(&self, name: &str) -> bool {
        ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
            .iter()
            .any(|dir| fs::metadata(self.path(dir).join(name)).is_ok_and(|meta| meta.mode() & 0o111 != 0))
    }
}

/// A program by argument vector, in the C locale and with a known PATH, so that its words can be read.
fn command(argv: &[&str]) -> Command {
    let mut command = Command::new(argv[0]);
    command
        .args(&argv[1..])
        .env("LC_ALL", "C.UTF-8")
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}
