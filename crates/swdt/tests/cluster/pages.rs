//! What the pages tell to type, typed at a real cluster.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::fs;

use serde_json::Value;

use crate::common::{Swdt, pages::Scene, scene};

/// The files that the pages speak of are those of the cluster, made from what it was made from.
pub(crate) fn are_true(swdt: &Swdt, config: &str) {
    let home = swdt.home();
    let pinned = fs::read_to_string(swdt.data().join("clusters/proof/artifacts.json")).unwrap();
    let pinned: Value = serde_json::from_str(&pinned).unwrap();
    let blob = |piece: &Value| {
        swdt_ground::cache_dir().join("artifacts/sha256").join(piece["sha256"].as_str().unwrap())
    };
    fs::copy(config, home.join("my-cluster.yaml")).unwrap();
    let images = pinned["artifacts"]["images"].as_array().unwrap();
    let pause = images.iter().find(|image| image["reference"].as_str().unwrap().contains("/pause:")).unwrap();
    fs::copy(blob(&pause["archive"]), home.join("my-app.tar")).unwrap();
    // Programs of one's own: the same, but for their last byte.
    fs::create_dir(home.join("bin")).unwrap();
    for (name, program) in pinned["artifacts"]["programs"]["w1"].as_object().unwrap() {
        let bytes = [fs::read(blob(program)).unwrap(), vec![0]].concat();
        fs::write(home.join("bin").join(name), bytes).unwrap();
    }
    fs::copy(home.join("bin/kubelet"), home.join("kubelet")).unwrap();

    scene::play(Scene::Cluster, swdt);
    swdt.run(&["kubectl", "--", "delete", "deployment", "web"]).ok();
    for left in ["bin", "kubelet", "swdt-bundle.tar"] {
        let path = home.join(left);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
}
