//! The service host: `swdt-node service NAME` runs a program for the service manager of Windows.
//!
//! ```text
//! services/NAME.json       which program, and how (a File of the plan)
//! services/NAME.started    when the program was started last
//! services/NAME.failed     it ended by itself soon after; gone when it lives again
//! ```
//!
//! Programs such as kubelet and flanneld know nothing of Windows services, or lose what they print. The host
//! starts them again when they end, more slowly each time, keeps what they say in a log that does not grow
//! for ever, and asks them to stop before it ends them.

mod log;
#[cfg(windows)]
mod run;

use std::{fs, path::PathBuf, time::Duration};

use swdt_wire::ServiceHost;

pub use log::Log;
#[cfg(windows)]
pub use run::run;

use crate::{Ctx, Error, Result, os, state::State};

/// A program that lives this long has started well.
pub const WELL: Duration = Duration::from_secs(10);

/// The longest wait before a program is started again.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// How many lines of a log an error carries.
const LAST_LINES: usize = 20;

/// May this name become part of a path?
pub fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn file(ctx: &Ctx, name: &str, ending: &str) -> PathBuf {
    State::of(ctx).dir().join("services").join(format!("{name}.{ending}"))
}

/// Says by its time when the program was started last.
pub fn started(ctx: &Ctx, name: &str) -> PathBuf {
    file(ctx, name, "started")
}

/// Did the program end by itself soon after its start?
pub fn has_failed(ctx: &Ctx, name: &str) -> bool {
    file(ctx, name, "failed").exists()
}

/// Forgets that, before it is started anew: it may be another program by now.
#[cfg(windows)]
pub fn forgive(ctx: &Ctx, name: &str) {
    let _ = fs::remove_file(file(ctx, name, "failed"));
}

/// Removes what the host of a service wrote: its marks and its logs.
pub fn forget(ctx: &Ctx, name: &str) {
    if let Ok(host) = load(ctx, name) {
        let aside = (1..=host.logs).map(|number| format!("{}.{number}", host.log));
        for log in aside.chain([host.log.clone()]) {
            let _ = fs::remove_file(ctx.path(&log));
        }
    }
    for ending in ["started", "failed"] {
        let _ = fs::remove_file(file(ctx, name, ending));
    }
}

/// The configuration of a service.
pub fn load(ctx: &Ctx, name: &str) -> Result<ServiceHost> {
    if !is_name(name) {
        return Err(Error::new(format!("{name:?} is no name of a service")));
    }
    let path = file(ctx, name, "json");
    let text = fs::read(&path).map_err(|error| Error::io("read", &path, &error))?;
    serde_json::from_slice(&text)
        .map_err(|error| Error::new(format!("{} cannot be understood: {error}", path.display())))
}

/// The arguments that another program wrote down. Read at each start, for they may change.
#[cfg_attr(not(windows), expect(dead_code, reason = "only Windows has services"))]
fn further_arguments(ctx: &Ctx, host: &ServiceHost) -> Vec<String> {
    let Some(from) = &host.arguments_from else { return Vec::new() };
    let text = ctx.read(&from.file).ok().flatten().unwrap_or_default();
    arguments_in(&String::from_utf8_lossy(&text), &from.variable)
}

/// The words of `NAME="word word"`.
pub(crate) fn arguments_in(text: &str, variable: &str) -> Vec<String> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix(variable)?.strip_prefix('='));
    let value = value.unwrap_or_default().trim_matches('"');
    value.split_whitespace().map(ToOwned::to_owned).collect()
}

/// The last lines of a service's log; nothing where there is none.
pub fn last_words(name: &str) -> Vec<String> {
    last_lines(&Ctx::new(os::ROOT), name, LAST_LINES).unwrap_or_default()
}

/// The last lines of a service's log, also from one that was put aside.
pub fn last_lines(ctx: &Ctx, name: &str, lines: usize) -> Result<Vec<String>> {
    let host = load(ctx, name)?;
    let mut found: Vec<String> = Vec::new();
    for log in [host.log.clone(), format!("{}.1", host.log)] {
        let text = fs::read(ctx.path(&log)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let missing = lines - found.len();
        let mut older: Vec<String> = text.lines().rev().take(missing).map(ToOwned::to_owned).collect();
        older.reverse();
        found.splice(0..0, older);
        if found.len() == lines {
            break;
        }
    }
    Ok(found)
}

/// How long to wait before a program is started again that ended `times` times in a row.
pub fn back_off(times: u32) -> Duration {
    Duration::from_secs(1 << times.saturating_sub(1).min(6)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_longer_each_time_but_not_for_ever() {
        let waits: Vec<u64> = [1, 2, 3, 6, 7, 1000].map(|times| back_off(times).as_secs()).to_vec();
        assert_eq!(waits, [1, 2, 4, 32, 60, 60]);
    }

    #[test]
    fn what_kubeadm_wrote_becomes_arguments() {
        let text =
            "KUBELET_KUBEADM_ARGS=\"--node-ip=10.0.0.3 --register-with-taints=os=windows:NoSchedule\"\r\n";
        let arguments = arguments_in(text, "KUBELET_KUBEADM_ARGS");
        assert_eq!(arguments, ["--node-ip=10.0.0.3", "--register-with-taints=os=windows:NoSchedule"]);
        assert!(arguments_in("KUBELET_KUBEADM_ARGS=\"\"", "KUBELET_KUBEADM_ARGS").is_empty());
        assert!(arguments_in("OTHER=1", "KUBELET_KUBEADM_ARGS").is_empty());
    }

    #[test]
    fn the_last_lines_are_those_of_all_logs() {
        let root = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(root.path());
        let dir = State::of(&ctx).dir().join("services");
        fs::create_dir_all(&dir).unwrap();
        let text = r#"{"program":"/k","arguments":[],"directory":"/","log":"/k.log","logMib":1,"logs":1,"stopSeconds":1}"#;
        fs::write(dir.join("k.json"), text).unwrap();
        fs::write(root.path().join("k.log.1"), "a\r\nb\r\n").unwrap();
        fs::write(root.path().join("k.log"), "c\r\nd\r\n").unwrap();
        assert_eq!(last_lines(&ctx, "k", 3).unwrap(), ["b", "c", "d"]);
        assert_eq!(last_lines(&ctx, "k", 1).unwrap(), ["d"]);
        assert_eq!(last_lines(&ctx, "k", 9).unwrap(), ["a", "b", "c", "d"]);
        assert!(last_lines(&ctx, "other", 9).is_err());
    }

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for bad in ["", "..", "a/b", r"a\b", "a.b", "a b"] {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert!(is_name("kube-proxy"));
    }
}
