//! Processes that outlive us: started detached, found again by what stands on their command line, ended for certain.
//!
//! A process is known by the path of its own pid file among its arguments. That path carries a hash of the cluster's
//! directory, so a process that merely got the same number is never taken for ours, and one whose pid file is lost is
//! found all the same.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use super::{
    arguments::{Runtime, Vm},
    qmp::Qmp,
};
use crate::{
    Error, Result, id,
    machine::{files, patience::patience, tool},
};

/// The program that runs machines.
pub(super) const QEMU: &str = "qemu-system-x86_64";
/// How long a process may take to go after it was told to.
const FAREWELL: Duration = Duration::from_secs(10);
/// How often a machine that was asked to shut down is asked again: a system that still starts does not hear it.
const ASK_AGAIN: Duration = Duration::from_secs(15);

/// Starts the machine; it runs when this returns, and outlives us.
pub(super) fn start(vm: &Vm) -> Result<()> {
    clean(&vm.runtime)?;
    // QEMU would make it for its group, too.
    files::make_private(&vm.console_log)?;
    detached(QEMU, &vm.arguments())
        .map_err(|error| error.meaning(id::MACHINE_NOT_STARTED).saying("QEMU did not start the machine"))
}

/// Runs a program that detaches itself; its last words are the error when it does not.
pub(super) fn detached(program: &str, arguments: &[String]) -> Result<()> {
    let mut command = tool::command(program, arguments);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8");
    tool::output(command.current_dir("/").stdin(Stdio::null())).map(drop)
}

/// Starts a program of our own that stays in the foreground, in a session of its own.
pub(super) fn spawn_session(command: &mut Command) -> Result<()> {
    let mut session = Command::new(tool::find("setsid").unwrap_or_else(|| "setsid".into()));
    session.arg("--fork").arg(command.get_program()).args(command.get_args());
    session.env_clear().current_dir("/");
    session.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = session.status();
    let failed = |what: String| {
        Error::new(
            id::MACHINE_NOT_STARTED,
            format!("cannot start {}: {what}", command.get_program().display()),
        )
    };
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The id of the process with this word on its command line, whose program's name begins so.
pub(super) fn find(program: &str, word: &Path) -> Option<i32> {
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        is_it(pid, program, word).then_some(pid)
    })
}

/// Is this the process? A dead one that nobody has buried has no command line.
fn is_it(pid: i32, program: &str, word: &Path) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let mut words = line.split(|byte| *byte == 0);
    let own = words.next().map(String::from_utf8_lossy).unwrap_or_default();
    // The program may have been replaced by an upgrade meanwhile: ` (deleted)` is behind its name then.
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let name = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(program));
    exe.map_or_else(|| name(Path::new(own.as_ref())), |exe| name(&exe))
        && words.any(|found| found == word.as_os_str().as_encoded_bytes())
}

/// Does the machine's process run?
pub(super) fn runs(runtime: &Runtime) -> bool {
    // Its file is looked at first: it is asked often, and a host has many processes.
    let noted = fs::read_to_string(&runtime.pid).ok().and_then(|text| text.trim().parse().ok());
    noted.is_some_and(|pid| is_it(pid, QEMU, &runtime.pid)) || find(QEMU, &runtime.pid).is_some()
}

/// Memory of the host that the machine's process has taken so far.
pub(super) fn memory_mib(runtime: &Runtime) -> u64 {
    let status =
        find(QEMU, &runtime.pid).and_then(|pid| fs::read_to_string(format!("/proc/{pid}/status")).ok());
    let status = status.unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
    resident.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Asks the machine to shut down and waits that long; then ends its process. Says whether it went by itself.
pub(super) fn stop(runtime: &Runtime, grace: Duration) -> Result<bool> {
    let begun = Instant::now();
    let mut asked: Option<Instant> = None;
    while runs(runtime) && begun.elapsed() < grace {
        if asked.is_none_or(|at| at.elapsed() > ASK_AGAIN) {
            asked = Some(Instant::now());
            let told =
                Qmp::connect(&runtime.qmp).and_then(|mut qmp| qmp.execute("system_powerdown", &json!({})));
            // One that is busy is asked again; one without a door hears nothing, and is ended below.
            if told.is_err() && !runtime.qmp.exists() && runs(runtime) {
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let by_itself = !runs(runtime);
    end(runtime)?;
    clean(runtime)?;
    Ok(by_itself)
}

/// Ends the process, by its own door, or by force.
fn end(runtime: &Runtime) -> Result<()> {
    if runs(runtime) {
        let _ = Qmp::connect(&runtime.qmp).and_then(|mut qmp| qmp.quit());
        patience(FAREWELL, || (!runs(runtime)).then_some(()));
    }
    kill_found(QEMU, &runtime.pid)
}

/// Ends the process with this word on its command line, if there is one.
pub(super) fn kill_found(program: &str, word: &Path) -> Result<()> {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let Some(pid) = find(program, word) else { return Ok(()) };
        let _ = kill(Pid::from_raw(pid), signal);
        patience(FAREWELL, || find(program, word).is_none().then_some(()));
    }
    match find(program, word) {
        None => Ok(()),
        Some(pid) => {
            Err(Error::new(id::MACHINE_LEFT_OVER, format!("process {pid} of {program} does not end")))
        }
    }
}

/// Removes what a process that is gone left behind: a killed one, or one before a reboot.
fn clean(runtime: &Runtime) -> Result<()> {
    [&runtime.pid, &runtime.qmp, &runtime.console].into_iter().try_for_each(|path| files::remove_file(path))
}

/// Writes what the machine shows on its screen to a file of its owner alone, as PNG.
pub(super) fn screenshot(runtime: &Runtime, to: &Path) -> Result<()> {
    let mut qmp = Qmp::connect(&runtime.qmp)?;
    files::make_private(to)?;
    let filename = to.to_string_lossy();
    qmp.execute("screendump", &json!({ "filename": filename, "format": "png" })).map(drop)
}

/// The names of what belongs to a process, in the directory of a cluster's processes.
pub(super) fn runtime(dir: &Path, id: &str) -> Runtime {
    let name = |extension: &str| -> PathBuf { dir.join(format!("{id}.{extension}")) };
    Runtime { pid: name("pid"), qmp: name("qmp"), console: name("tty") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_program_and_word() {
        let word = Path::new("/nowhere/swdt-test-4711.pid");
        let mut child = Command::new("sh")
            .args(["-c", "read line", "sh"])
            .arg(word)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let own = fs::canonicalize("/bin/sh").unwrap();
        let program = own.file_name().unwrap().to_str().unwrap().to_owned();
        let pid = i32::try_from(child.id()).unwrap();
        // Its words are there a moment after its program is.
        let found = (0..100).find_map(|_| {
            let found = find(&program, word);
            if found.is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            found
        });
        assert_eq!(found, Some(pid));
        assert_eq!(find(QEMU, word), None, "another program with the same word is not ours");
        assert_eq!(
            find(&program, Path::new("/nowhere/swdt-test-4711")),
            None,
            "a part of the word is not the word"
        );
        kill_found(QEMU, word).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "it was not touched");
        kill_found(&program, word).unwrap();
        assert_eq!(find(&program, word), None, "also while nobody has waited for it");
        child.wait().unwrap();
    }
}
