//! [`Service`]: a systemd unit, enabled or not, running or not.
//!
//! In a scratch root only "enabled" is looked at, with `systemctl --root`; nothing runs there.

pub(crate) mod unit;

use std::{
    fs,
    os::unix::fs::MetadataExt,
    thread,
    time::{Duration, Instant},
};

use swdt_wire::{Prior, Service, Status};

use super::{Behaviour, Reverted};
use crate::{Ctx, Error, Result};
use unit::Unit;

/// How long a service that says nothing about its readiness must stay alive to count as started.
const SETTLE: Duration = Duration::from_secs(1);

/// Directories of unit files. When a file in one of them goes away or changes, systemd must read them
/// again ([`reload`]), or a unit that is no longer there stays loaded.
const UNIT_DIRS: [&str; 4] = [
    "/etc/systemd/system/",
    "/usr/local/lib/systemd/system/",
    "/usr/lib/systemd/system/",
    "/lib/systemd/system/",
];

/// Is this the path of a unit file (or a drop-in)?
pub(crate) fn holds_units(path: &str) -> bool {
    UNIT_DIRS.iter().any(|dir| path.starts_with(dir))
}

/// Makes systemd read all unit files again; nothing to do in a scratch root or without systemd.
pub(crate) fn reload(ctx: &Ctx) -> Result<()> {
    if ctx.live() && booted(ctx) { ctx.change(&["systemctl", "daemon-reload"]) } else { Ok(()) }
}

fn booted(ctx: &Ctx) -> bool {
    ctx.path("/run/systemd/system").is_dir()
}

/// The unit as it is now.
fn look(ctx: &Ctx, name: &str) -> Result<Unit> {
    if !ctx.live() {
        let root = format!("--root={}", ctx.path("/").display());
        return Ok(Unit::offline(&ctx.query(&["systemctl", &root, "is-enabled", name])?.stdout));
    }
    if !booted(ctx) {
        return Err(Error::new(format!(
            "{name}: services need systemd, and this machine was not started by it"
        ))
        .hinted("use a machine whose init is systemd"));
    }
    let said = ctx.query(&["systemctl", "show", name, "-p", unit::PROPERTIES])?;
    if said.ok() {
        return Ok(Unit::parse(&said.stdout));
    }
    let output = said.stderr.lines().map(str::to_owned).collect();
    Err(Error { message: format!("systemctl cannot tell the state of {name}"), output, hint: None })
}

/// Files that changed after the service was started. The change time is used and not the modification
/// time: archives and package managers set the latter to the past. systemd leaves a link whose own time
/// is that of the start, by the same clock as all files.
fn changed_since_start(ctx: &Ctx, service: &Service) -> Vec<String> {
    let link = ctx.path(&format!("/run/systemd/units/invocation:{}", service.name));
    let Ok(started) = fs::symlink_metadata(link) else { return Vec::new() };
    let newer = |path: &&String| {
        fs::metadata(ctx.path(path))
            .is_ok_and(|file| (file.ctime(), file.ctime_nsec()) > (started.mtime(), started.mtime_nsec()))
    };
    service.newer_than.iter().filter(newer).cloned().collect()
}

/// Has "enabled" to change? What cannot be disabled is as disabled as it can be.
fn misses_enablement(service: &Service, unit: &Unit) -> bool {
    unit.enabled() != service.enabled && (service.enabled || !unit.fixed())
}

/// What is not as `service` wants it, for people.
fn differences(ctx: &Ctx, service: &Service, unit: &Unit) -> Vec<String> {
    let mut differs = Vec::new();
    let wanted = service.enabled || service.running;
    if !unit.exists() {
        if wanted {
            differs.push(format!("there is no unit {}", service.name));
        }
        return differs;
    }
    if unit.masked() && wanted {
        differs.push("masked".into());
    }
    if misses_enablement(service, unit) {
        differs.push(if service.enabled { "not enabled".into() } else { "enabled".into() });
    }
    if !ctx.live() {
        return differs;
    }
    if service.running && !unit.running() {
        differs.push(format!("not running ({})", unit.state()));
    } else if !service.running && !unit.stopped() {
        differs.push(format!("running ({})", unit.state()));
    } else if service.running {
        let changed = changed_since_start(ctx, service);
        if !changed.is_empty() {
            differs.push(format!("started before {} changed", changed.join(", ")));
        }
    }
    if unit.stale {
        differs.push("its unit file changed on disk".into());
    }
    differs
}

impl Behaviour for Service {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let differs = differences(ctx, self, &look(ctx, &self.name)?);
        Ok(if differs.is_empty() { Status::Satisfied } else { Status::Differs(differs.join("; ")) })
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        let unit = look(ctx, &self.name)?;
        Ok(Prior::Service { enabled: unit.enablement.clone(), running: !unit.stopped() })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let mut unit = look(ctx, &self.name)?;
        if ctx.live() && (unit.stale || !unit.exists()) {
            reload(ctx)?;
            unit = look(ctx, &self.name)?;
        }
        refuse_unusable(self, &unit)?;
        if misses_enablement(self, &unit) {
            enable(ctx, &self.name, if self.enabled { "enable" } else { "disable" })?;
        }
        if !ctx.live() {
            return Ok(());
        }
        if self.running && (!unit.running() || !changed_since_start(ctx, self).is_empty()) {
            start(ctx, &self.name)
        } else if !self.running && !unit.stopped() {
            ctx.change(&["systemctl", "stop", &self.name])
                .map_err(|error| with_journal(ctx, &self.name, error))
        } else {
            Ok(())
        }
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Service { enabled, running } = prior else {
            return Err(Error::new("the receipt of a service tells of something else"));
        };
        let unit = look(ctx, &self.name)?;
        if !unit.exists() {
            return Ok(Reverted::Yes);
        }
        let mut kept = Vec::new();
        let was_enabled = unit::is_enabled(enabled.as_deref());
        if unit.enabled() != was_enabled {
            // Equal to neither what was there nor what we made of it: somebody else's doing.
            if self.enabled == was_enabled && !force {
                kept.push(if was_enabled { "somebody disabled it" } else { "somebody enabled it" });
            } else {
                enable(ctx, &self.name, if was_enabled { "enable" } else { "disable" })?;
            }
        }
        if ctx.live() {
            let now_running = !unit.stopped();
            if now_running != *running {
                if self.running == *running && !force {
                    kept.push(if *running { "somebody stopped it" } else { "somebody started it" });
                } else if *running {
                    ctx.change(&["systemctl", "start", &self.name])?;
                } else {
                    ctx.change(&["systemctl", "stop", &self.name])?;
                }
            }
            // A stopped unit may still be remembered as failed, which it was not before us.
            if !running && look(ctx, &self.name)?.failed() {
                ctx.change(&["systemctl", "reset-failed", &self.name])?;
            }
        }
        Ok(if kept.is_empty() { Reverted::Yes } else { Reverted::Kept(kept.join("; ")) })
    }
}

/// States from which no command of ours leads to what is wanted.
fn refuse_unusable(service: &Service, unit: &Unit) -> Result<()> {
    let name = &service.name;
    if !service.enabled && !service.running {
        return Ok(());
    }
    if !unit.exists() {
        return Err(Error::new(format!("there is no unit {name} on this machine"))
            .hinted("the package or file that brings it is missing, or has another name"));
    }
    if unit.masked() {
        return Err(Error::new(format!("{name} is masked: somebody forbade to start it"))
            .hinted(format!("run `systemctl unmask {name}` if that is no longer wanted")));
    }
    if let Some(problem) = unit.load_problem() {
        return Err(Error::new(format!("systemd cannot load {name}: {problem}"))
            .hinted(format!("`systemd-analyze verify {name}` says more")));
    }
    if service.enabled && unit.fixed() && !unit.enabled() {
        return Err(Error::new(format!("{name} has no [Install] section, so it cannot be enabled")));
    }
    Ok(())
}

/// Enables or disables; in a scratch root offline.
fn enable(ctx: &Ctx, name: &str, verb: &str) -> Result<()> {
    if ctx.live() {
        return ctx.change(&["systemctl", verb, name]);
    }
    let root = format!("--root={}", ctx.path("/").display());
    ctx.change(&["systemctl", &root, verb, name])
}

/// Starts and sees to it that the service lives.
fn start(ctx: &Ctx, name: &str) -> Result<()> {
    if look(ctx, name)?.failed() {
        // Failed too often, it would be refused without being tried.
        ctx.change(&["systemctl", "reset-failed", name])?;
    }
    // Restart also takes a unit out of a loop of failing starts, and starts a stopped one.
    ctx.change(&["systemctl", "restart", name]).map_err(|error| with_journal(ctx, name, error))?;
    let begin = Instant::now();
    loop {
        let unit = look(ctx, name)?;
        if !unit.running() || unit.restarts > 0 {
            let message = format!("{name} was started but did not stay alive ({})", unit.state());
            return Err(with_journal(ctx, name, Error::new(message)));
        }
        if unit.tells_readiness() || begin.elapsed() >= SETTLE {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// The same error with the last lines of the unit's journal, which say why.
fn with_journal(ctx: &Ctx, name: &str, error: Error) -> Error {
    let journal = ctx
        .query(&["journalctl", "-u", name, "-n", "20", "--no-pager", "-o", "cat"])
        .map(|said| said.stdout.lines().map(str::to_owned).collect::<Vec<_>>())
        .unwrap_or_default();
    let output = if journal.is_empty() { error.output } else { journal };
    Error { output, ..error }
        .hinted(format!("`systemctl status {name}` and `journalctl -u {name}` on the machine say more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `systemctl --root` is offline and safe, but has to be there.
    fn scratch() -> Option<(tempfile::TempDir, Ctx)> {
        let dir = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(dir.path());
        let units = ctx.path("/etc/systemd/system");
        fs::create_dir_all(&units).unwrap();
        fs::create_dir_all(ctx.path("/usr/lib/systemd/system")).unwrap();
        fs::write(
            units.join("t.service"),
            "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
        )
        .unwrap();
        Ctx::new("/").has_program("systemctl").then_some((dir, ctx))
    }

    fn service(name: &str) -> Service {
        Service { name: name.into(), enabled: true, running: true, newer_than: Vec::new() }
    }

    #[test]
    fn enabled_in_a_scratch_root_and_back() {
        let Some((_dir, ctx)) = scratch() else { return };
        let it = service("t.service");
        let link = ctx.path("/etc/systemd/system/multi-user.target.wants/t.service");
        assert_eq!(it.check(&ctx).unwrap(), Status::Differs("not enabled".into()));
        let prior = it.prior(&ctx).unwrap();
        assert_eq!(prior, Prior::Service { enabled: Some("disabled".into()), running: false });
        it.apply(&ctx, &prior).unwrap();
        assert!(fs::symlink_metadata(&link).is_ok());
        assert_eq!(it.check(&ctx).unwrap(), Status::Satisfied);
        assert_eq!(it.revert(&ctx, &prior, false).unwrap(), Reverted::Yes);
        assert!(fs::symlink_metadata(&link).is_err());
        assert!(!link.parent().unwrap().exists(), "a directory that was not there is gone again");
    }

    #[test]
    fn a_unit_that_is_not_there() {
        let Some((_dir, ctx)) = scratch() else { return };
        let it = service("nowhere.service");
        assert_eq!(it.check(&ctx).unwrap(), Status::Differs("there is no unit nowhere.service".into()));
        let prior = it.prior(&ctx).unwrap();
        assert!(it.apply(&ctx, &prior).unwrap_err().message.contains("there is no unit"));
        let absent = Service { enabled: false, running: false, ..it };
        assert_eq!(absent.check(&ctx).unwrap(), Status::Satisfied);
    }

    #[test]
    fn unit_files() {
        assert!(holds_units("/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"));
        assert!(!holds_units("/etc/systemd/resolved.conf"));
    }
}
