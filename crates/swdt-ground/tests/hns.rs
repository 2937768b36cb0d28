//! The Host Network Service where Windows is played: it comes with a feature and a restart, forgets with the next, and
//! fails when it does not run. And what the node program makes of all that.

use serde_json::{Map, Value, json};
use swdt_core::Result;
use swdt_ground::{Ground, NodeHalf, Program, TestMachine, cache_dir};
use swdt_wire::{Condition, Feature, HnsNetwork, Kind, NodeFailure, Outcome, Resource, Status, Truth};

const NAME: &str = "flannel.4096";
const HNS: &str = "/srv/windows/drive_c/ProgramData/Microsoft/Windows/HNS";
const FAULTS: &str = r"HKLM\SOFTWARE\swdt-rehearsal\hns";

/// Runs a program of Windows; whether it succeeded, and what it said.
async fn wine(machine: &TestMachine, argv: &[&str]) -> Result<(bool, String)> {
    let done = machine.wine(argv).await?;
    Ok((done.code == Some(0), done.stdout + &done.stderr))
}

async fn make(machine: &TestMachine) -> Result<(bool, String)> {
    wine(machine, &["hnsdiag", "create", "network", NAME, "10.244.7.0/24", "10.244.7.1", "4096"]).await
}

/// Makes one function of HNS fail.
async fn fail(machine: &TestMachine, function: &str) -> Result<()> {
    wine(machine, &["reg", "add", FAULTS, "/v", "Fail", "/d", function, "/f"]).await.map(drop)
}

/// All that HNS knows.
async fn remembered(machine: &TestMachine) -> Result<Value> {
    let text = machine.must(["cat", &format!("{HNS}/HNS.data")]).await?;
    Ok(serde_json::from_str(&text).expect("JSON"))
}

/// An endpoint of the one network, and a load balancer before it, as kube-proxy makes them.
async fn hang_on(machine: &TestMachine) -> Result<()> {
    let mut all = remembered(machine).await?;
    let network = all["networks"].as_object().and_then(|all| all.keys().next().cloned());
    let (endpoint, balancer) =
        ("00000000-0000-0000-0000-0000000000E1", "00000000-0000-0000-0000-0000000000B1");
    all["endpoints"][endpoint] = json!({ "ID": endpoint, "HostComputeNetwork": network });
    all["loadBalancers"][balancer] = json!({ "ID": balancer, "HostComputeEndpoints": [endpoint] });
    machine.put(&format!("{HNS}/HNS.data"), 0o644, all.to_string().as_bytes())
}

/// Why the network is not ready; none when it is.
async fn want(node: &NodeHalf) -> Result<Option<String>> {
    let what = Truth::HnsNetwork { name: NAME.into() };
    let ready = Resource::new("net/ready", Kind::Condition(Condition { what, patience: 1 }));
    Ok(match node.check(&[ready]).await?.pop() {
        Some(Status::Differs(why)) => Some(why),
        _ => None,
    })
}

fn network() -> Resource {
    Resource::new("net/network", Kind::HnsNetwork(HnsNetwork { name: NAME.into() }))
}

/// Message and hint of what failed.
fn failure(told: &swdt_ground::Told) -> String {
    match &told.summary.failure {
        Some(NodeFailure::Resource { message, hint, .. }) => format!("{message} {hint:?}"),
        other => format!("{other:?}"),
    }
}

async fn restart(machine: &mut TestMachine) -> Result<()> {
    machine.stop().await?;
    machine.start().await
}

#[tokio::test]
async fn networks_come_with_a_feature_and_go_with_a_restart() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let mut machine = ground.windows_machine("win1").await?;
    let node = machine.node_half(Program::Shipped)?;

    // Nothing yet, and it is said what is missing.
    let why = want(&node).await?.unwrap_or_default();
    assert!(why.contains("there is no Host Network Service"), "{why}");
    let refused = failure(&node.apply(&[network()]).await?);
    assert!(refused.contains("the feature Containers brings it"), "{refused}");

    let feature = Resource::new("net/feature", Kind::Feature(Feature { name: "Containers".into() }));
    assert!(node.apply(&[feature]).await?.summary.reboot);
    restart(&mut machine).await?;
    let node = machine.node_half(Program::Shipped)?;
    assert_eq!(want(&node).await?.as_deref(), Some("there is no network flannel.4096"));
    let recorded = node.apply(&[network()]).await?;
    assert_eq!(recorded.outcomes, [("net/network".to_owned(), Outcome::Changed)]);
    let (made, said) = make(&machine).await?;
    assert!(made, "{said}");
    assert_eq!(want(&node).await?, None);

    // It is the service that answers.
    wine(&machine, &["net", "stop", "hns"]).await?;
    let why = want(&node).await?.unwrap_or_default();
    assert!(why.contains("0x800706ba"), "{why}");
    let kept = failure(&node.revert(false).await?);
    assert!(kept.contains("sc start hns"), "{kept}");
    wine(&machine, &["net", "start", "hns"]).await?;
    assert_eq!(want(&node).await?, None);

    // What is not persistent does not live through a restart.
    restart(&mut machine).await?;
    let node = machine.node_half(Program::Shipped)?;
    assert_eq!(want(&node).await?.as_deref(), Some("there is no network flannel.4096"));

    // One call can be made to fail: the network is not made.
    fail(&machine, "HcnCreateNetwork").await?;
    let (made, said) = make(&machine).await?;
    assert!(!made && said.contains("HcnCreateNetwork with 0x80004005"), "{said}");
    // Or it is not removed; but what hangs on it is.
    fail(&machine, "HcnDeleteNetwork").await?;
    assert!(make(&machine).await?.0);
    hang_on(&machine).await?;
    let stuck = failure(&node.revert(false).await?);
    assert!(stuck.contains("HcnDeleteNetwork"), "{stuck}");
    let left = remembered(&machine).await?;
    let counts = ["networks", "endpoints", "loadBalancers"].map(|sort| left[sort].as_object().map(Map::len));
    assert_eq!(counts, [Some(1), Some(0), Some(0)], "{left}");
    wine(&machine, &["reg", "delete", FAULTS, "/f"]).await?;

    // Undone, the network is gone at once, and the rest of HNS with the next restart.
    let undone = node.revert(false).await?;
    assert!(undone.outcomes.iter().all(|(_, outcome)| *outcome == Outcome::Reverted), "{undone:?}");
    let windows = "/srv/windows/drive_c/windows/system32";
    machine.must(["test", "!", "-e", HNS]).await?;
    machine.must(["test", "-e", &format!("{windows}/computenetwork.dll")]).await?;
    restart(&mut machine).await?;
    for file in ["computenetwork.dll", "vmcompute.dll", "hns.exe"] {
        machine.must(["test", "!", "-e", &format!("{windows}/{file}")]).await?;
    }
    Ok(())
}
