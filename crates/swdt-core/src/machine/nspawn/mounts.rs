//! Mounts: the overlay of a machine, and the rule that no tree is removed while something is mounted in it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
};

use super::{names::MachineNames, patience};
use crate::{
    Error, Result, id,
    machine::files::{self, failed},
};

/// How long a busy mount is asked before it is detached lazily.
const BUSY: Duration = Duration::from_secs(5);

/// Mount points at or below a path, deepest first.
pub(super) fn below(path: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(1)).map(unescape);
    let mut points: Vec<_> = points.filter(|point| point.starts_with(path)).collect();
    points.reverse();
    points
}

/// The kernel writes blanks and backslashes of paths as octal numbers.
fn unescape(text: &str) -> PathBuf {
    let plain = text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n");
    plain.replace("\\134", "\\").into()
}

/// Mounts the machine's overlay, unless it is mounted.
pub(super) fn mount_overlay(names: &MachineNames, root: &Path) -> Result<()> {
    let (merged, upper, work) = (names.merged(), names.upper(), names.work());
    if below(&merged).contains(&merged) {
        return Ok(());
    }
    for dir in [&merged, &upper, &work] {
        files::make_dir(dir)?;
    }
    let options = [("lowerdir", root), ("upperdir", &upper), ("workdir", &work)]
        .map(|(key, path)| format!("{key}={}", escape(path)))
        .join(",");
    mount(Some("overlay"), &merged, Some("overlay"), MsFlags::empty(), Some(options.as_str()))
        .map_err(|errno| failed("mount an overlay at", &merged, &errno.into()))
}

/// Commas and colons separate overlay options.
fn escape(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
}

/// Unmounts everything at or below a path.
pub(super) fn unmount_below(path: &Path) -> Result<()> {
    for point in below(path) {
        let gone = patience(BUSY, || match umount2(&point, MntFlags::empty()) {
            Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => Some(()),
            Err(_) => None,
        });
        if gone.is_none() {
            umount2(&point, MntFlags::MNT_DETACH)
                .map_err(|errno| failed("unmount", &point, &errno.into()))?;
        }
    }
    Ok(())
}

/// Removes a directory with everything in it, never across a mount.
pub(super) fn remove_tree(path: &Path) -> Result<()> {
    unmount_below(path)?;
    if let Some(point) = below(path).first() {
        let message = format!("{} is still mounted, so nothing is removed", point.display());
        return Err(Error::new(id::MACHINE_LEFT_OVER, message));
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", path, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_mount_table_are_read_as_written() {
        assert_eq!(unescape("/a\\040b\\134c"), PathBuf::from("/a b\\c"));
    }

    #[test]
    fn overlay_options_keep_strange_paths_whole() {
        assert_eq!(escape(Path::new("/a,b:c")), "/a\\,b\\:c");
    }
}
