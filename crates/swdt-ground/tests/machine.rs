//! Machines on the real kernel: they boot, find each other, come back, and go without trace.
//!
//! Every test has a ground of its own, so they may run beside each other.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use swdt_core::{
    Result,
    machine::{MachineState, nspawn},
};
use swdt_ground::{Ground, cache_dir, fingerprint::Fingerprint};

/// The right to set the clock, by its number in the kernel.
const CAP_SYS_TIME: u32 = 25;

/// Leaves a file behind if the machine was shut down, and none if it was killed.
const FAREWELL: &[u8] =
    b"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\nExecStop=touch /etc/farewell\n";

#[tokio::test]
async fn two_machines_boot_and_reach_each_other() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (a, b) = tokio::try_join!(ground.machine("a"), ground.machine("b"))?;
    a.must(["ping", "-c1", "-W2", b.address()]).await?;
    b.must(["ping", "-c1", "-W2", a.address()]).await?;
    assert_ne!(a.host_key(), b.host_key());
    assert_eq!(a.must(["hostname"]).await?.trim(), "a");
    assert_ne!(a.must(["cat", "/etc/machine-id"]).await?, b.must(["cat", "/etc/machine-id"]).await?);
    Ok(())
}

#[tokio::test]
async fn a_machine_lets_in_the_key_and_shows_the_planted_host_key() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let known = ground.dir().join("known_hosts");
    std::fs::write(&known, format!("{} {}\n", machine.address(), machine.host_key())).unwrap();
    let output = tokio::process::Command::new("ssh")
        .args(["-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o"])
        .arg(format!("UserKnownHostsFile={}", known.display()))
        .arg("-i")
        .arg(machine.key())
        .arg(format!("root@{}", machine.address()))
        .arg("cat /proc/sys/kernel/hostname")
        .output()
        .await
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\n", "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[tokio::test]
async fn limits_are_the_machines_own_and_the_clock_is_not() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    // On cgroup v2 the limit is one level above what the machine can see.
    if Path::new("/sys/fs/cgroup/memory").exists() {
        let limit = machine.must(["cat", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]).await?;
        assert_eq!(limit.trim(), (2048_u64 << 20).to_string());
        let quota = machine.must(["cat", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"]).await?;
        assert_eq!(quota.trim(), "200000");
        machine.must(["mkdir", "/sys/fs/cgroup/memory/of-a-pod"]).await?;
    }
    // Asked, not tried: were it allowed, trying would set the clock of the host.
    for process in ["1", "self"] {
        let status = machine.must(["cat", &format!("/proc/{process}/status")]).await?;
        for set in ["CapPrm:", "CapEff:", "CapBnd:"] {
            let mask = status.lines().find_map(|line| line.strip_prefix(set)).unwrap().trim();
            let mask = u64::from_str_radix(mask, 16).unwrap();
            assert_eq!(mask & (1 << CAP_SYS_TIME), 0, "{process} {set}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn stopping_and_starting_keeps_address_key_and_files() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let mut machine = ground.machine("a").await?;
    let other = ground.machine("b").await?;
    let before = (machine.address().to_owned(), machine.host_key().to_owned());
    machine.put("/etc/kept", 0o640, b"kept\n")?;
    machine.put("/etc/systemd/system/farewell.service", 0o644, FAREWELL)?;
    machine.must(["systemctl", "start", "farewell"]).await?;
    machine.stop().await?;
    assert_eq!(ground.machines().status(machine.node()).await?, MachineState::Stopped);
    machine.stop().await?;
    machine.start().await?;
    assert_eq!((machine.address().to_owned(), machine.host_key().to_owned()), before);
    assert_eq!(machine.must(["cat", "/etc/kept"]).await?, "kept\n");
    machine.must(["test", "-e", "/etc/farewell"]).await?;
    machine.reset().await?;
    assert_eq!(machine.address(), before.0, "the first free address is its old one");
    assert_ne!(machine.exec(["cat", "/etc/kept"]).await?.code, Some(0));
    other.must(["ping", "-c1", "-W2", machine.address()]).await?;
    Ok(())
}

#[tokio::test]
async fn a_reboot_from_inside_comes_back() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let boot = machine.must(["cat", "/proc/sys/kernel/random/boot_id"]).await?;
    machine.must(["systemctl", "reboot"]).await?;
    let begun = Instant::now();
    loop {
        // Refused while it is down; that is the point.
        let now = machine.exec(["cat", "/proc/sys/kernel/random/boot_id"]).await;
        if now.is_ok_and(|done| done.code == Some(0) && done.stdout != boot) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "the machine did not come back");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let again = ground.machine("a").await?;
    assert_eq!((again.address(), again.host_key()), (machine.address(), machine.host_key()));
    Ok(())
}

#[tokio::test]
async fn a_machine_that_was_switched_off_or_lost_its_host_comes_back() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    machine.must(["systemctl", "poweroff"]).await?;
    let begun = Instant::now();
    while ground.machines().status(machine.node()).await? != MachineState::Stopped {
        assert!(begun.elapsed() < Duration::from_mins(1), "the machine did not switch off");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let again = ground.machine("a").await?;
    assert_eq!((again.address(), again.host_key()), (machine.address(), machine.host_key()));

    // What a crash of the host leaves: files. No processes, mounts, links or rules.
    let cluster = &ground.context().cluster;
    let (bridge, table) = bridge_and_table(cluster).await;
    kill_all(cluster);
    must_run("umount", &[&merged(&ground)]).await;
    must_run("ip", &["link", "delete", &bridge]).await;
    must_run("nft", &["delete", "table", "ip", &table]).await;
    let last = ground.machine("a").await?;
    assert_eq!((last.address(), last.host_key()), (machine.address(), machine.host_key()));
    Ok(())
}

fn merged(ground: &Ground) -> String {
    ground.context().cluster_dir.join("machines/a/merged").to_string_lossy().into_owned()
}

/// The cluster's bridge, found by its tag, and its table.
async fn bridge_and_table(cluster: &str) -> (String, String) {
    let links = must_run("ip", &["-json", "link", "show", "type", "bridge"]).await;
    let links: Vec<serde_json::Value> = serde_json::from_str(&links).expect("ip speaks JSON");
    let ours = links.iter().find(|link| link["ifalias"] == format!("swdt {cluster}"));
    let bridge = ours.and_then(|link| link["ifname"].as_str()).expect("the bridge is tagged").to_owned();
    let table = bridge.replacen("sw", "swdt-", 1);
    (bridge, table)
}

/// Kills every process in a cgroup of the cluster, as a power cut would.
fn kill_all(cluster: &str) {
    let mine = |pid: &i32| {
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        groups.contains(&format!("/swdt-{cluster}-"))
    };
    let numbers = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().parse::<i32>().ok();
    let all = || std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(numbers).filter(mine);
    while all().next().is_some() {
        for pid in all().collect::<Vec<_>>() {
            let _ =
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a program of the host that must succeed.
async fn must_run(program: &str, args: &[&str]) -> String {
    let output = tokio::process::Command::new(program).args(args).output().await.expect("it runs");
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn destroying_leaves_nothing() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (a, _b) = tokio::try_join!(ground.machine("a"), ground.machine("b"))?;
    let ctx = ground.context();
    assert!(nspawn::traces(ctx, &["a", "b"]).len() > 10);
    let init = a.init_pid()?;
    ground.machines().destroy(a.node()).await?;
    assert_eq!(ground.machines().status(a.node()).await?, MachineState::Absent);
    assert!(!Path::new(&format!("/proc/{init}")).exists());
    ground.machines().destroy(a.node()).await?;
    ground.machines().destroy_cluster(&[]).await?;
    assert_eq!(nspawn::traces(ctx, &["a", "b"]), Vec::<String>::new());
    assert_eq!(mentions_on_host(&ctx.cluster_dir), Vec::<String>::new());
    ground.machines().destroy_cluster(&[]).await
}

#[tokio::test]
async fn a_fingerprint_sees_what_changed_and_nothing_else() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    machine.must(["systemctl", "is-system-running", "--wait"]).await?;
    let begun = Instant::now();
    let before = Fingerprint::take(&machine).await?;
    println!("{} entries in {:?}", before.len(), begun.elapsed());
    assert!(before.len() > 5000, "{}", before.len());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let same = before.diff(&Fingerprint::take(&machine).await?);
    assert!(same.is_empty(), "{same}");
    machine.put("/etc/modules-load.d/x.conf", 0o644, b"vxlan\n")?;
    machine.put("/var/lib/kubelet/config.yaml", 0o600, b"kind: x\n")?;
    machine.must(["systemctl", "stop", "dbus.socket", "dbus.service"]).await?;
    machine.must(["nft", "add", "table", "ip", "x"]).await?;
    machine.must(["sysctl", "-q", "-w", "net.ipv4.conf.all.log_martians=1"]).await?;
    let diff = before.diff(&Fingerprint::take(&machine).await?);
    let text = diff.to_string();
    for expected in [
        "+ file /etc/modules-load.d/x.conf: f 644 0:0 6 sha256:",
        "+ file /var/lib/kubelet/config.yaml: f 600 0:0",
        "~ unit dbus.service:",
        "~ firewall nft:",
        "~ sysctl net.ipv4.conf.all.log_martians:",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    Ok(())
}

/// Mounts and processes of the host that know of a directory.
fn mentions_on_host(dir: &Path) -> Vec<String> {
    let dir = dir.to_string_lossy().into_owned();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut found: Vec<_> = mounts.lines().filter(|line| line.contains(&dir)).map(str::to_owned).collect();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&dir) {
            found.push(line);
        }
    }
    found
}
