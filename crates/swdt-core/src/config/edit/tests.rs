use proptest::prelude::*;
use serde_json::json;

use super::*;

const FILE: &str = "# my cluster
apiVersion: swdt.dev/v1alpha1 # fixed
kind: Cluster
metadata: {name: mine}

defaults:   # shared
  connection:
    user: root
runtime:
nodes:
  # the first
  - name: cp1
    role: control-plane
    address: 192.168.1.10 # in the cellar

  - {name: w1, address: 192.168.1.11}
";

fn edited(edit: impl FnOnce(&mut Document)) -> String {
    let mut document = Document::new(FILE);
    edit(&mut document);
    document.text().to_owned()
}

#[test]
fn one_word_is_changed_and_nothing_else() {
    let text = edited(|it| it.set("nodes[0].address", &json!("10.0.0.1")).unwrap());
    assert_eq!(text, FILE.replace("192.168.1.10 #", "10.0.0.1 #"));
    let text = edited(|it| it.set("metadata.name", &json!("yours")).unwrap());
    assert_eq!(text, FILE.replace("mine", "yours"));
}

#[test]
fn what_is_missing_is_made_where_it_belongs() {
    let text = edited(|it| {
        it.set("defaults.connection.key", &json!("~/.ssh/id_ed25519")).unwrap();
        it.set("nodes[1].os", &json!("windows")).unwrap();
        it.set("nodes[0].connection.user", &json!("admin: me")).unwrap();
        it.set("nodes[2]", &json!({"name": "w2", "address": "192.168.1.12"})).unwrap();
        it.set("runtime.name", &json!("containerd")).unwrap();
        it.set("network.cni.name", &json!("flannel")).unwrap();
    });
    insta::assert_snapshot!(text);
}

#[test]
fn things_go_without_a_trace() {
    let text = edited(|it| {
        it.remove("nodes[0].name").unwrap();
        it.remove("nodes[1].name").unwrap();
        it.remove("defaults.connection.user").unwrap();
        it.remove("nothing.here").unwrap();
    });
    insta::assert_snapshot!(text);
    assert_eq!(
        edited(|it| it.remove("nodes[1]").unwrap()),
        FILE.replace("  - {name: w1, address: 192.168.1.11}\n", "")
    );
    assert_eq!(edited(|it| it.remove("metadata.name").unwrap()), FILE.replace("name: mine", ""));
}

#[test]
fn an_empty_file_is_a_beginning() {
    let mut document = Document::new("");
    document.set("metadata.name", &json!("one")).unwrap();
    document.set("nodes[0].name", &json!("cp1")).unwrap();
    document.set("nodes[1].name", &json!("w1")).unwrap();
    assert_eq!(document.text(), "metadata:\n  name: one\nnodes:\n  - name: cp1\n  - name: w1\n");
    assert_eq!(document.lines("nodes[1].name"), Some(4..5));
    assert_eq!((document.len("nodes"), document.get("nodes[1].name")), (2, Some(json!("w1"))));
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let mut document = Document::new("a: [1");
    assert_eq!(document.set("b", &json!(1)), Err(Refused::Unreadable));
    let mut document = Document::new("a: word\n");
    assert!(matches!(document.set("a.b", &json!(1)), Err(Refused::Unchangeable { .. })));
    assert_eq!(document.text(), "a: word\n");
    let mut document = Document::new(FILE);
    let beyond = Refused::Beyond { list: "nodes".to_owned(), count: 2 };
    assert_eq!(document.set("nodes[7].name", &json!("c")), Err(beyond));
    assert_eq!(document.text(), FILE);
}

#[test]
fn a_map_without_keys_is_still_one() {
    let mut document = Document::new("nodes:\n  - name: cp1\n    machine:\n      cpus: 2\n");
    document.remove("nodes[0].machine.cpus").unwrap();
    document.set("nodes[0].machine", &json!({})).unwrap();
    assert_eq!(document.text(), "nodes:\n  - name: cp1\n    machine: {}\n");
    document.set("nodes[0].machine.memory", &json!("4Gi")).unwrap();
    assert_eq!(document.text(), "nodes:\n  - name: cp1\n    machine: {memory: 4Gi}\n");
}

#[test]
fn words_of_a_command_line_are_yaml() {
    assert_eq!(value("4"), Some(json!(4)));
    assert_eq!(value("1.36.3"), Some(json!("1.36.3")));
    assert_eq!(value("[os=windows:NoSchedule]"), Some(json!(["os=windows:NoSchedule"])));
    assert_eq!(value("\"4\""), Some(json!("4")));
    assert_eq!(value("@home"), Some(json!("@home")));
    assert_eq!([value("[never closed"), value("{")], [None, None]);
}

proptest! {
    /// Whatever is set on whatever the file has, it is there afterwards, and every comment still is.
    #[test]
    fn a_change_is_right_or_is_not_made(
        at in prop::sample::select(vec![
            "metadata.name", "nodes[0].name", "nodes[0].connection.port", "nodes[1].labels.disk", "nodes[2].name",
            "defaults.connection.user", "defaults.machine.cpus", "runtime.name", "network.podCIDR", "nodes[1]", "new",
        ]),
        word in "[ -~]{0,12}|\\PC{0,6}",
    ) {
        let mut document = Document::new(FILE);
        let value = json!(word);
        document.set(at, &value).unwrap();
        prop_assert_eq!(document.get(at), Some(value));
        for comment in ["# my cluster", "# fixed", "# shared", "# the first", "# in the cellar"] {
            prop_assert!(document.text().contains(comment), "{}", document.text());
        }
        document.remove(at).unwrap();
        prop_assert_eq!(document.get(at), None);
    }
}
