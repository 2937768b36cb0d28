//! The way back: `kubeadm reset`, and then whatever it and its pods leave.
//!
//! Every step may find its work done already. What kubeadm cannot do (it may be gone, or containerd may not
//! answer it) the later steps do, so its failure is only told.

use std::{fs, path::Path, time::Duration};

use swdt_wire::{PathPrior, Prior};

use super::{
    leftover,
    linux::{KUBELET, kubelet},
    mounts, packets, traces,
};
use crate::{
    Ctx, Result,
    resources::{image, path},
};

const CRI_SOCKET: &str = "unix:///run/containerd/containerd.sock";

/// How often containers are asked to go.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(500);

/// Takes the machine out of its cluster, to what `prior` tells.
pub(super) fn undo(ctx: &Ctx, prior: &Prior) -> Result<()> {
    let Prior::Kubeadm { absent, empty } = prior else { return Ok(()) };
    leftover::stop(ctx)?;
    reset(ctx);
    stop_kubelet(ctx)?;
    remove_containers(ctx)?;
    if ctx.live() {
        mounts::unmount(ctx)?;
        for link in absent.iter().filter_map(|word| word.strip_prefix(traces::NET)) {
            if ctx.path(traces::NET).join(link).exists() {
                ctx.change(&["ip", "link", "delete", link])?;
            }
        }
        packets::remove(ctx, absent)?;
        remove_cgroups(ctx)?;
    }
    remove_paths(ctx, absent, empty)
}

fn reset(ctx: &Ctx) {
    let remains = ["/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd"];
    if !ctx.has_program("kubeadm") || remains.iter().all(|dir| ctx.names_in(dir).is_empty()) {
        return;
    }
    if let Err(error) = ctx.change(&["kubeadm", "reset", "-f", "--cri-socket", CRI_SOCKET]) {
        let last = error.output.last().map(String::as_str).unwrap_or_default();
        ctx.note(format!("kubeadm reset failed ({last}); swdt went on without it"));
    }
}

/// A kubelet that runs would bring everything back.
fn stop_kubelet(ctx: &Ctx) -> Result<()> {
    if (ctx.live() || ctx.has_program("systemctl"))
        && !matches!(kubelet(ctx)?.as_str(), "inactive" | "failed")
    {
        return ctx.change(&["systemctl", "stop", KUBELET]);
    }
    Ok(())
}

/// Containers of Kubernetes that are still there. containerd may be at removing them itself, so it is no
/// failure when one is gone before us; or at making one that the kubelet asked for last, so none must be seen twice.
fn remove_containers(ctx: &Ctx) -> Result<()> {
    if !ctx.has_program("ctr") {
        return Ok(());
    }
    let mut none_before = false;
    for _ in 0..TRIES {
        let said = ctx.query(&image::ctr(&["containers", "ls", "-q"]))?;
        let none = said.stdout.trim().is_empty();
        if !said.ok() || (none && none_before) {
            return Ok(());
        }
        none_before = none;
        for id in said.stdout.split_whitespace() {
            let _ = ctx.change(&image::ctr(&["tasks", "rm", "-f", id]));
            let _ = ctx.change(&image::ctr(&["containers", "rm", id]));
        }
        ctx.pause(PAUSE)?;
    }
    ctx.note("containers of the cluster do not end; a restart of the machine ends them");
    Ok(())
}

/// Groups that the kubelet made for pods: slices of systemd, or plain directories; in every hierarchy.
fn remove_cgroups(ctx: &Ctx) -> Result<()> {
    const GROUPS: &str = "/sys/fs/cgroup";
    let hierarchies = ctx.names_in(GROUPS).into_iter().map(|name| format!("{GROUPS}/{name}"));
    let roots: Vec<String> = [GROUPS.to_owned()].into_iter().chain(hierarchies).collect();
    if roots.iter().any(|root| ctx.path(&format!("{root}/kubepods.slice")).is_dir()) {
        ctx.change(&["systemctl", "stop", "kubepods.slice"])?;
    }
    for root in &roots {
        for name in ["kubepods.slice", "kubepods"] {
            remove_group(ctx, &ctx.path(&format!("{root}/{name}")));
        }
    }
    Ok(())
}

/// A group can only go when it is empty, and its files go with it.
fn remove_group(ctx: &Ctx, group: &Path) {
    if !fs::symlink_metadata(group).is_ok_and(|meta| meta.is_dir()) {
        return;
    }
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        remove_group(ctx, &entry.path());
    }
    ctx.count_write();
    if let Err(error) = fs::remove_dir(group) {
        ctx.note(format!("the control group {} stays: {error}", group.display()));
    }
}

/// Files and directories that were not there, and what is in those that were empty.
fn remove_paths(ctx: &Ctx, absent: &[String], empty: &[PathPrior]) -> Result<()> {
    let words = |at: &&String| at.starts_with('/') && !at.starts_with(traces::NET);
    for at in absent.iter().filter(words) {
        mounts::none_below(ctx, at)?;
        ctx.remove_tree(at)?;
    }
    for prior in empty {
        mounts::none_below(ctx, &prior.path)?;
        for name in ctx.names_in(&prior.path) {
            ctx.remove_tree(&format!("{}/{name}", prior.path))?;
        }
        // etcd and the kubelet close their directories to others.
        path::restore(ctx, prior)?;
    }
    Ok(())
}
