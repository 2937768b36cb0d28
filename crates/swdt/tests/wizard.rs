//! `swdt config create`: on a terminal, keys in and a file out; without one, by options.

mod common;

use std::fs;

use common::{Swdt, pty::Terminal};
use swdt_core::Result;
use swdt_ground::{Ground, TestMachine, cache_dir, fingerprint::Fingerprint};

const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";
const RIGHT: &str = "\x1b[C";
const PAGE_DOWN: &str = "\x1b[6~";
const PAGE_UP: &str = "\x1b[5~";
const CLEAR: &str = "\x15";
const FINISH: &str = "\x13";
const STOP: &str = "\x03";

/// The wizard in the home, with a key to be found there.
fn wizard(swdt: &Swdt, arguments: &[&str]) -> Terminal {
    sized(swdt, arguments, 80, 24)
}

fn sized(swdt: &Swdt, arguments: &[&str], columns: u16, rows: u16) -> Terminal {
    let mut command = swdt.command(&[&["config", "create"], arguments].concat());
    command.current_dir(swdt.home());
    Terminal::start(&command, columns, rows)
}

fn with_a_key(swdt: &Swdt) {
    let ssh = swdt.home().join(".ssh");
    fs::create_dir(&ssh).expect("a home of its own");
    for (name, text) in [("id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n"), ("config", "")] {
        fs::write(ssh.join(name), text).expect("a home of its own");
    }
}

#[test]
fn keys_go_in_and_a_file_comes_out() {
    let swdt = Swdt::new();
    with_a_key(&swdt);
    let mut screen = wizard(&swdt, &["--output", "lab.yaml"]);
    screen.until_all(&["● Cluster", "lab.yaml", "How the cluster is called"]);
    screen.keys(&format!("{CLEAR}Lab!"));
    screen.until_all(&["name: \"Lab!\"", "✗ `Lab!` is not a valid name"]);
    screen.keys(&format!("{CLEAR}lab{ENTER}"));
    screen.until_all(&["name: lab", "◉ 1.36.3", "the usual one"]);
    screen.keys(&PAGE_DOWN.repeat(3));
    screen.until("Who logs in");
    screen.keys(&format!("root{DOWN}{RIGHT}"));
    screen.until_all(&["◉ ~/.ssh/id_ed25519", "key: ~/.ssh/id_ed25519"]);
    screen.keys(PAGE_DOWN);
    screen.until_all(&["cp1", "no address yet"]);
    screen.keys(&format!("{ENTER}{}127.0.0.10", DOWN.repeat(4)));
    screen.until("address: 127.0.0.10");
    screen.keys(&format!("{}{ENTER}", DOWN.repeat(2)));
    screen.until("Add a Windows node");
    screen.keys(&format!("{DOWN}{ENTER}"));
    screen.until_all(&["Node 2 of 2", "os: windows", "user: Administrator"]);
    // Half of it fits; nothing is lost by that.
    screen.resize(44, 20);
    screen.until("^Y file");
    screen.keys(&format!("{}127.0.0.20", DOWN.repeat(4)));
    screen.until("127.0.0.20");
    screen.resize(120, 40);
    screen.until_all(&["address: 127.0.0.20", "IP address or name"]);
    screen.keys(FINISH);
    screen.until_all(&["cp1 (control plane), win1 (Windows)", "Write the file"]);
    assert!(screen.is_borrowed() && !swdt.home().join("lab.yaml").exists(), "nothing is written before");
    screen.keys(ENTER);
    assert_eq!(screen.end(), 0, "{}", screen.screen());
    screen.until_all(&["wrote lab.yaml: cluster lab, 2 nodes", "cluster create --config lab.yaml"]);
    assert!(!screen.is_borrowed(), "the terminal is given back");

    let file = swdt.home().join("lab.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("name: win1\n    os: windows"), "{text}");
    let file = file.to_string_lossy();
    swdt.run(&["config", "validate", &file]).ok();
    let plan = swdt.run(&["cluster", "plan", "--config", &file]).ok();
    assert!(plan.stdout.contains("cluster lab, Kubernetes 1.36.3"), "{plan:#?}");
    let left: Vec<_> = fs::read_dir(swdt.home()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".swdt-")), "{left:?}");
}

#[test]
fn a_file_is_changed_and_keeps_what_else_it_says() {
    let swdt = Swdt::new();
    let before = "# in the cellar\nkind: Cluster\napiVersion: swdt.dev/v1alpha1\nmetadata: {name: old} # short\n\
                  kubernetes: {version: 1.36.3}\nnodes: # one\n  - {name: cp1, role: control-plane, address: 127.0.0.10}\n";
    let file = swdt.config(before);
    let mut screen = wizard(&swdt, &["--from", &file]);
    screen.until("# in the cellar");
    screen.keys(&format!("{CLEAR}new{FINISH}"));
    screen.until("Write the file");
    screen.keys(ENTER);
    assert_eq!(screen.end(), 0, "{}", screen.screen());
    assert_eq!(fs::read_to_string(&file).unwrap(), before.replace("old", "new"));

    // What somebody else writes meanwhile stays, and so does what was typed.
    let mut screen = wizard(&swdt, &["--from", &file]);
    screen.until("# in the cellar");
    screen.keys(&format!("{CLEAR}mine{FINISH}"));
    screen.until("Write the file");
    let theirs = before.replace("old", "theirs");
    fs::write(&file, &theirs).unwrap();
    screen.keys(ENTER);
    assert_eq!(screen.end(), 10, "{}", screen.screen());
    screen.until("somebody else wrote");
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
    let mine = fs::read_to_string(swdt.home().join("cluster.new.yaml")).unwrap();
    assert_eq!(mine, before.replace("old", "mine"));
}

#[test]
fn nothing_is_written_without_a_yes() {
    let swdt = Swdt::new();
    let file = swdt.config("something else\n");
    let mut screen =
        wizard(&swdt, &["--set", "nodes=[{name: cp1, role: control-plane, address: 127.0.0.10}]"]);
    screen.until("my-cluster");
    screen.keys(FINISH);
    screen.until("are asked first");
    screen.keys(ENTER);
    screen.until("cluster.yaml is there already");
    screen.keys("n");
    screen.keys(PAGE_UP);
    screen.until("Add a Linux node");
    screen.keys("d");
    screen.until_all(&["nodes", "✗"]);
    screen.keys(STOP);
    screen.until("Leave?");
    screen.keys("y");
    assert_eq!(screen.end(), 130, "{}", screen.screen());
    assert_eq!(fs::read_to_string(&file).unwrap(), "something else\n");
    assert!(!screen.is_borrowed());
}

#[test]
fn the_cluster_can_be_created_at_once() {
    let mut swdt = Swdt::new();
    swdt.set("NO_COLOR", "1");
    let node = "cp1,role=control-plane,address=127.0.0.10,user=root,port=1";
    let mut screen = sized(&swdt, &["--node", node], 120, 40);
    screen.until("my-cluster");
    screen.keys(FINISH);
    screen.until("create the cluster");
    screen.keys(&format!("{DOWN}{ENTER}"));
    // Nobody listens there, so that the run ends where it connects.
    assert_eq!(screen.end(), 7, "{}", screen.screen());
    screen.until_all(&["wrote cluster.yaml", "go on with: swdt cluster create --config cluster.yaml"]);
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for colour in ["\x1b[31m", "\x1b[35m", "\x1b[38;5;", "\x1b[48;5;", "\x1b[32m"] {
        assert!(!bytes.contains(colour), "{colour:?} where nobody wants colours");
    }
    assert!(swdt.home().join("cluster.yaml").exists());
}

#[test]
fn without_a_terminal_options_say_it_all() {
    let swdt = Swdt::new();
    let output = swdt.home().join("my.yaml").to_string_lossy().into_owned();
    let create = |more: &[&str]| swdt.run(&[&["config", "create", "--output", &output], more].concat());
    create(&[]).fails(2, &["no terminal", "--yes --node cp1"]);
    create(&["--yes"]).fails(3, &["`nodes`"]);
    create(&["--yes", "--node", "a,role=control-plane"]).fails(3, &["neither an `address` nor a `machine`"]);
    create(&["--yes", "--node", "role=worker"]).fails(2, &["names no node"]);
    create(&["--yes", "--set", "metadata.name"]).fails(2, &["says no value"]);
    create(&["--yes", "--kubernetes", "1.2"]).fails(2, &["1.36"]);
    let broken = swdt.config("nodes: [never closed\n");
    create(&["--yes", "--from", &broken]).fails(3, &["never closed"]);
    assert!(!fs::exists(&output).unwrap(), "only what is sound is written");

    let nodes = [
        "--name",
        "lab",
        "--kubernetes",
        "1.35",
        "--node",
        "cp1,role=control-plane,provider=nspawn,cpus=4",
        "--node",
        "win1,os=windows,address=127.0.0.20,user=Administrator,labels.disk=fast",
        "--set",
        "network.podCIDR=10.32.0.0/16",
        "--set",
        "nodes[1].taints=[os=windows:NoSchedule]",
    ];
    create(&[&["--yes"], &nodes[..]].concat()).ok();
    insta::assert_snapshot!("by_options", fs::read_to_string(&output).unwrap());
    swdt.run(&["cluster", "plan", "--config", &output]).ok();
    create(&["--yes", "--node", "cp1,role=control-plane"]).fails(2, &["is there already", "--force"]);

    let change = ["--yes", "--from", &output, "--node", "win1,address=127.0.0.21", "--format", "json"];
    let told = create(&change).ok().stdout;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["cluster"], &told["nodes"]), (&"lab".into(), &2.into()), "{told}");
    assert!(fs::read_to_string(&output).unwrap().contains("address: 127.0.0.21"));
}

/// How somebody types the address of a machine, and what they see.
fn type_address(screen: &mut Terminal, machine: &TestMachine, found: &[&str]) {
    screen.until_all(&["Node ", "Done"]);
    screen.keys(&format!("{}{}", DOWN.repeat(4), machine.address()));
    screen.until("lets you in");
    screen.keys(&format!("{DOWN}{DOWN}{ENTER}"));
    screen.until_all(found);
}

#[tokio::test]
async fn machines_are_looked_at_while_one_types_and_nothing_stays_there() -> Result<()> {
    let ground = Ground::open(&cache_dir()).await?;
    let (linux, windows) = tokio::try_join!(ground.machine("a"), ground.windows_machine("win1"))?;
    let before = Fingerprint::take(&linux).await?;
    let swdt = Swdt::new();
    let ssh = swdt.home().join(".ssh");
    fs::create_dir(&ssh).unwrap();
    fs::copy(linux.key(), ssh.join("id_ed25519")).unwrap();
    let known = [&linux, &windows].map(|machine| format!("{} {}\n", machine.address(), machine.host_key()));
    fs::write(ssh.join("known_hosts"), known.concat()).unwrap();

    let arguments = ["--set", "defaults.connection={user: root, key: ~/.ssh/id_ed25519}"];
    let mut screen = sized(&swdt, &arguments, 120, 40);
    screen.until("my-cluster");
    screen.keys(&format!("{FINISH}{PAGE_UP}{ENTER}"));
    type_address(&mut screen, &linux, &["Debian GNU/Linux 12", "Add a Windows node"]);
    screen.keys(&format!("{DOWN}{ENTER}"));
    type_address(&mut screen, &windows, &["Windows Server 2022", "build 20348"]);
    screen.keys(FINISH);
    screen.until("win1 (Windows)");
    screen.keys(ENTER);
    assert_eq!(screen.end(), 0, "{}", screen.screen());

    let diff = before.diff(&Fingerprint::take(&linux).await?);
    assert!(diff.is_empty(), "looking left something:\n{diff}");
    // On Windows a program that runs cannot remove itself; it goes a moment later.
    let gone = "for look in $(seq 100); do test -e \"$0\" || exit 0; sleep 1; done; find \"$0\" >&2; exit 1";
    windows.must(["sh", "-c", gone, &windows.state_dir()]).await?;
    Ok(())
}
