//! Keys in, file out: the wizard without a terminal.

use std::path::{Path, PathBuf};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use swdt_core::{
    Error,
    config::{self, edit::Document},
    id,
    run::Seen,
    spec::Place,
};
use swdt_wire::Facts;

use crate::{
    Host, Model, Outcome,
    looks::{Known, Look},
    model::Asking,
    pages::Page,
};

pub(crate) fn host() -> Host {
    Host {
        keys: vec!["~/.ssh/id_ed25519".into(), "~/.ssh/id_rsa".into()],
        cpus: 8,
        memory_mib: 15 * 1024 + 512,
        cannot_make: None,
        cannot_virtualise: None,
        makes_windows: true,
        versions: ["1.36.3", "1.37.0", "1.35.4", "1.34.4"].map(str::to_owned).to_vec(),
        home: Some(PathBuf::from("/home/ada")),
        directory: PathBuf::from("/home/ada/lab"),
        file: "cluster.yaml".into(),
        replaces: false,
        plain: false,
    }
}

pub(crate) fn wizard() -> Model {
    Model::new(Model::template("1.36.3"), host())
}

/// Presses keys: letters as they are, others by their names in `<>`.
pub(crate) fn press(model: &mut Model, keys: &str) {
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let (key, after) = match named {
            Some((name, after)) => (named_key(name), after),
            None => (KeyEvent::from(KeyCode::Char(first)), &rest[first.len_utf8()..]),
        };
        model.key(key);
        rest = after;
    }
}

fn named_key(name: &str) -> KeyEvent {
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "back" => KeyCode::Backspace,
        "pgdn" => KeyCode::PageDown,
        "pgup" => KeyCode::PageUp,
        "f1" => KeyCode::F(1),
        control => {
            let letter = control.strip_prefix('^').and_then(|it| it.chars().next()).unwrap();
            return KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        }
    };
    KeyEvent::from(code)
}

/// Everything is answered: two machines that exist, one of them Windows.
pub(crate) fn mixed() -> Model {
    let mut model = wizard();
    press(&mut model, "<^u>lab<^s><pgup><pgup>root<down><right>");
    // Nodes: the control plane's address, then a Windows node.
    press(&mut model, "<pgdn><enter><down><down><down><down>192.168.1.10<down><down><enter>");
    press(&mut model, "<down><enter><down><down><down><down>192.168.1.20<down><down><enter>");
    model
}

fn sound(model: &Model) -> swdt_core::spec::Spec {
    let text = model.text();
    config::load("cluster.yaml", text.as_bytes(), Some(Path::new("/home/ada")), Path::new("/home/ada/lab"))
        .unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

#[test]
fn answers_become_a_file() {
    let mut model = mixed();
    insta::assert_snapshot!(model.text(), @r"
    # by `swdt config create`
    apiVersion: swdt.dev/v1alpha1
    kind: Cluster
    metadata:
      name: lab
    kubernetes:
      version: 1.36.3
    defaults:
      connection:
        user: root
        key: ~/.ssh/id_ed25519
    nodes:
      - name: cp1
        role: control-plane
        address: 192.168.1.10
      - name: win1
        os: windows
        address: 192.168.1.20
        connection:
          user: Administrator
    ");
    assert_eq!(sound(&model).nodes.len(), 2);
    press(&mut model, "<^s><enter>");
    assert_eq!(model.outcome(), Some(Outcome::Write));
}

#[test]
fn machines_that_are_made_need_no_address() {
    let mut model = wizard();
    press(&mut model, "<pgdn><right>");
    press(&mut model, "<pgdn><pgdn><pgdn><down><down><enter>");
    let text = model.text();
    assert!(text.contains("provider: nspawn") && text.contains("provider: rehearsal"), "{text}");
    let spec = sound(&model);
    assert!(spec.nodes[1].is_rehearsal());
    press(&mut model, "<^s><down><enter>");
    assert_eq!(model.outcome(), Some(Outcome::WriteAndCreate));
}

#[test]
fn virtual_machines_have_windows_from_its_disc() {
    let mut model = wizard();
    press(&mut model, "<pgdn><right><right>");
    press(&mut model, "<pgdn><pgdn><pgdn><down><down><enter>");
    // The disc is asked for, and told where it stands as long as it is missing.
    let fields = model.fields();
    let at = fields.iter().position(|field| field.label == "Disc").unwrap();
    assert!(model.verdict.about(&model.document, &fields, at).next().is_some(), "{}", model.text());
    press(&mut model, &"<down>".repeat(at));
    press(&mut model, "/iso/2025.iso");
    let text = model.text();
    assert!(text.contains("provider: qemu") && text.contains("iso: /iso/2025.iso"), "{text}");
    let spec = sound(&model);
    assert!(!spec.nodes[1].is_rehearsal());
    // It is not there, and the sizes that are told are those that hold.
    assert!(model.fields()[at].doubt.as_ref().is_some_and(|doubt| doubt.contains("/iso/2025.iso")));
    for (number, node) in spec.nodes.iter().enumerate() {
        let Place::Machine(machine) = &node.place else { panic!("{node:?}") };
        assert_eq!(
            crate::nodes::size(&model.document, number),
            (u64::from(machine.cpus), machine.memory_mib)
        );
    }
    // Containers have no disc; it comes back with the virtual machines.
    press(&mut model, "<esc><pgup><pgup><pgup><left>");
    let text = model.text();
    assert!(text.contains("provider: nspawn") && !text.contains("iso"), "{text}");
    assert!(sound(&model).nodes[1].is_rehearsal());
    press(&mut model, "<right>");
    assert!(model.text().contains("iso: /iso/2025.iso"), "{}", model.text());
    assert!(!sound(&model).nodes[1].is_rehearsal());
}

#[test]
fn every_answer_is_judged_at_once_where_it_stands() {
    let mut model = wizard();
    press(&mut model, "<^u>My Cluster");
    let fields = model.fields();
    let told: Vec<_> = model.verdict.about(&model.document, &fields, 0).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    press(&mut model, "<^u>");
    assert!(model.text().contains("name: \"\""), "what is required stays, empty: {}", model.text());
    assert!(model.verdict.about(&model.document, &model.fields(), 0).next().is_some());
    // A missing address is told at the address.
    press(&mut model, "lab<^s><pgup><enter>");
    let fields = model.fields();
    let at = fields.iter().position(|field| field.label == "Address").unwrap();
    let told = model.verdict.about(&model.document, &fields, at).next().unwrap();
    assert!(told.message.contains("neither an `address`"), "{told:?}");
    for at in (0..fields.len()).filter(|it| *it != at) {
        assert!(model.verdict.about(&model.document, &fields, at).next().is_none());
    }
}

#[test]
fn a_problem_leads_to_its_question() {
    let mut model = wizard();
    press(&mut model, "<pgdn><pgdn><down>10.96.0.0/14<^s><enter>");
    assert_eq!((model.page, model.field().unwrap().label), (Page::Network, "Pods"));
    press(&mut model, "<^u><^s><enter>");
    assert_eq!((model.page, model.field().unwrap().label), (Page::Node(0), "Address"));
}

#[test]
fn going_back_loses_nothing() {
    let mut model = mixed();
    let before = model.text().to_owned();
    press(&mut model, "<pgup><pgup><pgup><pgup><pgup><pgdn><pgdn><pgdn><pgdn><pgdn>");
    assert_eq!(model.text(), before);
    // The other kind of machine, and back: the address is still known.
    press(&mut model, "<pgup><enter><down><down><down><right>");
    assert!(!model.text().contains("192.168.1.10"), "{}", model.text());
    sound(&model);
    press(&mut model, "<right>");
    assert!(model.text().contains("address: 192.168.1.10"), "{}", model.text());
}

#[test]
fn whatever_was_done_can_be_taken_back() {
    let mut model = mixed();
    let before = model.text().to_owned();
    press(&mut model, "<pgup><pgdn><up><up>");
    press(&mut model, "<^s><pgup>d");
    assert_eq!(model.document.len("nodes"), 1);
    press(&mut model, "<^z>");
    assert_eq!(model.text(), before);
    press(&mut model, &"<^z>".repeat(300));
    assert_eq!(model.document.get("metadata.name").unwrap(), "my-cluster");
}

#[test]
fn a_system_brings_its_user_and_takes_it_away() {
    let mut model = wizard();
    press(&mut model, "<^s><pgup><down><down><enter><down><down>");
    assert!(model.text().contains("user: Administrator"), "{}", model.text());
    press(&mut model, "<left>");
    assert!(!model.text().contains("Administrator") && !model.text().contains("windows"), "{}", model.text());
}

#[test]
fn leaving_asks_when_something_would_be_lost() {
    let mut model = wizard();
    press(&mut model, "<esc>");
    assert_eq!(model.outcome(), Some(Outcome::Left));
    let mut model = wizard();
    press(&mut model, "x<^c>");
    assert_eq!((model.outcome(), model.asking), (None, Some(Asking::Leave)));
    for no in ["n", "<^c><enter>", "<^c><esc>"] {
        press(&mut model, no);
        assert_eq!((model.outcome(), model.asking), (None, None), "{no}");
    }
    press(&mut model, "<^c>y");
    assert_eq!(model.outcome(), Some(Outcome::Left));
}

#[test]
fn a_file_that_is_there_is_replaced_only_after_a_yes() {
    let mut model = mixed();
    model.host.replaces = true;
    press(&mut model, "<^s><enter>");
    assert_eq!((model.outcome(), model.asking), (None, Some(Asking::Replace(Outcome::Write))));
    press(&mut model, "<esc>");
    assert_eq!(model.outcome(), None);
    press(&mut model, "<enter>y");
    assert_eq!(model.outcome(), Some(Outcome::Write));
}

#[test]
fn a_file_keeps_its_comments_and_its_order() {
    let text = "# the cellar\nkind: Cluster # what else\napiVersion: swdt.dev/v1alpha1\nnodes: # three\n  - {name: a, \
                role: control-plane, address: 10.0.0.1} # old\nkubernetes: {version: 1.35.4}\nmetadata: {name: old}\n";
    let mut model = Model::new(Document::new(text), host());
    press(&mut model, "<^u>new<^s><pgup><enter><down><down><down><down><back>2");
    assert_eq!(model.text(), text.replace("name: old", "name: new").replace("10.0.0.1", "10.0.0.2"));
    sound(&model);
}

#[test]
fn versions_that_do_not_go_together_are_told_before_the_end() {
    let text = mixed().text().replace("nodes:", "components: {containerd: {version: 2.1.4}}\nnodes:");
    let mut model = Model::new(Document::new(text), host());
    press(&mut model, "<^s><enter>");
    assert_eq!(model.outcome(), None);
    assert!(model.verdict.wrong[0].message.contains("containerd 2.1.4"), "{:?}", model.verdict.wrong);
}

pub(crate) fn facts() -> Facts {
    serde_json::from_value(serde_json::json!({
        "os": {"family": "linux", "id": "debian", "name": "Debian GNU/Linux 12 (bookworm)", "version": "12", "kernel": "6.1.0"},
        "arch": "amd64", "hostname": "cp1",
        "bootId": "b", "machineId": "m", "productUuid": null,
        "cpus": 2, "memoryMib": 1000, "disks": [], "addresses": [],
        "virtualization": "ownKernel", "cgroup": 2, "sysResource": true, "init": "systemd", "packages": "apt",
        "firewall": "none", "selinux": null, "swaps": [], "writable": true
    }))
    .unwrap()
}

#[test]
fn only_what_was_typed_or_opened_is_looked_at_and_only_by_and_by() {
    let mut model = mixed();
    model.looks = crate::looks::Looks::default();
    let mut opened = Model::new(Document::new(model.text()), host());
    assert_eq!(opened.next_look(), None, "nobody opened a node of this file");
    press(&mut opened, "<^s><pgup><enter>");
    let Some(Look::Enter(candidate)) = opened.next_look() else { panic!("an open node is tried") };
    assert_eq!(
        (candidate.address.as_str(), candidate.connection.user.as_deref()),
        ("192.168.1.10", Some("root"))
    );
    opened.looks.learn(&candidate, Known::Entering);
    assert_eq!(opened.next_look(), None);
    // While the address may still change, nothing is brought to the machine.
    press(&mut opened, "<down><down><down><down>");
    opened.looks.learn(&candidate, Known::Entered("root@192.168.1.10".into()));
    assert_eq!(opened.next_look(), None);
    press(&mut opened, "<esc>");
    assert_eq!(opened.next_look(), Some(Look::At(candidate.clone())));
    let seen = Seen { facts: facts(), cluster: None, clock: (0, 0) };
    opened.looks.learn(&candidate, Known::Seen(Box::new(seen)));
    let notes = opened.notes();
    assert!(notes.iter().any(|note| note.stops && note.text.contains("1000 MiB of memory")), "{notes:?}");
    let failed = Error::new(id::MACHINE_UNREACHABLE, "nobody answers");
    opened.looks.learn(&candidate, Known::Failed(Box::new(failed)));
    assert_eq!(opened.next_look(), None, "what failed is not tried again and again");
}
