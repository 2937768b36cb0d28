//! Killed at any moment: what was begun can be finished, or removed, by somebody else.
//!
//! The victims are this program again, running one of the two ignored tests at the end.

use std::{
    env,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use swdt_core::{
    Result,
    event::Reporter,
    interrupt::Interrupt,
    machine::{Context, Machines, nspawn},
    source::Settings,
};
use swdt_ground::{Ground, cache_dir};
use tokio::process::{Child, Command};

const DIR: &str = "SWDT_TEST_VICTIM_DIR";

/// Milliseconds after the start of a process that makes a machine: before it is planted (about 80), while
/// it is launched, while it boots, and after.
const MOMENTS: &[u64] = &[10, 20, 35, 50, 75, 90, 115, 160, 280, 500, 900];

#[tokio::test]
async fn a_killed_ensure_can_be_destroyed_or_finished() -> Result<()> {
    // So that the root is there and the moments fall into making the machine.
    Ground::open(&cache_dir()).await?.machine("root").await?;
    for (number, moment) in MOMENTS.iter().enumerate() {
        let ground = Ground::open(&cache_dir()).await?;
        let mut victim = victim("victim_ensures", Some(ground.dir()));
        tokio::time::sleep(Duration::from_millis(*moment)).await;
        victim.kill().await.unwrap();
        if number % 2 == 0 {
            // Finished by another process.
            let machine = ground.machine("a").await?;
            assert_eq!(machine.must(["hostname"]).await?, "a\n", "after {moment} ms");
        }
        ground.machines().destroy_cluster(&[]).await?;
        // A launcher that was on its way finds no cgroup and gives up.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(nspawn::traces(ground.context(), &["a"]), Vec::<String>::new(), "after {moment} ms");
    }
    Ok(())
}

#[tokio::test]
async fn a_dying_test_leaves_nothing() -> Result<()> {
    Ground::open(&cache_dir()).await?.machine("root").await?;
    for signal in [Signal::SIGKILL, Signal::SIGINT, Signal::SIGTERM] {
        let mut victim = victim("victim_has_a_ground", None);
        let pid = victim.id().unwrap();
        let dir = cache_dir().join(format!("ground/runs/{pid}-0"));
        let booted = dir.join("booted");
        until(&format!("{signal}: the victim boots its machine"), || booted.exists()).await;
        kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
        victim.wait().await.unwrap();
        until(&format!("{signal}: the janitor removes the ground"), || !dir.exists()).await;
        let ctx = context(&dir);
        assert_eq!(nspawn::traces(&ctx, &["a"]), Vec::<String>::new(), "{signal}");
    }
    Ok(())
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_mins(1), "waited too long: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn victim(test: &str, dir: Option<&Path>) -> Child {
    let mut command = Command::new(env::current_exe().expect("a program knows where it is"));
    command.args(["--exact", test, "--ignored", "--nocapture"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("SWDT_CACHE_DIR", cache_dir()).env(DIR, dir.unwrap_or(Path::new("")));
    command.spawn().expect("this program runs")
}

/// The context of a ground, as its own process has it.
fn context(dir: &Path) -> Context {
    Context {
        cluster: format!("ground-{}", dir.file_name().unwrap_or_default().to_string_lossy()),
        cluster_dir: dir.join("cluster"),
        cache_dir: cache_dir(),
        host_dir: cache_dir().join("ground/host"),
        authorized_key: "ssh-ed25519 AAAA".into(),
        recipe: swdt_core::machine::Recipe::default(),
        rehearsal: None,
        sources: Settings::new(cache_dir()),
        windows_program: None,
        program: std::path::PathBuf::new(),
        reporter: Reporter::silent(),
        interrupt: Interrupt::default(),
    }
}

#[tokio::test]
#[ignore = "a victim: makes a machine in a ground of another process, until it is killed"]
async fn victim_ensures() -> Result<()> {
    let Some(dir) = env::var_os(DIR).filter(|dir| !dir.is_empty()) else { return Ok(()) };
    let ground = Ground::open(&cache_dir()).await?;
    Machines::new(context(Path::new(&dir))).ensure(&ground.node("a")).await?;
    tokio::time::sleep(Duration::from_mins(1)).await;
    Ok(())
}

#[tokio::test]
#[ignore = "a victim: has a ground with a machine, until it is killed"]
async fn victim_has_a_ground() -> Result<()> {
    if env::var_os(DIR).is_none() {
        return Ok(());
    }
    let ground = Ground::open(&cache_dir()).await?;
    ground.machine("a").await?;
    std::fs::write(ground.dir().join("booted"), "").unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    Ok(())
}
