use std::fs;

use super::*;
use crate::{
    catalog,
    plan::{self, Known},
    source::wants,
    spec::Spec,
};

const MIXED: &str = "
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: mixed}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 192.168.1.10}
  - {name: win1, os: windows, address: 192.168.1.11}
";

fn spec() -> Spec {
    crate::config::load("mixed.yaml", MIXED.as_bytes(), None, Path::new("/")).unwrap()
}

fn programs(spec: &Spec, node: &Node) -> Vec<Program> {
    let versions = catalog::defaults(&spec.kubernetes).unwrap();
    placed(&wants::of_node(node, &versions), &plan::plan_node(spec, node, &Known::default(), None))
}

fn ask(node: &str, words: &[&str], common: Option<&With>) -> Result<Vec<(String, With)>> {
    let spec = spec();
    let node = spec.node(node).unwrap();
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let found = meant(node, &programs(&spec, node), &Wish::parse(&words, common)?)?;
    Ok(found.into_iter().map(|one| (one.program.path, one.with)).collect())
}

fn told(node: &str, words: &[&str], common: Option<&With>) -> String {
    let error = ask(node, words, common).unwrap_err();
    let all = std::iter::once(&error).chain(&error.others);
    all.map(|one| format!("{one} ({})", one.hints.join("; "))).collect::<Vec<_>>().join("\n")
}

/// Names of programs on a node, as somebody would write them.
fn names(node: &str) -> String {
    let spec = spec();
    list(&programs(&spec, spec.node(node).unwrap()))
}

#[test]
fn every_program_of_the_plan_can_be_named() {
    assert_eq!(
        names("cp1"),
        "bridge, containerd, containerd-shim-runc-v2, ctr, flannel, host-local, kubeadm, kubectl, kubelet, \
         loopback, portmap"
    );
    assert_eq!(
        names("win1"),
        "containerd, containerd-shim-runhcs-v1, ctr, flannel, flanneld, host-local, kube-proxy, kubeadm, \
         kubectl, kubelet, win-overlay"
    );
    let own = |node: &str, name: &str| {
        let found = ask(node, &[name], Some(&With::Own)).unwrap();
        found.into_iter().map(|(path, _)| path).collect::<Vec<_>>()
    };
    assert_eq!(own("win1", "kubelet"), [r"C:\k\kubelet.exe"]);
    assert_eq!(own("win1", "kubelet.exe"), [r"C:\k\kubelet.exe"]);
    assert_eq!(own("win1", "flannel"), [r"C:\k\flanneld.exe"], "the component, not its plugin");
    assert_eq!(own("win1", "flannel-plugin"), [r"C:\opt\cni\bin\flannel.exe"]);
    assert_eq!(own("cp1", "cni-plugins").len(), 4);
    assert_eq!(own("cp1", "bridge"), ["/opt/cni/bin/bridge"]);
}

#[test]
fn what_is_no_program_of_the_node_is_answered_with_what_to_do() {
    let said =
        told("cp1", &["kublet", "kube-apiserver", "runc", "hcsshim", "xyz", "flannel"], Some(&With::Own));
    for words in [
        "did you mean `kubelet`?",
        "kube-apiserver runs in a pod",
        "swdt image load ARCHIVE",
        "package of the machine's own system",
        "hcsshim is not on the node",
        "there is no program `xyz` on the node (it has: bridge, containerd,",
        "its plugin is `flannel-plugin`",
    ] {
        assert!(said.contains(words), "`{words}` is not in {said}");
    }
    assert_eq!(said.lines().count(), 6, "{said}");
    let said = told("cp1", &["kubelet", "kubelet"], Some(&With::Own));
    assert!(said.contains("cp1: kubelet is named twice"), "{said}");
}

#[test]
fn a_wish_says_what_takes_the_place_and_says_it_once() {
    let said = told("cp1", &["kubelet", "kubectl=", "=x"], None);
    assert!(said.lines().all(|line| line.contains("does not say what takes its place")), "{said}");
    let said = told("cp1", &["kubelet=./kubelet", "kubectl"], Some(&With::Own));
    assert!(said.contains("write `kubelet` alone"), "{said}");
}

#[test]
fn files_are_looked_at_before_anything_else() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mut elf = vec![0; 64];
    elf[..4].copy_from_slice(b"\x7fELF");
    (elf[16], elf[18]) = (2, 62);
    for name in ["containerd", "ctr", "containerd-shim-runc-v2", "mine"] {
        fs::write(dir.path().join(name), &elf).unwrap();
    }
    fs::write(dir.path().join("script"), "#!/bin/sh\n").unwrap();

    let found = ask("cp1", &[&format!("containerd={}", dir.path().display())], None).unwrap();
    assert_eq!(found.len(), 3);
    assert!(
        found
            .iter()
            .any(|(path, with)| path == "/usr/local/bin/ctr" && *with == With::Path(dir.path().join("ctr")))
    );
    let found =
        ask("cp1", &[&format!("containerd={}", at("mine")), &format!("ctr={}", at("ctr"))], None).unwrap();
    assert_eq!(found.len(), 2, "one file is the program of the component's name");

    let words = [
        format!("kubelet={}", at("script")),
        format!("kubectl={}", at("none")),
        format!("cni-plugins={}", at("mine")),
    ];
    let said = told("cp1", &words.each_ref().map(String::as_str), None);
    assert!(said.contains("is a script, not a program for linux/amd64"), "{said}");
    assert!(said.contains("none") && said.contains("No such file"), "{said}");
    assert!(
        said.contains("cni-plugins is several programs: bridge, loopback, portmap, host-local"),
        "{said}"
    );
    let said = told("win1", &[&format!("kubelet={}", at("mine"))], None);
    assert!(said.contains("is for linux/amd64, not a program for windows/amd64"), "{said}");
    let nowhere = With::Checkout("/nowhere".into());
    assert!(
        told("cp1", &["containerd"], Some(&nowhere)).starts_with("cp1: there is no source tree at /nowhere")
    );
}
