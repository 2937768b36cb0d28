//! The doctor at a real cluster: nothing where nothing is wrong, and the right finding where something is.
#![allow(dead_code, reason = "every test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{fs, path::Path, process::Stdio};

use serde_json::{Value, json};
use swdt_core::Result;
use swdt_ground::TestMachine;

use crate::common::{Ran, Swdt, eventually};

/// A cluster, and a worker of it that can be broken.
pub(crate) struct Patient<'a> {
    pub(crate) swdt: &'a Swdt,
    pub(crate) w1: &'a TestMachine,
}

/// The rule and the node of every finding of these grades.
pub(crate) fn found(report: &Value, grades: &[&str]) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    let worth = findings.filter(|finding| grades.contains(&finding["grade"].as_str().unwrap()));
    // True of every machine on a host that has cgroup v1, and nothing is wrong with the cluster.
    let old_cgroups = !Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let worth = worth.filter(|finding| {
        !(old_cgroups && finding["evidence"][0].as_str().is_some_and(|it| it.contains("`cgroup-v1`")))
    });
    worth.map(|finding| (word(&finding["id"]), word(&finding["node"]))).collect()
}

/// A report, and the exit code it came with.
pub(crate) fn asked(swdt: &Swdt, more: &[&str]) -> (i32, Value) {
    let ran = swdt.run(&[&["doctor", "--format", "json"], more].concat());
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}")))
}

/// Neither a problem nor a warning, but for these.
pub(crate) fn is_sound(swdt: &Swdt, but: &[(&str, &str)]) {
    let (code, report) = asked(swdt, &[]);
    let but: Vec<_> = but.iter().map(|(id, node)| ((*id).to_owned(), (*node).to_owned())).collect();
    assert_eq!(found(&report, &["problem", "warning"]), but, "{report:#}");
    assert_eq!(code, 0);
}

impl Patient<'_> {
    pub(crate) async fn is_sound_broken_found_and_mended(&self) -> Result<()> {
        is_sound(self.swdt, &[]);
        let text = self.swdt.run(&["doctor"]).ok().stdout;
        assert!(text.contains("the machines cp1, w1, the cluster proof"), "{text}");
        self.an_image_that_nobody_has();

        self.w1.must(["systemctl", "stop", "kubelet.service"]).await?;
        self.w1.must(["rm", "/opt/cni/bin/portmap"]).await?;
        let (code, report) = asked(self.swdt, &[]);
        let is = |id: &str| (id.to_owned(), "w1".to_owned());
        assert_eq!(
            found(&report, &["problem"]),
            [is("node-cni-files"), is("node-kubelet-stopped")],
            "{report:#}"
        );
        assert_eq!(code, 9);
        let stopped = &report["findings"][1];
        assert!(stopped["evidence"][0].as_str().unwrap().contains("not running"), "{stopped:#}");
        assert_eq!(stopped["page"], "docs/troubleshooting.md#node-kubelet-stopped");

        self.swdt.run(&["doctor", "--fix"]).fails(2, &["nobody to ask", "--yes"]);
        let mended = self.swdt.run(&["doctor", "--fix", "--yes"]);
        assert!(mended.stderr.contains("make everything of the cluster proof true again"), "{mended:#?}");
        assert_eq!(mended.code, 0, "{mended:#?}");
        assert_eq!(self.w1.must(["systemctl", "is-active", "kubelet.service"]).await?.trim(), "active");
        is_sound(self.swdt, &[]);
        Ok(())
    }

    /// Port 1 of the node itself: a registry that is not there.
    fn an_image_that_nobody_has(&self) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "nobody" },
            "spec": { "nodeName": "w1", "containers": [{ "name": "c", "image": "127.0.0.1:1/nobody:1" }] },
        });
        let input = self.swdt.home().join("nobody.json");
        fs::write(&input, pod.to_string()).unwrap();
        let apply = |verb: &str| {
            let stdin = Stdio::from(fs::File::open(&input).unwrap());
            Ran::of(self.swdt.command(&["kubectl", "--", verb, "-f", "-"]).stdin(stdin)).ok()
        };
        apply("apply");
        let expected = [("pod-image-registry".to_owned(), "w1".to_owned())];
        assert!(
            eventually(|| found(&asked(self.swdt, &[]).1, &["problem"]) == expected),
            "{:#}",
            asked(self.swdt, &[]).1
        );
        apply("delete");
    }
}
