//! Runs that are disturbed in the middle. A package that cannot be installed yet, because somebody
//! holds apt's lock, keeps the machine at one resource for as long as a test needs.

mod common;

use common::{Background, Swdt, lack_socat};
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

/// Holds apt's lock until the file is removed.
async fn hold_apt(machine: &TestMachine) -> Result<()> {
    machine.put("/srv/hold", 0o644, b"")?;
    // flock(1) takes another sort of lock than dpkg (fcntl); perl-base is always there and can take that one.
    let hold = r#"use Fcntl; open(my $f, ">>", "/var/lib/dpkg/lock-frontend"); my $l = pack("s s l! l! i", F_WRLCK, 0, 0, 0, 0); fcntl($f, F_SETLK, $l) or die; sleep 1 while -e "/srv/hold";"#;
    machine.put("/srv/hold.pl", 0o644, hold.as_bytes())?;
    machine.must(["systemd-run", "--quiet", "--unit=hold-apt", "perl", "/srv/hold.pl"]).await.map(|_| ())
}

async fn release_apt(machine: &TestMachine) -> Result<()> {
    machine.must(["rm", "/srv/hold", "/srv/hold.pl"]).await.map(|_| ())
}

/// Starts a `create` and comes back when the machine is at its package.
fn create_up_to_apt(swdt: &Swdt, config: &str) -> Background {
    let create =
        swdt.spawn(&["cluster", "create", "--config", config, "--format", "json", "--until", "prepare"]);
    create.until_said(r#"{"resourceStarted":{"id":"prepare/packages"}}"#);
    create
}

#[tokio::test]
async fn a_lost_connection_does_not_stop_the_work() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    lack_socat(&machine).await?;
    hold_apt(&machine).await?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&machine]);
    let create = create_up_to_apt(&swdt, &config);
    // The connection's own process on the machine: `sshd: root@notty`.
    machine.must(["pkill", "-KILL", "-f", "^sshd: root@notty"]).await?;
    create.until_said("connection");
    release_apt(&machine).await?;
    let ran = create.wait().ok();
    let done: Vec<_> = ran
        .events()
        .iter()
        .filter_map(|event| event["kind"]["resourceDone"]["id"].as_str().map(ToOwned::to_owned))
        .collect();
    let mut once = done.clone();
    once.sort();
    once.dedup();
    assert_eq!(done.len(), once.len(), "an event came twice: {done:?}");
    assert!(done.contains(&"prepare/packages".to_owned()), "{done:?}");
    assert!(done.contains(&"prepare/firewall".to_owned()), "the rest of the run was seen: {done:?}");
    assert!(ran.stdout.contains("connecting again"), "{ran:#?}");
    Ok(())
}

#[tokio::test]
async fn ctrl_c_stops_between_two_resources_and_the_same_command_goes_on() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    lack_socat(&machine).await?;
    let before = Fingerprint::take(&machine).await?;
    hold_apt(&machine).await?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&machine]);
    let create = create_up_to_apt(&swdt, &config);

    // A second one at the same time is told who is first; so is one on another host, by the machine.
    let again = ["cluster", "create", "--config", &config, "--until", "prepare"];
    swdt.run(&again)
        .fails(10, &["`swdt cluster create` works on this cluster since 2", "ada@", "logs --follow"]);
    let said =
        ["a: ada@", " works on this machine for the cluster proof since 2", "logs --follow --cluster proof"];
    Swdt::new().run(&again).fails(10, &said);

    create.signal("INT");
    create.until_said("stopping at the next safe point");
    release_apt(&machine).await?;
    create.wait().fails(130, &["stopped at your request", r#""resume":"swdt cluster create --config"#]);
    let ip_forward = machine.must(["sh", "-c", "ls /etc/sysctl.d"]).await?;
    assert!(!ip_forward.contains("swdt"), "it went on after the resource it was at: {ip_forward}");

    swdt.run(&["cluster", "create", "--config", &config, "--until", "prepare"]).ok();
    swdt.run(&["cluster", "destroy"]).ok();
    let diff = before.diff(&Fingerprint::take(&machine).await?);
    assert!(diff.is_empty(), "{diff}");
    Ok(())
}

#[tokio::test]
async fn a_killed_swdt_is_followed_by_the_next_one() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    lack_socat(&machine).await?;
    hold_apt(&machine).await?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&machine]);
    let first = create_up_to_apt(&swdt, &config);
    first.signal("KILL");
    drop(first);
    let second = swdt.spawn(&["cluster", "create", "--config", &config, "--until", "prepare"]);
    second.until_said("following what an earlier command began");
    release_apt(&machine).await?;
    second.wait().ok();
    let third =
        swdt.run(&["cluster", "create", "--config", &config, "--format", "json", "--until", "prepare"]).ok();
    assert_eq!(third.event(Some("a"), "nodeDone")["execs"], 1);
    Ok(())
}

#[tokio::test]
async fn a_machine_that_restarts_midway_is_waited_for() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    lack_socat(&machine).await?;
    hold_apt(&machine).await?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&machine]);
    let create = create_up_to_apt(&swdt, &config);
    // The holder of the lock does not survive the restart, so the next attempt gets through.
    machine.must(["systemctl", "reboot"]).await?;
    let ran = create.wait().ok();
    assert!(ran.stdout.contains("trying again"), "{ran:#?}");
    assert!(machine.must(["dpkg-query", "-W", "socat"]).await?.contains('9'));
    Ok(())
}

/// What apt takes for installed, and dpkg does not: it was ended while it unpacked.
#[tokio::test]
async fn a_package_that_was_half_unpacked_is_unpacked_again() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    lack_socat(&machine).await?;
    machine.must(["apt-get", "install", "--yes", "socat"]).await?;
    let half = "/^Package: socat$/,/^$/s/^Status: .*/Status: install reinstreq half-installed/";
    machine.must(["sed", "--in-place", half, "/var/lib/dpkg/status"]).await?;
    let swdt = Swdt::new();
    let config = swdt.existing(&[&machine]);
    swdt.run(&["cluster", "create", "--config", &config, "--until", "prepare"]).ok();
    let state = machine.must(["dpkg-query", "--show", "--showformat=${Status}", "socat"]).await?;
    assert_eq!(state, "install ok installed");
    Ok(())
}

/// A Go that never comes to an end.
const ENDLESS_GO: &str = "#!/bin/sh
if [ \"$1\" = env ]; then echo go1.26.8; exit; fi
echo at it >&2
exec sleep 600
";

/// A build may take long, and the terminal gives Ctrl-C to what builds, too: that it ends is no failure of the build.
#[tokio::test]
async fn ctrl_c_while_something_is_built_is_no_failed_build() -> Result<()> {
    use std::{fs, os::unix::fs::PermissionsExt};
    let ground = Ground::open(&cache_dir()).await?;
    let machine = ground.machine("a").await?;
    let mut swdt = Swdt::new();
    let (bin, cache) = (swdt.home().join("bin"), swdt.home().join("cache"));
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("go"), ENDLESS_GO).unwrap();
    fs::set_permissions(bin.join("go"), fs::Permissions::from_mode(0o755)).unwrap();
    swdt.set("PATH", &format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    // With what was built before, nothing would be built.
    swdt.set("SWDT_CACHE_DIR", &cache.to_string_lossy());
    let config = swdt.existing(&[&machine]);
    let text =
        fs::read_to_string(&config).unwrap() + "components: {kubelet: {source: {build: {ref: v1.36.3}}}}\n";
    fs::write(&config, text).unwrap();
    let create =
        swdt.spawn(&["cluster", "create", "--config", &config, "--format", "json", "--until", "fetch"]);
    create.until_said(r#"{"phaseStarted":{"phase":"fetch""#);
    create.until_said("building ");
    create.signal("INT");
    create.wait().fails(130, &["stopped at your request", r#""resume":"swdt cluster create --config"#]);
    swdt.run(&["cluster", "destroy"]).ok();
    Ok(())
}
