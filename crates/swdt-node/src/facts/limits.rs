//! Processors and memory, limits of a surrounding container included.

use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};

use super::{exists, text};
use crate::Ctx;

const CGROUP: &str = "/sys/fs/cgroup";

/// 2 where the unified hierarchy is the only one, 1 for the old and the hybrid layout, 0 for none.
pub(super) fn cgroup_version(ctx: &Ctx) -> u8 {
    if exists(ctx, "/sys/fs/cgroup/cgroup.controllers") {
        return 2;
    }
    let hierarchies = ["memory", "cpu", "systemd", "unified"];
    u8::from(hierarchies.iter().any(|name| exists(ctx, &format!("{CGROUP}/{name}"))))
}

/// Processors this machine may use, at least one.
pub(super) fn cpus(ctx: &Ctx) -> u32 {
    let usable = if ctx.live() { affinity() } else { cpu_list(&text(ctx, "/sys/devices/system/cpu/online")) };
    let quotas = match cgroup_version(ctx) {
        2 => own_and_ancestors(ctx)
            .iter()
            .filter_map(|dir| quota_v2(&text(ctx, &format!("{dir}/cpu.max"))))
            .min(),
        1 => {
            let read = |name: &str| text(ctx, &format!("{CGROUP}/cpu/{name}"));
            quota_v1(&read("cpu.cfs_quota_us"), &read("cpu.cfs_period_us"))
        }
        _ => None,
    };
    usable.min(quotas.unwrap_or(u32::MAX)).max(1)
}

/// Memory this machine may use.
pub(super) fn memory_mib(ctx: &Ctx) -> u64 {
    let total = meminfo_mib(&text(ctx, "/proc/meminfo"));
    let bytes = |path: String| text(ctx, &path).parse::<u64>().ok();
    let limit = match cgroup_version(ctx) {
        // "max" does not parse, and limits nothing.
        2 => own_and_ancestors(ctx).iter().filter_map(|dir| bytes(format!("{dir}/memory.max"))).min(),
        1 => bytes(format!("{CGROUP}/memory/memory.limit_in_bytes")),
        _ => None,
    };
    total.min(limit.unwrap_or(u64::MAX) >> 20)
}

/// Directories of our own cgroup and all above it, as far as this machine sees.
fn own_and_ancestors(ctx: &Ctx) -> Vec<String> {
    let own = text(ctx, "/proc/self/cgroup");
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let mut dirs = vec![CGROUP.to_owned()];
    for part in own.split('/').filter(|part| !part.is_empty()) {
        // Outside of our cgroup namespace; the mounted root is all we see.
        if part == ".." {
            return vec![CGROUP.to_owned()];
        }
        dirs.push(format!("{}/{part}", dirs[dirs.len() - 1]));
    }
    dirs
}

/// Processors the scheduler lets us run on (cpusets included).
fn affinity() -> u32 {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return u32::MAX };
    let count = (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// How many processors a list such as `0-3,6` names.
pub(crate) fn cpu_list(text: &str) -> u32 {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    text.split(',')
        .filter_map(|part| match part.split_once('-') {
            Some((from, to)) => Some(number(to)?.saturating_sub(number(from)?).saturating_add(1)),
            None => number(part).map(|_| 1),
        })
        .fold(0, u32::saturating_add)
}

/// `cpu.max`: quota and period. A started processor does not count: work must fit into the quota.
pub(crate) fn quota_v2(text: &str) -> Option<u32> {
    let (quota, period) = text.split_once(' ')?;
    quota_v1(quota, period)
}

/// Whole processors of a quota; none for no quota (`-1`, `max`).
pub(crate) fn quota_v1(quota: &str, period: &str) -> Option<u32> {
    let (quota, period) = (quota.trim().parse::<u64>().ok()?, period.trim().parse::<u64>().ok()?);
    u32::try_from(quota.checked_div(period)?).ok().map(|cpus| cpus.max(1))
}

pub(crate) fn meminfo_mib(text: &str) -> u64 {
    text.lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .unwrap_or(0)
        >> 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        assert_eq!(cpu_list("0"), 1);
        assert_eq!(cpu_list("0-3,6\n"), 5);
        assert_eq!(cpu_list(""), 0);
        assert_eq!(cpu_list("0-4294967295,1"), u32::MAX);
    }

    #[test]
    fn quotas() {
        assert_eq!(quota_v2("max 100000"), None);
        assert_eq!(quota_v2("150000 100000"), Some(1));
        assert_eq!(quota_v2("50000 100000"), Some(1));
        assert_eq!(quota_v2("400000 100000"), Some(4));
        assert_eq!(quota_v1("-1", "100000"), None);
        assert_eq!(quota_v1("200000", "0"), None);
    }

    #[test]
    fn memory() {
        assert_eq!(meminfo_mib("MemTotal:       24662120 kB\nMemFree: 1 kB"), 24084);
        assert_eq!(meminfo_mib(""), 0);
    }
}
