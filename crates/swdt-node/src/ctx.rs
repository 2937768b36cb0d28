//! The doors to the machine. Everything a resource reads or changes goes through [`Ctx`], so that
//! writes are counted where they happen and a scratch root can stand in for `/` in tests.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    Error, Result,
    disk::{self, Attributes},
    faults, os, program,
};
pub use crate::{
    disk::{hex, replace_file, sha256_hex},
    program::Said,
};

/// The machine, as a resource sees it.
pub struct Ctx {
    root: PathBuf,
    state: PathBuf,
    writes: Cell<u64>,
    notes: RefCell<Vec<String>>,
    output: RefCell<Sink>,
    stop: RefCell<Question>,
    stopped: Cell<bool>,
    reboot: Cell<bool>,
    answers: RefCell<HashMap<String, (u64, Said)>>,
}

/// Takes the lines of running programs.
type Sink = Box<dyn FnMut(&str)>;

/// Answers yes or no.
type Question = Box<dyn Fn() -> bool>;

impl Ctx {
    /// A machine whose `/` is `root`; on a real machine that is `/`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let state = os::state_dir(&root);
        Self {
            root,
            state,
            writes: Cell::new(0),
            notes: RefCell::default(),
            output: RefCell::new(Box::new(|_| ())),
            stop: RefCell::new(Box::new(|| false)),
            stopped: Cell::new(false),
            reboot: Cell::new(false),
            answers: RefCell::default(),
        }
    }

    /// Where lines of running programs go.
    pub fn on_output(&self, sink: impl FnMut(&str) + 'static) {
        *self.output.borrow_mut() = Box::new(sink);
    }

    /// Tells a line of what goes on.
    pub fn say(&self, line: &str) {
        (self.output.borrow_mut())(line);
    }

    /// Who says whether whoever waits shall stop waiting.
    pub fn stop_when(&self, question: impl Fn() -> bool + 'static) {
        *self.stop.borrow_mut() = Box::new(question);
    }

    /// Waits; an error if it was asked to stop. Long waits are made of short ones.
    pub fn pause(&self, time: Duration) -> Result<()> {
        std::thread::sleep(time);
        if (self.stop.borrow())() {
            self.stopped.set(true);
            return Err(Error::new("stopped while waiting"));
        }
        Ok(())
    }

    /// Did a wait end because it was asked to?
    pub fn stopped(&self) -> bool {
        self.stopped.get()
    }

    /// What was done needs a restart of the machine.
    pub fn want_reboot(&self) {
        self.reboot.set(true);
    }

    /// Does something that was done need a restart?
    pub fn wants_reboot(&self) -> bool {
        self.reboot.get()
    }

    /// Is this a real machine, and not a scratch root?
    pub fn live(&self) -> bool {
        self.root == Path::new(os::ROOT)
    }

    /// Where the node half keeps its own files.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// What is `/` here.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the real file of an absolute path is.
    pub fn path(&self, absolute: &str) -> PathBuf {
        os::place(&self.root, absolute)
    }

    /// Whom our files belong to: root, or in a scratch root whoever plays with it.
    pub fn owner(&self) -> (u32, u32) {
        if self.live() {
            return (0, 0);
        }
        os::owner()
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
        os::symlink(to, &temporary, owner)
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
        os::set_mode(&path, mode, Some(owner)).map_err(|error| Error::io("set the mode of", &path, &error))
    }

    /// Creates one directory (its parent exists).
    pub fn make_dir(&self, absolute: &str, mode: u32) -> Result<()> {
        self.count_write();
        let path = self.path(absolute);
        os::create_dir(&path, mode).map_err(|error| Error::io("create", &path, &error))
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

    /// Removes a file, or a directory with all that is in it; nothing there is fine. See to it before that
    /// nothing is mounted below: what is mounted would be removed as well.
    pub fn remove_tree(&self, absolute: &str) -> Result<()> {
        let path = self.path(absolute);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                self.count_write();
                fs::remove_dir_all(&path).map_err(|error| Error::io("remove", &path, &error))
            }
            _ => self.remove_file(absolute),
        }
    }

    /// Names in a directory, in order; none when there is no directory.
    pub fn names_in(&self, absolute: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(absolute)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Takes away what is mounted at a path, at once, even while somebody uses it.
    #[cfg(unix)]
    pub fn unmount(&self, absolute: &str) -> Result<()> {
        self.count_write();
        let path = self.path(absolute);
        nix::mount::umount2(&path, nix::mount::MntFlags::MNT_DETACH)
            .map_err(|error| Error::io("unmount", &path, &error.into()))
    }

    /// Runs a program that only looks. A program that is not there is an error; a non-zero exit is not.
    pub fn query(&self, argv: &[&str]) -> Result<Said> {
        self.query_with(argv, b"")
    }

    /// The same for a program that reads its standard input.
    pub fn query_with(&self, argv: &[&str], input: &[u8]) -> Result<Said> {
        program::ask(self.command(argv), argv[0], input)
    }

    /// The same, asked once until the next write: for an answer that tells of many resources at once.
    pub fn query_once(&self, argv: &[&str]) -> Result<Said> {
        let question = argv.join("\0");
        if let Some((writes, said)) = self.answers.borrow().get(&question)
            && *writes == self.writes()
        {
            return Ok(said.clone());
        }
        let said = self.query(argv)?;
        self.answers.borrow_mut().insert(question, (self.writes(), said.clone()));
        Ok(said)
    }

    /// Runs a program that changes the machine: counted, its lines passed on as they come, and a
    /// non-zero exit is an error with the last of them.
    pub fn change(&self, argv: &[&str]) -> Result<()> {
        self.change_with(argv, b"")
    }

    /// The same for a program that reads its standard input.
    pub fn change_with(&self, argv: &[&str], input: &[u8]) -> Result<()> {
        self.count_write();
        program::follow(self.command(argv), argv, input, &[0], &mut |line| self.say(line)).map(drop)
    }

    /// The same for a program some of whose exit codes mean that it worked; gives the code.
    pub fn change_accepting(&self, argv: &[&str], good: &[i32]) -> Result<i32> {
        self.count_write();
        program::follow(self.command(argv), argv, b"", good, &mut |line| self.say(line))
    }

    /// Runs a program on our own streams; gives its exit code, none when a signal ended it.
    pub fn stand_in(&self, argv: &[&str], environment: &[(&str, &Path)]) -> Result<Option<i32>> {
        let status = self.command(argv).envs(environment.iter().copied()).status();
        status
            .map(|status| status.code())
            .map_err(|error| Error::new(format!("cannot run {}: {error}", argv[0])))
    }

    /// Is there such a program?
    pub fn has_program(&self, name: &str) -> bool {
        self.program(name).is_some()
    }

    /// Where a program is.
    fn program(&self, name: &str) -> Option<PathBuf> {
        os::DIRS.iter().map(|dir| self.path(dir).join(name)).find(|path| os::is_program(path))
    }

    /// A program of this machine. A scratch root may bring its own; what it does not bring is the host's.
    fn command(&self, argv: &[&str]) -> Command {
        let own = if self.live() && cfg!(unix) { None } else { self.program(argv[0]) };
        program::command(own.as_deref().unwrap_or(Path::new(argv[0])), &argv[1..])
    }
}
