//! Machines that swdt made, stopped and started under a real cluster.

mod common;

use common::Swdt;

const TWO: &str = "\
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: power}
kubernetes: {version: 1.36.3}
defaults: {machine: {provider: nspawn, cpus: 2, memory: 2Gi}}
nodes:
  - {name: cp1, role: control-plane, machine: {}}
  - {name: w1, machine: {}}
";

const BARE: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: bare}
spec:
  nodeName: w1
  terminationGracePeriodSeconds: 0
  containers: [{name: pause, image: 'registry.k8s.io/pause:3.10.2', imagePullPolicy: IfNotPresent}]
";

/// Machines go, however the test ends.
struct Made<'a>(&'a Swdt);

impl Drop for Made<'_> {
    fn drop(&mut self) {
        let _ = self.0.command(&["cluster", "destroy", "power", "--force"]).output();
    }
}

#[test]
#[ignore = "slow: a second real cluster, because machines of the first are not swdt's to stop"]
fn nodes_are_drained_before_they_stop_and_ready_after_they_start() {
    let swdt = Swdt::new();
    let made = Made(&swdt);
    swdt.run(&["cluster", "create", "--config", &swdt.config(TWO), "--until", "verify"]).ok();
    let nodes = || swdt.run(&["get", "nodes"]).ok().stdout;
    let manifest = swdt.home().join("bare.yaml");
    std::fs::write(&manifest, BARE).unwrap();
    swdt.run(&["kubectl", "--", "apply", "-f", &manifest.to_string_lossy()]).ok();

    swdt.run(&["node", "stop", "w1"])
        .fails(9, &["could not be drained", "default/bare", "`--force`", "`--no-drain`"]);
    assert!(!nodes().contains("SchedulingDisabled"), "a stop that failed left a cordon: {}", nodes());
    let stopped = swdt.run(&["node", "stop", "w1", "--force", "-o", "json"]).ok().stdout;
    assert!(stopped.contains("\"drained\":true"), "{stopped}");
    assert!(nodes().contains("SchedulingDisabled"));
    assert!(swdt.run(&["get", "pods"]).ok().stdout.is_empty(), "the pod was not moved away");
    let started = swdt.run(&["node", "start", "w1"]).ok().stdout;
    assert_eq!(started, "w1 runs and is ready, and takes pods again\n");
    assert_eq!(nodes().matches(" Ready ").count(), 2, "{}", nodes());

    // A cordon of somebody else's stays theirs.
    swdt.run(&["kubectl", "--", "cordon", "w1"]).ok();
    swdt.run(&["node", "stop", "w1"]).ok();
    let started = swdt.run(&["node", "start", "w1", "-o", "json"]).ok().stdout;
    assert!(started.contains("\"uncordoned\":false"), "{started}");
    assert!(nodes().contains("SchedulingDisabled"));

    assert!(swdt.run(&["node", "stop", "cp1"]).ok().stdout.contains("it is the control plane"));
    swdt.run(&["get", "nodes"]).fails(6, &["is stopped", "swdt node start cp1"]);
    swdt.run(&["node", "stop", "w1"]).fails(6, &["`--no-drain`"]);
    let told = swdt.run(&["cluster", "status"]).ok().stdout;
    assert!(told.contains("Kubernetes cannot be asked") && told.contains("unknown"), "{told}");
    assert_eq!(swdt.run(&["node", "start", "cp1"]).ok().stdout, "cp1 runs and is ready\n");
    swdt.run(&["cluster", "destroy", "power"]).ok();
    drop(made);
}
