//! The machine behaves as a Windows behaves that is reached over SSH.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::time::{Duration, Instant};

use swdt_core::Result;
use swdt_ground::{Ground, Program, TestMachine, cache_dir};
use swdt_rehearsal::{CHILDREN_STAY, LOGINS_REFUSED};
use tokio::process::Command;

const BOOT_ID: &str = r#"reg query "HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters" /v BootId"#;

/// A program that would go on for minutes.
const CHILD: &str = "ping -n 300 127.0.0.1 >nul 2>nul <nul";

/// One command over SSH; what it said, or what ssh complained about.
async fn ssh(ground: &Ground, machine: &TestMachine, command: &str) -> Result<String, String> {
    let known = ground.dir().join("known_hosts");
    std::fs::write(&known, format!("{} {}\n", machine.address(), machine.host_key())).unwrap();
    let output = Command::new("ssh")
        .args(["-n", "-F", "none", "-o", "BatchMode=yes", "-o", "ConnectTimeout=2", "-o"])
        .arg(format!("UserKnownHostsFile={}", known.display()))
        .arg("-i")
        .arg(machine.key())
        .arg(format!("Administrator@{}", machine.address()))
        .arg(command)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// How often Windows was started.
fn starts(said: &str) -> Option<u32> {
    u32::from_str_radix(said.trim().rsplit("0x").next()?, 16).ok()
}

async fn child_runs(machine: &TestMachine) -> Result<bool> {
    Ok(machine.exec(["pgrep", "-f", r"ping.*-n 300"]).await?.code == Some(0))
}

/// A connection that breaks while a program runs.
async fn broken_off(ground: &Ground, machine: &TestMachine) {
    let session = ssh(ground, machine, CHILD);
    let _ = tokio::time::timeout(Duration::from_secs(4), session).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn it_speaks_as_windows_does() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.windows_machine("win1").await?;
    let said = ssh(&ground, &machine, "cd & ver & exit 7").await.unwrap_err();
    assert_eq!(said, "", "the code of a command is that of ssh");
    let said = ssh(&ground, &machine, "cd & echo %USERNAME% & hostname").await.unwrap();
    let lines: Vec<_> = said.lines().map(str::trim_end).collect();
    assert_eq!(lines, [r"C:\users\Administrator", "Administrator", "WIN1"]);
    assert!(said.contains("\r\n"), "{said:?}");

    // What a session started ends with it, or does not.
    ssh(&ground, &machine, &format!("start /b {CHILD}")).await.unwrap();
    assert!(!child_runs(&machine).await?, "it outlived its session");
    broken_off(&ground, &machine).await;
    assert!(!child_runs(&machine).await?, "it outlived its connection");
    machine.put(CHILDREN_STAY, 0o644, b"")?;
    broken_off(&ground, &machine).await;
    assert!(child_runs(&machine).await?, "it ended with its connection");
    Ok(())
}

#[tokio::test]
async fn it_restarts_when_windows_is_told_to_and_refuses_logins_until_it_is_ready() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.windows_machine("win1").await?;
    let before = starts(&ssh(&ground, &machine, BOOT_ID).await.unwrap()).unwrap();
    let (init, half) = (machine.init_pid()?, machine.node_half(Program::Shipped)?);
    half.check(&[]).await?;
    machine.put(LOGINS_REFUSED, 0o644, b"5\n")?;
    ssh(&ground, &machine, r"C:\Windows\System32\shutdown.exe /r /t 0").await.unwrap();
    let begun = Instant::now();
    while machine.init_pid().is_ok_and(|now| now == init) {
        assert!(begun.elapsed() < Duration::from_mins(1), "the machine did not go down");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // As a run does: the connection is gone, and comes back once the machine lets us in.
    half.check(&[]).await?;
    let after = starts(&ssh(&ground, &machine, BOOT_ID).await.unwrap());
    assert_eq!(after, Some(before + 1));
    let log = machine.must(["journalctl", "--boot", "--unit", "ssh"]).await?;
    assert!(log.contains("by authenticating user Administrator"), "nobody was refused: {log}");
    Ok(())
}
