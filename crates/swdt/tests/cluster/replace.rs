//! Programs of a node are replaced while the cluster runs, on Linux and where Wine plays Windows.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use swdt_core::Result;
use swdt_ground::TestMachine;

use crate::common::{Ran, Swdt};

/// A node whose kubelet is replaced.
pub(crate) struct Contributor<'a> {
    pub(crate) swdt: &'a Swdt,
    pub(crate) machine: &'a TestMachine,
    pub(crate) config: &'a str,
}

impl Contributor<'_> {
    /// Leaves the node with a kubelet that is not the cluster's own, for `destroy` to deal with.
    pub(crate) async fn replaces_the_kubelet(&self) -> Result<()> {
        let (swdt, node) = (self.swdt, self.machine.name());
        let (kubelet, other) = if self.machine.is_windows() {
            ("kubelet.exe", "swdt-node-linux-amd64")
        } else {
            ("kubelet", "swdt-node-windows-amd64.exe")
        };
        let own = self.pinned(kubelet);
        assert_eq!(self.digest_of_kubelet().await?, own);

        // What is wrong is told at once, and nothing is touched.
        let events = || fs::read(swdt.data().join("clusters/proof/events.jsonl")).unwrap();
        let before = events();
        let wrong = [format!("kubelet={}", agent(other).display()), "kublet=./x".into(), "etcd=./x".into()];
        let words = [&["node", "replace", node][..], &wrong.each_ref().map(String::as_str)].concat();
        let platform = if self.machine.is_windows() { "windows/amd64" } else { "linux/amd64" };
        let said = ["did you mean `kubelet`?", "etcd runs in a pod", "swdt image load ARCHIVE"];
        swdt.run(&words).fails(2, &said);
        swdt.run(&words[..4]).fails(3, &[&format!("not a program for {platform}")]);
        assert_eq!(events(), before, "a wish that cannot be fulfilled was begun");

        // The same kubelet, but for its last byte.
        let good = swdt.home().join(format!("good-{kubelet}"));
        let mut bytes = fs::read(swdt_ground::cache_dir().join("artifacts/sha256").join(&own)).unwrap();
        bytes.push(0);
        fs::write(&good, &bytes).unwrap();
        let digest = first_word(Command::new("sha256sum").arg(&good).output().unwrap().stdout);
        let replace = ["node", "replace", node, &format!("kubelet={}", good.display()), "-o", "json"];
        let done: Value = serde_json::from_str(&swdt.run(&replace).ok().stdout).unwrap();
        assert_eq!(
            (&done["changed"], &done["drained"], &done["ready"]),
            (&true.into(), &true.into(), &true.into())
        );
        assert_eq!(done["programs"][0]["sha256"], digest.as_str(), "{done}");
        assert!(done["kubelet"].as_str().unwrap().starts_with("v1.36.3"), "{done}");
        self.is_ready_with(&digest).await?;
        let again: Value = serde_json::from_str(&swdt.run(&replace).ok().stdout).unwrap();
        assert_eq!(again["changed"], false, "{again}");

        // It is remembered.
        let create = swdt.run(&["cluster", "create", "--config", self.config, "--format", "json"]).ok();
        assert_eq!(create.event(None, "finished")["writes"], 0, "{create:#?}");
        assert!(create.stdout.contains(&format!("keeps the {kubelet} that replaced its own")), "{create:#?}");
        assert!(swdt.run(&["cluster", "status"]).ok().stdout.contains("by `swdt node replace`"));

        // One that does not work goes by itself, and says why in its own words.
        let bad =
            if self.machine.is_windows() { "swdt-node-windows-amd64.exe" } else { "swdt-node-linux-amd64" };
        let bad = agent(bad).display().to_string();
        let said = [&format!("the new {kubelet} did not work, so the old one is back"), "usage: swdt-node"];
        swdt.run(&["node", "replace", node, &format!("kubelet={bad}")])
            .fails(8, &said.map(|words| words as &str));
        self.is_ready_with(&digest).await?;

        // One that works but takes too long goes as well.
        let late = swdt.run(&["node", "replace", node, "--reset", "--ready-within", "0"]);
        late.fails(9, &["is not ready after 0 seconds", "so the old one is back", "kubelet"]);
        self.is_ready_with(&digest).await?;

        self.builds_a_tool().await?;
        self.is_ready_with(&digest).await
    }

    /// From a source tree that could be Kubernetes, but for its size. Nothing that runs uses kubectl, so no pod moves.
    async fn builds_a_tool(&self) -> Result<()> {
        let tree = self.swdt.home().join("kubernetes");
        fs::create_dir_all(tree.join("cmd/kubectl")).unwrap();
        fs::write(tree.join("go.mod"), "module k8s.io/kubernetes\n\ngo 1.21\n").unwrap();
        fs::write(tree.join("cmd/kubectl/main.go"), "package main\n\nfunc main() { println(\"mine\") }\n")
            .unwrap();
        let node = self.machine.name();
        let words =
            ["node", "replace", node, "kubectl", "--from-checkout", &tree.to_string_lossy(), "-o", "json"];
        let built =
            Ran::of(self.swdt.command(&words).env("SWDT_CACHE_DIR", self.cache_with_a_go_of_its_own())).ok();
        let done: Value = serde_json::from_str(&built.stdout).unwrap();
        assert_eq!((&done["changed"], &done["drained"]), (&true.into(), &false.into()), "{done}");
        assert!(done["programs"][0]["from"].as_str().unwrap().starts_with("built from "), "{done}");
        if !self.machine.is_windows() {
            assert_eq!(self.machine.exec(["kubectl"]).await?.stderr.trim(), "mine");
        }
        let reset = self.swdt.run(&["node", "replace", node, "kubectl", "--reset"]).ok().stdout;
        assert!(reset.contains("now has the cluster's own kubectl"), "{reset}");
        Ok(())
    }

    /// The usual artifacts; but what Go compiles here is kept with the other small modules of tests.
    fn cache_with_a_go_of_its_own(&self) -> PathBuf {
        let (cache, kept) =
            (self.swdt.home().join("cache"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("source-go-build"));
        fs::create_dir_all(&kept).unwrap();
        fs::create_dir_all(cache.join("go")).unwrap();
        symlink(kept, cache.join("go/build")).unwrap();
        symlink(swdt_ground::cache_dir().join("artifacts"), cache.join("artifacts")).unwrap();
        cache
    }

    /// The digest of a program that the cluster's file leads to.
    fn pinned(&self, file: &str) -> String {
        let text = fs::read_to_string(self.swdt.data().join("clusters/proof/artifacts.json")).unwrap();
        let artifacts: Value = serde_json::from_str(&text).unwrap();
        let program = &artifacts["artifacts"]["programs"][self.machine.name()][file];
        program["sha256"].as_str().unwrap().to_owned()
    }

    async fn digest_of_kubelet(&self) -> Result<String> {
        let path = if self.machine.is_windows() {
            "/srv/windows/drive_c/k/kubelet.exe"
        } else {
            "/usr/local/bin/kubelet"
        };
        Ok(first_word(self.machine.must(["sha256sum", path]).await?.into_bytes()))
    }

    /// The node has this kubelet, is ready, and takes pods.
    async fn is_ready_with(&self, digest: &str) -> Result<()> {
        assert_eq!(self.digest_of_kubelet().await?, digest);
        let line = self.swdt.run(&["get", "nodes", self.machine.name()]).ok().stdout;
        assert!(line.contains(" Ready ") && !line.contains("SchedulingDisabled"), "{line}");
        Ok(())
    }
}

fn agent(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_swdt")).with_file_name(name)
}

fn first_word(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap().split_whitespace().next().unwrap_or_default().to_owned()
}
