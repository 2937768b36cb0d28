//! Looking at a machine, by its own programs and without SSH.

use std::collections::BTreeMap;

use swdt_core::Result;

use super::{Exclusions, Fingerprint, windows};
use crate::TestMachine;

/// Not files of the machine: the kernel's, and what does not outlive a boot.
const NOT_FILES: &[&str] = &["/proc", "/sys", "/dev", "/run", "/tmp"];
/// Units whose state is a decision; scopes, slices and devices only mirror what runs.
const UNIT_KINDS: &str = "--type=service,socket,timer,path,mount,automount,swap,target";

/// Where a glance looks: a small part of a machine, and nearly all of what is ever written to.
const GLANCE: &[&str] = &["/etc", "/opt", "/root", "/srv", "/usr/local", "/var/lib"];

impl Fingerprint {
    /// Takes the fingerprint of a running machine.
    pub async fn take(machine: &TestMachine) -> Result<Self> {
        if machine.is_windows() {
            return windows::look(machine, true).await;
        }
        let mut whole = Self::below(machine, &["/"]).await?;
        let argv = ["systemctl", "list-unit-files", "--no-legend", "--no-pager", "--plain"];
        lines(machine, "unit file", &argv, &mut whole.entries).await?;
        Ok(whole)
    }

    /// Like [`Self::take`], but of the files only those that are usually written to, and of unit files only
    /// what /etc says: in a twentieth of the time, for tests that look often and take the whole at their end.
    pub async fn glance(machine: &TestMachine) -> Result<Self> {
        if machine.is_windows() {
            return windows::look(machine, false).await;
        }
        Self::below(machine, GLANCE).await
    }

    async fn below(machine: &TestMachine, tops: &[&str]) -> Result<Self> {
        let skip = Exclusions::reviewed();
        let mut entries = BTreeMap::new();
        files(machine, tops, &skip, &mut entries).await?;
        sysctls(machine, &skip, &mut entries).await?;
        lines(
            machine,
            "package",
            &[
                "dpkg-query",
                "--show",
                "--showformat=${Package}:${Architecture} ${Version} ${db:Status-Abbrev}\n",
            ],
            &mut entries,
        )
        .await?;
        units(machine, &mut entries).await?;
        for (name, argv) in [
            ("hostname", &["hostname"][..]),
            ("packages of rpm", &["sh", "-c", "rpm -qa 2>/dev/null | sort"]),
            ("modules", &["cat", "/proc/modules"]),
            // Without counters.
            ("firewall nft", &["nft", "--stateless", "list", "ruleset"]),
            ("firewall ufw", &["ufw", "status"]),
            ("firewall firewalld", &["firewall-cmd", "--list-all-zones"]),
        ] {
            let done = machine.exec(argv).await?;
            // What is not installed, or not in this kernel, is not there before and after.
            let text = if done.code == Some(0) { done.stdout } else { String::new() };
            entries.insert(name.to_owned(), first_words_of_modules(name, text.trim()));
        }
        Ok(Self { entries })
    }
}

/// Sizes and users of modules change all the time.
fn first_words_of_modules(name: &str, text: &str) -> String {
    if name != "modules" {
        return text.to_owned();
    }
    let mut names: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    names.join(" ")
}

/// Type, mode, owner, size, link target and content of every file.
pub(super) async fn files(
    machine: &TestMachine,
    tops: &[&str],
    skip: &Exclusions,
    entries: &mut BTreeMap<String, String>,
) -> Result<()> {
    let mut find = [&["find"], tops, &["("]].concat();
    for (number, path) in NOT_FILES.iter().enumerate() {
        find.extend(if number == 0 { &["-path"][..] } else { &["-o", "-path"] });
        find.push(path);
    }
    // Private temporary directories of services are named by boot and chance.
    find.extend(["-o", "-path", "/var/tmp/systemd-private-*", ")", "-prune", "-o"]);
    let mut listing = find.clone();
    // A directory's size depends on what was once in it.
    listing.extend([
        "-type",
        "d",
        "-printf",
        "%p\\t%y %m %U:%G\\0",
        "-o",
        "-printf",
        "%p\\t%y %m %U:%G %s %l\\0",
    ]);
    for record in machine.must(listing).await?.split('\0').filter(|record| !record.is_empty()) {
        let (path, value) = record.split_once('\t').unwrap_or((record, ""));
        if !skip.path(path) {
            entries.insert(format!("file {path}"), value.trim_end().to_owned());
        }
    }
    let mut hashing = find;
    hashing.extend(["-type", "f", "-exec", "sha256sum", "--zero", "--", "{}", "+"]);
    // A file that goes away meanwhile fails the whole, but the rest is there.
    for record in machine.exec(hashing).await?.stdout.split('\0') {
        let Some((hash, path)) = record.split_once("  ") else { continue };
        if let Some(value) = entries.get_mut(&format!("file {path}")) {
            value.push_str(" sha256:");
            value.push_str(hash);
        }
    }
    Ok(())
}

async fn sysctls(
    machine: &TestMachine,
    skip: &Exclusions,
    entries: &mut BTreeMap<String, String>,
) -> Result<()> {
    // Some keys cannot be read by anybody, so its exit code says nothing.
    let text = machine.exec(["sysctl", "--all"]).await?.stdout;
    for (key, value) in text.lines().filter_map(|line| line.split_once(" = ")) {
        if !skip.sysctl(key) {
            entries.insert(format!("sysctl {key}"), value.to_owned());
        }
    }
    Ok(())
}

/// `name rest of the line`, as most lists are.
async fn lines(
    machine: &TestMachine,
    what: &str,
    argv: &[&str],
    entries: &mut BTreeMap<String, String>,
) -> Result<()> {
    for line in machine.must(argv).await?.lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        entries.insert(format!("{what} {name}"), value.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    Ok(())
}

async fn units(machine: &TestMachine, entries: &mut BTreeMap<String, String>) -> Result<()> {
    let argv = ["systemctl", "list-units", "--all", "--no-legend", "--no-pager", "--plain", UNIT_KINDS];
    for line in machine.must(argv).await?.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        // Units that are not there are listed when somebody mentions them. The one that clears up begins by itself, a quarter
        // of an hour after the machine.
        if let [name, loaded, active, ..] = words[..]
            && loaded != "not-found"
            && !(name.contains("tmpfiles") && name.contains("clean.service"))
        {
            entries.insert(format!("unit {name}"), active.to_owned());
        }
    }
    Ok(())
}
