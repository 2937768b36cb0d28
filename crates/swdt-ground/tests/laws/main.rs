//! The laws of resources (`swdt-node/src/laws.rs` has them for scratch roots) on real machines: the real
//! node program, over real SSH, on a Debian with systemd, apt and a firewall.
//!
//! * made true, a resource is satisfied;
//! * made true twice, the second time writes nothing;
//! * made true and undone, the whole machine is as it was;
//! * killed at any point, it can still be made true, and undone.

#[path = "../../../swdt-node/tests/cases/mod.rs"]
mod cases;
mod law;
mod remote;
mod scenes;
mod windows;

use std::time::Instant;

use law::{Deaths, hold, hold_when_killed, ready};
use swdt_core::Result;
use swdt_ground::{Ground, Program, TestMachine, cache_dir, fingerprint::Fingerprint};
use swdt_wire::Kind;

/// What the cases need beyond a plain machine. Of the root's key, so the mirror is asked once; if it cannot
/// be reached then, there is no machine and the tests fail saying so.
const PACKAGES: &[&str] =
    &["dpkg-dev", "python3", "netcat-openbsd", "ufw", "firewalld", "dnf", "createrepo-c", "rpm"];

/// Every kind has a number. A new kind does not compile here until it has one, and the test fails until
/// it has a scene.
fn number(kind: &Kind) -> usize {
    match kind {
        Kind::File(_) => 0,
        Kind::Dir(_) => 1,
        Kind::Archive(_) => 2,
        Kind::Line(_) => 3,
        Kind::Hostname(_) => 4,
        Kind::Sysctl(_) => 5,
        Kind::KernelModule(_) => 6,
        Kind::Swap(_) => 7,
        Kind::Package(_) => 8,
        Kind::Service(_) => 9,
        Kind::Firewall(_) => 10,
        Kind::EnvPath(_) => 11,
        Kind::Traces(_) => 12,
        Kind::ClientConfig(_) => 13,
        Kind::Registry(_)
        | Kind::Restart(_)
        | Kind::SourceVip(_)
        | Kind::WindowsService(_)
        | Kind::Feature(_)
        | Kind::HnsNetwork(_) => {
            unreachable!("no scene of Linux has Windows")
        }
        // These need a runtime and a control plane: `swdt/tests/deaths.rs` has them in a whole cluster.
        Kind::Image(_)
        | Kind::KubeadmInit(_)
        | Kind::KubeadmJoin(_)
        | Kind::Manifest(_)
        | Kind::Condition(_) => unreachable!("no scene has a cluster"),
    }
}

/// One more than the highest.
const KINDS: usize = 14;

#[test]
fn every_kind_has_a_scene() {
    let mut seen = [false; KINDS];
    for scene in scenes::of_every_kind() {
        scene.resources.iter().for_each(|resource| seen[number(&resource.kind)] = true);
    }
    assert_eq!(seen, [true; KINDS]);
}

#[tokio::test]
async fn every_kind_obeys_the_laws_on_a_machine() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("laws").await?;
    let scenes = scenes::of_every_kind();
    let mut clock = Clock::default();
    for scene in &scenes {
        scene.set(&machine).await?;
    }
    ready(&machine).await?;
    let before = Fingerprint::take(&machine).await?;
    clock.lap("fingerprint");

    let shipped = machine.node_half(Program::Shipped)?;
    hold(&machine, &shipped, &scenes).await?;
    clock.lap("applied, twice, undone");
    same(&machine, &before, "applied and undone").await?;
    clock.lap("fingerprint");

    let faults = machine.node_half(Program::Faults)?;
    for scene in &scenes {
        let deaths = hold_when_killed(&machine, &faults, scene, &Deaths::All).await?;
        clock.lap(&format!("{}: killed {deaths} times", scene.name));
    }
    machine.must(["rm", "-r", "/opt/swdt"]).await?;
    same(&machine, &before, "killed, applied and undone").await?;
    clock.lap("fingerprint");
    Ok(())
}

/// One after the other on one machine: they would use the same package manager and firewall.
#[tokio::test]
async fn other_firewalls_and_package_managers() -> Result<()> {
    let ground = Ground::with_packages(&cache_dir(), PACKAGES).await?;
    let machine = ground.machine("cases").await?;
    // Debian starts what it installs, and a firewall must be a scene's own wish.
    machine.must(["systemctl", "disable", "--now", "firewalld.service", "ufw.service"]).await?;
    // The local repositories of the cases are all there is: a mirror that refuses at once is a case too.
    machine.put("/etc/apt/sources.list", 0o644, b"deb http://127.0.0.1:9/debian bookworm main\n")?;
    machine.put("/etc/apt/apt.conf.d/99laws", 0o644, b"Acquire::Retries \"0\";\n")?;
    ready(&machine).await?;
    let mut clock = Clock::default();
    let here = machine.clone();
    let told = tokio::task::spawn_blocking(move || remote::run_cases(&here)).await;
    let failed = told.expect("cases do not panic")?;
    clock.lap("cases");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));

    let faults = machine.node_half(Program::Faults)?;
    for scene in scenes::of_other_tools() {
        scene.set(&machine).await?;
        let deaths = hold_when_killed(&machine, &faults, &scene, &Deaths::All).await?;
        scene.clear(&machine).await?;
        clock.lap(&format!("{}: killed {deaths} times", scene.name));
    }
    Ok(())
}

async fn same(machine: &TestMachine, before: &Fingerprint, when: &str) -> Result<()> {
    let diff = before.diff(&Fingerprint::take(machine).await?);
    assert!(diff.is_empty(), "{when}, the machine is not as it was:\n{diff}");
    Ok(())
}

/// Says where the time goes; `--nocapture` shows it.
struct Clock(Instant);

impl Default for Clock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock {
    #[expect(clippy::print_stdout, reason = "for whoever wonders why a test takes long")]
    fn lap(&mut self, what: &str) {
        println!("{:>6.1} s  {what}", self.0.elapsed().as_secs_f32());
        self.0 = Instant::now();
    }
}
