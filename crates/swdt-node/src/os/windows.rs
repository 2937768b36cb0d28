//! Windows.
//!
//! A file has no mode here but an access list. Two kinds of lists are ours: "private", for administrators and
//! the system alone, and whatever a directory hands on to what is made in it. They stand for the modes
//! without and with a bit for others, so that everything else need not know.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::windows::{fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use swdt_win::{process, security};

use crate::{
    Ctx, registry,
    resources::{windows::service, windows_hints as hints},
    state::RunId,
};

/// Of a real machine.
pub const ROOT: &str = r"C:\";

/// What ends a line of a text file.
pub const NEWLINE: &str = "\r\n";

/// Where programs are: Windows' own, and where the plan puts those of a node.
pub const DIRS: [&str; 4] = [r"C:\Windows\System32", r"C:\Windows", r"C:\k", r"C:\Program Files\containerd"];

/// Can a program that runs not be removed?
pub const RUNNING_PROGRAMS_STAY: bool = true;

/// Administrators and the system, here and below.
const PRIVATE: &str = "D:P(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)";

/// Flags of a process that is on its own: no window, no console of ours, no Ctrl-C, no job.
const NO_WINDOW: u32 = 0x0800_0000;
const NEW_GROUP: u32 = 0x0200;
const BREAK_AWAY: u32 = 0x0100_0000;

/// Does a program play the processor of this machine? QEMU calls its own so.
pub fn emulated() -> bool {
    registry::text(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0", "ProcessorNameString")
        .contains("QEMU TCG CPU")
}

/// Where the node half keeps its own files.
pub fn state_dir(root: &Path) -> PathBuf {
    place(root, swdt_wire::WINDOWS_STATE_DIR)
}

/// Where the real file of an absolute path is, seen from a root. A scratch root has a directory for each drive.
pub fn place(root: &Path, absolute: &str) -> PathBuf {
    if root == Path::new(ROOT) {
        return PathBuf::from(absolute);
    }
    root.join(absolute.replacen(':', "", 1))
}

/// The path of a name, with slashes, below a directory.
pub fn below(dir: &str, name: &str) -> String {
    format!(r"{}\{}", dir.trim_end_matches('\\'), name.replace('/', r"\"))
}

/// Is this an absolute path that cannot mean another place than it says? Windows drops dots and blanks at the
/// end of a name, and takes some names for devices.
pub fn is_plain(path: &str) -> bool {
    let mut parts = path.split('\\');
    let drive = parts.next().unwrap_or_default().as_bytes();
    let on_drive = drive.len() == 2 && drive[0].is_ascii_alphabetic() && drive[1] == b':';
    on_drive && path.len() > 3 && parts.all(is_plain_name)
}

fn is_plain_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered =
        |device: &str| stem.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest != "0");
    !name.is_empty()
        && !name.ends_with(['.', ' '])
        && !name.contains(|it: char| it.is_control() || r#"<>:"/|?*"#.contains(it))
        && !matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        && !numbered("com")
        && !numbered("lpt")
}

/// What is at a path.
#[derive(Debug)]
pub struct Stat {
    meta: Metadata,
    private: bool,
}

/// Looks; a link is not followed.
pub fn stat(path: &Path) -> io::Result<Stat> {
    Ok(Stat { meta: fs::symlink_metadata(path)?, private: is_private(path)? })
}

/// Looks; through a link.
pub fn stat_target(path: &Path) -> io::Result<Stat> {
    Ok(Stat { meta: fs::metadata(path)?, private: is_private(path)? })
}

impl Stat {
    /// A plain file?
    pub fn is_file(&self) -> bool {
        self.meta.is_file()
    }

    /// A directory?
    pub fn is_dir(&self) -> bool {
        self.meta.is_dir()
    }

    /// A link?
    pub fn is_symlink(&self) -> bool {
        self.meta.is_symlink()
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.meta.len()
    }

    /// No bytes?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mode that stands for the access list.
    pub fn mode(&self) -> u32 {
        mode(if self.private { 0 } else { 0o044 }, self.is_dir())
    }

    /// There are no numbers for people here; administrators own what we make.
    pub fn owner(&self) -> (u32, u32) {
        owner()
    }

    /// When the bytes changed last: seconds and nanoseconds.
    pub fn modified(&self) -> (i64, i64) {
        since_epoch(self.meta.modified().unwrap_or(UNIX_EPOCH))
    }

    /// When the file was made: ours are made anew with every change.
    pub fn changed(&self) -> (i64, i64) {
        since_epoch(self.meta.created().unwrap_or(UNIX_EPOCH))
    }

    /// A path with a drive in it names its volume already.
    pub fn device(&self) -> u64 {
        0
    }

    /// Another number for another file of the same name.
    pub fn identity(&self) -> u64 {
        self.meta.creation_time()
    }
}

fn since_epoch(time: SystemTime) -> (i64, i64) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs().cast_signed(), since.subsec_nanos().into())
}

/// Bits for others than the owner.
const OTHERS: u32 = 0o077;

fn is_closed(mode: u32) -> bool {
    mode & OTHERS == 0
}

/// What of a wanted mode this system can hold: whether others may read.
pub fn mode(wanted: u32, dir: bool) -> u32 {
    let bits = if dir { 0o755 } else { 0o644 };
    if is_closed(wanted) { bits & 0o700 } else { bits }
}

/// Who we are, for files.
pub fn owner() -> (u32, u32) {
    (0, 0)
}

/// What to do about a file that could not be read, written or run.
pub fn file_hint(path: &Path, error: &io::Error) -> Option<String> {
    let code = error.raw_os_error()?;
    let holders = if code == hints::HELD { service::running(path) } else { Vec::new() };
    hints::of_file(code, &holders)
}

/// Why we may not change the machine, and what to do about it; nothing if we may.
pub fn not_privileged() -> Option<(&'static str, &'static str)> {
    (!process::elevated())
        .then_some(("this needs an administrator", "log in as a member of the group Administrators"))
}

/// A file made by these options is for us alone, because the directory it is made in is.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Makes a directory, and those above it, for us alone.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    match security::create_dir(path, PRIVATE) {
        // Several of us at once: blobs come over several connections. Whether it can be trusted is asked later.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Makes one directory of this mode.
pub fn create_dir(path: &Path, mode: u32) -> io::Result<()> {
    if is_closed(mode) { security::create_dir(path, PRIVATE) } else { fs::create_dir(path) }
}

/// Makes the directories above our own, as the system has them.
pub fn make_public_dir(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Why a directory of ours cannot be trusted; nothing if it can.
pub fn distrust(dir: &Path) -> io::Result<Option<&'static str>> {
    let stat = stat(dir)?;
    Ok(if !stat.is_dir() {
        Some("is no directory")
    } else if !stat.private {
        Some("can be used by others")
    } else {
        None
    })
}

/// May nobody but its owner, administrators and the system use it?
fn is_private(path: &Path) -> io::Result<bool> {
    Ok(grants_nobody_else(&security::of(path)?))
}

/// Reads `O:<owner>D:<flags>(<type>;<flags>;<rights>;<object>;<object>;<whom>)…`.
fn grants_nobody_else(sddl: &str) -> bool {
    let (head, list) = sddl.split_once("D:").unwrap_or((sddl, ""));
    let owner = head.strip_prefix("O:").unwrap_or_default();
    let owner = owner.split("G:").next().unwrap_or_default();
    let entries: Vec<&str> = list.split('(').skip(1).filter_map(|entry| entry.split(')').next()).collect();
    // No list at all lets everybody in; an empty one nobody.
    let has_list = sddl.contains("D:") && !list.starts_with("NO_ACCESS_CONTROL");
    has_list
        && entries.iter().all(|entry| {
            let fields: Vec<&str> = entry.split(';').collect();
            let whom = fields.get(5).copied().unwrap_or_default();
            let denies = matches!(fields.first(), Some(&("D" | "OD")));
            denies || matches!(whom, "BA" | "SY" | "CO" | "OW") || whom == owner
        })
}

/// Gives a new file, not yet in its place, the access it shall have. Replacing a file that others may read
/// keeps the list it has: somebody may have thought about it.
pub fn dress(_file: &File, at: &Path, over: &Path, mode: u32, _owner: Option<(u32, u32)>) -> io::Result<()> {
    if is_closed(mode) {
        return security::protect(at, PRIVATE);
    }
    let there = match security::of(over) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there?,
    };
    // Only a list of its own; what is inherited is inherited again.
    let own = there.split_once("D:").is_some_and(|(_, list)| list.starts_with('P'));
    if own && !grants_nobody_else(&there) { security::protect(at, &there) } else { Ok(()) }
}

/// Sets the access of what is there.
pub fn set_mode(path: &Path, mode: u32, _owner: Option<(u32, u32)>) -> io::Result<()> {
    match (is_closed(mode), is_private(path)?) {
        (true, false) => security::protect(path, PRIVATE),
        (false, true) => security::inherit(path),
        _ => Ok(()),
    }
}

/// Links need a right that not every administrator has, and nothing of ours needs links.
pub fn symlink(_to: &str, at: &Path, _owner: (u32, u32)) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{} is a link, and links are not made on Windows", at.display()),
    ))
}

/// Makes names in a directory survive a power cut: NTFS keeps a log of them.
pub fn sync_dir(_dir: &Path) -> io::Result<()> {
    Ok(())
}

/// Is the open file the one at this path?
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => ours.creation_time() == there.creation_time(),
        _ => false,
    }
}

/// Where the holder of a lock says who it is: beside the lock, since nobody else can read a locked file.
pub fn lock_words(lock: &Path) -> PathBuf {
    lock.with_extension("owner")
}

/// Can this file be run?
pub fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}

/// Programs say what they say in the language of the machine; those we read are told to speak English. What is in
/// the machine's PATH since this login began is not in ours, and kubeadm looks for the kubelet there. It also uses
/// paths of Linux on the drive where it is started.
pub fn environment(command: &mut Command) {
    let inherited = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{};{inherited}", DIRS.join(";"))).current_dir(ROOT);
}

/// Ends a program when we end, however that happens.
pub fn tie(child: &Child) -> io::Result<()> {
    process::tie(child)
}

/// Nothing is needed: see [`end`].
pub fn lead(_command: &mut Command) {}

/// Ends a program of ours. What it started goes free, as containers must.
pub fn end(child: &mut Child) {
    let _ = child.kill();
}

/// Nothing in front is needed: see [`spawn_detached`].
pub fn escape(_ctx: &Ctx, _run: &RunId) -> Option<Command> {
    None
}

/// Starts a process that outlives this one. sshd keeps the processes of a session in a job and ends them with
/// it; where that is allowed, the process leaves the job.
pub fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    process::keep_streams();
    match command.creation_flags(NO_WINDOW | NEW_GROUP | BREAK_AWAY).spawn() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            command.creation_flags(NO_WINDOW | NEW_GROUP).spawn()
        }
        spawned => spawned,
    }
}

/// Nothing is left to do: see [`spawn_detached`].
pub fn leave() {}

/// From now on, words of a crash go into this file.
pub fn complain_to(log: &File) -> io::Result<()> {
    process::redirect_errors(log)
}

/// From now on, standard output goes nowhere.
pub fn fall_silent() {
    if let Ok(null) = File::options().write(true).open("NUL") {
        let _ = process::redirect_output(null);
    }
}

/// What finishes the removal of the state directory. A constant, so nothing in it is a value that a shell could
/// misread. First what this process still holds open; then programs that run, which may take as long as whoever
/// follows us. What is then in `runs` is of a next run, whose things are not touched.
const SWEEP: &str = concat!(
    r#"/d /c "cd /d C:\ProgramData & (for /l %i in (1,1,5) do @if exist swdt\runs "#,
    r"(rmdir /s /q swdt\runs 2>nul & del /q swdt\lock swdt\lock.owner 2>nul & ping -n 2 127.0.0.1 >nul)) & ",
    r"for /l %i in (1,1,60) do @((if exist swdt\runs exit) & del /q swdt\bin\*.exe 2>nul & ",
    r"rmdir swdt\bin 2>nul & rmdir swdt 2>nul & ",
    r#"(if not exist swdt exit) & ping -n 2 127.0.0.1 >nul)""#,
);

/// Removes the whole state directory. Windows removes no program that runs and no file that is open, so what
/// is left goes a moment after this process and the one that follows it have ended.
pub fn remove_state(dir: &Path) -> io::Result<()> {
    let removed = fs::remove_dir_all(dir);
    // Success does not mean that it is gone: a file that somebody holds open goes when it is closed, and until then
    // its directory stays.
    let gone = matches!(dir.try_exists(), Ok(false));
    if gone || dir != Path::new(swdt_wire::WINDOWS_STATE_DIR) {
        return removed;
    }
    let mut sweeper = Command::new(r"C:\Windows\System32\cmd.exe");
    sweeper.raw_arg(SWEEP).current_dir(ROOT);
    sweeper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    spawn_detached(&mut sweeper).map(drop)
}

/// Dies like a killed process.
#[cfg(feature = "faults")]
pub fn die() {
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_absolute_paths_are_taken() {
        for bad in
            ["", r"C:\", r"C:k", r"k\x", r"\\host\share\x", r"C:\a\..\b", r"C:\a.", r"C:\nul.txt", "C:/a"]
        {
            assert!(!is_plain(bad), "{bad:?}");
        }
        assert!(is_plain(r"C:\Program Files\x.exe"));
    }

    #[test]
    fn who_is_let_in() {
        assert!(grants_nobody_else("O:BAD:P(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)"));
        assert!(grants_nobody_else("O:S-1-5-21-1D:(A;;FA;;;S-1-5-21-1)(D;;FA;;;WD)"));
        assert!(!grants_nobody_else("O:BAD:P(A;;FA;;;BA)(A;;FR;;;BU)"));
        assert!(!grants_nobody_else("O:BAD:NO_ACCESS_CONTROL"));
        assert!(!grants_nobody_else("O:BA"));
    }
}
