//! The first boot of a Windows that swdt installed, where Windows is played: the seed is drive D:, our program is started
//! from it as the answers start it, and Setup's last word is spoken by us.
//!
//! Not seen here, because Wine has none of it: PowerShell, which finds the seed's letter; the account of the system; an
//! administrator whose old password is dead.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::{fs, net::Ipv4Addr, path::Path, process::Command as Program, time::Duration};

use swdt_core::{
    Result, keys,
    machine::windows::seed::{Becomes, Locale, Seed},
};
use swdt_ground::{Ground, Program as NodeProgram, TestMachine, cache_dir};
use swdt_media::answer::{ComputerName, From, Network};
use swdt_rehearsal::CHILDREN_STAY;
use tokio::process::Command;

const C: &str = "/srv/windows/drive_c";
/// Does it run, and does it start by itself (2) or when somebody asks (3)? Wine's `sc` has no `qc`.
const SSHD: &str = r"sc query sshd & reg query HKLM\SYSTEM\CurrentControlSet\Services\sshd /v Start";
const SETUP_COMPLETE: &str = r"C:\Windows\Setup\Scripts\SetupComplete.cmd";

/// One command over SSH, as long as it may take.
async fn ssh(ground: &Ground, machine: &TestMachine, command: &str) -> Result<String, String> {
    let known = ground.dir().join("known_hosts");
    fs::write(&known, format!("{} {}\n", machine.address(), machine.host_key())).unwrap();
    let output = Command::new("ssh")
        .args(["-n", "-F", "none", "-o", "BatchMode=yes", "-o"])
        .arg(format!("UserKnownHostsFile={}", known.display()))
        .arg("-i")
        .arg(machine.key())
        .arg(format!("Administrator@{}", machine.address()))
        .arg(command)
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_mins(2), output).await.unwrap().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(text) } else { Err(text) }
}

/// A package that installs a service `sshd`, as that of OpenSSH does; its program is one that runs as a service.
fn package(dir: &Path) -> std::path::PathBuf {
    let standins = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("swdt-standins.exe");
    fs::copy(standins, dir.join("hns.exe")).unwrap();
    fs::write(dir.join("openssh.wxs"), include_str!("first_boot/openssh.wxs")).unwrap();
    let made = Program::new("wixl").args(["-o", "openssh.msi", "openssh.wxs"]).current_dir(dir).status();
    assert!(made.unwrap().success(), "wixl made no package");
    dir.join("openssh.msi")
}

/// Puts the disc's content where Windows sees it as D:, read by somebody else than us; COM1 is a pipe.
async fn insert(machine: &TestMachine, dir: &Path, seed: &Path) -> Result<()> {
    let out = dir.join("disc");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir(&out).unwrap();
    let words = ["-osirrox", "on", "-read_fs", "norock", "-indev", seed.to_str().unwrap(), "-extract", "/"];
    let read = Program::new("xorriso").args(words).arg(&out).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    for name in ["Autounattend.xml", "swdt/first-boot.json", "swdt/openssh.msi", "swdt/swdt-node.exe"] {
        machine.put(&format!("/srv/seed/{name}"), 0o644, &fs::read(out.join(name)).unwrap())?;
    }
    // A port, and somebody at its other end: a plain file would be written over by each who opens it.
    if machine.exec(["mkfifo", "/srv/com1"]).await?.code == Some(0) {
        let listen = "while :; do cat /srv/com1 >>/srv/com1.log; done";
        machine.must(["systemd-run", "--quiet", "--unit=com1", "sh", "-c", listen]).await?;
    }
    machine.put("/srv/com1.log", 0o644, b"")?;
    machine.must(["ln", "-sfn", "/srv/seed", "/srv/windows/dosdevices/d:"]).await?;
    machine.must(["ln", "-sfn", "/srv/com1", "/srv/windows/dosdevices/com1"]).await.map(drop)
}

/// What a test compares to see that nothing was done twice: bytes, access and times of the keys, and the service.
async fn traces(machine: &TestMachine) -> Result<String> {
    let script = format!(
        "cd {C}/ProgramData/ssh && stat -c '%n %a %Y %s' ssh_host_ed25519_key* administrators_authorized_keys && \
         sha256sum ssh_host_ed25519_key* administrators_authorized_keys && pgrep -f 'OpenSSH.hns[.]exe'"
    );
    machine.must(["sh", "-c", &script]).await
}

#[tokio::test]
async fn from_setups_last_question_to_a_machine_that_can_be_reached() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.windows_machine("win1").await?;
    let dir = tempfile::tempdir().unwrap();
    let (seed, host_key) = (dir.path().join("seed.iso"), dir.path().join("host_key"));
    let mac = machine.must(["cat", "/sys/class/net/host0/address"]).await?.trim().to_owned();
    let address: Ipv4Addr = machine.address().parse().unwrap();
    let program = NodeProgram::Shipped.bytes(true)?;
    let wanted = Seed {
        from: From::SealedDisk,
        name: ComputerName::new("win1").unwrap(),
        locale: Locale::of("en-US"),
        product_key: None,
        desktop: false,
        becomes: Becomes::Node {
            authorized_key: "ssh-ed25519 AAAAtest swdt",
            host_key: &host_key,
            network: Network {
                mac,
                address: ipnet::Ipv4Net::new(address, 24).unwrap(),
                gateway: Ipv4Addr::new(10, 213, 0, 1),
                dns: vec![Ipv4Addr::new(10, 213, 0, 1)],
            },
        },
        program: &program,
        openssh: Some(package(dir.path())),
        drivers: Vec::new(),
    };
    wanted.write(&seed)?;
    insert(&machine, dir.path(), &seed).await?;
    let (ground, machine) = (&ground, &machine);
    let windows = |command: &'static str| async move {
        let log = machine.root().unwrap().join(format!("{}/windows/Panther/swdt-first-boot.log", &C[1..]));
        // What was said on the machine is why a command failed.
        ssh(ground, machine, command).await.map_err(|why| why + &fs::read_to_string(log).unwrap_or_default())
    };
    windows(
        r#"reg add "HKCU\Software\Wine\AppDefaults\swdt-node.exe\DllOverrides" /v netapi32 /d native,builtin /f"#,
    )
    .await
    .unwrap();
    // What Setup leaves: its copies of the answers.
    machine.put(&format!("{C}/windows/Panther/unattend.xml"), 0o644, b"<unattend>the password</unattend>")?;

    // A package that is not what the manifest says is refused before anything is put aside.
    let package = machine.root()?.join("srv/seed/swdt/openssh.msi");
    let good = fs::read(&package).unwrap();
    machine.put("/srv/seed/swdt/openssh.msi", 0o644, b"something else")?;
    let why = windows(r"D:\swdt\swdt-node.exe first-boot").await.unwrap_err();
    assert!(why.contains("is not what it should be"), "{why}");
    assert!(windows(SETUP_COMPLETE).await.is_err(), "there is a SetupComplete.cmd");
    machine.put("/srv/seed/swdt/openssh.msi", 0o644, &good)?;

    windows(r"D:\swdt\swdt-node.exe first-boot").await.unwrap();
    let beside = format!("{C}/ProgramData/swdt-first-boot/");
    machine.must(["cp", "/usr/lib/swdt/netapi32.dll", &beside]).await?;
    // Killed after a few steps, it goes on: here it never got further than this.
    windows(r"C:\ProgramData\swdt-first-boot\swdt-node.exe first-boot finish").await.unwrap();
    let first = traces(machine).await?;
    // Setup's last word; the second time in all that `finish` runs.
    windows(SETUP_COMPLETE).await.unwrap();
    assert_eq!(traces(machine).await?, first, "the second time something changed");

    // The keys are those that the host knows, for administrators alone.
    let there =
        |name: &str| fs::read_to_string(machine.root().unwrap().join(format!("{}{name}", &C[1..]))).unwrap();
    let ssh_dir = |name: &str| there(&format!("/ProgramData/ssh/{name}"));
    assert_eq!(ssh_dir("ssh_host_ed25519_key"), fs::read_to_string(&host_key).unwrap());
    assert_eq!(ssh_dir("ssh_host_ed25519_key.pub").trim(), keys::ensure(&host_key)?);
    assert_eq!(ssh_dir("administrators_authorized_keys"), "ssh-ed25519 AAAAtest swdt\n");
    for line in first.lines().filter(|line| line.contains("_key ") || line.contains("_keys ")) {
        assert!(line.split(' ').nth(1).is_none_or(|mode| mode.len() > 4 || mode.ends_with('0')), "{line}");
    }

    // The service runs and starts by itself; its port is open; the password was replaced.
    let service = windows(SSHD).await.unwrap();
    assert!(service.contains("RUNNING") && service.contains("0x2"), "{service}");
    let rules = windows(r"reg query HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules").await.unwrap();
    assert!(rules.contains("Protocol=6|LPort=22|"), "{rules}");
    let account = windows(r"reg query HKLM\SOFTWARE\swdt-rehearsal\accounts\Administrator").await.unwrap();
    assert!(account.contains("PasswordLength"), "{account}");

    // Nothing of it is left but the log; the answers are gone.
    let left = machine
        .must([
            "find",
            C,
            "-iname",
            "*swdt-first-boot*",
            "-o",
            "-iname",
            "*unattend*",
            "-o",
            "-iname",
            "SetupComplete*",
        ])
        .await?;
    assert_eq!(left.trim(), format!("{C}/windows/Panther/swdt-first-boot.log"));

    // What the host sees at the serial port.
    let lines = fs::read_to_string(machine.root()?.join("srv/com1.log")).unwrap();
    let words: Vec<&str> = lines.lines().map(|line| line.trim_start_matches("swdt: first-boot ")).collect();
    let steps = [
        "step password",
        "step answers",
        "step network",
        "step network profile",
        "step openssh",
        "step keys",
        "step firewall",
        "step sshd",
        "ready",
    ];
    assert!(words[0].starts_with("started ") && words[1].starts_with("failed D:"), "{words:?}");
    assert!(words[1].contains("is not what it should be"), "{words:?}");
    assert!(words[2].starts_with("started ") && words[3..12] == steps && words[12..] == steps, "{words:?}");
    base(ground, machine, dir.path(), &Seed { becomes: Becomes::Base, ..wanted }).await
}

/// The same machine becomes a base: nothing is left that tells one from another.
async fn base(ground: &Ground, machine: &TestMachine, dir: &Path, wanted: &Seed<'_>) -> Result<()> {
    let seed = dir.join("base.iso");
    wanted.write(&seed)?;
    insert(machine, dir, &seed).await?;
    ssh(ground, machine, r"D:\swdt\swdt-node.exe first-boot").await.unwrap();
    let first_boot = format!("{C}/ProgramData/swdt-first-boot");
    machine.must(["cp", "/usr/lib/swdt/netapi32.dll", &first_boot]).await?;
    // What it starts there goes on by itself, after Setup's end. Nobody does what it asks of the machine in the end: it is
    // looked at afterwards.
    machine.put(CHILDREN_STAY, 0o644, b"")?;
    machine.must(["systemctl", "stop", "windows-power.path"]).await?;
    ssh(ground, machine, SETUP_COMPLETE).await.unwrap();
    let begun = std::time::Instant::now();
    while machine.exec(["test", "-s", "/run/swdt/power"]).await?.code != Some(0) {
        let log = fs::read_to_string(machine.root()?.join("srv/com1.log")).unwrap();
        assert!(begun.elapsed() < Duration::from_mins(1), "{log}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(machine.must(["cat", "/run/swdt/power"]).await?.trim(), "poweroff 0");
    let said = ssh(ground, machine, r"reg query HKLM\SOFTWARE\swdt-rehearsal\sysprep").await.unwrap();
    assert!(said.contains("/generalize /oobe /quit /quiet"), "{said}");
    let left = machine.must(["ls", &format!("{C}/ProgramData/ssh")]).await?;
    assert!(!left.contains("host") && !left.contains("authorized"), "{left}");
    let service = ssh(ground, machine, SSHD).await.unwrap();
    assert!(service.contains("STOPPED") && service.contains("0x3"), "{service}");
    let lines = fs::read_to_string(machine.root()?.join("srv/com1.log")).unwrap();
    let words: Vec<&str> = lines.lines().rev().take(4).collect();
    let sealed = "swdt: first-boot sealed";
    assert_eq!(words, [sealed, sealed, sealed, "swdt: first-boot sealing"], "{lines}");
    Ok(())
}
