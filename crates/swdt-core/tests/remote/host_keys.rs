//! Who is trusted, and what is said about the others.

use std::{fs, os::unix::fs::PermissionsExt};

use super::sshd::{Sshd, connect, keygen, me, refusal};

#[tokio::test]
async fn an_unknown_host_is_refused_with_its_fingerprint() {
    let sshd = Sshd::start();
    let mut options = sshd.strange();
    options.connection.key = Some(sshd.file("id"));
    let error = refusal(&options).await;
    assert_eq!(error.id(), "host-key-unknown");
    assert!(error.message.contains("is not known: ssh-ed25519 SHA256:"), "{error}");
    assert!(error.hints.iter().any(|hint| hint.contains("hostKey: ssh-ed25519 AAAA")), "{:?}", error.hints);
    assert!(!options.own_known_hosts.exists());
}

/// `hostKey` of a node is that of its own machine.
#[tokio::test]
async fn the_key_of_a_jump_host_is_not_offered_as_the_nodes_own() {
    let (gate, inner) = (Sshd::start(), Sshd::start());
    let mut options = inner.strange();
    options.connection.key = Some(inner.file("id"));
    fs::write(gate.file("authorized_keys"), inner.public("id")).unwrap();
    options.connection.jump = Some(format!("{}@127.0.0.1:{}", me(), gate.port));

    let error = refusal(&options).await;
    assert_eq!((error.id(), error.unknown_host_key.as_deref()), ("host-key-unknown", None));
    assert!(error.message.contains(&format!("127.0.0.1:{} is not known", gate.port)), "{error}");
    let line = format!("`[127.0.0.1]:{} ssh-ed25519 AAAA", gate.port);
    assert!(error.hints.iter().any(|hint| hint.contains(&line)), "{:?}", error.hints);
    assert!(!error.hints.iter().any(|hint| hint.contains("hostKey")), "{:?}", error.hints);

    // With that line, the way leads on to the node, whose own key it is then.
    let known = format!("[127.0.0.1]:{} {}", gate.port, gate.public("host_ed25519"));
    fs::write(&options.own_known_hosts, known).unwrap();
    let error = refusal(&options).await;
    assert!(error.message.contains(&format!("127.0.0.1:{} is not known", inner.port)), "{error}");
    let own = inner.public("host_ed25519");
    assert!(error.unknown_host_key.is_some_and(|key| own.starts_with(&key)));
}

#[tokio::test]
async fn a_new_host_is_learned_when_asked_and_held_to_it() {
    let sshd = Sshd::start();
    let mut options = sshd.strange();
    options.connection.key = Some(sshd.file("id"));
    options.accept_new = true;
    connect(&options).await.unwrap();
    let learned = fs::read_to_string(&options.own_known_hosts).unwrap();
    assert!(learned.starts_with(&format!("[127.0.0.1]:{} ssh-ed25519 AAAA", sshd.port)), "{learned}");
    assert_eq!(fs::metadata(&options.own_known_hosts).unwrap().permissions().mode() & 0o777, 0o600);

    options.accept_new = false;
    connect(&options).await.unwrap();
    assert_eq!(fs::read_to_string(&options.own_known_hosts).unwrap(), learned);

    // A changed key is refused even then.
    keygen(&sshd.file("other"), "ed25519", "");
    sshd.know("own_known_hosts", "other");
    options.accept_new = true;
    assert!(refusal(&options).await.message.contains("has changed"));
}

#[tokio::test]
async fn a_changed_key_names_file_line_and_both_fingerprints() {
    let sshd = Sshd::start();
    let options = sshd.options();
    keygen(&sshd.file("other"), "ed25519", "");
    let own = format!("# ours\n\n[127.0.0.1]:{} {}", sshd.port, sshd.public("other"));
    fs::write(&options.own_known_hosts, own).unwrap();
    let error = refusal(&options).await;
    let place = format!("{}:3 records ssh-ed25519 SHA256:", options.own_known_hosts.display());
    assert!(error.message.contains(&place), "{error}");
    assert_eq!(error.message.matches("SHA256:").count(), 2, "{error}");
    assert!(error.hints.iter().any(|hint| hint.contains("ssh-keygen -f")), "{:?}", error.hints);
}

#[tokio::test]
async fn a_key_of_another_algorithm_is_a_changed_key() {
    let sshd = Sshd::start();
    let options = sshd.options();
    keygen(&sshd.file("other"), "rsa", "");
    sshd.know("own_known_hosts", "other");
    for accept_new in [false, true] {
        let error = refusal(&swdt_core::remote::SshOptions { accept_new, ..options.clone() }).await;
        assert!(error.message.contains("has changed"), "{error}");
        assert!(error.message.contains("ssh-rsa SHA256:"), "{error}");
        assert!(error.message.contains("shows ssh-ed25519 SHA256:"), "{error}");
    }
}

#[tokio::test]
async fn of_several_host_keys_the_recorded_one_is_asked_for() {
    let sshd = Sshd::with(&["ed25519", "rsa", "ecdsa"], "");
    let options = sshd.options();
    for key in ["host_rsa", "host_ecdsa", "host_ed25519"] {
        sshd.know("own_known_hosts", key);
        connect(&options).await.unwrap();
    }
}

#[tokio::test]
async fn the_clusters_own_file_wins_and_revocation_counts_from_everywhere() {
    let sshd = Sshd::start();
    let mut options = sshd.options();
    keygen(&sshd.file("other"), "ed25519", "");

    // Only the user's file knows: enough.
    fs::remove_file(&options.own_known_hosts).unwrap();
    sshd.know("user_known_hosts", "host_ed25519");
    options.known_hosts = vec![sshd.file("missing"), sshd.file("user_known_hosts")];
    connect(&options).await.unwrap();

    // Our own says otherwise: refused, whatever the user's says.
    sshd.know("own_known_hosts", "other");
    assert!(refusal(&options).await.message.contains("has changed"));

    // Our own agrees, and somebody revoked the key.
    sshd.know("own_known_hosts", "host_ed25519");
    connect(&options).await.unwrap();
    let revoked = format!("@revoked * {}", sshd.public("host_ed25519"));
    fs::write(sshd.file("user_known_hosts"), revoked).unwrap();
    assert!(refusal(&options).await.message.contains("is revoked by"));
}

#[tokio::test]
async fn a_pinned_key_needs_no_file_and_beats_them() {
    let sshd = Sshd::with(&["ed25519", "rsa"], "");
    let mut options = sshd.options();
    keygen(&sshd.file("other"), "ed25519", "");
    sshd.know("own_known_hosts", "other");
    options.connection.host_key = Some(sshd.public("host_rsa"));
    connect(&options).await.unwrap();
    options.connection.host_key = Some(sshd.public("other"));
    let error = refusal(&options).await;
    assert!(error.message.contains("the cluster's file expects"), "{error}");
    options.connection.host_key = Some("nonsense".into());
    assert_eq!(refusal(&options).await.id(), "host-key-invalid");
}
