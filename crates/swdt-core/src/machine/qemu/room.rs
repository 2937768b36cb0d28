//! How much room machines take. Looked at before anything is made; the rules of `doctor` judge it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    Result,
    doctor::{self, HostFacts},
};

const MIB: u64 = 1 << 20;
/// What a fresh system with Kubernetes writes. Disks grow as they are written to, so this much must be there at once.
const LEAST_DISK_MIB: u64 = 4096;

/// What machines that do not run yet will take of the host, or what something took of it.
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

    /// So much.
    pub(super) fn exactly(memory_mib: u64, disk_mib: u64) -> Self {
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
    let mut host = HostFacts::default();
    look(&mut host, rooms, &[]);
    doctor::require(&host)
}

/// What that takes of the host, for the rules to judge. Something may hold a part of it already, which will serve or go.
pub(super) fn look(host: &mut HostFacts, rooms: &[(&Path, Room)], held: &[(&Path, Room)]) {
    let look = |dir: &Path| {
        let there = dir.ancestors().find(|path| path.exists())?;
        Some((fs::metadata(there).ok()?.dev(), crate::files::free(dir)? / MIB))
    };
    look_by(host, rooms, held, memory_left_mib(), look);
}

/// `look` tells a directory's file system, by a number, and what is free there.
fn look_by(
    host: &mut HostFacts,
    rooms: &[(&Path, Room)],
    held: &[(&Path, Room)],
    memory_left_mib: Option<u64>,
    look: impl Fn(&Path) -> Option<(u64, u64)>,
) {
    // What is on one file system takes of the same room.
    let mut disks: Vec<(u64, (PathBuf, u64, u64))> = Vec::new();
    for (dir, room) in rooms {
        let Some((system, free)) = look(dir) else { continue };
        match disks.iter_mut().find(|(known, _)| *known == system) {
            Some((_, (_, needed, _))) => *needed += room.disk_mib,
            None => disks.push((system, (dir.to_path_buf(), room.disk_mib, free))),
        }
    }
    for (dir, room) in held {
        let Some((system, _)) = look(dir) else { continue };
        if let Some((_, (_, _, free))) = disks.iter_mut().find(|(known, _)| *known == system) {
            *free += room.disk_mib;
        }
    }
    let held: Room = held.iter().map(|(_, room)| *room).sum();
    let memory_mib = rooms.iter().map(|(_, room)| room.memory_mib).max().unwrap_or(0);
    host.room = doctor::Room { memory_mib, disks: disks.into_iter().map(|(_, disk)| disk).collect() };
    host.memory_left_mib = memory_left_mib.map(|left| left + held.memory_mib);
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

    fn judge(
        rooms: &[(&Path, Room)],
        held: &[(&Path, Room)],
        memory_left_mib: Option<u64>,
        look: impl Fn(&Path) -> Option<(u64, u64)>,
    ) -> Result<()> {
        let mut host = HostFacts::default();
        look_by(&mut host, rooms, held, memory_left_mib, look);
        doctor::require(&host)
    }

    #[test]
    fn all_machines_count_and_all_lacks_are_told() {
        let (dir, cache) = (Path::new("/data"), Path::new("/cache"));
        let mut two = Room::of(1024, 20);
        two.add(1024, 1);
        judge(&[(dir, two)], &[], Some(2304), |_| Some((1, 5120))).unwrap();
        judge(&[(dir, two)], &[], None, |_| None).unwrap();
        judge(&[(dir, Room::default())], &[], Some(0), |_| Some((1, 0))).unwrap();
        let error = judge(&[(dir, two)], &[], Some(2303), |_| Some((1, 100))).unwrap_err();
        assert!(error.message.contains("100 MiB are free at /data"), "{error}");
        assert!(error.others[0].message.contains("2303 MiB left"), "{error:?}");

        // Setup comes before the machines, and writes elsewhere.
        let setup = Room::exactly(4096, 16 * 1024);
        let rooms = [(dir, two), (cache, setup)];
        let apart = |at: &Path| Some(if at == dir { (1, 5120) } else { (2, 100) });
        let error = judge(&rooms, &[], Some(2304), apart).unwrap_err();
        assert!(error.message.contains("16384 MiB of disk"), "{error}");
        assert!(error.message.contains("free at /cache"), "{error}");
        assert!(error.others[0].message.contains("4096 MiB of memory"), "{error:?}");
        assert_eq!(error.others.len(), 1, "{error:?}");
        assert_eq!(available_mib("MemTotal: 8 kB\nMemAvailable:   2097152 kB\n"), Some(2048));
    }

    #[test]
    fn one_file_system_is_counted_once_and_what_is_held_already_is_there() {
        let (dir, cache) = (Path::new("/data"), Path::new("/cache"));
        let rooms = [(dir, Room::of(6144, 60)), (cache, Room::exactly(4096, 16 * 1024))];
        let same = |free| move |_: &Path| Some((1, free));
        judge(&rooms, &[], Some(6144 + 256), same(20 * 1024)).unwrap();
        let error = judge(&rooms, &[], None, same(20 * 1024 - 1)).unwrap_err();
        assert!(error.message.contains("20480 MiB of disk"), "{error}");

        // Setup goes on: it has its memory, and 10 GiB of what it writes.
        let (left, free) = (2304 + 256, 10 * 1024);
        judge(&rooms, &[], Some(left), same(free)).unwrap_err();
        let held = [(cache, Room::exactly(4096, 10 * 1024))];
        judge(&rooms, &held, Some(left), same(free)).unwrap();
        judge(&rooms, &held, Some(left - 513), same(free)).unwrap_err();
        judge(&rooms, &held, Some(left), same(free - 1)).unwrap_err();
    }
}
