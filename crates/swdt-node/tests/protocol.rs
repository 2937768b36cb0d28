//! The real program, in a scratch root: what it says, and what it survives.

mod machine;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command},
};

use machine::{Machine, apply, failure, file, files, names, request, revert, summary, wait_for};
use swdt_node::{
    disk::sha256_hex,
    laws::fingerprint,
    state::{RunId, State},
};
use swdt_wire::{
    Blob, Content, File, Kind, Line, Mode, NodeEvent, NodeEventKind, NodeFailure, Outcome, Owner, Resource,
    Secret, Status, Summary, WIRE_VERSION,
};

#[test]
fn a_whole_life() {
    let machine = Machine::new();
    fs::write(machine.path("etc/b"), "was here").unwrap();
    let before = fingerprint(machine.root.path());
    let blob = Blob { sha256: sha256_hex(b"big"), size: 3 };
    let big = Resource::new(
        "test/big",
        Kind::File(File { path: "/opt/big".into(), content: Content::Blob(blob.clone()), mode: 0o755 }),
    );
    let resources = vec![file("a", "one"), file("b", "two"), big];

    let events = machine.ask(&request("one", "r1", Mode::Check { resources: resources.clone() }));
    assert_eq!(names(&events)[0], "0 hello r1");
    assert_eq!(names(&events)[1], "1 facts");
    let checked: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            NodeEventKind::Checked(checked) => Some(checked),
            _ => None,
        })
        .collect();
    assert_eq!(checked.len(), 3);
    assert_eq!(checked[0].status, Status::Differs("missing".into()));
    assert_eq!(checked[2].missing_blobs, [blob.sha256.as_str()]);
    assert!(!machine.state().exists(), "a look leaves nothing behind");

    assert!(machine.run(&["put", &blob.sha256], b"big").status.success());
    let events = machine.apply("r2", resources.clone());
    assert_eq!(
        names(&events),
        [
            "0 hello r2",
            "1 started test/a",
            "2 done test/a Changed 1",
            "3 started test/b",
            "4 done test/b Changed 1",
            "5 started test/big",
            "6 done test/big Changed 2",
            "7 finished 11 None",
        ]
    );
    assert_eq!(fs::read(machine.path("opt/big")).unwrap(), b"big");
    assert_eq!(fs::metadata(machine.state()).unwrap().permissions().mode() & 0o777, 0o700);

    let events = machine.apply("r3", resources.clone());
    assert_eq!(summary(&events), &Summary::default());
    let events = machine.ask(&request("one", "r4", Mode::Check { resources }));
    assert!(names(&events)[2..5].iter().all(|name| name.ends_with("Satisfied")), "{:?}", names(&events));

    let events = machine.ask(&request("one", "r5", revert()));
    assert_eq!(
        names(&events)[1..],
        [
            "1 started test/big",
            "2 done test/big Reverted 2",
            "3 started test/b",
            "4 done test/b Reverted 1",
            "5 started test/a",
            "6 done test/a Reverted 1",
            "7 finished 7 None",
        ]
    );
    assert_eq!(fingerprint(machine.root.path()), before);
    assert!(!machine.state().exists(), "a complete revert leaves nothing behind");
    let events = machine.ask(&request("one", "r6", revert()));
    assert_eq!(names(&events), ["0 hello r6", "1 finished 0 None"]);
    assert!(!machine.state().exists());
}

#[test]
fn what_cannot_be_read_is_answered_all_the_same() {
    let machine = Machine::new();
    for garbage in [
        &b""[..],
        b"\n",
        b"hello\n",
        b"{}\n",
        b"\xff\xfe\n",
        b"{\"wire\":1,\"run\":\"x\",\"mode\":\"nonsense\"}\n",
    ] {
        let events = machine.serve(garbage);
        // The host judges by it whether the two clocks are near enough.
        let near = |at: u64| at.abs_diff(swdt_node::disk::now()) < 60;
        assert!(matches!(events[0].kind, NodeEventKind::Hello { wire: WIRE_VERSION, at, .. } if near(at)));
        assert!(matches!(failure(&events), NodeFailure::Unusable { .. }), "{events:?}");
    }
    let events = machine.serve(b"{\"wire\":999,\"run\":\"x\",\"news\":[1]}\n");
    assert_eq!(names(&events)[0], "0 hello x");
    assert_eq!(failure(&events), &NodeFailure::Wire { node: WIRE_VERSION });
    let events = machine.apply("../../evil", files(&["a"]));
    assert!(matches!(failure(&events), NodeFailure::Unusable { .. }));
    assert!(!machine.state().exists());
    for words in [&["nonsense"][..], &[], &["put"], &["serve", "more"], &["put", "a", "b"]] {
        let output = machine.run(words, b"");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(String::from_utf8(output.stderr).unwrap().starts_with("usage: "));
    }
}

#[test]
fn bytes_with_another_hash_are_refused() {
    let machine = Machine::new();
    let sha256 = sha256_hex(b"good");
    let output = machine.run(&["put", &sha256], b"evil");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("another hash"));
    assert_eq!(fs::read_dir(machine.state().join("blobs")).unwrap().count(), 0);
    assert!(!machine.run(&["put", "../../../etc/passwd"], b"x").status.success());
    assert!(machine.run(&["put", &sha256], b"good").status.success());
    assert!(machine.run(&["put", &sha256], b"").status.success());
}

#[test]
fn a_state_directory_of_somebody_else_is_refused() {
    let machine = Machine::new();
    fs::create_dir(machine.state()).unwrap();
    fs::set_permissions(machine.state(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(failure(&machine.apply("r1", files(&["a"]))), NodeFailure::Unusable { .. }));
    assert!(!machine.run(&["put", &sha256_hex(b"x")], b"x").status.success());
    assert_eq!(fs::read_dir(machine.state()).unwrap().count(), 0);
}

#[test]
fn a_run_goes_on_without_its_conversation_and_can_be_followed_again() {
    let machine = Machine::new();
    machine.fault("test/b", "after-receipt", "hang");
    let mut first = machine.begin(&request("one", "r1", apply(files(&["a", "b"]))));
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.extend(serde_json::from_str::<NodeEvent>(&lines.next().unwrap().unwrap()));
    }
    assert_eq!(names(&seen), ["0 hello r1", "1 started test/a", "2 done test/a Changed 1"]);
    first.kill().unwrap();
    first.wait().unwrap();

    // Nobody else gets in.
    let NodeFailure::Busy(busy) = failure(&machine.apply("r2", files(&["c"]))).clone() else { panic!() };
    assert_eq!((busy.run.as_str(), busy.cluster.as_str(), busy.who.as_str()), ("r1", "one", "me@here"));
    assert!(busy.pid > 0 && busy.since > 0);

    // The same request again follows; so does attach.
    let again = machine.begin(&request("one", "r1", apply(files(&["a", "b"]))));
    let attach = machine.begin(&request("one", "r3", Mode::Attach { run: "r1".into(), after: 1 }));
    machine.kill_run();
    let events = |child: Child| -> Vec<NodeEvent> {
        let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let died = "4 finished 0 Some(Died)";
    let all = ["0 hello r1", "1 started test/a", "2 done test/a Changed 1", "3 started test/b", died];
    assert_eq!(names(&events(again)), all);
    assert_eq!(names(&events(attach)), ["0 hello r3", all[2], all[3], died]);

    // Another run makes it true, once.
    let events = machine.apply("r4", files(&["a", "b"]));
    assert_eq!(
        names(&events)[2..],
        ["2 done test/a Unchanged 0", "3 started test/b", "4 done test/b Changed 1", "5 finished 2 None"]
    );
    let unknown = machine.ask(&request("one", "r5", Mode::Attach { run: "never".into(), after: 0 }));
    assert_eq!(failure(&unknown), &NodeFailure::UnknownRun);
}

#[test]
fn a_follower_sees_every_event_once_and_the_end_again() {
    let machine = Machine::new();
    let many: Vec<String> = (0..40).map(|number| format!("f{number}")).collect();
    let many = files(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let mut first = machine.begin(&request("one", "r1", apply(many)));
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    let mut seen: Vec<NodeEvent> = Vec::new();
    while seen.len() < 10 {
        seen.extend(serde_json::from_str::<NodeEvent>(&lines.next().unwrap().unwrap()));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let after = seen.last().unwrap().seq;
    seen.extend(machine.ask(&request("one", "r2", Mode::Attach { run: "r1".into(), after })).split_off(1));
    let numbers: Vec<u64> = seen.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (0..=81).collect::<Vec<u64>>());
    assert_eq!(summary(&seen).failure, None);
    let end = machine.ask(&request("one", "r3", Mode::Attach { run: "r1".into(), after: 81 }));
    assert_eq!(end[1..], seen[81..]);
}

#[test]
fn a_machine_serves_one_cluster() {
    let machine = Machine::new();
    assert_eq!(summary(&machine.apply("r1", files(&["a"]))).failure, None);
    let other = NodeFailure::OtherCluster { cluster: "one".into() };
    assert_eq!(failure(&machine.ask(&request("two", "r2", apply(files(&["b"]))))), &other);
    assert_eq!(failure(&machine.ask(&request("two", "r3", revert()))), &other);
    assert!(machine.path("etc/a").exists() && !machine.path("etc/b").exists());
    assert_eq!(summary(&machine.ask(&request("one", "r4", revert()))).failure, None);
    assert_eq!(summary(&machine.ask(&request("two", "r5", apply(files(&["b"]))))).failure, None);
}

#[test]
fn one_line_of_several_goes_and_the_rest_still_finds_its_way_back() {
    // Without its last line end: whoever only takes lines out again would add one.
    for gone in [["a"], ["b"], ["c"]] {
        let machine = Machine::new();
        fs::write(machine.path("etc/hosts"), "127.0.0.1 localhost").unwrap();
        let before = fingerprint(machine.root.path());
        let line = |name: &str| {
            let kind = Kind::Line(Line { path: "/etc/hosts".into(), line: format!("10.0.0.1 {name}") });
            Resource::new(format!("test/{name}"), kind)
        };
        machine.apply("r1", ["a", "b", "c"].map(line).to_vec());
        let told = |run: &str| names(&machine.ask(&request("two", run, Mode::Receipts)))[2].clone();
        assert_eq!(told("r2"), r#"2 receipts Some("one") test/a test/b test/c"#);

        let some = |names: &[&str]| Mode::RevertSome {
            ids: names.iter().map(|name| format!("test/{name}")).collect(),
            owner: machine::owner(),
        };
        let events = machine.ask(&request("one", "r3", some(&gone)));
        assert_eq!(summary(&events).failure, None);
        assert_eq!(
            names(&events)[1..3],
            [format!("1 started test/{}", gone[0]), format!("2 done test/{} Reverted 1", gone[0]),]
        );
        let hosts = fs::read_to_string(machine.path("etc/hosts")).unwrap();
        assert_eq!(hosts.lines().count(), 3, "{hosts}");
        assert!(
            !hosts.contains(&format!(" {}\n", gone[0])) && !told("r4").contains(&format!("/{}", gone[0])),
            "{hosts}"
        );
        assert_eq!(summary(&machine.ask(&request("one", "r5", some(&gone)))).writes, 0);
        assert!(matches!(
            failure(&machine.ask(&request("two", "r6", some(&["a", "b", "c"])))),
            NodeFailure::OtherCluster { .. }
        ));

        assert_eq!(summary(&machine.ask(&request("one", "r7", revert()))).failure, None);
        assert_eq!(fingerprint(machine.root.path()), before, "{gone:?}");
        assert_eq!(told("r8"), "2 receipts None ");
        assert_eq!(summary(&machine.ask(&request("one", "r9", some(&gone)))).failure, None);
        assert!(!machine.state().exists());
    }
}

#[test]
fn a_run_stops_when_asked() {
    let machine = Machine::new();
    machine.fault("test/a", "after-done", "hang");
    let child = machine.begin(&request("one", "r1", apply(files(&["a", "b"]))));
    let held = machine.faults().join("it.held");
    wait_for("the first file", || machine.path("etc/a").exists() && held.exists());
    assert_eq!(summary(&machine.ask(&request("one", "r2", Mode::Cancel { run: "r1".into() }))).failure, None);
    fs::remove_file(held).unwrap();
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let last: NodeEvent = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(failure(&[last]), &NodeFailure::Cancelled);
    assert!(!machine.path("etc/b").exists());
    let unknown = machine.ask(&request("one", "r3", Mode::Cancel { run: "never".into() }));
    assert_eq!(failure(&unknown), &NodeFailure::UnknownRun);
}

#[test]
fn receipts_survive_a_power_cut_but_not_a_vandal() {
    let machine = Machine::new();
    machine.apply("r1", files(&["a", "b"]));
    let path = machine.state().join("receipts.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"schema\":1,\"at\":1,\"ru")).unwrap();
    assert_eq!(summary(&machine.apply("r2", files(&["a", "b"]))).writes, 0);
    assert_eq!(summary(&machine.apply("r3", files(&["a", "b", "c"]))).failure, None);

    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("intent", "int ent", 1)).unwrap();
    let NodeFailure::Unusable { message, .. } = failure(&machine.apply("r4", files(&["d"]))).clone() else {
        panic!()
    };
    assert!(message.starts_with(&format!("line 2 of {}", path.display())), "{message}");
    assert!(!machine.path("etc/d").exists());
    fs::write(&path, text).unwrap();
    let events = machine.ask(&request("one", "r5", revert()));
    assert_eq!(summary(&events).failure, None);
    assert!(fs::read_dir(machine.path("etc")).unwrap().next().is_none());
}

#[test]
fn killed_anywhere_the_real_program_comes_back() {
    for point in ["before-receipt", "after-receipt", "mid-apply", "after-apply", "after-done"] {
        let machine = Machine::new();
        fs::write(machine.path("etc/b"), "was here").unwrap();
        let before = fingerprint(machine.root.path());
        machine.fault("test/b", point, "kill");
        assert_eq!(failure(&machine.apply("r1", files(&["a", "b", "c"]))), &NodeFailure::Died, "{point}");
        let events = machine.apply("r2", files(&["a", "b", "c"]));
        assert_eq!(summary(&events).failure, None, "{point}");
        for point in ["mid-revert", "after-revert"] {
            machine.fault("test/b", point, "kill");
            let run = format!("r-{point}");
            // The second time b is undone already, unless the first death came before its receipt.
            let _ = machine.ask(&request("one", &run, revert()));
        }
        let _ = fs::remove_dir_all(machine.faults());
        assert_eq!(summary(&machine.ask(&request("one", "r3", revert()))).failure, None, "{point}");
        assert_eq!(fingerprint(machine.root.path()), before, "{point}");
        assert!(!machine.state().exists());
    }
}

#[test]
fn a_secret_is_nowhere_but_in_its_file() {
    let machine = Machine::new();
    let content = Content::Secret(Secret::new("hunter2-token"));
    let secret = Resource::new("test/s", Kind::File(File { path: "/etc/s".into(), content, mode: 0o600 }));
    let events = machine.apply("r1", vec![secret.clone()]);
    assert_eq!(summary(&events).failure, None);
    assert!(!format!("{events:?}").contains("hunter2"));
    let found = Command::new("grep").args(["-rl", "hunter2"]).arg(machine.root.path()).output().unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap().trim(), machine.path("etc/s").to_str().unwrap());
    assert_eq!(summary(&machine.apply("r2", vec![secret])).writes, 0);
    assert_eq!(summary(&machine.ask(&request("one", "r3", revert()))).failure, None);
    assert!(!machine.path("etc/s").exists());
}

#[test]
fn what_was_changed_since_is_kept_and_told() {
    let machine = Machine::new();
    machine.apply("r1", files(&["a", "b"]));
    fs::write(machine.path("etc/a"), "theirs").unwrap();
    let events = machine.ask(&request("one", "r2", revert()));
    let kept =
        |event: &NodeEvent| matches!(&event.kind, NodeEventKind::Done { outcome: Outcome::Kept(_), .. });
    assert_eq!(events.iter().filter(|event| kept(event)).count(), 1);
    assert_eq!(fs::read_to_string(machine.path("etc/a")).unwrap(), "theirs");
    assert!(!machine.path("etc/b").exists());
    assert_eq!(summary(&events).kept, 1);
    let left = |dir: &Path| -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names.into_iter().map(|name| name.into_string().unwrap()).collect()
    };
    assert_eq!(left(&machine.state()), ["lock", "receipts.jsonl", "runs"], "what it takes to force it");

    // The machine is free meanwhile.
    assert_eq!(summary(&machine.ask(&request("two", "r3", apply(vec![file("c", "c")])))).failure, None);
    assert_eq!(summary(&machine.ask(&request("two", "r4", revert()))).kept, 0);
    assert!(!machine.path("etc/c").exists() && !machine.state().exists(), "told twice, it is theirs");
    assert_eq!(fs::read_to_string(machine.path("etc/a")).unwrap(), "theirs");
}

#[test]
fn what_was_kept_can_be_forced_later() {
    let machine = Machine::new();
    machine.apply("r1", files(&["a"]));
    fs::write(machine.path("etc/a"), "theirs").unwrap();
    assert_eq!(summary(&machine.ask(&request("one", "r2", revert()))).kept, 1);
    let force = Mode::Revert { force: true, owner: Owner { who: "me".into() } };
    assert_eq!(summary(&machine.ask(&request("one", "r3", force))).kept, 0);
    assert!(!machine.path("etc/a").exists() && !machine.state().exists());
}

#[test]
fn old_runs_are_forgotten() {
    let machine = Machine::new();
    for number in 0..8 {
        machine.apply(&format!("r{number}"), files(&["a"]));
    }
    let runs = |path: &Path| fs::read_dir(path).unwrap().count();
    assert_eq!(runs(&machine.state().join("runs")), 5);
    assert!(machine.state().join("runs/r7").exists());
}

/// Needs root, for it mounts a file system; elsewhere it says nothing.
#[test]
fn a_full_disk_is_told_and_survived() {
    use nix::mount::{MntFlags, MsFlags, mount, umount2};
    let machine = Machine::new();
    State::of(&swdt_node::Ctx::new(machine.root.path())).ensure("runs").unwrap();
    let options = Some("size=256k,mode=0700");
    if mount(Some("tmpfs"), &machine.state(), Some("tmpfs"), MsFlags::empty(), options).is_err() {
        return;
    }
    // Longer than what is left in a page that is there already.
    let mut long = file("b", &"b".repeat(9000));
    long.id = "b".repeat(9000);
    let resources = vec![file("a", "a"), long];
    machine.fault("test/a", "after-done", "hang");
    let child = machine.begin(&request("one", "r1", apply(resources.clone())));
    let held = machine.faults().join("it.held");
    wait_for("the first file", || machine.path("etc/a").exists() && held.exists());
    let ballast = machine.state().join("ballast");
    let mut room = fs::File::create(&ballast).unwrap();
    while room.write_all(&[b'x'; 512]).is_ok() {}
    fs::remove_file(held).unwrap();
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let last: NodeEvent = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    drop(room);
    fs::remove_file(&ballast).unwrap();
    let again = machine.apply("r2", resources);
    umount2(&machine.state(), MntFlags::MNT_DETACH).unwrap();
    let NodeFailure::Resource { message, hint, .. } = failure(std::slice::from_ref(&last)).clone() else {
        panic!("{text}")
    };
    assert!(message.contains("No space left") && hint.is_some(), "{message}");
    assert_eq!(summary(&again).failure, None);
}

/// A revert with little to do is over before its conversation has opened the events.
#[test]
fn a_revert_that_is_over_at_once_is_still_heard() {
    for _ in 0..20 {
        let machine = Machine::new();
        machine.apply("r1", files(&["a"]));
        assert_eq!(names(&machine.ask(&request("one", "r2", revert())))[3], "3 finished 2 None");
        assert!(!machine.state().exists());
    }
}

/// What a later version wrote cannot be undone by this one, and a line more would hide it from nobody.
#[test]
fn receipts_of_a_newer_swdt_are_left_alone() {
    let machine = Machine::new();
    machine.apply("r1", vec![file("a", "one")]);
    let path = machine.state().join("receipts.jsonl");
    let later = r#"{"schema":2,"at":1,"run":"r2","entry":{"somethingNew":{}}}"#;
    let text = format!("{}{later}\n", fs::read_to_string(&path).unwrap());
    fs::write(&path, &text).unwrap();
    for (run, mode) in [
        ("r3", apply(vec![file("b", "two")])),
        ("r4", revert()),
        ("r5", Mode::Kubectl { arguments: vec!["get".into()], input: None }),
        ("r6", Mode::Pull { reference: "docker.io/library/x:1".into() }),
    ] {
        let events = machine.ask(&request("one", run, mode));
        let NodeFailure::Unusable { message, hint, .. } = failure(&events) else { panic!("{events:?}") };
        assert!(message.contains("was written by a newer swdt"), "{message}");
        assert!(hint.as_ref().is_some_and(|hint| hint.contains("use that version of swdt")), "{hint:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{run}");
        assert!(!machine.path("etc/b").exists() && machine.path("etc/a").exists(), "{run}");
    }
}

/// The run of an older or newer node program, followed by this one: every number is there.
#[test]
fn events_of_another_version_keep_their_numbers() {
    let machine = Machine::new();
    machine.apply("r1", files(&["a"]));
    let state = State::of(&swdt_node::Ctx::new(machine.root.path()));
    let path = state.events(&RunId::parse("r1").unwrap());
    let text = fs::read_to_string(&path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    assert!(first.contains("\"seq\":1"), "{text}");
    fs::write(&path, format!("{{\"seq\":1,\"elapsedMs\":3,\"kind\":{{\"somethingNew\":{{}}}}}}\n{rest}"))
        .unwrap();
    let events = machine.ask(&request("one", "r2", Mode::Attach { run: "r1".into(), after: 0 }));
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert!(names(&events)[1].contains("another version of swdt"), "{events:?}");
    assert_eq!(summary(&events).failure, None);
}
