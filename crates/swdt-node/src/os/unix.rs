//! Linux.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io,
    os::unix::{
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command},
};

use crate::{Ctx, state::RunId};

/// Of a real machine.
pub const ROOT: &str = "/";

/// What ends a line of a text file.
pub const NEWLINE: &str = "\n";

/// Where programs are. The same as PATH of what we run.
pub const DIRS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Can a program that runs not be removed?
pub const RUNNING_PROGRAMS_STAY: bool = false;

/// Does a program play the processor of this machine?
pub fn emulated() -> bool {
    fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.lines().any(is_emulated))
}

/// What QEMU calls the processor that it plays itself.
fn is_emulated(line: &str) -> bool {
    line.split_once(':')
        .is_some_and(|(key, name)| key.trim() == "model name" && name.contains("QEMU TCG CPU"))
}

/// Where the node half keeps its own files.
pub fn state_dir(root: &Path) -> PathBuf {
    place(root, swdt_wire::LINUX_STATE_DIR)
}

/// Where the real file of an absolute path is, seen from a root.
pub fn place(root: &Path, absolute: &str) -> PathBuf {
    root.join(absolute.trim_start_matches('/'))
}

/// The path of a name, with slashes, below a directory.
pub fn below(dir: &str, name: &str) -> String {
    format!("{}/{name}", dir.trim_end_matches('/'))
}

/// Is this an absolute path that cannot mean another place than it says?
pub fn is_plain(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    path.starts_with('/') && !path.contains('\0') && parts.all(|part| !matches!(part, "" | "." | ".."))
}

/// What is at a path.
#[derive(Debug)]
pub struct Stat(Metadata);

/// Looks; a link is not followed.
pub fn stat(path: &Path) -> io::Result<Stat> {
    fs::symlink_metadata(path).map(Stat)
}

/// Looks; through a link.
pub fn stat_target(path: &Path) -> io::Result<Stat> {
    fs::metadata(path).map(Stat)
}

impl Stat {
    /// A plain file?
    pub fn is_file(&self) -> bool {
        self.0.is_file()
    }

    /// A directory?
    pub fn is_dir(&self) -> bool {
        self.0.is_dir()
    }

    /// A link?
    pub fn is_symlink(&self) -> bool {
        self.0.is_symlink()
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// No bytes?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Permission bits.
    pub fn mode(&self) -> u32 {
        self.0.mode() & 0o7777
    }

    /// User and group.
    pub fn owner(&self) -> (u32, u32) {
        (self.0.uid(), self.0.gid())
    }

    /// When the bytes changed last: seconds and nanoseconds.
    pub fn modified(&self) -> (i64, i64) {
        (self.0.mtime(), self.0.mtime_nsec())
    }

    /// When anything changed last; nobody can set it.
    pub fn changed(&self) -> (i64, i64) {
        (self.0.ctime(), self.0.ctime_nsec())
    }

    /// The file system it is on.
    pub fn device(&self) -> u64 {
        self.0.dev()
    }

    /// Another number for another file of the same name.
    pub fn identity(&self) -> u64 {
        self.0.ino()
    }
}

/// What of a wanted mode this system can hold: all of it.
pub fn mode(wanted: u32, _dir: bool) -> u32 {
    wanted
}

/// Who we are, for files.
pub fn owner() -> (u32, u32) {
    (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
}

/// What to do about a file that could not be read, written or run.
pub fn file_hint(_path: &Path, error: &io::Error) -> Option<String> {
    let read_only = error.kind() == io::ErrorKind::ReadOnlyFilesystem;
    let hint = "remount the file system read-write; if it turned read-only by itself, look at `dmesg`";
    read_only.then(|| hint.to_owned())
}

/// Why we may not change the machine, and what to do about it; nothing if we may.
pub fn not_privileged() -> Option<(&'static str, &'static str)> {
    let root = nix::unistd::geteuid().is_root();
    (!root).then_some(("this needs root", "let the login user use `sudo -n`, or log in as root"))
}

/// A file made by these options is for us alone.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Makes a directory, and those above it, for us alone.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes one directory of this mode.
pub fn create_dir(path: &Path, mode: u32) -> io::Result<()> {
    fs::create_dir(path)?;
    set_mode(path, mode, None)
}

/// Makes the directories above our own, as the system has them.
pub fn make_public_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Why a directory of ours cannot be trusted; nothing if it can.
pub fn distrust(dir: &Path) -> io::Result<Option<&'static str>> {
    let meta = fs::symlink_metadata(dir)?;
    Ok(if !meta.is_dir() {
        Some("is no directory")
    } else if meta.uid() != nix::unistd::geteuid().as_raw() {
        Some("belongs to somebody else")
    } else if meta.mode() & 0o022 != 0 {
        Some("can be written by others")
    } else {
        None
    })
}

/// Gives a new file, not yet in its place, owner and mode. `_over` is what it will replace.
pub fn dress(file: &File, _at: &Path, _over: &Path, mode: u32, owner: Option<(u32, u32)>) -> io::Result<()> {
    if let Some((uid, gid)) = owner {
        std::os::unix::fs::fchown(file, Some(uid), Some(gid))?;
    }
    // After chown, which clears set-id bits.
    file.set_permissions(Permissions::from_mode(mode))
}

/// Sets owner and mode of what is there.
pub fn set_mode(path: &Path, mode: u32, owner: Option<(u32, u32)>) -> io::Result<()> {
    if let Some((uid, gid)) = owner {
        std::os::unix::fs::chown(path, Some(uid), Some(gid))?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Makes a link.
pub fn symlink(to: &str, at: &Path, owner: (u32, u32)) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)?;
    std::os::unix::fs::lchown(at, Some(owner.0), Some(owner.1))
}

/// Makes names in a directory survive a power cut.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Is the open file the one at this path?
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Where the holder of a lock says who it is: in the lock itself, since locks are advisory.
pub fn lock_words(lock: &Path) -> PathBuf {
    lock.to_owned()
}

/// Can this file be run?
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// A known PATH and the C locale, so that a program's words can be read.
pub fn environment(command: &mut Command) {
    command.env("LC_ALL", "C.UTF-8").env("PATH", DIRS.join(":")).env("DEBIAN_FRONTEND", "noninteractive");
}

/// A command that starts what follows it out of reach of whoever ends the processes of a login; none where
/// nobody does.
///
/// Where systemd keeps the processes of a login together, a session of its own is not enough: logind may be
/// told to kill all of them at logout. `systemd-run --scope` keeps pipe and process as they are.
pub fn escape(ctx: &Ctx, run: &RunId) -> Option<Command> {
    let cgroup = ctx.read_trimmed("/proc/self/cgroup").ok().flatten().unwrap_or_default();
    let could_be_ended = ctx.live()
        && ctx.path("/run/systemd/system").exists()
        && cgroup.contains("/user.slice/")
        && ctx.has_program("systemd-run");
    could_be_ended.then(|| {
        let mut command = Command::new("systemd-run");
        command.args(["--scope", "--quiet", "--collect", "--slice=system.slice"]);
        command.arg(format!("--unit=swdt-run-{}", run.as_str())).arg("--");
        command
    })
}

/// Starts a process that outlives this one: it frees itself ([`leave`]).
pub fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// Leaves the session of whoever started us.
pub fn leave() {
    // Refused to a process that leads a group already; then it is on its own anyway.
    let _ = nix::unistd::setsid();
}

/// From now on, words of a crash go into this file.
pub fn complain_to(log: &File) -> io::Result<()> {
    nix::unistd::dup2_stderr(log).map_err(Into::into)
}

/// From now on, standard output goes nowhere.
pub fn fall_silent() {
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdout(null);
    }
}

/// Removes the whole state directory.
pub fn remove_state(dir: &Path) -> io::Result<()> {
    fs::remove_dir_all(dir)
}

/// Dies like a killed process.
#[cfg(feature = "faults")]
pub fn die() {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
}

/// The program leads whatever it starts, so that [`end`] finds all of them.
pub fn lead(command: &mut Command) {
    command.process_group(0);
}

/// Ends a program of ours, and what it started.
pub fn end(child: &mut Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
}

/// A program goes on without us; whoever minds finds it again.
pub fn tie(_child: &Child) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulated_processor_is_known_by_its_name() {
        assert!(is_emulated("model name\t: QEMU TCG CPU version 2.5+"));
        assert!(!is_emulated("model name\t: QEMU Virtual CPU version 2.5+"), "KVM may be called so, too");
        assert!(!is_emulated("vendor_id\t: QEMU TCG CPU"));
    }
}
