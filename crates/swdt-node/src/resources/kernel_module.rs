//! A kernel module, loaded now and after a restart.

use swdt_wire::{KernelModule, Prior, Status};

use super::{Behaviour, Reverted, foreign, path, small};
use crate::{Ctx, Error, Result};

impl Behaviour for KernelModule {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        validate(&self.name)?;
        if ctx.live() && !loaded(ctx, &self.name)? {
            return Ok(Status::Differs("not loaded".into()));
        }
        small::check(ctx, &conf_path(&self.name), &conf(&self.name))
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        Ok(Prior::KernelModule {
            file: path::capture(ctx, &conf_path(&self.name))?,
            loaded: loaded(ctx, &self.name)?,
        })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        if ctx.live() && !loaded(ctx, &self.name)? {
            ctx.change(&["modprobe", "--", &self.name]).map_err(|error| {
                error.hinted("the running kernel may have been replaced by an update: restart the machine; or it has no such module")
            })?;
        }
        small::apply(ctx, &conf_path(&self.name), &conf(&self.name))
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::KernelModule { file, loaded: was } = prior else { return Err(foreign("kernel module")) };
        let kept = small::revert(ctx, file, &conf(&self.name), force)?;
        if *was || !ctx.live() || !loaded(ctx, &self.name)? {
            return Ok(kept);
        }
        match ctx.change(&["modprobe", "-r", "--", &self.name]) {
            Ok(()) => Ok(kept),
            Err(_) => Ok(kept.and(Reverted::Kept(format!(
                "the kernel module {} is in use; it stays loaded until the next restart",
                self.name
            )))),
        }
    }
}

fn validate(name: &str) -> Result<()> {
    let good =
        !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'));
    if good { Ok(()) } else { Err(Error::new(format!("{name:?} is no name of a kernel module"))) }
}

fn conf_path(name: &str) -> String {
    format!("/etc/modules-load.d/swdt-{name}.conf")
}

fn conf(name: &str) -> String {
    format!("# Written by swdt, which removes it when the cluster is destroyed.\n{name}\n")
}

/// Loaded, or built into the kernel. Not every built-in module shows in /sys.
fn loaded(ctx: &Ctx, name: &str) -> Result<bool> {
    let name = name.replace('-', "_");
    if path::is_dir(ctx, &format!("/sys/module/{name}")) {
        return Ok(true);
    }
    let modules = ctx.read_trimmed("/proc/modules")?.unwrap_or_default();
    if modules.lines().any(|line| line.split(' ').next() == Some(&name)) {
        return Ok(true);
    }
    let release = ctx.read_trimmed("/proc/sys/kernel/osrelease")?.unwrap_or_default();
    let builtin = ctx.read_trimmed(&format!("/lib/modules/{release}/modules.builtin"))?.unwrap_or_default();
    Ok(builtin.lines().any(|line| {
        let file = line.rsplit('/').next().unwrap_or_default();
        file.split('.').next().unwrap_or_default().replace('-', "_") == name
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_module_is_loaded_or_built_in() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        for dir in ["proc/sys/kernel", "sys/module/overlay", "lib/modules/6.1"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        fs::write(root.path().join("proc/sys/kernel/osrelease"), "6.1\n").unwrap();
        fs::write(root.path().join("proc/modules"), "br_netfilter 1 0 - Live 0x0\n").unwrap();
        fs::write(root.path().join("lib/modules/6.1/modules.builtin"), "kernel/net/nf-nat.ko\n").unwrap();
        for (name, is) in
            [("overlay", true), ("br-netfilter", true), ("nf_nat", true), ("br", false), ("vxlan", false)]
        {
            assert_eq!(loaded(&ctx, name).unwrap(), is, "{name}");
        }
    }
}
