//! Container runtimes and clusters that are not ours: two on one machine would ruin each other.

use std::collections::BTreeSet;

use super::text;
use crate::{Ctx, os, resources};

/// Programs of which a machine can have only one that works.
const PROGRAMS: [&str; 5] = ["containerd", "crio", "dockerd", "kubeadm", "kubelet"];

/// Where a containerd keeps its books, and our resource that allows for them.
const BOOKS: (&str, &str) = ("/var/lib/containerd/io.containerd.metadata.v1.bolt", "traces:containerd");

/// Our resource behind a member of a cluster.
const KUBEADM: &str = "kubeadm";

/// Ports of the API server, etcd, kubelet, controller manager and scheduler.
const PORTS: [u16; 6] = [2379, 2380, 6443, 10250, 10257, 10259];

/// A socket that listens, in the kernel's numbers.
const LISTEN: &str = "0A";

/// Traces of others, as paths. A program is found once, though its directory may have two names.
pub(super) fn found(ctx: &Ctx, ours: &BTreeSet<String>) -> Vec<String> {
    let mut real = BTreeSet::new();
    let dirs = os::DIRS.iter().filter(|dir| {
        let path = ctx.path(dir);
        real.insert(path.canonicalize().unwrap_or(path))
    });
    let programs = dirs.flat_map(|dir| PROGRAMS.iter().map(move |name| format!("{dir}/{name}")));
    let programs = programs.filter(|path| !ours.contains(&format!("file:{path}")));
    let books = (!ours.contains(BOOKS.1)).then_some(BOOKS.0);
    let signs = if ours.contains(KUBEADM) { &[][..] } else { resources::CLUSTER_SIGNS };
    let data = books.into_iter().chain(signs.iter().copied()).map(str::to_owned);
    programs.chain(data).filter(|path| ctx.path(path).exists()).collect()
}

/// Ports at which others listen.
pub(super) fn ports(ctx: &Ctx, ours: &BTreeSet<String>) -> Vec<u16> {
    if ours.contains(KUBEADM) {
        return Vec::new();
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| text(ctx, table));
    let open: BTreeSet<u16> = tables.iter().flat_map(|table| listening(table)).collect();
    PORTS.into_iter().filter(|port| open.contains(port)).collect()
}

/// Lines such as `0: 0100007F:192B 00000000:0000 0A …`: number, local address and port, remote, state.
pub(crate) fn listening(table: &str) -> impl Iterator<Item = u16> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let port = u16::from_str_radix(fields.next()?.rsplit(':').next()?, 16).ok()?;
        (fields.nth(1)? == LISTEN).then_some(port)
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    const TCP: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1
   1: 0100007F:280A 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 4243 1
   2: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4244 1
";

    #[test]
    fn what_is_not_ours_is_found_once() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        for dir in ["/usr/bin", "/usr/local/bin", BOOKS.0, "/etc/kubernetes", "/proc/net"] {
            fs::create_dir_all(ctx.path(dir)).unwrap();
        }
        symlink("usr/bin", ctx.path("/bin")).unwrap();
        for file in ["/usr/bin/containerd", "/usr/local/bin/kubelet", "/etc/kubernetes/admin.conf"] {
            fs::write(ctx.path(file), "").unwrap();
        }
        fs::write(ctx.path("/proc/net/tcp"), TCP).unwrap();
        let nobody = BTreeSet::new();
        assert_eq!(
            found(&ctx, &nobody),
            ["/usr/local/bin/kubelet", "/usr/bin/containerd", BOOKS.0, "/etc/kubernetes/admin.conf"]
        );
        assert_eq!(ports(&ctx, &nobody), [6443], "10250 is only spoken to, and 22 is none of Kubernetes'");
        let ours = ["file:/usr/local/bin/kubelet", "kubeadm", BOOKS.1].map(str::to_owned).into();
        assert_eq!(found(&ctx, &ours), ["/usr/bin/containerd"]);
        assert_eq!(ports(&ctx, &ours), Vec::<u16>::new());
    }
}
