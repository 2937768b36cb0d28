//! The command as its user meets it, without any machine: helps, answers, errors, pipes.
//!
//! Snapshots hold no paths, times or digests of this host.

mod common;

use std::{
    fs,
    process::{Command, Stdio},
};

use common::{Ran, Swdt, pty::Terminal};

/// Loopback addresses: a test that gets further than it should must not reach anybody.
const GOOD: &str = "\
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: my-cluster}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 127.0.0.10, connection: {user: root}}
  - {name: w1, address: 127.0.0.11, connection: {user: root}}
";

const BAD: &str = "\
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: My Cluster}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, rolle: control-plane, address: 127.0.0.10}
";

const COMMANDS: &[&str] = &[
    "",
    "catalog",
    "cluster",
    "cluster adopt",
    "cluster create",
    "cluster destroy",
    "cluster list",
    "cluster logs",
    "cluster plan",
    "cluster status",
    "cluster update",
    "completions",
    "explain",
    "man",
    "help",
    "config",
    "config create",
    "config explain",
    "config migrate",
    "config schema",
    "config validate",
    "get",
    "get kubeconfig",
    "get nodes",
    "get pods",
    "image",
    "image load",
    "kubectl",
    "node",
    "node console",
    "node exec",
    "node logs",
    "node screenshot",
    "node shell",
    "node start",
    "node stop",
    "source",
    "source build",
    "source fetch",
    "source list",
    "source prune",
    "test",
    "test smoke",
    "version",
];

/// What was said, with the home directory taken out.
fn told(swdt: &Swdt, ran: &Ran) -> String {
    let home = swdt.home().display().to_string();
    let text = format!("exit code {}\n--- stdout\n{}--- stderr\n{}", ran.code, ran.stdout, ran.stderr);
    text.replace(&home, "HOME")
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn helps() {
    let swdt = Swdt::new();
    let mut all = Vec::new();
    for name in COMMANDS {
        let ran = swdt.run(&[words(name), vec!["--help"]].concat()).ok();
        assert_eq!(swdt.run(&[words(name), vec!["-h"]].concat()).stdout, ran.stdout, "one help, not two");
        all.push(format!("$ swdt {name} --help\n{}", ran.stdout));
    }
    insta::assert_snapshot!("helps", all.join("\n"));
}

#[test]
fn helps_fit_a_narrow_terminal() {
    let swdt = Swdt::new();
    for name in COMMANDS {
        let arguments = [words(name), vec!["--help"]].concat();
        let output = swdt.command(&arguments).env("COLUMNS", "60").output().unwrap();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            assert!(line.chars().count() <= 60, "swdt {name} --help: {line}");
        }
    }
}

/// A key that is not there is doubted, for people and for programs.
#[test]
fn doubts_are_no_text_where_json_is_wanted() {
    let swdt = Swdt::new();
    let file = swdt.config(&GOOD.replace("{user: root}", "{user: root, key: /nowhere/id}"));
    let doubt = "there is no SSH key /nowhere/id";
    assert!(swdt.run(&["config", "validate", &file]).ok().stderr.contains(doubt));
    let json = swdt.run(&["config", "validate", &file, "--format", "json"]).ok();
    assert!(json.stdout.contains(doubt) && json.stderr.is_empty(), "{} {}", json.stdout, json.stderr);
    let plan = swdt.run(&["cluster", "plan", "--config", &file, "--format", "json"]).ok();
    assert_eq!(plan.stderr, "");
}

#[test]
fn what_is_no_file_is_not_guessed_to_be_itself() {
    let swdt = Swdt::new();
    fs::create_dir(swdt.home().join("lab.yaml")).unwrap();
    let lab = swdt.home().join("lab.yaml").to_string_lossy().into_owned();
    assert!(!swdt.run(&["config", "validate", &lab]).stderr.contains("did you mean"));
    let near = swdt.run(&["config", "validate", &lab.replace("lab.yaml", "lba.yaml")]).stderr;
    assert!(near.contains("lab.yaml`?"), "{near}");
}

#[test]
fn updating_what_is_not_there_leaves_nothing_behind() {
    let swdt = Swdt::new();
    let file = swdt.config(GOOD);
    let ran = swdt.run(&["cluster", "update", "--config", &file]);
    assert!(ran.stderr.contains("error[cluster-none]"), "{}", ran.stderr);
    assert!(!swdt.data().join("clusters/my-cluster").exists());
}

#[test]
fn a_valid_file() {
    let swdt = Swdt::new();
    let file = swdt.config(GOOD);
    insta::assert_snapshot!("valid", told(&swdt, &swdt.run(&["config", "validate", &file])));
    let json = swdt.run(&["config", "validate", &file, "--format", "json"]).ok().stdout;
    assert_eq!(json.trim(), r#"{"cluster":"my-cluster","nodes":2,"valid":true,"warnings":[]}"#);
    let quiet = swdt.run(&["config", "validate", &file, "--quiet"]).ok();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn a_field_is_explained() {
    let swdt = Swdt::new();
    let told = swdt.run(&["config", "explain", "network"]).ok().stdout;
    assert!(told.contains("network, a map") && told.contains("podCIDR"), "{told}");
    let json = swdt.run(&["config", "explain", "nodes.role", "--format", "json"]).ok().stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["words"], serde_json::json!(["control-plane", "worker"]), "{document}");
    swdt.run(&["config", "explain", "network.podCidr"]).fails(2, &["did you mean `podCIDR`?"]);
}

/// Versions that do not go together are refused before anything else, all at once, with reason and source.
#[test]
fn versions_that_do_not_go_together() {
    let swdt = Swdt::new();
    let components = "components: {containerd: {version: 2.1.4}, kubelet: {version: 1.37.0}}\nnodes:";
    let file = swdt.config(&GOOD.replace("nodes:", components));
    for command in [&["config", "validate"][..], &["cluster", "plan", "-c"], &["cluster", "create", "-c"]] {
        let ran = swdt.run(&[command, &[file.as_str()]].concat());
        let said =
            ["cp1: kubelet 1.37.0", "w1: containerd 2.1.4 does not go with", ">=2.2.0", "see https://"];
        ran.fails(3, &said).fails(3, &["cluster.yaml:5:36", "cluster.yaml:5:63", "error[versions-apart]"]);
    }
    assert!(!swdt.data().join("clusters").exists());
    let json = swdt.run(&["config", "validate", &file, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, document["problems"].as_array().unwrap().len()), (3, 4), "{document}");
    assert_eq!(document["problems"][0]["line"], 5, "{document}");
    // Other problems do not hide them, as far as nodes can be read.
    let others = GOOD.replace("nodes:", components).replace("name: my-cluster", "name: My Cluster");
    let file = swdt.config(&others.replace("127.0.0.11", "nowhere!"));
    let told = swdt.run(&["config", "validate", &file]).fails(3, &["name-invalid", "cp1: kubelet 1.37.0"]);
    assert!(!told.stderr.contains("w1: kubelet"), "{}", told.stderr);
}

/// A file for the wrong platform is refused before a machine is touched.
#[test]
fn a_file_of_ones_own_is_looked_at_first() {
    let swdt = Swdt::new();
    fs::write(swdt.home().join("kubelet"), "#!/bin/sh\n").unwrap();
    let components = "components: {kubelet: {source: {files: {linux/amd64: ./kubelet}}}}\nnodes:";
    let file = swdt.config(&GOOD.replace("nodes:", components));
    for command in [&["cluster", "create", "-c"][..], &["source", "fetch", "-c"]] {
        let ran = swdt.run(&[command, &[file.as_str()]].concat());
        ran.fails(3, &["is a script, not a program for linux/amd64"]);
    }
    assert!(!swdt.data().join("clusters").exists());
}

#[test]
fn the_catalog_is_shown_with_its_reasons() {
    let swdt = Swdt::new();
    insta::assert_snapshot!("catalog", swdt.run(&["catalog", "--kubernetes", "1.35"]).ok().stdout);
    let json = swdt.run(&["catalog", "--format", "json"]).ok().stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["kubernetes"].as_array().unwrap().len(), 4);
    swdt.run(&["catalog", "--kubernetes", "1.12"]).fails(2, &["`1.12` is no version", "1.36"]);
    swdt.run(&["catalog", "--kubernetes", "1.12.0"]).fails(3, &["is not in the catalog"]);
}

/// With a cache of its own: what others use must stay.
#[test]
fn sources_are_listed_and_what_no_cluster_uses_is_pruned() {
    let swdt = Swdt::new();
    let cache = swdt.home().join("cache");
    let run = |arguments: &[&str]| Ran::of(swdt.command(arguments).env("SWDT_CACHE_DIR", &cache));
    let listed = run(&["source", "list", "--os", "windows", "--format", "json"]).ok().stdout;
    let document: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let shim = document["components"].as_array().unwrap().iter().find(|one| one["component"] == "hcsshim");
    assert_eq!(shim.unwrap()["here"], false, "{document}");
    run(&["source", "list", "--os", "windows", "--arch", "arm64"]).fails(2, &["no nodes of windows/arm64"]);
    run(&["source", "build", "--component", "kubelet", "--version", "1.36"]).fails(2, &["all three numbers"]);
    run(&["source", "build", "--component", "runc"]).fails(3, &["runc cannot be built here"]);

    let blob = cache.join("artifacts/sha256").join("ab".repeat(32));
    fs::create_dir_all(blob.parent().unwrap()).unwrap();
    fs::write(&blob, [0; 2000]).unwrap();
    assert!(run(&["source", "prune"]).ok().stdout.contains("2.0 kB can go from"));
    assert!(blob.exists());
    let pruned = run(&["source", "prune", "--yes", "--format", "json"]).ok().stdout;
    let document: serde_json::Value = serde_json::from_str(&pruned).unwrap();
    assert_eq!((document["removed"] == true, document["size"].as_u64()), (true, Some(2000)), "{document}");
    assert!(!blob.exists());
    assert!(run(&["source", "prune"]).ok().stdout.starts_with("nothing can go from"));
}

#[test]
fn a_file_with_problems() {
    let swdt = Swdt::new();
    let file = swdt.config(BAD);
    insta::assert_snapshot!("problems", told(&swdt, &swdt.run(&["config", "validate", &file])));
    let json = swdt.run(&["config", "validate", &file, "--format", "json"]);
    insta::assert_snapshot!("problems_json", told(&swdt, &json));
    // Commands that need the file tell the same, as an error.
    let plain = swdt.run(&["cluster", "create", "--config", &file]).fails(3, &["rolle"]);
    assert_eq!(plain.stderr, swdt.run(&["config", "validate", &file]).stderr);
    let json = swdt.run(&["cluster", "plan", "--config", &file, "--format", "json"]).fails(3, &[]);
    let document: serde_json::Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!(document["error"]["problems"][0]["line"], 3, "{document}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let swdt = Swdt::new();
    let file = swdt.config(BAD);
    let colourful = |name: &str, value: &str| {
        let output = swdt.command(&["config", "validate", &file]).env(name, value).output().unwrap();
        output.stderr.contains(&0x1b)
    };
    assert!(!colourful("TERM", "xterm"), "a pipe gets none");
    assert!(!colourful("NO_COLOR", "1"));
    assert!(colourful("CLICOLOR_FORCE", "1"), "unless it asks");
}

/// A line that wraps has nothing below its mark.
#[test]
fn excerpts_are_as_wide_as_the_terminal() {
    let swdt = Swdt::new();
    let file = swdt.config(BAD);
    let mut screen = Terminal::start(&swdt.command(&["config", "validate", &file]), 40, 40);
    screen.until("more: swdt explain");
    let shown = screen.screen();
    assert_eq!(screen.end(), 3, "{shown}");
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let at = lines.iter().position(|line| line.contains("6 | ")).unwrap();
    assert!(lines[at].ends_with('…') && lines[at + 1].contains('^'), "{shown}");
}

/// Hints break between words, so that addresses can be copied.
#[test]
fn hints_are_as_wide_as_the_terminal() {
    let swdt = Swdt::new();
    let node = "  - {name: win1, os: windows, machine: {provider: qemu}}\n";
    let file = swdt.config(&format!("{GOOD}{node}"));
    let mut screen = Terminal::start(&swdt.command(&["config", "validate", &file]), 80, 40);
    screen.until("more: swdt explain");
    let shown = screen.screen();
    assert_eq!(screen.end(), 3, "{shown}");
    for address in ["https://aka.ms/WinServ2025iso-enus", "https://go.microsoft.com/fwlink/p/?LinkID=2195280"]
    {
        assert!(shown.lines().any(|line| line.contains(address)), "{shown}");
    }
    let missing = swdt.command(&["config", "validate", &file.replace("cluster.yaml", "nothing-of-the-sort")]);
    let mut screen = Terminal::start(&missing, 40, 20);
    screen.until("more: swdt explain");
    let shown = screen.screen();
    assert_eq!(screen.end(), 3, "{shown}");
    let hint = shown.lines().skip_while(|line| !line.contains("hint: ")).nth(1).unwrap();
    assert!(hint.starts_with("        "), "{shown}");
}

/// What has no end is read up to the limit, and only plain files are written. Pipes are read as files are.
#[test]
fn no_file_takes_for_ever() {
    let swdt = Swdt::new();
    for command in [&["config", "validate"][..], &["cluster", "plan", "-c"]] {
        swdt.run(&[command, &["/dev/zero"]].concat())
            .fails(3, &["too large: at most 1048576 bytes are read"]);
    }
    let good = swdt.config(GOOD);
    Ran::of(&mut swdt.shell("swdt config validate <(cat cluster.yaml)")).ok();
    swdt.run(&["config", "migrate", &good, "--output", "/dev/full"]).fails(2, &["error[output-not-written]"]);
    let create = ["config", "create", "--yes", "--from", &good, "--output"];
    let home = swdt.home().to_string_lossy().into_owned();
    for (output, why) in [(home.as_str(), "it is a directory"), ("/dev/zero", "it is no plain file")] {
        let ran = swdt.run(&[&create[..], &[output]].concat());
        ran.fails(2, &["error[output-not-written]", why, "hint: name a file"]);
    }
    let huge = swdt.home().join("huge.yaml");
    fs::write(&huge, vec![b'#'; 2 << 20]).unwrap();
    let huge = huge.to_string_lossy();
    for command in [&["config", "validate"][..], &["config", "migrate"]] {
        swdt.run(&[command, &[&huge]].concat()).fails(3, &["too large: at most 1048576 bytes are read"]);
    }
}

/// What an option cannot mean is told with what it can.
#[test]
fn settings_that_lead_nowhere() {
    let swdt = Swdt::new();
    let good = swdt.config(GOOD);
    let set = |setting: &str| {
        let output = swdt.home().join("new.yaml").to_string_lossy().into_owned();
        swdt.run(&["config", "create", "--yes", "--from", &good, "--output", &output, "--set", setting])
    };
    let beyond = set("nodes[7].name=c").fails(2, &["`nodes` has 2 items", "the next one is `nodes[2]`"]);
    assert!(!beyond.stderr.contains("validate"), "{}", beyond.stderr);
    let open =
        set("metadata={password: hunter2").fails(2, &["`metadata` is no list or map", "`{name: lab}`"]);
    assert!(!open.stderr.contains("hunter2"), "{}", open.stderr);
    let whole =
        set("nodes=[]").fails(3, &["error[edit-refused]", "as a whole", "hint: change what is below it"]);
    assert!(!whole.stderr.contains("config validate"), "{}", whole.stderr);
    let key =
        "nodes[1].machine={provider: qemu, image: {iso: x.iso, productKey: AAAAA-BBBBB-CCCCC-DDDDD-EEEEE}}";
    let secret = set(key).fails(3, &["error[secret-in-file]", "productKeyFile"]);
    assert!(!secret.stderr.contains("AAAAA"), "{}", secret.stderr);
}

/// What a node has further below is told as it can be typed, and nothing is said of a file that is not there.
#[test]
fn fields_that_are_not_the_nodes_own() {
    let swdt = Swdt::new();
    let output = swdt.home().join("new.yaml").to_string_lossy().into_owned();
    let create = |more: &[&str]| {
        let node = "cp1,role=control-plane,address=127.0.0.10";
        swdt.run(&[&["config", "create", "--yes", "--output", &output, "--node", node], more].concat())
    };
    let told =
        create(&["--node", "win1,os=windows,provider=qemu,disk=60Gi,image=x.iso,passwordFrom=hunter2"]);
    let told = told.fails(
        2,
        &[
            "`--node win1` has no field `disk`",
            "write `machine.disk=60Gi` in its place, or `--set 'nodes[1].machine.disk=60Gi'`",
            "`machine.image.iso=x.iso`",
            "`connection.passwordFrom=VALUE`",
        ],
    );
    assert!(!told.stderr.contains("new.yaml") && !told.stderr.contains("hunter2"), "{}", told.stderr);
    create(&[
        "--node",
        "win1,os=windows,provider=qemu,machine.disk=60Gi",
        "--set",
        "nodes[1].machine.image.iso=x.iso",
    ])
    .ok();
}

#[test]
fn times_that_cannot_be_read_are_told_with_an_example() {
    let swdt = Swdt::new();
    for command in ["cluster update -c x.yaml --timeout abc", "node stop w1 --timeout 5x"] {
        swdt.run(&words(command)).fails(2, &["error[command-line]", "`90s`, `5m`"]);
    }
}

#[test]
fn a_plan_without_machines() {
    let swdt = Swdt::new();
    let file = swdt.config(GOOD);
    insta::assert_snapshot!("plan", told(&swdt, &swdt.run(&["cluster", "plan", "--config", &file])));
    let json = swdt.run(&["cluster", "plan", "--config", &file, "--format", "json"]).ok().stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["nodes"]["w1"][0]["resources"][0]["resource"]["id"], "prepare/hosts/cp1");
    let until = ["cluster", "plan", "--config", &file, "--until", "connect", "--format", "json"];
    let document: serde_json::Value = serde_json::from_str(&swdt.run(&until).ok().stdout).unwrap();
    let phases: Vec<_> = document["phases"].as_array().unwrap().iter().map(|phase| &phase["id"]).collect();
    assert_eq!(phases, ["machines", "connect"], "{document}");
    swdt.run(&["cluster", "plan", "--config", &file, "--cluster", "other"]).fails(2, &["`other`"]);
}

#[test]
fn the_schema_is_json() {
    let swdt = Swdt::new();
    let printed = swdt.run(&["config", "schema"]).ok().stdout;
    let schema: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert!(schema["properties"]["nodes"].is_object(), "{schema}");
    let path = swdt.home().join("schema.json");
    swdt.run(&["config", "schema", "--output", &path.to_string_lossy()]).ok();
    assert_eq!(fs::read_to_string(path).unwrap(), printed);
}

#[test]
fn completions_for_every_shell() {
    let swdt = Swdt::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = swdt.run(&["completions", shell]).ok().stdout;
        assert!(script.contains("SWDT_COMPLETE"), "{shell}: {script}");
    }
    let script = swdt.home().join("completions.bash");
    fs::write(&script, swdt.run(&["completions", "bash"]).ok().stdout).unwrap();
    // What bash does when Tab is pressed.
    let pressed = |line: &str| {
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let tab = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={}; COMP_TYPE=9; \
             $(complete -p swdt | sed 's/.*-F \\([^ ]*\\).*/\\1/') swdt {}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words.len() - 1,
            words.last().unwrap(),
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &tab]).env("SWDT_DATA_DIR", swdt.data());
        let output = bash.output().unwrap();
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(pressed("swdt cluster de").contains(&"destroy".to_owned()), "{:?}", pressed("swdt cluster de"));
    assert_eq!(pressed("swdt config explain network.podC"), ["network.podCIDR"]);
    assert!(!pressed("swdt cluster destroy ").contains(&"my-cluster".to_owned()), "there is no cluster");
    let config = swdt.config(GOOD);
    swdt.run(&["cluster", "create", "--config", &config]).fails(7, &["refused the connection"]);
    assert_eq!(pressed("swdt cluster destroy m"), ["my-cluster"]);
    assert_eq!(pressed("swdt node shell w"), ["w1"]);
    assert_eq!(pressed("swdt node shell --cluster other w"), Vec::<String>::new());
}

#[test]
fn files_of_this_version_stay_as_they_are() {
    let swdt = Swdt::new();
    let file = swdt.config(GOOD);
    let done = swdt.run(&["config", "migrate", &file]).ok();
    assert_eq!(done.stdout, GOOD);
    assert!(done.stderr.contains("nothing was to do"), "{}", done.stderr);
    swdt.run(&["config", "migrate", &file, "--output", &file]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), GOOD);
    let other = swdt.home().join("other.yaml");
    fs::write(&other, "somebody's").unwrap();
    let other = other.to_string_lossy();
    swdt.run(&["config", "migrate", &file, "--output", &other]).fails(2, &["is there already"]);
    assert_eq!(fs::read_to_string(&*other).unwrap(), "somebody's");
    swdt.run(&["config", "migrate", "nowhere.yaml"]).fails(3, &["nowhere.yaml"]);
    let newer = swdt.config(&GOOD.replace("v1alpha1", "v2"));
    swdt.run(&["config", "migrate", &newer]).fails(3, &["knows no `swdt.dev/v2`", "a newer one"]);
}

#[test]
fn topics_and_pages() {
    let swdt = Swdt::new();
    let list = swdt.run(&["help", "topics"]).ok().stdout;
    let topics = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let topics: Vec<&str> = topics.collect();
    assert!(topics.len() >= 9, "{list}");
    for topic in topics {
        assert!(swdt.run(&["help", topic]).ok().stdout.lines().count() > 5, "{topic}");
    }
    assert!(swdt.run(&["help", "cluster", "create"]).ok().stdout.contains("--config <FILE>"));
    let failed = swdt.run(&["help", "widows"]);
    assert_eq!(failed.code, 2);
    assert!(failed.stderr.contains("did you mean `windows`?"), "{}", failed.stderr);

    let dir = swdt.home().join("man");
    swdt.run(&["man", &dir.to_string_lossy()]).ok();
    let page = fs::read_to_string(dir.join("swdt-cluster-create.1")).unwrap();
    assert!(page.contains("accept\\-new\\-host\\-keys"), "{page}");
    assert!(!dir.join("swdt-machine-switch.1").exists(), "what is hidden has no page");
}

#[test]
fn versions() {
    let swdt = Swdt::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(swdt.run(&["--version"]).ok().stdout, format!("swdt {version}\n"));
    let said = swdt.run(&["version"]).ok().stdout;
    assert!(said.starts_with(&format!("swdt {version}\nnode program linux/amd64: ")), "{said}");
    let json = swdt.run(&["version", "--format", "json"]).ok().stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["swdt"], version);
}

#[test]
fn no_cluster_yet() {
    let swdt = Swdt::new();
    let mut all = Vec::new();
    for name in [
        "cluster list",
        "cluster list --format json",
        "cluster list --quiet",
        "cluster status",
        "cluster status --format json",
        "cluster logs",
        "cluster destroy",
        "cluster destroy --cluster x",
        "node logs cp1",
        "get nodes",
        "get kubeconfig",
        "kubectl -- get pods",
        "image load quay.io/me/app:1",
        "test smoke --format json",
    ] {
        all.push(format!("$ swdt {name}\n{}", told(&swdt, &swdt.run(&words(name)))));
    }
    insta::assert_snapshot!("no_cluster", all.join("\n"));
}

#[test]
fn mistakes_on_the_command_line() {
    let swdt = Swdt::new();
    let mut all = Vec::new();
    for name in [
        "clustr",
        "cluster crate",
        "cluster create",
        "cluster create --config",
        "node exec cp1",
        "get pods -A -n default",
        "get pods my-pod -o toml",
        "get kubeconfig -o wide",
        "get kubeconfig --force",
        "get kubeconfig --output a --merge",
        "kubectl",
        "kubectl -- apply -f nowhere.yaml",
        "kubectl -- cp a my-pod:/a",
        "image load nowhere.tar",
        "image load Nginx",
        "image load quay.io/me/app:1 --as other",
        "cluster destroy one --cluster two",
        "node stop w1 --force --no-drain",
        "-qv version",
    ] {
        all.push(format!("$ swdt {name}\n{}", told(&swdt, &swdt.run(&words(name)).fails(2, &["error["]))));
    }
    insta::assert_snapshot!("usage", all.join("\n"));
}

#[test]
fn an_id_is_explained() {
    let swdt = Swdt::new();
    let told = swdt.run(&["explain", "host-key-unknown", "host-kvm"]).ok().stdout;
    insta::assert_snapshot!("explain", told);
    let all = swdt.run(&["explain"]).ok().stdout;
    assert!(all.contains("Exit code 7: connection") && all.contains("\n  host-key-unknown "), "{all}");
    let json = swdt.run(&["explain", "disc-truncated", "--format", "json"]).ok().stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((document[0]["kind"].as_str(), document[0]["exitCode"].as_u64()), (Some("config"), Some(3)));
    let said = ["error[name-unknown]: there is no error and no rule `kvm`", "did you mean `host-kvm`?"];
    swdt.run(&["explain", "kvm"]).fails(2, &said);
    let json = swdt.run(&["cluster", "status", "--format", "json"]).fails(2, &[]);
    let document: serde_json::Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!(document["error"]["id"], "cluster-none", "{document}");
}

#[test]
fn files_that_cannot_be_used() {
    let swdt = Swdt::new();
    let file = swdt.config(GOOD);
    let home = swdt.home().to_string_lossy().into_owned();
    swdt.run(&["config", "validate", "nowhere.yaml"]).fails(3, &["nowhere.yaml", "hint: "]);
    let near = file.replace("cluster.yaml", "clutser.yaml");
    swdt.run(&["cluster", "plan", "--config", &near]).fails(3, &[&format!("did you mean `{file}`?")]);
    swdt.run(&["config", "validate", &home]).fails(3, &["cannot read"]);
    swdt.run(&["config", "schema", "--output", &format!("{home}/none/x")]).fails(2, &["cannot write"]);
    swdt.run(&["cluster", "list", "--data-dir", &file]).fails(4, &["cannot read", "cluster.yaml"]);
    // Nobody listens on port 1.
    let windows = GOOD.replace("user: root", "port: 1").replace("w1, address", "w1, os: windows, address");
    let windows = swdt.config(&windows);
    swdt.run(&["cluster", "create", "--config", &windows, "--until", "connect"]).fails(
        7,
        &["w1: ", &format!("go on with: swdt cluster create --config {windows} --until connect\n")],
    );
}

/// The key may be on another host: the file is valid, and what will go wrong here is told.
#[test]
fn keys_that_are_not_there() {
    let swdt = Swdt::new();
    let file = swdt.config(&GOOD.replace("user: root", "user: root, key: ~/.ssh/nowhere"));
    let ran = swdt.run(&["config", "validate", &file]).ok();
    let key = swdt.home().join(".ssh/nowhere");
    assert!(
        ran.stderr.contains(&format!("warning: cp1, w1: there is no SSH key {}", key.display())),
        "{}",
        ran.stderr
    );
    assert_eq!(swdt.run(&["config", "validate", &file, "--quiet"]).ok().stderr, "");
}

/// A release carries it inside and cannot miss it.
#[cfg(not(feature = "embed-agents"))]
#[test]
fn without_the_node_program() {
    let swdt = Swdt::new();
    let file = swdt.config(GOOD);
    let run = swdt.alone(None);
    run(&["cluster", "create", "--config", &file]).fails(4, &["it belongs beside `swdt`"]);
    assert!(run(&["version"]).ok().stdout.contains("not found"));
    // What only looks, or has nothing to do, needs none.
    run(&["cluster", "plan", "--config", &file]).ok();
    run(&["cluster", "destroy"]).ok();
}

/// Nobody listens on port 1, so `create` fails as early as it can and leaves something to look at.
#[test]
fn a_cluster_that_could_not_be_reached() {
    let swdt = Swdt::new();
    let file =
        swdt.config(&GOOD.replace("192.168.1.1", "127.0.0.").replace("user: root", "user: root, port: 1"));
    let run = swdt.alone(Some("never sent anywhere"));
    let refused = "cp1: root@127.0.0.10:1 refused the connection";
    let created = run(&["cluster", "create", "--config", &file]).fails(7, &[refused, "hint: ", "log: "]);
    insta::assert_snapshot!("unreachable_errors", told(&swdt, &Ran { stdout: String::new(), ..created }));

    let status = run(&["cluster", "status"]).ok().stdout;
    let lines: Vec<&str> = status.lines().collect();
    assert_eq!(lines[0], "cluster my-cluster, Kubernetes 1.36.3");
    assert!(lines[1].starts_with("last run: create failed, "), "{status}");
    assert_eq!(lines[2], format!("  {refused}; w1: root@127.0.0.11:1 refused the connection"));
    insta::assert_snapshot!("unreachable_status", lines[3..].join("\n"));
    let json = run(&["cluster", "status", "--format", "json"]).ok().stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["nodes"][0]["machine"], serde_json::Value::Null, "it is not ours");

    let list = run(&["cluster", "list"]).ok().stdout;
    assert!(list.contains("my-cluster  1.36.3      2      create failed, "), "{list}");
    assert!(run(&["cluster", "logs"]).ok().stdout.contains("failed: root@127.0.0.11:1 refused"));
    assert_eq!(run(&["cluster", "logs", "--quiet"]).ok().stdout, "");
    assert!(run(&["node", "logs", "w1"]).ok().stdout.contains("failed: "));
    run(&["node", "logs", "w2"]).fails(2, &["no node `w2`", "it has: cp1, w1"]);
    run(&["cluster", "status", "--cluster", "other"]).fails(2, &["`other`", "there are: my-cluster"]);

    run(&["get", "nodes"]).fails(9, &["my-cluster has no Kubernetes yet", "hint: "]);
    run(&["test", "smoke", "-o", "json"]).fails(9, &["has no Kubernetes yet"]);
    run(&["node", "stop", "w1"]).fails(6, &["there before swdt"]);
    let tar = swdt.home().join("image.tar");
    fs::write(&tar, "").unwrap();
    run(&["image", "load", &tar.to_string_lossy()]).fails(2, &["image.tar cannot be loaded: it is no tar"]);

    // Nobody leaves what is no cluster yet: the way out is another.
    let renamed = swdt.config(&fs::read_to_string(&file).unwrap().replace("name: w1", "name: w2"));
    let refused = run(&["cluster", "create", "--config", &renamed]).fails(3, &["w1: is part of the cluster"]);
    assert!(refused.stderr.contains("swdt cluster destroy my-cluster"), "{refused:?}");

    let second = fs::read_to_string(&file).unwrap().replace("my-cluster", "second");
    run(&["cluster", "create", "--config", &swdt.config(&second), "--quiet"]).fails(7, &[]);
    run(&["cluster", "status"]).fails(2, &["several clusters: my-cluster, second", "SWDT_CLUSTER"]);
    run(&["cluster", "destroy", "second"]).ok();
    run(&["cluster", "destroy"]).ok();
    assert_eq!(run(&["cluster", "list", "--format", "json"]).ok().stdout, "{\"clusters\":[]}\n");
}

/// What cannot be made is not remembered either: the same file can be changed at will.
#[test]
fn machines_that_cannot_be_made_bind_nobody() {
    let swdt = Swdt::new();
    let text = "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {name: discs}\n\
                kubernetes: {version: 1.36.3}\ndefaults: {machine: {provider: qemu}}\nnodes:\n  \
                - {name: cp1, role: control-plane, machine: {image: {file: not-there.qcow2}}}\n  \
                - {name: win1, os: windows, machine: {image: {iso: not-there.iso}}}\n";
    let run = swdt.alone(Some("never sent anywhere"));
    for file in [text.to_owned(), text.replace("win1", "win2")] {
        let create = ["cluster", "create", "--config", &swdt.config(&file)];
        run(&create).fails(3, &["not-there.qcow2", "not-there.iso"]);
        assert_eq!(run(&["cluster", "list", "--format", "json"]).ok().stdout, "{\"clusters\":[]}\n");
    }
}

#[test]
fn empty_variables_are_none() {
    let swdt = Swdt::new();
    let mut command = swdt.command(&["cluster", "list", "--format", "json"]);
    let output = command.env("SWDT_CLUSTER", "").env("SWDT_DATA_DIR", "").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\"clusters\":[]}\n");
    let mut command = swdt.command(&["cluster", "status"]);
    let output = command.env("SWDT_CLUSTER", "mine").output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("there is no cluster `mine`"));
}

/// `swdt … | head -1`, when `head` is gone before the first word.
#[test]
fn a_closed_pipe_is_no_panic() {
    let swdt = Swdt::new();
    for name in ["config schema", "completions zsh", "cluster list --format json", "--help"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = swdt.command(&words(name)).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "swdt {name}");
        // 141 is what a shell makes of SIGPIPE; clap prints its helps itself and takes no offence.
        let expected = if name == "--help" { 0 } else { 141 };
        assert_eq!(output.status.code(), Some(expected), "swdt {name}");
    }
}

#[test]
fn lost_output_is_no_success() {
    let swdt = Swdt::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = swdt.command(&["config", "schema"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write to standard output"));
}
