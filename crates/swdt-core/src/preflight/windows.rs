//! Rules for Windows machines.

use swdt_wire::WindowsFacts;

use super::Judge;

/// Windows Server itself asks for 2 GiB; the firmware of a virtual machine keeps a little of it.
const MEMORY_MIB: u64 = 2000;
/// With less, a kubelet, containerd and one Server Core container are already at the page file.
const COMFORTABLE_MIB: u64 = 3900;
/// Windows and its updates take about 20 GiB, the base image of Server Core five more.
const DISK_GIB: u64 = 32;
/// Where everything of a node goes.
const DRIVE: &str = r"C:\";

impl Judge<'_> {
    pub(super) fn windows(&mut self) {
        let Some(windows) = self.facts.windows.clone() else { return };
        self.edition(&windows);
        self.login(&windows);
        self.windows_size(&windows);
        self.windows_system(&windows);
    }

    fn edition(&mut self, windows: &WindowsFacts) {
        if windows.installation == "Client" {
            self.error(
                format!(
                    "{} is no Windows Server, and Kubernetes has nodes of Windows Server only",
                    self.facts.os.name
                ),
                "use Windows Server 2022, Core or with a desktop; an evaluation of 180 days is free".into(),
            );
        }
    }

    fn login(&mut self, windows: &WindowsFacts) {
        if !windows.login.admin {
            self.error(
                format!("the user {} has no administrator's rights", windows.login.user),
                "write a member of the group Administrators as `connection: {user: …}`".into(),
            );
        }
    }

    fn windows_size(&mut self, windows: &WindowsFacts) {
        let have = self.facts.memory_mib;
        if have < MEMORY_MIB {
            self.error(
                format!(
                    "{have} MiB of memory is too little for a Windows node, which needs {MEMORY_MIB} MiB"
                ),
                "give the machine more memory; 8 GiB are comfortable".into(),
            );
        } else if have < COMFORTABLE_MIB {
            self.warn(&format!("{have} MiB of memory is little for a Windows node; 8 GiB are comfortable"));
        }
        // Windows never kills a process for want of memory: it pages, and without a page file everything fails.
        if windows.page_files.as_ref().is_some_and(Vec::is_empty) {
            self.warn("there is no page file, so that pods can use up all memory; let Windows manage one");
        }
        let drive = self.facts.disks.iter().find(|disk| disk.path == DRIVE).cloned();
        let Some(drive) = drive else { return };
        if drive.nearly_full {
            self.error(
                format!("fewer than 2 GiB are free on {DRIVE}"),
                "free some space there: `cleanmgr`, or `dism /Online /Cleanup-Image /StartComponentCleanup`"
                    .into(),
            );
        } else if drive.size_gib < DISK_GIB {
            self.warn(&format!(
                "{DRIVE} has {} GiB; Windows, its updates and base images of containers need {DISK_GIB} GiB or more",
                drive.size_gib
            ));
        }
    }

    fn windows_system(&mut self, windows: &WindowsFacts) {
        if !windows.pending_reboot.is_empty() {
            let why = windows.pending_reboot.join(" and ");
            self.warn(&format!(
                "{why} waits for a restart; swdt restarts the machine once, before it goes on"
            ));
        }
        if windows.firewall_by_policy {
            self.warn(
                "a policy keeps the firewall rules of this machine from working: let the policy open TCP 10250 \
                 (logs and exec), UDP 4789 (pods) and TCP and UDP 30000-32767 (node ports)",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use swdt_wire::{Facts, Route};

    use crate::{
        plan::{
            Known,
            tests::{self, MIXED, debian, load},
        },
        preflight::preflight,
    };

    /// Errors and warnings when cp1 is sound and win1 is spoiled.
    fn findings(spoil: impl Fn(&mut Facts)) -> (Vec<String>, Vec<String>) {
        let spec = load(MIXED);
        let mut win1 = tests::windows(20348);
        spoil(&mut win1);
        let mut known = Known::default();
        known.facts.insert("cp1".into(), debian());
        known.facts.insert("win1".into(), win1);
        let found = preflight(&spec, &known);
        (
            found.errors.iter().map(|error| format!("{error} | {}", error.hints.join(" | "))).collect(),
            found.warnings.into_iter().map(|(node, warning)| format!("{node}: {warning}")).collect(),
        )
    }

    fn windows(facts: &mut Facts) -> &mut swdt_wire::WindowsFacts {
        facts.windows.as_mut().unwrap()
    }

    fn build(facts: &mut Facts, build: u32) {
        windows(facts).build = build;
        facts.os.version = build.to_string();
    }

    type Spoil = fn(&mut Facts);

    #[test]
    fn a_sound_machine_passes() {
        assert_eq!(findings(|_| ()), (Vec::new(), Vec::new()));
    }

    #[test]
    fn each_fault_is_one_error_that_says_what_to_do() {
        let cases: &[(&str, &str, Spoil)] = &[
            ("win1: the configuration says `os: windows`, but this machine runs Debian", "os: linux", |it| {
                *it = debian();
                it.machine_id = "another".into();
            }),
            ("win1: Windows 11 Pro is no Windows Server", "Windows Server 2022", |it| {
                it.os.name = "Windows 11 Pro".into();
                windows(it).installation = "Client".into();
                build(it, 22631);
            }),
            ("win1: the user jörg has no administrator's rights", "Administrators", |it| {
                windows(it).login.user = "jörg".into();
                windows(it).login.admin = false;
            }),
            ("win1: 1024 MiB of memory is too little", "8 GiB", |it| it.memory_mib = 1024),
            (r"win1: fewer than 2 GiB are free on C:\", "cleanmgr", |it| it.disks[0].nearly_full = true),
            ("is no release that can be a node", "Windows Server 2022 (20348)", |it| build(it, 14393)),
            ("flannel's network does not work", "install the updates", |it| {
                build(it, 17763);
                windows(it).ubr = 1;
            }),
            ("Kubernetes has no programs for Windows nodes on Arm", "x86-64", |it| it.arch = "arm64".into()),
            (
                r"did not make: service docker (C:\Program Files\Docker\dockerd.exe), C:\etc\cni",
                "sc.exe delete",
                |it| {
                    it.strangers = vec![
                        r"service docker (C:\Program Files\Docker\dockerd.exe)".into(),
                        r"C:\etc\cni".into(),
                    ];
                },
            ),
            (r"win1: C:\other\agent.exe listens at port 10250", "netstat", |it| {
                it.taken_ports = vec![10250];
                windows(it).port_owners.insert(10250, r"C:\other\agent.exe".into());
            }),
            ("win1: another program listens at port 10256", "netstat", |it| it.taken_ports = vec![10256]),
            ("the network of pods, 10.244.0.0/16, overlaps the machine's route", "podCIDR", |it| {
                it.routes.push(Route { to: "10.244.3.0/24".into(), interface: "VPN".into() });
            }),
            ("win1: has the same machine id as cp1", "of its own", |it| it.machine_id = debian().machine_id),
        ];
        for (message, hint, spoil) in cases {
            let (errors, _) = findings(spoil);
            assert_eq!(errors.len(), 1, "{message}: {errors:#?}");
            assert!(errors[0].contains(message) && errors[0].contains(hint), "{message}: {errors:#?}");
        }
    }

    #[test]
    fn what_is_bearable_is_a_warning() {
        let cases: &[(&str, Spoil)] = &[
            ("a new name of the machine waits for a restart", |it| {
                windows(it).pending_reboot = vec!["a new name of the machine".into()];
            }),
            ("3072 MiB of memory is little", |it| it.memory_mib = 3072),
            (r"C:\ has 24 GiB", |it| it.disks[0].size_gib = 24),
            ("there is no page file", |it| windows(it).page_files = Some(Vec::new())),
            ("a policy keeps the firewall rules", |it| windows(it).firewall_by_policy = true),
            ("pods lose their network on this update level", |it| windows(it).ubr = 2600),
            ("pod networks on Windows Server 2025 are less proven", |it| build(it, 26100)),
            ("Windows Server 2019 is not among", |it| {
                build(it, 17763);
                windows(it).ubr = 9000;
            }),
        ];
        for (message, spoil) in cases {
            let (errors, warnings) = findings(spoil);
            assert_eq!((errors.len(), warnings.len()), (0, 1), "{message}: {errors:#?} {warnings:#?}");
            assert!(warnings[0].contains(message), "{message}: {warnings:#?}");
        }
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let (errors, warnings) = findings(|it| {
            windows(it).login.admin = false;
            windows(it).page_files = Some(Vec::new());
            it.memory_mib = 512;
            it.taken_ports = vec![10250];
            build(it, 14393);
        });
        assert_eq!((errors.len(), warnings.len()), (4, 1), "{errors:#?} {warnings:#?}");
    }

    #[test]
    fn windows_where_linux_is_asked_for_is_told_once() {
        let spec = load(MIXED);
        let mut known = Known::default();
        known.facts.insert("cp1".into(), tests::windows(20348));
        let found: Vec<String> = preflight(&spec, &known).errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["cp1: the configuration says `os: linux`, but this machine runs Windows Server 2022 Datacenter"]
        );
    }
}
