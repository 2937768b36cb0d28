//! Settings of the one kernel that all machines and the host share.
//!
//! They are the provider's, not a node's: held once for all clusters, remembered before they are touched,
//! and put back when the last cluster lets go. Values are only ever raised. Swap and clock are never
//! touched.
//!
//! There is one kernel, so there is one record, whatever data directory a cluster is in: else the last cluster of one
//! directory would take the way out from the machines of another.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Context, files, names::ClusterNames, tool};
use crate::Result;

/// Forgotten with the boot, as the settings are.
const RECORD: &str = "shared-kernel.json";

/// Raised to at least this.
const RAISED: &[(&str, u64)] = &[
    // The way out of the machines.
    ("net/ipv4/ip_forward", 1),
    // Every machine's systemd, kubelet and containerd watch files, all as the same user.
    ("fs/inotify/max_user_instances", 8192),
    ("fs/inotify/max_user_watches", 524_288),
];

/// A kubelet sets these by itself when it starts, on the whole host: remembered, and put back after it.
const SET_BY_KUBELET: &[(&str, u64)] = &[
    ("vm/overcommit_memory", 1),
    ("vm/panic_on_oom", 0),
    ("kernel/panic", 10),
    ("kernel/panic_on_oops", 1),
    ("kernel/keys/root_maxkeys", 1_000_000),
    ("kernel/keys/root_maxbytes", 25_000_000),
];

/// What machines and CNIs use; a machine cannot load them itself.
const MODULES: &[&str] = &["overlay", "br_netfilter", "vxlan", "nf_conntrack"];

/// What is held, for whom, and how it was before.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    /// The boot these values belong to: not every host forgets `/run`.
    boot: String,
    /// Clusters that need them, by id, and their directories. One whose directory was removed by hand would hold for
    /// ever.
    holders: BTreeMap<String, PathBuf>,
    /// Values before the first holder.
    prior: BTreeMap<String, Prior>,
    /// Modules that were loaded for us.
    modules: BTreeSet<String>,
}

/// A setting before us, and the value we (or our kubelets) gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prior {
    before: u64,
    ours: u64,
}

/// The places it all happens in; tests use their own.
struct Kernel {
    record: PathBuf,
    settings: PathBuf,
    boot: String,
}

impl Kernel {
    fn of_this_host() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            record: Path::new(files::HOST).join(RECORD),
            settings: "/proc/sys".into(),
            boot: boot.trim().to_owned(),
        }
    }

    fn load(&self) -> Result<Record> {
        let record = files::read_json::<Record>(&self.record)?.unwrap_or_default();
        if record.boot == self.boot {
            return Ok(record);
        }
        // Machines of an earlier boot do not run; whoever starts one holds anew.
        Ok(Record { boot: self.boot.clone(), ..Record::default() })
    }

    fn read(&self, key: &str) -> Option<u64> {
        fs::read_to_string(self.settings.join(key)).ok()?.trim().parse().ok()
    }

    fn hold(&self, holder: &str, cluster_dir: &Path) -> Result<()> {
        let mut record = self.load()?;
        record.holders.insert(holder.to_owned(), cluster_dir.to_owned());
        for (key, ours) in RAISED.iter().chain(SET_BY_KUBELET) {
            if let Some(before) = self.read(key) {
                let prior = Prior { before, ours: *ours };
                record.prior.entry((*key).to_owned()).or_insert(prior);
            }
        }
        let missing: Vec<_> = MODULES.iter().filter(|module| loadable(module)).collect();
        record.modules.extend(missing.iter().map(|module| (**module).to_owned()));
        files::write_json(&self.record, &record)?;

        for (key, least) in RAISED {
            if self.read(key).is_some_and(|value| value < *least) {
                // A kernel that will not is no error here; what needs it will say so better.
                let _ = fs::write(self.settings.join(key), least.to_string());
            }
        }
        for module in missing {
            let _ = tool::run("modprobe", [module]);
        }
        Ok(())
    }

    fn release(&self, holder: &str) -> Result<()> {
        let mut record = self.load()?;
        record.holders.retain(|other, dir| other != holder && dir.exists());
        if !record.holders.is_empty() {
            return files::write_json(&self.record, &record);
        }
        for (key, prior) in &record.prior {
            // Whoever changed it since meant it.
            if prior.before != prior.ours && self.read(key) == Some(prior.ours) {
                let path = self.settings.join(key);
                fs::write(&path, prior.before.to_string())
                    .map_err(|error| files::failed("restore", &path, &error))?;
            }
        }
        for module in &record.modules {
            // Somebody else may use it by now; then it stays.
            let _ = tool::run("modprobe", ["--remove", module]);
        }
        files::remove_file(&self.record)
    }
}

fn lock() -> Result<File> {
    files::lock_of_host("shared-kernel")
}

/// Holds the settings for a cluster; again and again is the same as once.
pub(super) fn hold(ctx: &Context) -> Result<()> {
    let _lock = lock()?;
    Kernel::of_this_host().hold(&ClusterNames::of(ctx).id, &ctx.cluster_dir)
}

/// Lets go for a cluster; the last one puts everything back.
pub(super) fn release(ctx: &Context) -> Result<()> {
    // Whoever is not root held nothing: such machines are on a private segment.
    if !nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let _lock = lock()?;
    Kernel::of_this_host().release(&ClusterNames::of(ctx).id)
}

/// Who holds settings, by id; and of these, whose cluster is gone.
pub(super) fn holders() -> Result<(usize, Vec<String>)> {
    let holders = Kernel::of_this_host().load()?.holders;
    let dead = holders.iter().filter(|(_, dir)| !dir.exists()).map(|(id, _)| id.clone()).collect();
    Ok((holders.len(), dead))
}

/// Not in the kernel yet, but could be.
fn loadable(module: &str) -> bool {
    !Path::new("/sys/module").join(module).exists()
        && tool::run("modprobe", ["--dry-run", "--first-time", module]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(dir: &Path, boot: &str) -> Kernel {
        Kernel { record: dir.join("record.json"), settings: dir.join("sys"), boot: boot.into() }
    }

    fn set(kernel: &Kernel, key: &str, value: u64) {
        let path = kernel.settings.join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    }

    #[test]
    fn the_last_holder_puts_everything_back() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = kernel(dir.path(), "one");
        set(&kernel, "net/ipv4/ip_forward", 0);
        set(&kernel, "fs/inotify/max_user_watches", 9_999_999);
        set(&kernel, "kernel/panic", 0);
        kernel.hold("a", dir.path()).unwrap();
        kernel.hold("b", dir.path()).unwrap();
        kernel.hold("b", dir.path()).unwrap();
        assert_eq!(kernel.read("net/ipv4/ip_forward"), Some(1));
        assert_eq!(kernel.read("fs/inotify/max_user_watches"), Some(9_999_999), "never lowered");
        set(&kernel, "kernel/panic", 10);
        kernel.release("a").unwrap();
        assert_eq!(kernel.read("net/ipv4/ip_forward"), Some(1));
        kernel.release("b").unwrap();
        assert_eq!(kernel.read("net/ipv4/ip_forward"), Some(0));
        assert_eq!(kernel.read("kernel/panic"), Some(0), "what a kubelet set is put back");
        assert!(!kernel.record.exists());
        kernel.release("b").unwrap();
    }

    #[test]
    fn a_cluster_removed_by_hand_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = kernel(dir.path(), "one");
        set(&kernel, "net/ipv4/ip_forward", 0);
        kernel.hold("removed by hand", &dir.path().join("gone")).unwrap();
        kernel.hold("a", dir.path()).unwrap();
        kernel.release("a").unwrap();
        assert_eq!(kernel.read("net/ipv4/ip_forward"), Some(0));
        assert!(!kernel.record.exists());
    }

    #[test]
    fn a_value_changed_by_somebody_else_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = kernel(dir.path(), "one");
        set(&kernel, "fs/inotify/max_user_instances", 128);
        kernel.hold("a", dir.path()).unwrap();
        set(&kernel, "fs/inotify/max_user_instances", 10_000);
        kernel.release("a").unwrap();
        assert_eq!(kernel.read("fs/inotify/max_user_instances"), Some(10_000));
    }

    #[test]
    fn a_new_boot_forgets_everything() {
        let dir = tempfile::tempdir().unwrap();
        let before = kernel(dir.path(), "one");
        set(&before, "net/ipv4/ip_forward", 0);
        before.hold("a", dir.path()).unwrap();
        let after = kernel(dir.path(), "two");
        set(&after, "net/ipv4/ip_forward", 1);
        after.hold("b", dir.path()).unwrap();
        after.release("b").unwrap();
        assert!(!after.record.exists(), "a does not run any more");
        assert_eq!(after.read("net/ipv4/ip_forward"), Some(1), "it was on before us in this boot");
    }
}
