//! What pods have mounted: it must be gone before the directories can be removed, or its data would go with them.

use crate::{Ctx, Error, Result};

/// Mounts that only pods have: volumes, the shared memory and root of their containers, their network.
fn of_pods(at: &str) -> bool {
    at.starts_with("/var/lib/kubelet/")
        || at.starts_with("/run/netns/cni-")
        || at.starts_with("/run/containerd/io.containerd.grpc.v1.cri/sandboxes/")
        || (at.starts_with("/run/containerd/io.containerd.runtime.") && at.contains("/k8s.io/"))
}

/// Unmounts what pods left, the last mounted first.
pub(super) fn unmount(ctx: &Ctx) -> Result<()> {
    for at in all(ctx)?.iter().rev().filter(|at| of_pods(at)) {
        ctx.unmount(at)?;
        if at.starts_with("/run/netns/") {
            ctx.remove_file(at)?;
        }
    }
    Ok(())
}

/// Nothing may be mounted at or below a directory that is about to go.
pub(in crate::resources) fn none_at_or_below(ctx: &Ctx, path: &str) -> Result<()> {
    if all(ctx)?.iter().any(|at| at == path) {
        return Err(Error::new(format!("{path} cannot be removed: something is mounted there"))
            .hinted(format!("see what it is; then `umount {path}` and run the same command again")));
    }
    none_below(ctx, path)
}

/// Nothing may be mounted below a directory that is about to go.
pub(super) fn none_below(ctx: &Ctx, dir: &str) -> Result<()> {
    let below = format!("{dir}/");
    match all(ctx)?.iter().find(|at| at.starts_with(&below)) {
        None => Ok(()),
        Some(at) => Err(Error::new(format!("{dir} cannot be removed: something is mounted at {at}"))
            .hinted(format!("see what it is; then `umount {at}` and run the same command again"))),
    }
}

fn all(ctx: &Ctx) -> Result<Vec<String>> {
    let table = ctx.read("/proc/self/mountinfo")?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&table).lines().filter_map(mount_point).collect())
}

/// The fifth field; blanks and their like are written as `\040`.
pub(crate) fn mount_point(line: &str) -> Option<String> {
    let field = line.split(' ').nth(4)?;
    let mut bytes = Vec::new();
    let mut rest = field.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = (*first == b'\\').then(|| tail.get(..3)).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read() {
        let line = |at: &str| {
            format!("36 35 98:0 /mnt1 {at} rw,noatime master:1 - ext3 /dev/root rw,errors=continue")
        };
        assert_eq!(mount_point(&line("/var/lib/kubelet")).unwrap(), "/var/lib/kubelet");
        assert_eq!(mount_point(&line("/a\\040b\\134c")).unwrap(), "/a b\\c");
        assert_eq!(mount_point("short"), None);
    }

    #[test]
    fn the_data_directory_itself_is_no_mount_of_a_pod() {
        assert!(!of_pods("/var/lib/kubelet") && !of_pods("/run/netns/mine"));
        assert!(of_pods("/var/lib/kubelet/pods/1/volumes/kubernetes.io~projected/token"));
        assert!(of_pods("/run/containerd/io.containerd.runtime.v2.task/k8s.io/1/rootfs"));
        assert!(!of_pods("/run/containerd/io.containerd.runtime.v2.task/moby/1/rootfs"));
    }

    #[test]
    fn what_is_mounted_is_not_removed() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        std::fs::create_dir_all(ctx.path("/proc/self")).unwrap();
        let table =
            "1 2 0:1 / /var/lib/kubelet rw - ext4 x rw\n2 1 0:2 / /var/lib/kubelet/nfs rw - nfs x rw\n";
        std::fs::write(ctx.path("/proc/self/mountinfo"), table).unwrap();
        assert!(none_below(&ctx, "/var/lib/kubelet").unwrap_err().message.contains("/var/lib/kubelet/nfs"));
        none_below(&ctx, "/var/lib/kube").unwrap();
    }
}
