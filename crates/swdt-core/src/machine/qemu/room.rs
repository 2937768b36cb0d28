//! How much room machines take. Looked at before anything is made; the rules of `doctor` judge it.

use std::{fs, path::Path};

use crate::{
    Result,
    doctor::{self, HostFacts},
};

const MIB: u64 = 1 << 20;
/// What a fresh system with Kubernetes writes. Disks grow as they are written to, so this much must be there at once.
const LEAST_DISK_MIB: u64 = 4096;

/// What machines that do not run yet will take of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Room {
    memory_mib: u64,
    disk_mib: u64,
}

impl Room {
    /// What one machine takes; one that is made already has its disk.
    pub(super) fn of(memory_mib: u64, disk_gib: u64) -> Self {
        let mut room = Self::default();
        room.add(memory_mib, disk_gib);
        room
    }

    /// What an installation takes that writes so much at once.
    pub(super) fn of_setup(memory_mib: u64, disk_mib: u64) -> Self {
        Self { memory_mib, disk_mib }
    }

    /// One more machine.
    pub(super) fn add(&mut self, memory_mib: u64, disk_gib: u64) {
        self.memory_mib += memory_mib;
        self.disk_mib += LEAST_DISK_MIB.min(disk_gib * 1024);
    }
}

impl std::iter::Sum for Room {
    fn sum<I: Iterator<Item = Self>>(rooms: I) -> Self {
        rooms.fold(Self::default(), |sum, room| Self {
            memory_mib: sum.memory_mib + room.memory_mib,
            disk_mib: sum.disk_mib + room.disk_mib,
        })
    }
}

/// Refuses what the host has no memory or no disk for, in these directories. They are needed one after the other, so the
/// largest decides how much memory there must be.
pub(super) fn enough(rooms: &[(&Path, Room)]) -> Result<()> {
    let free = |dir: &Path| crate::files::free(dir).map(|bytes| bytes / MIB);
    judge(rooms, memory_left_mib(), free)
}

fn judge(
    rooms: &[(&Path, Room)],
    memory_left_mib: Option<u64>,
    free_mib: impl Fn(&Path) -> Option<u64>,
) -> Result<()> {
    let disks =
        rooms.iter().filter_map(|(dir, room)| Some((dir.to_path_buf(), room.disk_mib, free_mib(dir)?)));
    let memory_mib = rooms.iter().map(|(_, room)| room.memory_mib).max().unwrap_or(0);
    let room = doctor::Room { memory_mib, disks: disks.collect() };
    doctor::require(&HostFacts { memory_left_mib, room, ..HostFacts::default() })
}

/// Memory that the host has left.
pub(in crate::machine) fn memory_left_mib() -> Option<u64> {
    fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_mib(&text))
}

fn available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_machines_count_and_all_lacks_are_told() {
        let (dir, cache) = (Path::new("/data"), Path::new("/cache"));
        let mut two = Room::of(1024, 20);
        two.add(1024, 1);
        judge(&[(dir, two)], Some(2304), |_| Some(5120)).unwrap();
        judge(&[(dir, two)], None, |_| None).unwrap();
        judge(&[(dir, Room::default())], Some(0), |_| Some(0)).unwrap();
        let error = judge(&[(dir, two)], Some(2303), |_| Some(100)).unwrap_err();
        assert!(error.message.contains("100 MiB are free at /data"), "{error}");
        assert!(error.others[0].message.contains("2303 MiB left"), "{error:?}");

        // Setup comes before the machines, and writes elsewhere.
        let rooms = [(dir, two), (cache, Room::of_setup(4096, 16 * 1024))];
        let free = |at: &Path| Some(if at == dir { 5120 } else { 100 });
        let error = judge(&rooms, Some(2304), free).unwrap_err();
        assert!(error.message.contains("16384 MiB of disk"), "{error}");
        assert!(error.message.contains("free at /cache"), "{error}");
        assert!(error.others[0].message.contains("4096 MiB of memory"), "{error:?}");
        assert_eq!(error.others.len(), 1, "{error:?}");
        assert_eq!(available_mib("MemTotal: 8 kB\nMemAvailable:   2097152 kB\n"), Some(2048));
    }
}
