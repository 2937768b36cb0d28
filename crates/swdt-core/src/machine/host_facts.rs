//! What the rules of `doctor` want to know of this host, as far as machines are concerned. Changes nothing.

use std::{fs, path::Path};

use super::{Context, MAKERS, network, shared_kernel, tool};
use crate::{
    doctor::HostFacts,
    spec::{Node, Place},
};

/// Looks at this host for the machines of these nodes, and for those of clusters that are here.
pub fn look_at_host(host: &mut HostFacts, nodes: &[Node], clusters: &[Context], cache_dir: &Path) {
    for (names, provider) in MAKERS {
        let ours = |node: &&Node| matches!(&node.place, Place::Machine(it) if names.contains(&it.provider));
        provider.look(host, &nodes.iter().filter(ours).collect::<Vec<_>>(), cache_dir);
    }
    host.memory_left_mib = super::qemu::memory_left_mib();
    host.nested = nested();
    host.forwards = number("net/ipv4/ip_forward").map(|value| value != 0);
    host.inotify = number("fs/inotify/max_user_instances").zip(number("fs/inotify/max_user_watches"));
    host.drops = network::drops();
    host.shut = clusters.iter().filter(|ctx| network::shut(ctx)).map(|ctx| ctx.cluster.clone()).collect();
    host.firewalld = says("systemctl", &["is-active", "firewalld"]).as_deref() == Some("active");
    host.clock_set =
        says("timedatectl", &["show", "--property=NTPSynchronized", "--value"]).map(|said| said == "yes");
    if let Ok((holders, dead)) = shared_kernel::holders() {
        host.holds_machines = holders > dead.len();
        host.dead_holders = dead;
    }
}

/// A setting of the kernel.
fn number(key: &str) -> Option<u64> {
    fs::read_to_string(Path::new("/proc/sys").join(key)).ok()?.trim().parse().ok()
}

/// What a program says, if it is there and ends well.
fn says(program: &str, arguments: &[&str]) -> Option<String> {
    tool::find(program)?;
    tool::run(program, arguments).ok().map(|said| said.trim().to_owned())
}

/// `Y` or `1` where machines may run machines of their own.
fn nested() -> Option<bool> {
    let read = |module: &str| fs::read_to_string(format!("/sys/module/{module}/parameters/nested")).ok();
    let value = read("kvm_intel").or_else(|| read("kvm_amd"))?;
    Some(matches!(value.trim(), "Y" | "1"))
}
