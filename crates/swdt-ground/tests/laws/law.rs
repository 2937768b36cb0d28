//! The laws, tried.

use std::ops::RangeInclusive;

use swdt_core::Result;
use swdt_ground::{NodeHalf, TestMachine, Told, fingerprint::Fingerprint};
use swdt_wire::{Outcome, Resource, Status};

use crate::scenes::Scene;

/// Waits until a machine has come to rest.
pub(crate) async fn ready(machine: &TestMachine) -> Result<()> {
    // Its exit code tells of units that failed at boot, which is not what we ask.
    machine.exec(["systemctl", "is-system-running", "--wait"]).await?;
    Ok(())
}

/// Made true, each scene is satisfied; made true again, nothing is written; undone, nothing of us is left.
pub(crate) async fn hold(machine: &TestMachine, node: &NodeHalf, scenes: &[Scene]) -> Result<()> {
    for scene in scenes {
        let name = scene.name;
        let differs = |status: &Status| matches!(status, Status::Differs(_));
        let before = node.check(&scene.resources).await?;
        assert!(before.iter().all(differs), "{name}: nothing to do: {before:?}");
        scene.send_blobs(node).await?;
        well(name, "applied", &node.apply(&scene.resources).await?);
        satisfied(node, scene, "applied").await?;
        scene.look(machine).await?;
    }
    let after = Fingerprint::glance(machine).await?;
    let all: Vec<Resource> = scenes.iter().flat_map(|scene| scene.resources.clone()).collect();
    let second = node.apply(&all).await?;
    well("all", "applied twice", &second);
    assert_eq!(second.summary.writes, 0, "applied twice: {second:?}");
    assert!(second.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Unchanged), "{second:?}");
    assert_eq!(second.outcomes.len(), all.len());
    let diff = after.diff(&Fingerprint::glance(machine).await?);
    // The run itself is remembered.
    let changes: Vec<_> = diff.0.iter().filter(|change| !change.name.contains(&node.state_dir())).collect();
    assert!(changes.is_empty(), "applied twice:\n{diff}");
    undone("all", "applied", &node.revert(false).await?);
    gone(machine, node).await
}

/// Waits until nothing of the node half is left: on Windows it goes when the last who used it is gone.
async fn gone(machine: &TestMachine, node: &NodeHalf) -> Result<()> {
    let script = "for i in $(seq 300); do test -e \"$0\" || exit 0; sleep 0.2; done; find \"$0\" >&2; exit 1";
    machine.must(["sh", "-c", script, &node.state_dir()]).await.map(drop)
}

/// Where to be killed.
pub(crate) enum Deaths {
    /// Everywhere.
    All,
    /// At one point, which this number chooses.
    One(u64),
}

impl Deaths {
    /// The points among `points`, and how often each is passed before.
    fn at(&self, scene: &Scene, points: &[&'static str]) -> Vec<(&'static str, RangeInclusive<u32>)> {
        match self {
            Self::All => points.iter().map(|point| (*point, times(scene, point))).collect(),
            Self::One(number) => {
                let point = usize::try_from(number % POINTS.len() as u64).map_or("", |index| POINTS[index]);
                // A short scene has no more steps than this; past the last one nobody is killed.
                let last = (*times(scene, point).end()).min(4);
                let nth =
                    u32::try_from(number / POINTS.len() as u64 % u64::from(last)).map_or(1, |nth| nth + 1);
                points.iter().filter(|it| **it == point).map(|it| (*it, nth..=nth)).collect()
            }
        }
    }
}

const POINTS: [&str; 7] = [
    "before-receipt",
    "after-receipt",
    "mid-apply",
    "after-apply",
    "after-done",
    "mid-revert",
    "after-revert",
];

/// Killed where it is asked for, a scene can be made true, and undone; says how often it was killed.
pub(crate) async fn hold_when_killed(
    machine: &TestMachine,
    node: &NodeHalf,
    scene: &Scene,
    at: &Deaths,
) -> Result<u32> {
    let (applying, reverting) = POINTS.split_at(5);
    // Sends the program, so that it is there before the first look.
    node.check(&[]).await?;
    let before = Fingerprint::glance(machine).await?;
    let mut deaths = 0;
    for (point, times) in at.at(scene, applying) {
        for nth in times {
            let when = format!("killed at {point} {nth}");
            scene.send_blobs(node).await?;
            node.kill_at(point, nth)?;
            let first = node.apply(&scene.resources).await?;
            if !first.died() {
                never_again(scene, point, nth, &first);
                as_before(machine, node, scene, &before, "applied").await?;
                break;
            }
            deaths += 1;
            well(scene.name, &when, &node.apply(&scene.resources).await?);
            satisfied(node, scene, &when).await?;
            as_before(machine, node, scene, &before, &when).await?;
        }
    }
    for (point, times) in at.at(scene, reverting) {
        for nth in times {
            scene.send_blobs(node).await?;
            well(scene.name, "applied", &node.apply(&scene.resources).await?);
            node.kill_at(point, nth)?;
            let first = node.revert(false).await?;
            if !first.died() {
                never_again(scene, point, nth, &first);
                gone(machine, node).await?;
                break;
            }
            deaths += 1;
            as_before(machine, node, scene, &before, &format!("killed at {point} {nth}")).await?;
        }
    }
    Ok(deaths)
}

/// How often a point is reached: once a resource, but of steps of a write there may be any number.
fn times(scene: &Scene, point: &str) -> RangeInclusive<u32> {
    let once_each = u32::try_from(scene.resources.len()).expect("a short list");
    1..=if point.starts_with("mid-") { u32::MAX } else { once_each }
}

/// A run that was not killed, because the steps have come to their end.
fn never_again(scene: &Scene, point: &str, nth: u32, told: &Told) {
    assert!(point.starts_with("mid-") && nth > 1, "{}: never came to {point} {nth}: {told:?}", scene.name);
    well(scene.name, point, told);
}

async fn satisfied(node: &NodeHalf, scene: &Scene, when: &str) -> Result<()> {
    let all = node.check(&scene.resources).await?;
    assert!(all.iter().all(|status| *status == Status::Satisfied), "{}: {when}: {all:?}", scene.name);
    assert_eq!(all.len(), scene.resources.len());
    Ok(())
}

async fn as_before(
    machine: &TestMachine,
    node: &NodeHalf,
    scene: &Scene,
    before: &Fingerprint,
    when: &str,
) -> Result<()> {
    undone(scene.name, when, &node.revert(false).await?);
    gone(machine, node).await?;
    let diff = before.diff(&Fingerprint::glance(machine).await?);
    assert!(diff.is_empty(), "{}: {when} and undone, the machine is not as it was:\n{diff}", scene.name);
    Ok(())
}

fn well(scene: &str, when: &str, told: &Told) {
    assert_eq!(told.summary.failure, None, "{scene}: {when}");
}

fn undone(scene: &str, when: &str, told: &Told) {
    well(scene, when, told);
    let all = told.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Reverted);
    assert!(all, "{scene}: {when}: {:?}", told.outcomes);
}
