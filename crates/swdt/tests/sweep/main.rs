//! The fault sweep: whatever goes wrong at whatever resource, the same command run again comes to the same end, and
//! `destroy` brings the machines back to what they were. Made from the plan, so that a new resource is swept without
//! being listed. `docs/reliability.md` tells more.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod pass;
mod script;
mod table;

use std::{
    fs,
    io::Write,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use common::Swdt;
use pass::{Choice, Found, Half, Pass};
use script::Script;
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

/// In every run of the tests a part of one pass.
const SHARE: usize = 3;

/// Of an update, which needs a whole cluster, so many passes, and each shifts the faults by so many places.
const UPDATES: (usize, usize) = (3, 7);

/// A ground with a machine of each system, and what they are like.
struct Scene {
    ground: Ground,
    machines: Vec<TestMachine>,
    before: Vec<Fingerprint>,
}

impl Scene {
    async fn new() -> Result<Self> {
        let ground = Ground::open(&cache_dir()).await?;
        let (linux, windows) = tokio::try_join!(ground.machine("lin1"), ground.windows_machine("win1"))?;
        common::lack_socat(&linux).await?;
        let before = tokio::try_join!(Fingerprint::take(&linux), Fingerprint::take(&windows))?;
        Ok(Self { ground, machines: vec![linux, windows], before: vec![before.0, before.1] })
    }

    async fn create(&self, choice: Choice) -> Result<Found> {
        let swdt = Swdt::mortal();
        let script = Script::create(&swdt, &self.machines);
        Pass::new(&swdt, &self.machines, &self.before, &script, choice).run().await
    }
}

/// A number of the environment.
fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn seed() -> usize {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = number("SWDT_SWEEP_SEED").unwrap_or(now.subsec_millis() as usize);
    say(&format!("SWDT_SWEEP_SEED={seed} repeats this"));
    seed
}

#[tokio::test]
async fn a_sample_of_faults_does_no_harm() -> Result<()> {
    let scene = Scene::new().await?;
    let found = scene.create(Choice { number: seed(), share: SHARE, only: String::new() }).await?;
    for case in found.cases.iter().filter(|case| case.struck) {
        say(&format!("{:?} {}: {}", case.half, case.resource, case.fault().name));
    }
    assert!(found.cases.iter().any(|case| case.struck), "nothing struck");
    assert!(found.trouble.is_none(), "{}", found.trouble.unwrap_or_default());
    Ok(())
}

#[tokio::test]
#[ignore = "an hour: `cargo xtask sweep`"]
async fn all_faults_do_no_harm() -> Result<()> {
    let seed = seed();
    let only = std::env::var("SWDT_SWEEP_ONLY").unwrap_or_default();
    let choice = |number| Choice { number, share: 1, only: only.clone() };
    let all = choice(seed).faults(Half::Make).count();
    assert!(all > 0, "no fault has `{only}` in its name");
    let passes = number("SWDT_SWEEP_PASSES").unwrap_or(all);
    let record = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sweep-{seed}{only}.jsonl"));
    let mut sweep = recorded(&record);
    let mut troubles = Vec::new();
    let mut scene = Scene::new().await?;
    for number in seed..seed + passes {
        if sweep.iter().any(|found| found.number == number) {
            continue;
        }
        let found = scene.create(choice(number)).await?;
        tell(&found);
        if let Some(trouble) = &found.trouble {
            say(&format!("pass {number} failed: {trouble}"));
            troubles.push(trouble.clone());
            drop(scene.ground);
            scene = Scene::new().await?;
        } else {
            keep(&record, &found);
        }
        sweep.push(found);
    }
    let text = table::text(&sweep, seed, ["create", "destroy"]);
    say(&text);
    assert!(troubles.is_empty(), "{} passes failed:\n{}", troubles.len(), troubles.join("\n\n"));
    if passes >= all && only.is_empty() {
        publish(&text, ["<!-- sweep -->", "<!-- /sweep -->"]);
    }
    Ok(())
}

#[tokio::test]
#[ignore = "a whole cluster: `cargo xtask sweep`"]
async fn nodes_come_and_leave_whatever_happens() -> Result<()> {
    let seed = seed();
    let scene = Scene::new().await?;
    let control_plane = scene.ground.machine("cp1").await?;
    let before = Fingerprint::take(&control_plane).await?;
    let swdt = Swdt::mortal();
    let script = Script::update(&swdt, &control_plane, &scene.machines);
    let mut sweep = Vec::new();
    let (passes, shift) = UPDATES;
    for pass in 0..passes {
        let choice = Choice { number: seed + pass * shift, share: 1, only: String::new() };
        let found = Pass::new(&swdt, &scene.machines, &scene.before, &script, choice).run().await?;
        tell(&found);
        assert!(found.trouble.is_none(), "{}", found.trouble.unwrap_or_default());
        sweep.push(found);
    }
    swdt.run(&["cluster", "destroy"]).ok();
    let diff = before.diff(&common::undone(&control_plane).await?);
    assert!(diff.is_empty(), "something was left on the control plane:\n{diff}");
    let text = table::text(&sweep, seed, ["update", "update --prune"]);
    say(&text);
    publish(&text, ["<!-- sweep of updates -->", "<!-- /sweep of updates -->"]);
    Ok(())
}

fn tell(found: &Found) {
    let struck = found.cases.iter().filter(|case| case.struck).count();
    let Found { number, cases, runs, seconds, .. } = found;
    say(&format!("pass {number}: {struck} of {} faults struck, {runs} commands, {seconds} s", cases.len()));
}

/// The passes of a sweep that was stopped, if it is to go on.
fn recorded(record: &Path) -> Vec<Found> {
    if std::env::var_os("SWDT_SWEEP_RESUME").is_none() {
        let _ = fs::remove_file(record);
    }
    let text = fs::read_to_string(record).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Adds a pass to the record: every case, with what became of it.
fn keep(record: &Path, found: &Found) {
    let mut file = fs::File::options().create(true).append(true).open(record).unwrap();
    writeln!(file, "{}", serde_json::to_string(found).unwrap()).unwrap();
}

/// Writes the table into the documentation.
fn publish(text: &str, [begin, end]: [&str; 2]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability.md");
    let document = fs::read_to_string(&path).unwrap();
    let changed = table::between(&document, begin, end, text).expect("the marks are there");
    fs::write(path, changed).unwrap();
}

#[expect(clippy::print_stdout, reason = "for whoever follows a sweep")]
fn say(text: &str) {
    println!("{text}");
}
