//! A support bundle of a real cluster: everything that helps, and nothing that opens a door.
#![allow(dead_code, reason = "every test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall panic")]

use std::{collections::BTreeMap, fs, io::Read, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use serde_json::{Value, json};
use swdt_core::Result;
use swdt_ground::TestMachine;

use crate::common::{Ran, Swdt};

/// Says something as the kubelet would, into its journal.
const SAYS: &str = "printf 'MESSAGE=%s\\nOBJECT_PID=%s\\n' \"$1\" \"$(systemctl show -p MainPID --value kubelet)\" \
                    | logger --journald";

/// Plants secrets where they belong and where they do not, and looks for them and for those that were there.
pub(crate) async fn holds_what_helps_and_no_secret(
    swdt: &Swdt,
    cp1: &TestMachine,
    w1: &TestMachine,
) -> Result<()> {
    let canary = "canary-9f2c71";
    let token = "abcdef.0123456789abcdef";
    let planted = json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "canary" }, "stringData": { "password": canary } },
        { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "canary" }, "data": { "note": canary } },
        { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "canary", "annotations": { "mine": canary } },
          "spec": { "nodeSelector": { "no": "where" }, "containers": [
            { "name": "c", "image": "registry.k8s.io/pause:3.10.2", "args": [canary],
              "env": [{ "name": "SECRET", "value": canary }] }] } },
    ] });
    let input = swdt.home().join("planted.json");
    fs::write(&input, planted.to_string()).unwrap();
    let apply = |verb: &str| {
        let stdin = Stdio::from(fs::File::open(&input).unwrap());
        Ran::of(swdt.command(&["kubectl", "--", verb, "-f", "-"]).stdin(stdin)).ok()
    };
    apply("apply");
    // A kubelet that talks too much.
    let words = format!("token {token} password={canary} Authorization: Bearer {canary}");
    w1.must(["sh", "-c", SAYS, "sh", &words]).await?;

    let path = swdt.home().join("bundle.zip");
    let bundle = ["cluster", "support-bundle", "--output", &path.to_string_lossy(), "-o", "json"];
    let made: Value = serde_json::from_str(&swdt.run(&bundle).ok().stdout).unwrap();
    assert_eq!(made["missing"], json!([]), "{made}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    swdt.run(&bundle).fails(2, &["is there already"]);
    let files = unpacked(&path);
    for name in [
        "index.md",
        "host/cluster.yaml",
        "host/state.json",
        "host/events.jsonl",
        "host/logs/cp1.log",
        "nodes/cp1/facts.json",
        "nodes/w1/resources.json",
        "nodes/w1/kubelet.log",
        "nodes/w1/containerd.log",
        "nodes/w1/swdt-node.jsonl",
        "cluster/nodes.json",
        "cluster/events.json",
        "cluster/settings/kubeadm-config.ClusterConfiguration",
        "cluster/logs/kube-system/kube-apiserver-cp1.log",
    ] {
        let text = files.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", files.keys()));
        assert!(!text.trim().is_empty(), "{name} is empty");
        assert!(
            name == "index.md" || files["index.md"].contains(&format!("| {name} |")),
            "{name} is not in the index"
        );
    }
    assert!(files["cluster/pods.json"].contains("\"canary\""), "the pod itself is told of");
    assert!(files["index.md"].contains("Everything that was looked for is here"), "{}", files["index.md"]);
    assert!(files["nodes/w1/resources.json"].contains("\"found\": \"true\""));

    assert!(
        files["nodes/w1/kubelet.log"].contains("<token removed> password=<secret removed>"),
        "{}",
        files["nodes/w1/kubelet.log"]
    );
    let mut secrets = vec![canary.to_owned(), token.to_owned()];
    secrets.extend(secrets_of(cp1).await?);
    secrets.extend(secrets_of(w1).await?);
    assert!(secrets.len() > 10, "there are more secrets than that: {}", secrets.len());
    for (name, text) in &files {
        let held = secrets.iter().find(|secret| text.contains(secret.as_str()));
        assert_eq!(held, None, "{name} holds a secret");
        assert!(!text.contains("PRIVATE KEY-----"), "{name} holds a private key");
    }
    apply("delete");
    Ok(())
}

/// The services of a Windows machine have logs of their own.
pub(crate) fn holds_logs_of_windows(swdt: &Swdt) {
    let path = swdt.home().join("windows.zip");
    swdt.run(&["cluster", "support-bundle", "--output", &path.to_string_lossy()]).ok();
    let files = unpacked(&path);
    for name in ["kubelet.log", "containerd.log", "flanneld.log", "kube-proxy.log", "swdt-node.jsonl"] {
        let log = files.get(&format!("nodes/win1/{name}")).map_or("", String::as_str);
        assert!(log.lines().count() > 1, "{name} says nothing: {log} {}", files["index.md"]);
    }
    let token = |text: &str| text.contains("eyJhbGciOi");
    assert!(!files.values().any(|text| token(text)), "a token of a service account is in it");
}

/// It is made also when nobody answers, and says so.
pub(crate) async fn is_made_of_what_is_left(swdt: &Swdt, w1: &TestMachine) -> Result<()> {
    w1.must(["systemctl", "stop", "ssh.service"]).await?;
    let path = swdt.home().join("half.zip");
    let made = swdt.run(&["cluster", "support-bundle", "--output", &path.to_string_lossy()]).ok();
    w1.must(["systemctl", "start", "ssh.service"]).await?;
    assert!(made.stderr.contains("not collected: nodes/w1: "), "{made:#?}");
    let files = unpacked(&path);
    assert!(files["index.md"].contains("- **nodes/w1**: "), "{}", files["index.md"]);
    assert!(files.contains_key("nodes/cp1/kubelet.log") && files.contains_key("cluster/nodes.json"));
    Ok(())
}

fn unpacked(path: &Path) -> BTreeMap<String, String> {
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let mut files = BTreeMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        files.insert(file.name().to_owned(), text);
    }
    files
}

/// Lines of private keys, and values of Secrets, as the machine has them.
async fn secrets_of(machine: &TestMachine) -> Result<Vec<String>> {
    const KEYS: &str = "cat /etc/kubernetes/pki/*.key /etc/kubernetes/pki/etcd/*.key /etc/ssh/ssh_host_*_key \
                        /var/lib/kubelet/pki/*.pem 2>/dev/null | awk '/BEGIN.*PRIVATE/{on=1;next}/END/{on=0}on' || true";
    const CONFIGS: &str =
        "grep -ho 'client-key-data: .*' /etc/kubernetes/*.conf 2>/dev/null | cut -d' ' -f2 || true";
    const VALUES: &str = "test ! -e /etc/kubernetes/admin.conf || kubectl --kubeconfig /etc/kubernetes/admin.conf \
                          --cache-dir /dev/null get secrets -A -o jsonpath='{range .items[*]}{.data.*}{\"\\n\"}{end}'";
    let mut found = Vec::new();
    for script in [KEYS, CONFIGS, VALUES] {
        let said = machine.must(["sh", "-c", script]).await?;
        // Short ones would be found in any text.
        found.extend(said.split_whitespace().filter(|word| word.len() >= 16).map(str::to_owned));
    }
    Ok(found)
}
