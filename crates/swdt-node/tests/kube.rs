//! Images, kubeadm, manifests, conditions and kubectl, with stand-ins for the programs in a scratch root.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod machine;

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use machine::{Machine, apply, failure, file, names, request, revert, summary, wait_for};
use swdt_node::{
    Ctx, blobs, disk,
    laws::{Case, Held, fingerprint},
    state::State,
};
use swdt_wire::{
    Blob, Condition, Image, Kind, KubeadmInit, KubeadmJoin, Manifest, Mode, NodeEvent, NodeEventKind,
    NodeFailure, Resource, Secret, Summary, Truth,
};

const FAKES: [(&str, &str); 4] = [
    ("ctr", include_str!("fakes/ctr")),
    ("kubeadm", include_str!("fakes/kubeadm")),
    ("kubectl", include_str!("fakes/kubectl")),
    ("systemctl", include_str!("fakes/systemctl")),
];

const TOKEN: &str = "abcdef.0123456789abcdef";

/// A machine with programs, a containerd that runs, and a place for etcd.
fn furnish(root: &Path) {
    for dir in ["usr/local/bin", "var/lib/containerd", "var/lib/etcd", "run/api", "etc"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    for (name, text) in FAKES {
        let path = root.join("usr/local/bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(root.join("var/lib/containerd/books"), "other:1 sha256:9\n").unwrap();
    fs::write(root.join("run/kubelet"), "inactive\n").unwrap();
    fs::write(root.join("run/told"), "").unwrap();
}

fn furnished() -> Machine {
    let machine = Machine::new();
    furnish(machine.root.path());
    machine
}

/// One with a control plane.
fn control_plane() -> Machine {
    let machine = furnished();
    assert_eq!(summary(&machine.apply("init", vec![init()])).failure, None);
    machine
}

const ARCHIVE: &[u8] = b"registry.k8s.io/pause:3.10.2 sha256:1\n";

fn image() -> Resource {
    let blob = Blob { sha256: disk::sha256_hex(ARCHIVE), size: ARCHIVE.len() as u64 };
    let reference = "registry.k8s.io/pause:3.10.2".into();
    Resource::new("c/image", Kind::Image(Image { reference, digest: "sha256:1".into(), blob }))
}

fn init() -> Resource {
    let ignore = vec!["NumCPU".into(), "Mem".into()];
    Resource::new(
        "c/init",
        Kind::KubeadmInit(KubeadmInit { config: "kind: InitConfiguration\n".into(), ignore }),
    )
}

fn join(token: Option<&str>) -> Resource {
    let token = token.map(Secret::new);
    let join = KubeadmJoin { config: "token: TOKEN\n".into(), token, ignore: Vec::new() };
    Resource::new("c/join", Kind::KubeadmJoin(join))
}

fn manifest(yaml: &str) -> Resource {
    Resource::new("c/objects", Kind::Manifest(Manifest { name: "objects".into(), yaml: yaml.into() }))
}

fn node_ready(patience: u64) -> Resource {
    let what = Truth::NodeReady { name: "w1".into() };
    Resource::new("c/node", Kind::Condition(Condition { what, patience }))
}

fn node(machine: &Machine, ready: &str) {
    let text = format!(
        r#"{{"metadata":{{"name":"w1"}},"status":{{"conditions":[{{"type":"Ready","status":"{ready}","reason":"NetworkPluginNotReady"}}]}}}}"#
    );
    fs::write(machine.path("run/api/node.new"), text).unwrap();
    fs::rename(machine.path("run/api/node.new"), machine.path("run/api/node.json")).unwrap();
}

fn laws(scene: &dyn Fn(&Ctx), resources: &[Resource]) -> Held {
    let base = tempfile::tempdir().unwrap();
    Case { base: base.path(), scene, earlier: &[], resources }.hold().unwrap()
}

#[test]
fn the_laws_hold_for_images() {
    let scene = |ctx: &Ctx| {
        furnish(&ctx.path("/"));
        blobs::put(&State::of(ctx), &disk::sha256_hex(ARCHIVE), &mut &*ARCHIVE).unwrap();
    };
    assert_eq!(laws(&scene, &[image()]), Held::Made);
}

#[test]
fn the_laws_hold_for_kubeadm() {
    // What the stand-in was told is no part of the machine.
    let scene = |ctx: &Ctx| {
        furnish(&ctx.path("/"));
        fs::remove_file(ctx.path("/run/told")).unwrap();
        std::os::unix::fs::symlink("/dev/null", ctx.path("/run/told")).unwrap();
    };
    for it in [init(), join(Some(TOKEN))] {
        assert_eq!(laws(&scene, &[it]), Held::Made);
    }
}

#[test]
fn images_are_listed_once_for_all_of_them() {
    let machine = furnished();
    let state = State::of(&Ctx::new(machine.root.path()));
    blobs::put(&state, &disk::sha256_hex(ARCHIVE), &mut &*ARCHIVE).unwrap();
    let others = (0..5).map(|number| {
        let Kind::Image(image) = image().kind else { panic!() };
        Resource::new(
            format!("c/{number}"),
            Kind::Image(Image { reference: format!("other:{number}"), ..image }),
        )
    });
    let all: Vec<Resource> = [image()].into_iter().chain(others).collect();
    machine.ask(&request("one", "r1", Mode::Check { resources: all }));
    let calls = fs::read_to_string(machine.state().join("ctr-calls")).unwrap();
    assert_eq!(calls, "-n k8s.io images ls\n");
}

#[test]
fn images_of_a_containerd_that_is_gone_are_gone() {
    let machine = furnished();
    let state = State::of(&Ctx::new(machine.root.path()));
    blobs::put(&state, &disk::sha256_hex(ARCHIVE), &mut &*ARCHIVE).unwrap();
    assert_eq!(summary(&machine.apply("r1", vec![image()])).failure, None);
    fs::remove_file(machine.path("var/lib/containerd/books")).unwrap();
    let events = machine.ask(&request("one", "r2", revert()));
    assert_eq!(names(&events)[1..], ["1 started c/image", "2 done c/image Reverted 0", "3 finished 1 None"]);
}

#[test]
fn an_interrupted_kubeadm_begins_again() {
    let machine = furnished();
    let before = fingerprint(machine.root.path());
    fs::write(machine.path("break"), "").unwrap();
    let events = machine.apply("r1", vec![init()]);
    let NodeFailure::Resource { message, hint, .. } = failure(&events) else { panic!("{events:?}") };
    assert_eq!(message, "kubeadm init failed");
    assert!(hint.as_ref().unwrap().contains("journalctl -u kubelet"));
    assert!(machine.path("etc/kubernetes/admin.conf").exists(), "it looks half done");
    let events = machine.apply("r2", vec![init()]);
    assert_eq!(summary(&events).failure, None);
    assert!(names(&events).iter().any(|name| name.contains("beginning again")), "{:?}", names(&events));
    assert_eq!(summary(&machine.apply("r3", vec![init()])).writes, 0);
    assert_eq!(summary(&machine.ask(&request("one", "r4", revert()))).failure, None);
    fs::write(machine.path("run/told"), "").unwrap();
    assert_eq!(fingerprint(machine.root.path()), before);
}

#[test]
fn a_cluster_that_stood_is_never_made_anew() {
    let machine = control_plane();
    fs::write(machine.path("run/kubelet"), "inactive\n").unwrap();
    let events = machine.apply("r1", vec![init()]);
    assert_eq!(
        names(&events)[1..3],
        ["1 started c/init", "2 done c/init Unchanged 0"],
        "that the kubelet runs is the business of its service"
    );
    fs::remove_file(machine.path("etc/kubernetes/admin.conf")).unwrap();
    let events = machine.apply("r2", vec![init()]);
    let NodeFailure::Resource { message, .. } = failure(&events) else { panic!("{events:?}") };
    assert!(message.contains("admin.conf is missing"), "{message}");
    assert!(machine.path("var/lib/etcd/member").exists());
}

#[test]
fn somebody_elses_cluster_is_refused() {
    let machine = furnished();
    fs::create_dir_all(machine.path("etc/kubernetes")).unwrap();
    fs::write(machine.path("etc/kubernetes/kubelet.conf"), "theirs").unwrap();
    let events = machine.apply("r1", vec![init()]);
    let NodeFailure::Resource { message, .. } = failure(&events) else { panic!("{events:?}") };
    assert!(message.contains("swdt did not make"), "{message}");
    assert_eq!(fs::read_to_string(machine.path("etc/kubernetes/kubelet.conf")).unwrap(), "theirs");
}

/// Files of the machine that hold the token.
fn holds_token(machine: &Machine) -> Vec<String> {
    let found =
        std::process::Command::new("grep").args(["-rl", TOKEN]).arg(machine.root.path()).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    text.lines().map(|line| line.replace(machine.root.path().to_str().unwrap(), "")).collect()
}

#[test]
fn what_kubeadm_does_not_know_is_refused_before_it_begins() {
    let machine = furnished();
    let before = fingerprint(&machine.path("etc"));
    let config = KubeadmInit { config: "unknownField: 1\n".into(), ignore: Vec::new() };
    let events = machine.apply("init", vec![Resource::new("c/init", Kind::KubeadmInit(config))]);
    let NodeFailure::Resource { message, hint, .. } = failure(&events) else { panic!("{events:?}") };
    assert!(message.ends_with("unknown field \"unknownField\""), "{message}");
    assert!(hint.as_ref().unwrap().contains("under `kubeadm`"));
    assert_eq!(fingerprint(&machine.path("etc")), before);
    assert_eq!(summary(&machine.apply("r2", vec![init()])).failure, None, "and it is not in the way");
}

#[test]
fn the_token_goes_to_kubeadm_and_nowhere_else() {
    let machine = furnished();
    let events = machine.apply("r1", vec![join(None)]);
    let NodeFailure::Resource { message, .. } = failure(&events) else { panic!("{events:?}") };
    assert!(message.contains("holds no token"), "{message}");

    // After the mark and the configuration.
    machine.fault("c/join", r#"mid-apply","nth":3,"x":""#, "kill");
    assert_eq!(failure(&machine.apply("r2", vec![join(Some(TOKEN))])), &NodeFailure::Died);
    assert_eq!(holds_token(&machine), ["/var/lib/swdt/kubeadm.yaml"], "killed while kubeadm had it");
    machine.apply("r3", vec![file("a", "a")]);
    assert_eq!(holds_token(&machine), Vec::<String>::new(), "whoever comes next removes it");

    let events = machine.apply("r4", vec![join(Some(TOKEN))]);
    assert_eq!(summary(&events).failure, None);
    assert!(!format!("{events:?}").contains(TOKEN));
    assert_eq!(fs::read_to_string(machine.path("run/told")).unwrap(), format!("token: {TOKEN}\n"));
    assert_eq!(holds_token(&machine), ["/run/told"], "the stand-in's own notes");
    assert_eq!(summary(&machine.apply("r5", vec![join(None)])).writes, 0, "a member needs no token");
}

#[test]
fn manifests_are_applied_once_and_leave_no_receipt() {
    let machine = control_plane();
    let receipts = fs::read(machine.state().join("receipts.jsonl")).unwrap();
    fs::write(machine.path("run/api/down"), "\n\n").unwrap();
    let events = machine.apply("r1", vec![manifest("kind: Secret\n")]);
    assert_eq!(
        names(&events)[1..],
        [
            "1 started c/objects",
            "2 output The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?",
            "3 output waiting: the API server does not answer",
            "4 output configmap/x serverside-applied",
            "5 done c/objects Changed 2",
            "6 finished 2 None",
        ]
    );
    assert_eq!(fs::read(machine.state().join("receipts.jsonl")).unwrap(), receipts);
    assert_eq!(summary(&machine.apply("r2", vec![manifest("kind: Secret\n")])).writes, 0);
    let events =
        machine.ask(&request("one", "r3", Mode::Check { resources: vec![manifest("kind: Other\n")] }));
    assert!(names(&events)[2].contains("v1.ConfigMap.default.x"), "{:?}", names(&events));
    let events = machine.apply("r4", vec![manifest("unfit\n")]);
    let NodeFailure::Resource { output, .. } = failure(&events) else { panic!("{events:?}") };
    assert_eq!(output, &["error: unfit"]);
}

#[test]
fn a_condition_is_waited_for_and_writes_nothing() {
    let machine = control_plane();
    node(&machine, "False");
    let child = machine.begin(&request("one", "r1", apply(vec![node_ready(60)])));
    let log = machine.state().join("runs/r1/events.jsonl");
    wait_for("a word", || fs::read_to_string(&log).is_ok_and(|text| text.contains("waiting:")));
    node(&machine, "True");
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let events: Vec<NodeEvent> =
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        names(&events)[1..],
        [
            "1 started c/node",
            "2 output waiting: node w1: NetworkPluginNotReady",
            "3 done c/node Unchanged 0",
            "4 finished 0 None"
        ]
    );
    node(&machine, "False");
    let events = machine.apply("r2", vec![node_ready(0)]);
    let NodeFailure::Resource { message, output, .. } = failure(&events) else { panic!("{events:?}") };
    assert_eq!(message, "waited 0 s until node w1 is ready, in vain: node w1: NetworkPluginNotReady");
    assert_eq!(output, &["Ready=False: NetworkPluginNotReady"]);
}

#[test]
fn waiting_stops_when_asked() {
    let machine = control_plane();
    node(&machine, "False");
    let child = machine.begin(&request("one", "r1", apply(vec![node_ready(60)])));
    wait_for("the run", || machine.state().join("runs/r1/events.jsonl").exists());
    machine.ask(&request("one", "r2", Mode::Cancel { run: "r1".into() }));
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let last: NodeEvent = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(failure(&[last]), &NodeFailure::Cancelled);
}

#[test]
fn kubectl_answers_also_while_a_run_goes_on() {
    let machine = control_plane();
    let ask = |cluster: &str| {
        let mode = Mode::Kubectl { arguments: vec!["echo".into()], input: Some(Secret::new("in\n")) };
        machine.ask(&request(cluster, "k", mode))
    };
    node(&machine, "False");
    let mut child = machine.begin(&request("one", "r1", apply(vec![node_ready(60)])));
    wait_for("the run", || machine.state().join("runs/r1/events.jsonl").exists());
    let before = fingerprint(&machine.state());
    let events = ask("one");
    let answer =
        NodeEventKind::Answer { code: Some(7), stdout: Secret::new("in\n"), stderr: "words\n".into() };
    assert_eq!(events[1].kind, answer);
    assert_eq!(summary(&events), &Summary::default());
    assert_eq!(failure(&ask("two")), &NodeFailure::OtherCluster { cluster: "one".into() });
    let changed = fingerprint(&machine.state());
    assert_eq!(before.keys().collect::<Vec<_>>(), changed.keys().collect::<Vec<_>>());
    machine.ask(&request("one", "r2", Mode::Cancel { run: "r1".into() }));
    child.wait().unwrap();

    let mode = || Mode::Kubectl { arguments: vec!["get".into()], input: None };
    let elsewhere = furnished().ask(&request("one", "k", mode()));
    assert!(
        matches!(failure(&elsewhere), NodeFailure::Unusable { message, .. } if message.contains("no control plane"))
    );
}

#[test]
fn kubectl_takes_the_callers_streams() {
    let machine = control_plane();
    let run = |cluster: &str, mode: Mode| {
        let bytes = serde_json::to_vec(&request(cluster, "t", mode)).unwrap();
        let hex = disk::hex(&bytes);
        let said = machine.run(&["kubectl", &hex], b"in\n");
        (said.status.code(), String::from_utf8(said.stdout).unwrap(), String::from_utf8(said.stderr).unwrap())
    };
    let mode = || Mode::Kubectl { arguments: vec!["echo".into()], input: None };
    assert_eq!(run("one", mode()), (Some(7), "in\n".into(), "words\n".into()));
    let (code, _, stderr) = run("two", mode());
    assert!(code == Some(1) && stderr.contains("node of the cluster `one`"), "{stderr}");
    let (code, _, stderr) = run("one", Mode::Facts);
    assert!(code == Some(1) && stderr.contains("only kubectl"), "{stderr}");
    assert_eq!(machine.run(&["kubectl", "no hex"], b"").status.code(), Some(2));
}

#[test]
fn an_image_is_pulled_by_the_runtime() {
    let machine = control_plane();
    let pull = |reference: &str| {
        let events = machine.ask(&request("one", "p", Mode::Pull { reference: reference.into() }));
        events.into_iter().find_map(|event| match event.kind {
            NodeEventKind::Answer { code, stdout, stderr } => {
                Some((code, stdout.expose().to_owned(), stderr))
            }
            _ => None,
        })
    };
    assert_eq!(pull("quay.io/me/app:1"), Some((Some(0), "sha256:7".into(), String::new())));
    let (code, _, stderr) = pull("quay.io/nobody/app:1").unwrap();
    assert!(code == Some(1) && stderr.contains("not found"), "{stderr}");
    assert_eq!(pull("--all"), None, "a flag is no image");
}
