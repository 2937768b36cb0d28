//! kubeadm on Windows: workers only, and the kubelet as a service of Windows.
//!
//! kubeadm and the kubelet use the paths of Linux on the drive where they are started, which is `C:`.

use swdt_wire::Prior;

use crate::{
    Ctx, Result, host,
    resources::{image, path, windows::service},
};

const KUBELET: &str = "kubelet";
const CRI_SOCKET: &str = "npipe:////./pipe/containerd-containerd";

/// What every member has when kubeadm is through.
pub(super) const MEMBER: [&str; 2] = [r"C:\etc\kubernetes\kubelet.conf", r"C:\var\lib\kubelet\config.yaml"];

/// Signs of a cluster on the machine. `kubeadm reset` would take them away, whoever made them.
const SIGNS: [&str; 4] = [
    r"C:\etc\kubernetes\kubelet.conf",
    r"C:\etc\kubernetes\bootstrap-kubelet.conf",
    r"C:\etc\kubernetes\pki\ca.crt",
    r"C:\var\lib\kubelet\config.yaml",
];

/// Directories that kubeadm, the kubelet, and the network's programs make. Absent, they go whole; empty, they are
/// emptied again.
const PATHS: [&str; 10] = [
    r"C:\etc\kubernetes",
    r"C:\etc\kubernetes\manifests",
    r"C:\etc\kubernetes\pki",
    r"C:\etc\cni\net.d",
    r"C:\var\lib\kubelet",
    r"C:\var\lib\cni",
    r"C:\var\log\pods",
    r"C:\var\log\containers",
    r"C:\run\flannel",
    r"C:\usr\libexec\kubernetes",
];

/// Directories above those, the deepest first. Others use them as well: they go when nothing is left in them.
const ABOVE: [&str; 8] = [
    r"C:\usr\libexec",
    r"C:\usr",
    r"C:\var\lib",
    r"C:\var\log",
    r"C:\var",
    r"C:\run",
    r"C:\etc\cni",
    r"C:\etc",
];

/// What is not there yet. A machine with signs of another cluster is refused.
pub(super) fn prior(ctx: &Ctx) -> Result<Prior> {
    let (absent, empty) = super::nothing_yet(ctx, &SIGNS, PATHS.into_iter().chain(ABOVE))?;
    Ok(Prior::Kubeadm { absent, empty })
}

/// The last lines it said.
pub(super) fn kubelets_words(_ctx: &Ctx) -> Vec<String> {
    host::last_words(KUBELET)
}

/// Takes the machine out of its cluster, to what `prior` tells. Programs that a run started end with it, so there
/// is no kubeadm of an earlier one.
pub(super) fn undo(ctx: &Ctx, prior: &Prior) -> Result<()> {
    let Prior::Kubeadm { absent, empty } = prior else { return Ok(()) };
    // A kubelet that runs would bring everything back, and keep its files open.
    service::stop_by_name(ctx, KUBELET)?;
    reset(ctx);
    remove_containers(ctx)?;
    for at in absent.iter().filter(|at| PATHS.contains(&at.as_str())) {
        ctx.remove_tree(at)?;
    }
    for prior in empty.iter().filter(|prior| PATHS.contains(&prior.path.as_str())) {
        for name in ctx.names_in(&prior.path) {
            ctx.remove_tree(&format!(r"{}\{name}", prior.path))?;
        }
        path::restore(ctx, prior)?;
    }
    for at in ABOVE.iter().filter(|above| absent.iter().any(|at| at == *above)) {
        ctx.remove_empty_dir(at)?;
    }
    Ok(())
}

fn reset(ctx: &Ctx) {
    let remains = [r"C:\etc\kubernetes", r"C:\var\lib\kubelet"];
    if !ctx.has_program("kubeadm") || remains.iter().all(|dir| ctx.names_in(dir).is_empty()) {
        return;
    }
    if let Err(error) = ctx.change(&["kubeadm", "reset", "-f", "--cri-socket", CRI_SOCKET]) {
        let last = error.output.last().map(String::as_str).unwrap_or_default();
        ctx.note(format!("kubeadm reset failed ({last}); swdt went on without it"));
    }
}

/// Containers of Kubernetes that are still there.
fn remove_containers(ctx: &Ctx) -> Result<()> {
    if !ctx.has_program("ctr") {
        return Ok(());
    }
    let said = ctx.query(&image::ctr(&["containers", "ls", "-q"]))?;
    for id in said.stdout.split_whitespace().filter(|_| said.ok()) {
        let _ = ctx.change(&image::ctr(&["tasks", "rm", "-f", id]));
        let _ = ctx.change(&image::ctr(&["containers", "rm", id]));
    }
    Ok(())
}
