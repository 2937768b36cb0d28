//! kubeadm on Linux: the control plane too, and the kubelet as a service of systemd.

use swdt_wire::{KubeadmInit, Prior, Status};

use super::work::Work;
pub(super) use super::{reset::undo, traces::prior};
use crate::{
    Ctx, Result,
    resources::{Behaviour, Reverted},
};

pub(super) const KUBELET: &str = "kubelet.service";

/// What a control plane has when kubeadm is through. etcd may be elsewhere.
const CONTROL_PLANE: [&str; 6] = [
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/manifests/kube-apiserver.yaml",
    "/etc/kubernetes/manifests/kube-controller-manager.yaml",
    "/etc/kubernetes/manifests/kube-scheduler.yaml",
    "/var/lib/kubelet/config.yaml",
];

/// What every member has when kubeadm is through.
pub(super) const MEMBER: [&str; 2] = ["/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/config.yaml"];

impl Behaviour for KubeadmInit {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        super::status(ctx, &CONTROL_PLANE, "there is no control plane")
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        prior(ctx)
    }

    fn apply(&self, ctx: &Ctx, prior: &Prior) -> Result<()> {
        let arguments = ["init", "--skip-token-print"];
        super::apply(
            ctx,
            prior,
            &CONTROL_PLANE,
            &Work { arguments: &arguments, config: &self.config, ignore: &self.ignore },
        )
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, _force: bool) -> Result<Reverted> {
        super::revert(ctx, prior)
    }
}

/// The state of the kubelet in systemd's word. In a scratch root nothing runs, unless it brings a systemd.
pub(super) fn kubelet(ctx: &Ctx) -> Result<String> {
    if !ctx.live() && !ctx.has_program("systemctl") {
        return Ok("active".into());
    }
    Ok(ctx.query(&["systemctl", "is-active", KUBELET])?.stdout.trim().to_owned())
}

/// The last lines it said.
pub(super) fn kubelets_words(ctx: &Ctx) -> Vec<String> {
    ctx.query(&["journalctl", "-u", KUBELET, "-n", "10", "--no-pager", "-o", "cat"])
        .map(|said| said.stdout.lines().map(str::to_owned).collect())
        .unwrap_or_default()
}
