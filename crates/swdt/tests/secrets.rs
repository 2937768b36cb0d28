//! Secrets in the environment and in files, and commands that fail: nothing of them is said or kept.

mod common;

use std::{fs, os::unix::fs::PermissionsExt};

use common::{
    Swdt,
    secrets::{self, Secrets},
};

const PASSWORD: &str = "canary-password-5d2c90b7";
const PROXY: &str = "canary-proxy-0e6f1a44";

fn hidden() -> Secrets {
    [PASSWORD, PROXY].map(|value| (value.to_owned(), value.to_owned())).into()
}

#[test]
fn a_proxy_that_does_not_answer_is_named_without_its_password() {
    let mut swdt = Swdt::new();
    let proxy = format!("http://ada:{PROXY}@127.0.0.1:9");
    swdt.set("HTTPS_PROXY", &proxy);
    swdt.set("HTTP_PROXY", &proxy);
    swdt.set("GOPROXY", &format!("http://ada:{PROXY}@127.0.0.1:9,off"));
    let cache = swdt.home().join("cache").to_string_lossy().into_owned();
    for word in ["fetch", "build"] {
        let ran = swdt.run(&["source", word, "--component", "kubelet", "--cache-dir", &cache, "-v"]);
        assert_ne!(ran.code, 0, "{ran:#?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(secrets::seen(&said, &hidden()), Vec::<String>::new(), "{said}");
    }
    let kept = secrets::grep(&[swdt.home().to_owned()], &hidden(), &|_| false);
    assert!(kept.is_empty(), "{kept:#?}");
}

#[test]
fn passwords_of_machines_that_refuse_are_not_said() {
    let mut swdt = Swdt::new();
    swdt.set("CP1_PASSWORD", PASSWORD);
    let file = swdt.home().join("w1.password");
    fs::write(&file, PASSWORD).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let config = swdt.config(&format!(
        "apiVersion: swdt.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: proof}}\nkubernetes: {{version: 1.36.3}}\nnodes:\n  \
         - {{name: cp1, role: control-plane, address: 127.0.0.10, connection: {{user: root, passwordFrom: {{env: CP1_PASSWORD}}}}}}\n  \
         - {{name: w1, address: 127.0.0.11, connection: {{user: root, passwordFrom: {{file: {}}}}}}}\n",
        file.display()
    ));
    for words in [["cluster", "create"], ["cluster", "plan"], ["config", "validate"]] {
        let ran = swdt.run(&[&words[..], &["--config", &config]].concat());
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(secrets::seen(&said, &hidden()), Vec::<String>::new(), "{said}");
    }
    let kept = secrets::grep(&[swdt.home().to_owned()], &hidden(), &|path| path == file);
    assert!(kept.is_empty(), "{kept:#?}");
    let open = secrets::open_below(&swdt.data().join("clusters/proof"));
    assert!(open.is_empty(), "{open:#?}");
}

/// What searches must be able to find.
#[test]
fn a_secret_that_shows_itself_is_found() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("log"), format!("logged in with {PASSWORD}\n")).unwrap();
    fs::write(home.path().join("meant"), PROXY).unwrap();
    let found = secrets::grep(&[home.path().to_owned()], &hidden(), &|path| path.ends_with("meant"));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("/log: [\"canary-password"), "{found:#?}");
    assert_eq!(secrets::open_below(home.path()).len(), 2);
}
