//! A kernel setting, now and after a restart.

use std::{fs, path::Path};

use swdt_wire::{Prior, Status, Sysctl};

use super::{Behaviour, Reverted, foreign, path, small};
use crate::{Ctx, Error, Result};

/// Directories of settings, in the order of who wins for one file name.
const DIRS: [&str; 4] = ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"];

impl Behaviour for Sysctl {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        let Some(live) = ctx.read_trimmed(&proc_path(&self.key)?)? else {
            return Ok(Status::Differs("the kernel has no such setting".into()));
        };
        if words(&live) != words(&self.value) {
            return Ok(Status::Differs(format!("the kernel has {:?}", words(&live))));
        }
        small::check(ctx, &conf_path(&self.key), &conf(self))
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        Ok(Prior::Sysctl { file: path::capture(ctx, &conf_path(&self.key))?, live: live(ctx, self)? })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        if words(&live(ctx, self)?) != words(&self.value) {
            ctx.poke(&proc_path(&self.key)?, &self.value)?;
        }
        small::apply(ctx, &conf_path(&self.key), &conf(self))?;
        if let Some(file) = overruled_by(ctx, self) {
            ctx.note(format!("{file} sets {} to another value at the next restart", self.key));
        }
        Ok(())
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Sysctl { file, live: was } = prior else { return Err(foreign("kernel setting")) };
        let kept = small::revert(ctx, file, &conf(self), force)?;
        let at = proc_path(&self.key)?;
        // A setting leaves with its module.
        let Some(now) = ctx.read(&at)? else { return Ok(kept) };
        let now = String::from_utf8_lossy(&now);
        if now == was.as_str() {
            return Ok(kept);
        }
        if words(&now) != words(&self.value) && words(&now) != words(was) && !force {
            return Ok(kept.and(Reverted::Kept(format!(
                "{} was set to {:?} after swdt set it",
                self.key,
                words(&now)
            ))));
        }
        ctx.poke(&at, was)?;
        Ok(kept)
    }
}

/// The kernel's value, byte for byte.
fn live(ctx: &Ctx, it: &Sysctl) -> Result<String> {
    now(ctx, &it.key)?.ok_or_else(|| {
        Error::new(format!("this kernel has no setting {}", it.key))
            .hinted("it may belong to a kernel module that is not loaded")
    })
}

/// The kernel's value, byte for byte; none where it has no such setting.
pub(super) fn now(ctx: &Ctx, key: &str) -> Result<Option<String>> {
    Ok(ctx.read(&proc_path(key)?)?.map(|value| String::from_utf8_lossy(&value).into_owned()))
}

/// Gives a setting a value, until the next restart.
pub(super) fn set(ctx: &Ctx, key: &str, value: &str) -> Result<()> {
    ctx.poke(&proc_path(key)?, value)
}

/// Where the kernel shows a setting. As sysctl(8) has it, a slash in a key stands for a dot in a name.
pub(crate) fn proc_path(key: &str) -> Result<String> {
    let path: String = key
        .chars()
        .map(|it| {
            if it == '.' {
                '/'
            } else if it == '/' {
                '.'
            } else {
                it
            }
        })
        .collect();
    let fine = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.' | '/');
    let path = format!("/proc/sys/{path}");
    if !key.chars().all(fine) || path::absolute(&path).is_err() {
        return Err(Error::new(format!("{key:?} is no kernel setting")));
    }
    Ok(path)
}

fn conf_path(key: &str) -> String {
    format!("/etc/sysctl.d/{}", conf_name(key))
}

fn conf_name(key: &str) -> String {
    format!("90-swdt-{}.conf", key.replace('/', "~"))
}

fn conf(it: &Sysctl) -> String {
    format!("# Written by swdt, which removes it when the cluster is destroyed.\n{} = {}\n", it.key, it.value)
}

/// Fields separated by one blank.
fn words(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A file read after ours that says something else.
fn overruled_by(ctx: &Ctx, it: &Sysctl) -> Option<String> {
    let ours = conf_name(&it.key);
    let later = DIRS.iter().flat_map(|dir| {
        let names = fs::read_dir(ctx.path(dir)).into_iter().flatten().flatten();
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).map(move |name| (*dir, name))
    });
    let mut files: Vec<String> = later
        .filter(|(_, name)| *name > ours && Path::new(name).extension().is_some_and(|it| it == "conf"))
        .map(|(dir, name)| format!("{dir}/{name}"))
        .collect();
    // procps reads it last of all.
    files.push("/etc/sysctl.conf".into());
    files.into_iter().find(|file| {
        let text = ctx.read_trimmed(file).ok().flatten().unwrap_or_default();
        text.lines().any(|line| {
            let Some((key, value)) = line.trim().trim_start_matches('-').split_once('=') else {
                return false;
            };
            let same =
                proc_path(key.trim()).is_ok_and(|path| proc_path(&it.key).is_ok_and(|ours| ours == path));
            (same || key.trim() == it.key.replace('.', "/")) && words(value) != words(&it.value)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_cannot_leave_proc_sys() {
        assert_eq!(proc_path("net.ipv4.ip_forward").unwrap(), "/proc/sys/net/ipv4/ip_forward");
        assert_eq!(
            proc_path("net.ipv4.conf.eth0/1.forwarding").unwrap(),
            "/proc/sys/net/ipv4/conf/eth0.1/forwarding"
        );
        for bad in ["", "..etc", "a.//.b", "a b", "a\n", "a..b"] {
            assert!(proc_path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_later_file_that_says_otherwise_is_found() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        let it = Sysctl { key: "net.ipv4.ip_forward".into(), value: "1".into() };
        fs::create_dir_all(root.path().join("etc/sysctl.d")).unwrap();
        for (name, text, found) in [
            ("10-early.conf", "net.ipv4.ip_forward=0", false),
            ("99-same.conf", "net.ipv4.ip_forward = 1", false),
            ("99-other.conf", "# x\n-net/ipv4/ip_forward = 0", true),
        ] {
            fs::write(root.path().join("etc/sysctl.d").join(name), text).unwrap();
            assert_eq!(overruled_by(&ctx, &it).is_some(), found, "{name}");
        }
    }
}
