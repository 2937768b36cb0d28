use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

fn redact(text: &str) -> String {
    Redactor::default().redact(text).0
}

#[test]
fn credentials_go_and_what_surrounds_them_stays() {
    for (before, after) in [
        ("kubeadm join --token abcdef.0123456789abcdef x", "kubeadm join --token <secret removed> x"),
        ("(abcdef.0123456789abcdef)", "(<token removed>)"),
        ("password: hunter2", "password: <secret removed>"),
        ("{\"clientSecret\": \"a b\", \"x\": 1}", "{\"clientSecret\": \"<secret removed>\", \"x\": 1}"),
        (r#"{"line":"{\"token\":\"abc def\"}"}"#, r#"{"line":"{\"token\":\"<secret removed>\"}"}"#),
        ("SWDT_PASSWORD=hunter2 next", "SWDT_PASSWORD=<secret removed> next"),
        ("--password hunter2 --other", "--password <secret removed> --other"),
        ("Authorization: Bearer abcDEF123456 ok", "Authorization: Bearer <token removed> ok"),
        ("got eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJl.c2ln-_x.", "got <token removed>"),
        ("https://me:hunter2@example.com/x", "https://me:<secret removed>@example.com/x"),
        ("client-key-data: QUJDRA==", "client-key-data: <secret removed>"),
    ] {
        assert_eq!(redact(before), after, "{before}");
    }
}

#[test]
fn what_gives_nothing_away_is_left_alone() {
    for text in [
        "automountServiceAccountToken: false",
        "\"token\": null",
        "secretName: tls",
        "\"secret\": {\"secretName\": \"x\"}",
        "volume \"x\" : secret \"foo\" not found",
        "I1116 08:00:00.123456 kubelet.go:1] \"Unable to get token\" err=\"x\"",
        "registry.k8s.io/pause:3.10.2@sha256:0123456789abcdef0123456789abcdef",
        "https://10.0.0.1:6443/api?timeout=10s",
        "Bearer of bad news",
        "token_count=7, tokens: many",
        "abcdef.0123456789abcdeF",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ] {
        assert_eq!(redact(text), text);
    }
    let certificate = STANDARD.encode("-----BEGIN CERTIFICATE-----\nMIIBabcdefghijklmnopqrstuvwxyz\n");
    assert_eq!(redact(&certificate), certificate);
}

#[test]
fn private_keys_go_whole_however_they_are_wrapped() {
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----";
    assert_eq!(redact(&format!("a\n{key}\nb")), format!("a\n{KEY}\nb"));
    assert_eq!(redact(&format!("\"{}\"", key.replace('\n', "\\n"))), format!("\"{KEY}\""));
    assert_eq!(redact("-----BEGIN RSA PRIVATE KEY-----\nMIIE and then the log was cut"), KEY);
    let encoded = STANDARD.encode("-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIabcdefghijklmnopq\n-----END");
    assert_eq!(redact(&format!("data {encoded} end")), format!("data {KEY} end"));
}

#[test]
fn what_is_known_to_be_secret_goes_wherever_it_stands() {
    let redactor = Redactor::new(vec!["correct horse".into(), "abc".into()]);
    assert_eq!(redactor.redact("a correct horse, abc"), ("a <secret removed>, abc".into(), 1));
    let redactor = Redactor::new(vec![r"back\slash".into()]);
    assert_eq!(redactor.redact(r#"back\slash, {"line":"back\\slash"}"#).1, 2);
}

proptest! {
    #[test]
    fn a_token_never_survives_whatever_stands_around_it(
        before in "[^a-zA-Z0-9]{0,20}", id in "[a-z0-9]{6}", secret in "[a-z0-9]{16}", after in "[^a-zA-Z0-9]{0,20}"
    ) {
        let told = redact(&format!("{before}{id}.{secret}{after}"));
        prop_assert!(!told.contains(&secret), "{}", told);
    }

    #[test]
    fn any_text_is_taken(text in "(\\PC|\n|-----BEGIN |PRIVATE KEY-----|eyJ|://|token|=|:|\"|\\.|LS0tLS1CRUdJTi){0,60}") {
        let once = redact(&text);
        prop_assert!(once.len() <= text.len() * 24 + 64);
    }
}
