//! A kubeadm that outlived the run that started it.

use std::{fs, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{Ctx, Error, Result, state::State};

/// How long a killed process may take to be gone, in looks.
const LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Ends it: two at once would ruin each other's work.
pub(super) fn stop(ctx: &Ctx) -> Result<()> {
    let config = State::of(ctx).kubeadm_config().to_string_lossy().into_owned();
    for pid in running(ctx, &config) {
        ctx.count_write();
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    for _ in 0..LOOKS {
        if running(ctx, &config).is_empty() {
            return Ok(());
        }
        ctx.pause(PAUSE)?;
    }
    Err(Error::new("a kubeadm of an earlier run does not end"))
}

/// Processes that were told to read our configuration.
fn running(ctx: &Ctx, config: &str) -> Vec<i32> {
    let told = |pid: &i32| {
        let line = fs::read(ctx.path("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.next().is_some_and(|program| program.ends_with(b"kubeadm"))
            && words.any(|word| word == config.as_bytes())
    };
    ctx.names_in("/proc").iter().filter_map(|name| name.parse().ok()).filter(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kubeadm_with_our_configuration_is_a_leftover() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        for (pid, line) in [
            ("10", "/usr/local/bin/kubeadm\0init\0--config\0/var/lib/swdt/kubeadm.yaml\0"),
            ("11", "kubeadm\0init\0--config\0/root/mine.yaml\0"),
            ("12", "vi\0/var/lib/swdt/kubeadm.yaml\0"),
            ("self", ""),
        ] {
            fs::create_dir_all(ctx.path("/proc").join(pid)).unwrap();
            fs::write(ctx.path("/proc").join(pid).join("cmdline"), line).unwrap();
        }
        assert_eq!(running(&ctx, "/var/lib/swdt/kubeadm.yaml"), [10]);
    }
}
