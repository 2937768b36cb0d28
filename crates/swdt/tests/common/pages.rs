//! Every command that a page tells to type – README, documentation, topics – and where the tests run it.
//!
//! `tests/docs.rs` fails when a page has a command that is not here, and when something here is on no page.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where lines are run: machines, and the files that the pages speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// No machine; each line has a home of its own (`tests/docs.rs`).
    Alone,
    /// cp1 and w1 (`tests/cluster.rs`).
    Cluster,
    /// cp1, w1, and win1 that plays Windows (`tests/windows.rs`).
    Windows,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// A shell runs it as it stands, and it must succeed.
    In(Scene),
    /// So does a shell on a terminal. When the screen shows the first, the second is typed.
    Typed(Scene, &'static str, &'static str),
    /// This file has the line, and runs it as it stands at the moment that suits it.
    At(&'static str),
    /// This file, in the function or by the words named, does the same with other names, or with more options.
    Like(&'static str, &'static str),
    /// Nobody can do it here, because.
    Not(&'static str),
}

use Run::{At, In, Like, Not, Typed};
use Scene::{Alone, Cluster, Windows};

const SNAPSHOT: &str = "crates/swdt/tests/snapshot.rs";
const WIZARD: (&str, &str) = ("crates/swdt/tests/wizard.rs", "keys_go_in_and_a_file_comes_out");
const REPLACE: &str = "crates/swdt/tests/cluster/replace.rs";
/// Out of a shell that shall leave no history on a machine that is compared afterwards.
const LEAVE: &str = "unset HISTFILE; exit\r";
const NO_CONTAINERS: &str = "no container of Windows starts on Wine";

/// In each scene in this order.
pub const LINES: &[(&str, Run)] = &[
    // The program itself.
    ("cargo xtask dist", Like("crates/swdt/tests/package.rs", "packages_are_installed_and_removed")),
    ("cargo xtask test", Not("it is what runs this")),
    ("cargo xtask quickstart", Like(SNAPSHOT, "swdt quickstart")),
    ("cargo xtask agents", Like("xtask/src/test.rs", "agents::build()")),
    (
        "cargo run -p swdt-ground --example stay -- cluster.yaml cp1 w1 win1",
        Like("crates/swdt/tests/windows.rs", "ground.windows_machine(\"win1\")"),
    ),
    ("source <(swdt completions bash)", In(Alone)),
    ("swdt man ~/.local/share/man/man1", In(Alone)),
    ("swdt version", In(Alone)),
    // The file.
    ("swdt config create", Like(WIZARD.0, "nothing_is_written_without_a_yes")),
    ("swdt config create --output my-cluster.yaml", Like(WIZARD.0, WIZARD.1)),
    ("swdt config create --output lab.yaml", Like(WIZARD.0, WIZARD.1)),
    ("swdt config create --from lab.yaml", Like(WIZARD.0, "a_file_is_changed_and_keeps_what_else_it_says")),
    (
        "swdt config create --yes --name lab --output lab.yaml --node cp1,role=control-plane,address=192.168.1.10",
        In(Alone),
    ),
    (
        "swdt config create --yes --name lab --output lab.yaml --node cp1,role=control-plane,address=192.168.1.10 \
         --node win1,os=windows,address=192.168.1.20,user=Administrator --set network.podCIDR=10.32.0.0/16",
        In(Alone),
    ),
    ("swdt config validate my-cluster.yaml", In(Alone)),
    ("swdt config validate mixed.yaml", In(Alone)),
    ("swdt config schema --output swdt.schema.json", In(Alone)),
    ("swdt config explain", In(Alone)),
    ("swdt config explain components.kubelet.source", In(Alone)),
    ("swdt config explain kubernetes", In(Alone)),
    ("swdt config explain network.podCIDR", In(Alone)),
    ("swdt config explain nodes", In(Alone)),
    ("swdt config explain nodes.connection", In(Alone)),
    ("swdt config explain nodes.machine", In(Alone)),
    ("swdt config explain nodes.machine.image", In(Alone)),
    ("swdt cluster plan --config mixed.yaml", In(Alone)),
    ("swdt catalog", In(Alone)),
    ("swdt explain", In(Alone)),
    ("swdt explain host-key-unknown", In(Alone)),
    ("swdt source list --config my-cluster.yaml", In(Alone)),
    ("swdt source prune", In(Alone)),
    (
        "swdt source build --component kubelet --os windows",
        Like("crates/swdt-core/tests/source/build.rs", "a_source_tree_is_built_for_windows"),
    ),
    // A cluster.
    ("swdt quickstart", At(SNAPSHOT)),
    ("swdt cluster destroy quickstart", At(SNAPSHOT)),
    ("swdt cluster plan --config my-cluster.yaml", In(Cluster)),
    ("swdt cluster plan --config my-cluster.yaml --check", In(Cluster)),
    ("swdt cluster create --config my-cluster.yaml", In(Cluster)),
    ("swdt cluster create --config my-cluster.yaml --until preflight", In(Cluster)),
    ("swdt cluster create --config my-cluster.yaml --accept-new-host-keys", In(Cluster)),
    ("swdt cluster create -c my-cluster.yaml --accept-new-host-keys", In(Cluster)),
    ("swdt cluster update --config my-cluster.yaml", In(Cluster)),
    (
        "swdt cluster update --config my-cluster.yaml --prune w2",
        Like("crates/swdt/tests/update.rs", "nodes_come_and_leave_and_nothing_else_changes"),
    ),
    ("swdt cluster status", In(Cluster)),
    ("swdt cluster logs", In(Cluster)),
    ("swdt cluster logs --follow --verbose", In(Cluster)),
    ("swdt cluster report", In(Cluster)),
    ("swdt cluster support-bundle", In(Cluster)),
    ("swdt doctor", In(Cluster)),
    ("swdt get nodes", In(Cluster)),
    ("swdt get pods -A", In(Cluster)),
    ("swdt get kubeconfig --merge", In(Cluster)),
    ("swdt node shell cp1", Typed(Cluster, "cp1:", LEAVE)),
    ("swdt node shell w1", Typed(Cluster, "w1:", LEAVE)),
    ("swdt image load my-app.tar", In(Cluster)),
    ("swdt source fetch --config my-cluster.yaml --bundle swdt-bundle.tar", In(Cluster)),
    ("SWDT_BUNDLES=swdt-bundle.tar swdt cluster create --config my-cluster.yaml", In(Cluster)),
    ("SWDT_BUNDLES=swdt-bundle.tar swdt cluster create -c my-cluster.yaml", In(Cluster)),
    ("swdt test smoke", In(Cluster)),
    (
        "swdt test e2e --focus 'sig-windows'",
        Like("crates/swdt/tests/versions.rs", "kubernetes_own_tests_pass"),
    ),
    // A node with another program.
    ("swdt node replace w1 kubelet=./kubelet", In(Cluster)),
    ("swdt node replace w1 kubelet --reset", In(Cluster)),
    ("swdt node replace w1 cni-plugins=./bin", In(Cluster)),
    ("swdt node replace w1 --reset", In(Cluster)),
    ("swdt node replace w1 kubelet --from-checkout ~/src/kubernetes", Like(REPLACE, "builds_a_tool")),
    ("swdt node replace win1 kubelet --from-checkout ~/kubernetes", Like(REPLACE, "builds_a_tool")),
    ("swdt node replace win1 kubelet=./kubelet.exe", Like(REPLACE, "replaces_the_kubelet")),
    (
        "swdt node replace win1 kubelet=./kubelet.exe kube-proxy=./kube-proxy.exe",
        Like(REPLACE, "replaces_the_kubelet"),
    ),
    ("swdt node replace win1 --reset", Like(REPLACE, "\"--reset\"")),
    // After the nodes were drained, because its image cannot be pulled everywhere.
    ("swdt kubectl -- create deployment web --image=nginx", In(Cluster)),
    // Machines that swdt made.
    ("swdt cluster snapshot save before-upgrade", At(SNAPSHOT)),
    ("swdt cluster snapshot list", At(SNAPSHOT)),
    ("swdt cluster snapshot restore before-upgrade", Like(SNAPSHOT, "restore before-upgrade --yes -o json")),
    ("swdt cluster snapshot delete before-upgrade", At(SNAPSHOT)),
    ("swdt node stop w1", At(SNAPSHOT)),
    ("swdt node start w1", At(SNAPSHOT)),
    ("swdt node console w1", Like("crates/swdt/tests/vm.rs", "the_serial_line_asks_who_is_there")),
    // Windows.
    ("swdt quickstart --windows rehearsal", At(SNAPSHOT)),
    ("swdt cluster create --config mixed.yaml", In(Windows)),
    ("swdt node logs win1", In(Windows)),
    ("swdt kubectl -- drain win1 --ignore-daemonsets --delete-emptydir-data", In(Windows)),
    ("swdt kubectl -- uncordon win1", In(Windows)),
    ("swdt kubectl -- apply -f - < hello-windows.yaml", In(Windows)),
    ("swdt kubectl -- get pod hello-windows -o wide --watch", Not(NO_CONTAINERS)),
    ("swdt kubectl -- logs hello-windows", Not(NO_CONTAINERS)),
    ("swdt kubectl -- exec -it hello-windows -- cmd.exe", Not(NO_CONTAINERS)),
    // The end, and what is lost.
    (
        "swdt cluster adopt --config my-cluster.yaml",
        Like("crates/swdt/tests/lost.rs", "the_hosts_memory_is_rebuilt_from_the_machines"),
    ),
    (
        "swdt cluster destroy --force-forget w1",
        Like("crates/swdt/tests/lost.rs", "a_machine_that_is_gone_can_be_given_up_and_taken_back"),
    ),
    (
        "swdt cluster destroy",
        Like("crates/swdt/tests/existing.rs", "create_again_and_destroy_leave_two_machines_as_they_were"),
    ),
];

/// A command on a page.
pub struct Line {
    /// The page, from the root of the clone.
    pub page: String,
    /// Without comments, in one line.
    pub text: String,
}

/// The root of the clone.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All commands of all pages.
pub fn lines() -> Vec<Line> {
    let mut all = Vec::new();
    for page in ["README.md", "docs", "docs/reference", "docs/adr", "crates/swdt/src/topics"] {
        for file in files(&root().join(page)) {
            let text = fs::read_to_string(&file).unwrap();
            let page = file.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            let blocks = match file.extension().and_then(|ending| ending.to_str()) {
                Some("md") => ["sh", "console"].map(|language| blocks(&text, language)).concat(),
                Some("txt") => vec![text],
                _ => Vec::new(),
            };
            all.extend(
                blocks.iter().flat_map(|block| commands(block)).map(|text| Line { page: page.clone(), text }),
            );
        }
    }
    all
}

/// A file, or those in a directory.
pub fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}

/// The blocks of code in a language on a page.
pub fn blocks(text: &str, language: &str) -> Vec<String> {
    let inside = text.split("\n```").skip(1).step_by(2);
    let blocks = inside.filter_map(|block| block.split_once('\n'));
    blocks.filter(|(named, _)| *named == language).map(|(_, block)| block.to_owned()).collect()
}

/// The commands of a text that are ours.
pub fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.split("  #").next().unwrap_or_default());
    let lines = lines.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ").trim_start_matches("$ ").to_owned()
    });
    lines.filter(|line| line.starts_with("cargo ") || words(line).is_some()).collect()
}

/// What swdt is called with in a line; what a shell does around it is left out.
pub fn words(line: &str) -> Option<Vec<String>> {
    let words = unquoted(line).into_iter();
    let own = words.skip_while(|word| word == "source" || word.starts_with("SWDT_") && word.contains('='));
    let own = own.take_while(|word| !["|", ">", "<", "&&"].contains(&word.as_str()));
    let own: Vec<_> =
        own.map(|word| word.trim_start_matches("<(").trim_end_matches(')').to_owned()).collect();
    own.first().is_some_and(|word| word == "swdt").then_some(own)
}

/// Words as a shell sees them, with what stands between single quotes kept together.
fn unquoted(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (index, part) in line.split('\'').enumerate() {
        let quoted = index % 2 == 1;
        for letter in part.chars() {
            match letter {
                ' ' if !quoted => words.push(String::new()),
                letter => words.last_mut().unwrap().push(letter),
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
