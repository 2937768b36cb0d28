//! The machine's cgroups: its limits, and the one reliable answer to "which processes are its own".
//!
//! A process stays in its cgroup whatever it forks, so membership finds the machine again from any later
//! run, and a reused process id cannot fool it. Below the machine's cgroup are two more: `launcher` for
//! the script that starts it again after a reboot, `machine` for the machine itself. cgroup v2 allows
//! processes only in leaves, so they cannot share one.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::patience;
use crate::{Error, Result, id, machine::files};

/// Where the launching script lives.
pub(super) const LAUNCHER: &str = "launcher";
/// Where the machine lives; its own root of the hierarchy.
pub(super) const MACHINE: &str = "machine";

/// Controllers a machine of its own needs under cgroup v2.
const CONTROLLERS: &[&str] = &["cpuset", "cpu", "io", "memory", "pids", "hugetlb"];
/// Microseconds over which processor time is counted.
const PERIOD: u64 = 100_000;

/// The mounted cgroup hierarchies of the host: one for v2, many for v1, both kinds for hybrid.
#[derive(Debug, Clone)]
pub(crate) struct Hierarchies {
    v1: Vec<PathBuf>,
    v2: Option<PathBuf>,
}

impl Hierarchies {
    /// Reads what is mounted; never assumed.
    pub(super) fn find() -> Self {
        Self::parse(&fs::read_to_string("/proc/self/mounts").unwrap_or_default())
    }

    pub(crate) fn parse(table: &str) -> Self {
        let mut found = Self { v1: Vec::new(), v2: None };
        for line in table.lines() {
            let mut words = line.split(' ').skip(1);
            match (words.next(), words.next()) {
                (Some(point), Some("cgroup")) => found.v1.push(point.into()),
                (Some(point), Some("cgroup2")) => found.v2 = Some(point.into()),
                _ => (),
            }
        }
        found.v1.sort();
        found.v1.dedup();
        found
    }

    /// No cgroups at all?
    pub(crate) fn is_empty(&self) -> bool {
        self.v1.is_empty() && self.v2.is_none()
    }

    /// Are controllers on cgroup v1, so that machines need help to own theirs?
    pub(super) fn has_v1(&self) -> bool {
        !self.v1.is_empty()
    }

    /// The directories of one cgroup in every hierarchy.
    pub(super) fn dirs(&self, name: &str) -> Vec<PathBuf> {
        self.v1.iter().chain(&self.v2).map(|point| point.join(name)).collect()
    }

    /// Makes the cgroups of a machine, with its limits.
    pub(super) fn make(&self, name: &str, cpus: u32, memory_mib: u64) -> Result<()> {
        let memory = (memory_mib << 20).to_string();
        let quota = u64::from(cpus) * PERIOD;
        for dir in self.dirs(name) {
            for dir in [dir.clone(), dir.join(LAUNCHER), dir.join(MACHINE)] {
                files::make_dir(&dir)?;
                inherit_cpuset(&dir)?;
            }
            let machine = dir.join(MACHINE);
            put_if_there(&machine.join("memory.limit_in_bytes"), &memory)?;
            put_if_there(&machine.join("cpu.cfs_period_us"), &PERIOD.to_string())?;
            put_if_there(&machine.join("cpu.cfs_quota_us"), &quota.to_string())?;
        }
        let Some(top) = self.v2.as_ref().filter(|_| !self.has_v1()) else { return Ok(()) };
        delegate(top);
        delegate(&top.join(name));
        let machine = top.join(name).join(MACHINE);
        put_if_there(&machine.join("memory.max"), &memory)?;
        put_if_there(&machine.join("cpu.max"), &format!("{quota} {PERIOD}"))
    }

    /// Every process of a cgroup and of those below it.
    pub(super) fn processes(&self, name: &str) -> Vec<i32> {
        let mut found = Vec::new();
        for dir in self.dirs(name) {
            for dir in tree(&dir) {
                let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
                found.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Ends every process of a cgroup, however fast it forks.
    pub(super) fn kill(&self, name: &str) -> Result<()> {
        if let Some(top) = &self.v2 {
            // Kernels since 5.14 do it in one stroke; older ones and v1 by the loop below.
            let _ = fs::write(top.join(name).join("cgroup.kill"), "1");
        }
        patience(Duration::from_secs(10), || {
            let alive = self.processes(name);
            for pid in &alive {
                let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
            }
            alive.is_empty().then_some(())
        })
        .ok_or_else(|| {
            let left = self.processes(name);
            Error::new(id::MACHINE_LEFT_OVER, format!("processes {left:?} will not end"))
        })
    }

    /// Removes a cgroup and those below it, deepest first.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        for top in self.dirs(name) {
            // A cgroup stays busy for a moment after its last process.
            let gone = patience(Duration::from_secs(5), || {
                for dir in tree(&top).iter().rev() {
                    let _ = fs::remove_dir(dir);
                }
                (!top.exists()).then_some(())
            });
            if gone.is_none() {
                let message = format!("cannot remove the cgroup {}", top.display());
                return Err(Error::new(id::MACHINE_LEFT_OVER, message));
            }
        }
        Ok(())
    }
}

/// A directory and all below it, parents first.
fn tree(top: &Path) -> Vec<PathBuf> {
    let mut found = if top.is_dir() { vec![top.to_owned()] } else { Vec::new() };
    let mut next = 0;
    while next < found.len() {
        for entry in fs::read_dir(&found[next]).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.push(entry.path());
            }
        }
        next += 1;
    }
    found
}

/// A v1 cpuset is born empty and then takes no process.
fn inherit_cpuset(dir: &Path) -> Result<()> {
    for key in ["cpuset.cpus", "cpuset.mems"] {
        let parent = dir.parent().unwrap_or(dir).join(key);
        let (Ok(own), Ok(value)) = (fs::read_to_string(dir.join(key)), fs::read_to_string(parent)) else {
            continue;
        };
        // Only v1 has this file; on v2 an empty value means "as the parent".
        if own.trim().is_empty() && dir.join("cpuset.cpu_exclusive").exists() {
            put_if_there(&dir.join(key), value.trim())?;
        }
    }
    Ok(())
}

/// Lets cgroups below have controllers; those the kernel lacks are no error.
fn delegate(dir: &Path) {
    for controller in CONTROLLERS {
        let _ = fs::write(dir.join("cgroup.subtree_control"), format!("+{controller}"));
    }
}

fn put_if_there(path: &Path, value: &str) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    fs::write(path, value).map_err(|error| files::failed(&format!("write {value} to"), path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hybrid_and_unified_hosts_are_told_apart() {
        let hybrid =
            "cgroup /sys/fs/cgroup/memory cgroup rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert!(Hierarchies::parse(hybrid).has_v1());
        assert_eq!(Hierarchies::parse(hybrid).dirs("x").len(), 2);
        let unified = Hierarchies::parse("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
        assert!(!unified.has_v1() && !unified.is_empty());
        assert!(Hierarchies::parse("proc /proc proc rw 0 0\n").is_empty());
    }
}
