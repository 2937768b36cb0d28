//! Starting a machine so that it outlives us, and finding its processes again.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    path::Path,
    process::Stdio,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{
    cgroup::Hierarchies,
    names::{MachineNames, VOLUMES},
    patience,
};
use crate::{
    Error, Result, id,
    machine::{
        files::{self, failed},
        names::ClusterNames,
        tool,
    },
};

const LAUNCH: &str = include_str!("launch.sh");

/// Starts the machine in a session of its own; its file system must be mounted and its cgroups made.
pub(super) fn launch(names: &MachineNames, cluster: &ClusterNames, groups: &Hierarchies) -> Result<()> {
    files::write_whole(&names.launcher(), LAUNCH.as_bytes())?;
    let console = names.console();
    let log = OpenOptions::new().create(true).append(true).open(&console);
    let log = log.map_err(|error| failed("open", &console, &error))?;
    let errors = log.try_clone().map_err(|error| failed("open", &console, &error))?;

    let mut command = tool::command("setsid", ["--fork", "/bin/sh"]);
    command.arg(names.launcher()).args(groups.dirs(&names.cgroup)).arg("--").args(nspawn(names, cluster)?);
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    // The machine's kubelet writes to /proc/sys and /sys.
    command.env("SYSTEMD_NSPAWN_API_VFS_WRITABLE", "1");
    command.current_dir("/").stdin(Stdio::null()).stdout(log).stderr(errors);
    let status = command.status().map_err(|error| failed("run", Path::new("setsid"), &error))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new(id::MACHINE_NOT_STARTED, format!("the machine could not be launched: {status}")))
}

/// The command line of nspawn. No systemd on the host is assumed: nothing is registered, no unit made.
fn nspawn(names: &MachineNames, cluster: &ClusterNames) -> Result<Vec<OsString>> {
    let merged = names.merged();
    let mut words: Vec<OsString> = [
        "systemd-nspawn",
        "--quiet",
        "--register=no",
        "--keep-unit",
        "--boot",
        "--private-users=no",
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        "--capability=all",
        // The clock is the host's.
        "--drop-capability=CAP_SYS_TIME",
        "--system-call-filter=add_key keyctl bpf @keyring",
    ]
    .map(OsString::from)
    .to_vec();
    words.push(format!("--machine={}", names.machine).into());
    words.push(format!("--hostname={}", names.node).into());
    words.push(format!("--network-bridge={}", cluster.bridge).into());
    words.push(format!("--directory={}", merged.display()).into());
    for (name, target) in VOLUMES {
        let source = names.volumes().join(name);
        files::make_dir(&source)?;
        words.push(format!("--bind={}:{target}", escape(&source)).into());
    }
    for device in ["/dev/kmsg", "/dev/fuse"] {
        if Path::new(device).exists() {
            words.push(format!("--bind={device}").into());
        }
    }
    if Path::new("/lib/modules").is_dir() {
        words.push("--bind-ro=/lib/modules".into());
    }
    Ok(words)
}

/// Colons separate the parts of a bind.
fn escape(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "\\\\").replace(':', "\\:")
}

/// The machine's first process, seen from the host.
pub(super) fn init(groups: &Hierarchies, names: &MachineNames) -> Option<i32> {
    groups.processes(&names.cgroup).into_iter().find(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        is_init(&status)
    })
}

/// First of a process namespace directly below the host's; containers inside are one deeper.
fn is_init(status: &str) -> bool {
    let ids: Vec<_> =
        field(status, "NSpid:").map(|text| text.split_whitespace().collect()).unwrap_or_default();
    ids.len() == 2 && ids[1] == "1"
}

fn field<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(key))
}

/// Asks the machine to shut down and waits that long; then ends whatever is left.
pub(super) fn stop(groups: &Hierarchies, names: &MachineNames, grace: Duration) -> Result<()> {
    let parent = init(groups, names).and_then(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        field(&status, "PPid:")?.trim().parse::<i32>().ok()
    });
    if let Some(nspawn) = parent.filter(|pid| *pid > 1) {
        // nspawn hands it on as "power off".
        let _ = kill(Pid::from_raw(nspawn), Signal::SIGTERM);
        patience(grace, || groups.processes(&names.cgroup).is_empty().then_some(()));
    }
    groups.kill(&names.cgroup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_machines_own_first_process_is_its_init() {
        assert!(is_init("Name:\tsystemd\nNSpid:\t4711\t1\n"));
        assert!(!is_init("Name:\tsystemd-nspawn\nNSpid:\t4710\n"));
        assert!(!is_init("Name:\tpause\nNSpid:\t4800\t77\t1\n"));
    }
}
