//! A cluster is saved, broken on purpose and put back; whoever is killed meanwhile.

mod common;

use std::fs;

use common::{Background, Ran, Swdt, eventually};

/// What `swdt quickstart` makes.
const TWO: &str = include_str!("../../../examples/quickstart.yaml");

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: workload}
spec:
  nodeName: w1
  terminationGracePeriodSeconds: 0
  containers: [{name: pause, image: 'registry.k8s.io/pause:3.10.2', imagePullPolicy: IfNotPresent}]
";

/// A command for the cluster; it goes, however the test ends.
struct Made(Swdt);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = self.0.command(&["cluster", "destroy", "quickstart", "--force"]).output();
    }
}

impl Made {
    fn run(&self, words: &str) -> Ran {
        self.0.run(&words.split(' ').collect::<Vec<_>>())
    }

    /// As a page has it.
    fn typed(&self, line: &str) -> Ran {
        Ran::of(&mut self.0.shell(line))
    }

    fn snapshot(&self, words: &str) -> Ran {
        self.run(&format!("cluster snapshot {words}"))
    }

    fn kubectl(&self, words: &str) -> Ran {
        self.run(&format!("kubectl -- {words}"))
    }

    fn create(&self, until: &str) -> Ran {
        let config = self.0.home().join("cluster.yaml");
        self.run(&format!("cluster create --format json --until {until} --config {}", config.display()))
    }

    /// Starts a command about snapshots, kills it as soon as it has said something, and whatever it had started is
    /// gone too.
    fn killed_when(&self, command: &str, said: &str) {
        let words = format!("cluster snapshot {command} --format plain");
        let run: Background = self.0.spawn(&words.split(' ').collect::<Vec<_>>());
        run.until_said(said);
        run.signal("KILL");
        assert_eq!(run.wait().code, -1, "it was over before it was killed");
        assert!(eventually(|| self.copies().is_empty()), "still at work: {:?}", self.copies());
    }

    /// Processes that copy files of this cluster.
    fn copies(&self) -> Vec<String> {
        let home = self.0.home().to_string_lossy().into_owned();
        let lines = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&line).replace('\0', " "))
        });
        lines.filter(|line| line.contains("--reflink=auto") && line.contains(&home)).collect()
    }

    fn ready(&self) -> usize {
        self.run("get nodes").ok().stdout.matches(" Ready ").count()
    }

    /// How the machines are, as the host sees them.
    fn machines(&self) -> Vec<String> {
        let status = self.run("cluster status -o json").ok().stdout;
        let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
        let nodes = status["nodes"].as_array().expect("nodes");
        nodes.iter().filter_map(|node| node["machine"].as_str()).map(str::to_owned).collect()
    }
}

#[test]
fn a_broken_cluster_is_put_back_as_it_was() {
    let made = Made(Swdt::new());
    made.typed("swdt quickstart").ok();
    let pod = made.0.config(POD);
    made.kubectl(&format!("apply -f {pod}")).ok();
    made.kubectl("create configmap then --from-literal=a=b").ok();

    // A save that dies leaves nothing that has a name, and the next one knows what ran.
    made.killed_when("save before-upgrade", "copying the machine");
    let told = made.typed("swdt cluster snapshot list").ok().stderr;
    assert!(told.contains("a save was broken off") && told.contains("cp1, w1"), "{told}");
    made.snapshot("restore before-upgrade")
        .fails(2, &["there is no snapshot `before-upgrade`", "there is none yet"]);
    assert_eq!(made.machines(), ["stopped", "stopped"]);
    made.typed("swdt cluster snapshot save before-upgrade").ok();
    assert_eq!(made.ready(), 2);
    made.snapshot("save before-upgrade").fails(2, &["there is a snapshot `before-upgrade` already"]);
    made.snapshot("save No").fails(2, &["lower-case letters"]);
    let shelf = made.0.data().join("clusters/quickstart/snapshots");
    assert_eq!(fs::read_dir(&shelf).unwrap().count(), 1, "only the snapshot is there");

    // Things happen: objects, a machine, and the end of the cluster.
    made.kubectl("create configmap since --from-literal=a=b").ok();
    made.0.config(&format!("{TWO}  - {{name: w2, machine: {{}}}}\n"));
    made.create("connect").ok();
    let run = |node: &str, script: &str| made.0.run(&["node", "exec", node, "--", "sh", "-c", script]).ok();
    run("cp1", "systemctl stop kubelet; rm -r /etc/kubernetes /var/lib/etcd/*");
    run("w1", "systemctl stop kubelet; rm -r /var/lib/kubelet/config.yaml /var/lib/kubelet/pki");

    // A restore says who would go, and one that dies can only be ended.
    made.typed("swdt cluster snapshot restore before-upgrade").fails(2, &["knows nothing of w2", "`--yes`"]);
    made.killed_when("restore before-upgrade --yes", "putting the machine back");
    for command in ["node start cp1", "cluster snapshot save two"] {
        made.run(command).fails(
            9,
            &["restoring the snapshot before-upgrade was broken off", "restore before-upgrade` goes on"],
        );
    }
    made.create("verify").fails(9, &["machines are of different times"]);
    made.snapshot("delete before-upgrade").fails(2, &["only this snapshot can mend the cluster"]);
    let restored = made.snapshot("restore before-upgrade --yes -o json").ok().stdout;
    assert!(restored.contains(r#""name":"before-upgrade""#), "{restored}");

    // It is the cluster of that moment, and it works.
    assert_eq!((made.ready(), made.machines().len()), (2, 2));
    made.kubectl("get configmap then").ok();
    made.kubectl("get configmap since").fails(1, &["not found"]);
    made.kubectl("wait --for=condition=Ready --timeout=60s pod/workload").ok();
    made.run("test smoke").ok();
    assert!(!made.0.data().join("clusters/quickstart/machines/w2").exists(), "a machine of later is left");
    made.0.config(TWO);
    assert_eq!(made.create("verify").ok().event(None, "finished")["writes"], 0);

    // What is stopped stays stopped.
    made.kubectl("delete pod workload").ok();
    made.typed("swdt node stop w1").ok();
    made.run("node stop cp1").ok();
    made.snapshot("save two").ok();
    assert_eq!(made.machines(), ["stopped", "stopped"]);
    let told = made.snapshot("list").ok().stdout;
    assert!(told.contains("before-upgrade ") && told.contains("two ") && told.contains("cp1, w1"), "{told}");
    assert!(made.typed("swdt cluster snapshot delete before-upgrade").ok().stdout.contains("is removed"));
    assert!(made.snapshot("delete before-upgrade").ok().stdout.contains("is not there"));

    // All run again, and Windows comes on top, without Windows.
    made.run("node start cp1").ok();
    made.typed("swdt node start w1").ok();
    assert_eq!(made.ready(), 2);
    made.typed("swdt quickstart --windows rehearsal").ok();
    assert_eq!(made.ready(), 3);

    // Everything goes with the cluster.
    let destroyed = made.typed("swdt cluster destroy quickstart").ok().stdout;
    assert!(destroyed.contains("its snapshots went with the cluster: two"), "{destroyed}");
    assert_eq!(fs::read_dir(made.0.data().join("clusters")).unwrap().count(), 0);
    let home = made.0.home().to_string_lossy().into_owned();
    assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains(&home), "something is still mounted");
}
