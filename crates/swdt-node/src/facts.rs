//! Not written yet.

use swdt_wire::{Facts, FirewallFact, Os, Virtualization};

use crate::{Ctx, Result};

/// What this machine is.
pub fn gather(_ctx: &Ctx) -> Result<Facts> {
    let os = Os {
        family: "linux".into(),
        id: String::new(),
        version: String::new(),
        name: String::new(),
        kernel: String::new(),
    };
    Ok(Facts {
        os,
        arch: "amd64".into(),
        hostname: String::new(),
        boot_id: String::new(),
        machine_id: String::new(),
        product_uuid: None,
        cpus: 0,
        memory_mib: 0,
        disks: Vec::new(),
        addresses: Vec::new(),
        virtualization: Virtualization::OwnKernel,
        cgroup: 2,
        sys_resource: true,
        init: "systemd".into(),
        packages: None,
        firewall: FirewallFact::None,
        selinux: None,
        swaps: Vec::new(),
        writable: true,
    })
}
