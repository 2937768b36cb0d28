//! Is there room for a machine? Asked before anything is made.

use std::{fs, path::Path};

use crate::{Error, ErrorKind, Result};

const MIB: u64 = 1 << 20;
/// What a fresh system with Kubernetes writes. Disks grow as they are written to, so this much must be there at once.
const LEAST_DISK_MIB: u64 = 4096;
/// What the host keeps for itself.
const RESERVE_MIB: u64 = 256;

/// Refuses a machine for which the host has no memory or no disk.
pub(super) fn enough(dir: &Path, memory_mib: u64, disk_gib: u64) -> Result<()> {
    enough_for(dir, memory_mib, LEAST_DISK_MIB.min(disk_gib * 1024))
}

/// The same, where it is known how much of its disk is written at once.
pub(super) fn enough_for(dir: &Path, memory_mib: u64, disk_mib: u64) -> Result<()> {
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_mib(&text));
    let free = crate::files::free(dir).map(|bytes| bytes / MIB);
    judge(dir, (memory_mib, available), (disk_mib, free))
}

fn available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib / 1024)
}

/// Each as what is needed and what is there.
fn judge(dir: &Path, memory: (u64, Option<u64>), disk: (u64, Option<u64>)) -> Result<()> {
    let mut errors = Vec::new();
    if let (needed, Some(there)) = memory
        && there < needed + RESERVE_MIB
    {
        let message =
            format!("the machine shall have {needed} MiB of memory, and this host has {there} MiB left");
        errors.push(
            Error::new(ErrorKind::Prerequisite, message)
                .hinted("stop other machines, or write a smaller `memory`"),
        );
    }
    if let (needed, Some(there)) = disk
        && there < needed
    {
        let message = format!(
            "the machine needs {needed} MiB of disk to begin with, and {there} MiB are free at {}",
            dir.display()
        );
        errors.push(
            Error::new(ErrorKind::Prerequisite, message).hinted(
                "free some space there, or keep things elsewhere with `--data-dir` and `--cache-dir`",
            ),
        );
    }
    Error::all(errors).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lacks_are_told() {
        let dir = Path::new("/data");
        judge(dir, (2048, Some(2304)), (4096, Some(4096))).unwrap();
        judge(dir, (2048, None), (4096, None)).unwrap();
        let error = judge(dir, (2048, Some(2303)), (4096, Some(100))).unwrap_err();
        assert!(error.message.contains("2303 MiB left"), "{error}");
        assert!(error.others[0].message.contains("100 MiB are free at /data"), "{error:?}");
        assert_eq!(available_mib("MemTotal: 8 kB\nMemAvailable:   2097152 kB\n"), Some(2048));
    }
}
