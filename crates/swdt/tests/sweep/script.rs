//! What is swept: the commands by which machines come, and go.

use std::fs;

use swdt_ground::TestMachine;

use crate::common::Swdt;

/// The last phase that needs no kubeadm.
const UNTIL: &str = "kubernetes";
/// The phase after which the plan holds digests and images.
const FETCH: &str = "fetch";

/// The words of the commands of a pass.
pub(crate) struct Script {
    /// Says which resources there are; asked before each part of `make`.
    pub(crate) plan: Vec<String>,
    /// Makes them true, one part after the other. The last one is run once more and must find nothing to do.
    pub(crate) make: Vec<Vec<String>>,
    /// Undoes all of it.
    pub(crate) undo: Vec<String>,
}

impl Script {
    /// `create` as far as no control plane is needed, and `destroy`.
    pub(crate) fn create(swdt: &Swdt, machines: &[TestMachine]) -> Self {
        let config = swdt.rehearsing(&machines.iter().collect::<Vec<_>>());
        let create = |until| words(&["create", "--config", &config, "--until", until]);
        swdt.run(&slices(&create("connect"))).ok();
        Self {
            plan: words(&["plan", "--check", "--config", &config, "--until", UNTIL]),
            make: vec![create(FETCH), create(UNTIL)],
            undo: words(&["destroy"]),
        }
    }

    /// A cluster of one machine, to which the others come by `update`, and which they leave by `update --prune`.
    pub(crate) fn update(swdt: &Swdt, control_plane: &TestMachine, machines: &[TestMachine]) -> Self {
        let file = |name: &str, machines: &[&TestMachine]| {
            let path = swdt.home().join(name).to_string_lossy().into_owned();
            fs::rename(swdt.rehearsing(machines), &path).unwrap();
            path
        };
        let alone = file("alone.yaml", &[control_plane]);
        let all: Vec<_> = std::iter::once(control_plane).chain(machines).collect();
        let together = file("together.yaml", &all);
        swdt.run(&["cluster", "create", "--config", &alone, "--until", "verify"]).ok();
        let prune = machines.iter().flat_map(|machine| ["--prune", machine.name()]);
        Self {
            plan: words(&["plan", "--check", "--config", &together]),
            make: vec![words(&["update", "--config", &together])],
            undo: words(&["update", "--config", &alone].into_iter().chain(prune).collect::<Vec<_>>()),
        }
    }
}

fn words(of_cluster: &[&str]) -> Vec<String> {
    ["cluster"].iter().chain(of_cluster).chain(&["--format", "json"]).map(ToString::to_string).collect()
}

pub(crate) fn slices(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}
