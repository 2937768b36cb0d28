//! Rules for Windows machines.

use swdt_wire::{Disk, WindowsFacts};

use super::Machine;
use crate::doctor::{Found, Grade, Look, On, Rule};

/// Windows Server itself asks for 2 GiB; the firmware of a virtual machine keeps a little of it.
const MEMORY_MIB: u64 = 2000;
/// With less, a kubelet, containerd and one Server Core container are already at the page file.
const COMFORTABLE_MIB: u64 = 3900;
/// Windows and its updates take about 20 GiB, the base image of Server Core five more.
const DISK_GIB: u64 = 32;
/// Where everything of a node goes.
const DRIVE: &str = r"C:\";
/// What swdt knows how to talk to.
const SHELLS: &[&str] = &["cmd", "powershell", "pwsh"];

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "windows-edition",
        grade: Grade::Problem,
        title: "the machine is no Windows Server",
        cause: "Kubernetes has nodes of Windows Server only: containers that share the kernel need it.",
        fix: &[(
            On::Anywhere,
            "use Windows Server 2022, Core or with a desktop; an evaluation of 180 days is free",
        )],
        look: Look::Windows(|it, windows| {
            let name = &it.facts.os.name;
            Found::new(format!(
                "{name} is no Windows Server, and Kubernetes has nodes of Windows Server only"
            ))
            .seen(format!("InstallationType {}, edition {}", windows.installation, windows.edition))
            .todo("use Windows Server 2022, Core or with a desktop; an evaluation of 180 days is free")
            .only_if(windows.installation == "Client")
        }),
    },
    Rule {
        id: "windows-administrator",
        grade: Grade::Problem,
        title: "the user is no administrator",
        cause: "Features, services and networks are an administrator's. A member of the group gets full rights over \
                SSH, unless a policy takes them away.",
        fix: &[(On::Windows, "net localgroup Administrators USER /add")],
        look: Look::Windows(|_, windows| {
            Found::new(format!("the user {} has no administrator's rights", windows.login.user))
                .seen("the token of the session has no elevated rights")
                .todo("write a member of the group Administrators as `connection: {user: …}`")
                .only_if(!windows.login.admin)
        }),
    },
    Rule {
        id: "windows-memory",
        grade: Grade::Problem,
        title: "too little memory for Windows",
        cause: "Windows Server itself asks for 2 GiB; with less than 4, a kubelet, containerd and one container of \
                Server Core are already at the page file.",
        fix: &[(On::Anywhere, "give the machine more memory; 8 GiB are comfortable")],
        look: Look::Windows(|it, _| memory(it)),
    },
    Rule {
        id: "windows-page-file",
        grade: Grade::Warning,
        title: "there is no page file",
        cause: "Windows never kills a process for want of memory: it pages. Without a page file everything on the \
                node fails at once.",
        fix: &[(
            On::Windows,
            "Get-CimInstance Win32_ComputerSystem | Set-CimInstance -Property @{AutomaticManagedPagefile=$true}",
        )],
        look: Look::Windows(|_, windows| {
            Found::new("there is no page file, so that pods can use up all memory")
                .seen("PagingFiles in the registry is empty")
                .todo("let Windows manage one")
                .only_if(windows.page_files.as_ref().is_some_and(Vec::is_empty))
        }),
    },
    Rule {
        id: "windows-disk",
        grade: Grade::Problem,
        title: "little room on C:",
        cause: "Windows and its updates take about 20 GiB, the base image of Server Core five more, each further \
                build of it as much again.",
        fix: &[(On::Windows, "`cleanmgr`, or `dism /Online /Cleanup-Image /StartComponentCleanup`")],
        look: Look::Windows(|it, _| {
            let drive = it.facts.disks.iter().find(|disk| disk.path == DRIVE);
            drive.into_iter().flat_map(disk).collect()
        }),
    },
    Rule {
        id: "windows-restart",
        grade: Grade::Warning,
        title: "Windows waits for a restart",
        cause: "Updates, features and a new name take effect with a restart. swdt restarts the machine once, before \
                it goes on.",
        fix: &[(On::Windows, "shutdown /r /t 0")],
        look: Look::Windows(|_, windows| {
            let why = windows.pending_reboot.join(" and ");
            Found::new(format!("{why} waits for a restart"))
                .seen("the registry of Windows says so")
                .todo("swdt restarts the machine once, before it goes on")
                .only_if(!windows.pending_reboot.is_empty())
        }),
    },
    Rule {
        id: "windows-firewall-policy",
        grade: Grade::Warning,
        title: "a policy keeps firewall rules from working",
        cause: "Where a group policy says that local rules are not merged, what swdt opens stays shut: no logs, no \
                exec, no traffic between pods.",
        fix: &[(
            On::Anywhere,
            "let the policy open TCP 10250 (logs and exec), UDP 4789 (pods), TCP and UDP 30000-32767 (node ports)",
        )],
        look: Look::Windows(|_, windows| {
            let what = "a policy keeps the firewall rules of this machine from working: let the policy open TCP 10250 \
                        (logs and exec), UDP 4789 (pods) and TCP and UDP 30000-32767 (node ports)";
            Found::new(what).seen("AllowLocalPolicyMerge is 0").only_if(windows.firewall_by_policy)
        }),
    },
    Rule {
        id: "windows-shell",
        grade: Grade::Note,
        title: "sshd gives commands to an unusual shell",
        cause: "OpenSSH hands every command to the shell that the registry names as DefaultShell. swdt was tried with \
                cmd and PowerShell; others take words apart in their own way.",
        fix: &[(
            On::Windows,
            "`Remove-ItemProperty -Path HKLM:\\SOFTWARE\\OpenSSH -Name DefaultShell` makes it cmd again",
        )],
        look: Look::Windows(|_, windows| {
            let shell = windows.ssh_shell.to_lowercase();
            let name = shell.rsplit(['\\', '/']).next().unwrap_or_default().trim_end_matches(".exe");
            Found::new(format!("sshd gives commands to {}, which swdt was not tried with", windows.ssh_shell))
                .seen(format!("DefaultShell is {}", windows.ssh_shell))
                .only_if(!SHELLS.contains(&name))
        }),
    },
    Rule {
        id: "windows-features",
        grade: Grade::Note,
        title: "the feature Containers is off",
        cause: "Containers need a feature of Windows that is off on a fresh system. swdt enables it; that takes one \
                restart.",
        fix: &[(On::Windows, "`Install-WindowsFeature Containers -Restart` does it beforehand")],
        look: Look::Windows(|_, windows| {
            Found::new("the feature Containers is off; swdt enables it, with one restart")
                .seen(format!("enabled: {}", windows.features.join(", ")))
                .only_if(lacks_containers(windows))
        }),
    },
];

fn lacks_containers(windows: &WindowsFacts) -> bool {
    windows.installation != "Client" && !windows.features.iter().any(|feature| feature == "Containers")
}

fn memory(it: &Machine<'_>) -> Vec<Found> {
    let have = it.facts.memory_mib;
    let found = |what: String| Found::new(what).seen(format!("{have} MiB of memory"));
    if have < MEMORY_MIB {
        let what =
            format!("{have} MiB of memory is too little for a Windows node, which needs {MEMORY_MIB} MiB");
        return vec![found(what).todo("give the machine more memory; 8 GiB are comfortable")];
    }
    found(format!("{have} MiB of memory is little for a Windows node"))
        .todo("8 GiB are comfortable")
        .graded(Grade::Warning)
        .only_if(have < COMFORTABLE_MIB)
}

fn disk(drive: &Disk) -> Vec<Found> {
    if drive.nearly_full {
        return vec![
            Found::new(format!("fewer than 2 GiB are free on {DRIVE}"))
                .seen(format!("{DRIVE} has {} GiB, fewer than 2 of them free", drive.size_gib))
                .todo("free some space there: `cleanmgr`, or `dism /Online /Cleanup-Image /StartComponentCleanup`"),
        ];
    }
    let what = format!(
        "{DRIVE} has {} GiB; Windows, its updates and base images of containers need {DISK_GIB} GiB or more",
        drive.size_gib
    );
    Found::new(what)
        .seen(format!("{} GiB", drive.size_gib))
        .graded(Grade::Warning)
        .only_if(drive.size_gib < DISK_GIB)
}
