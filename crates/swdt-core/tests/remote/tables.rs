//! known_hosts and `ssh -G`, as tables.

use std::path::{Path, PathBuf};

use swdt_core::remote::ssh::{
    known_hosts::{lookup, name},
    ssh_config::parse,
};

const ED: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

fn lines(text: &str, host: &str) -> Vec<usize> {
    let found = lookup(&text.replace("KEY", ED), Path::new("kh"), host);
    found.entries.iter().map(|entry| entry.line).collect()
}

#[test]
fn names_are_found_as_openssh_finds_them() {
    let table: &[(&str, &str, &[usize])] = &[
        ("node KEY", "node", &[1]),
        ("NODE KEY", "node", &[1]),
        ("# node KEY\n\n  \nnode KEY comment here\n", "node", &[4]),
        ("node\tKEY", "node", &[1]),
        ("  node \t KEY", "node", &[1]),
        ("other,node,10.0.0.1 KEY", "10.0.0.1", &[1]),
        ("node KEY", "node2", &[]),
        ("node KEY", "[node]:2222", &[]),
        ("[node]:2222 KEY", "[node]:2222", &[1]),
        ("[node]:2222 KEY", "node", &[]),
        ("*.example KEY", "a.example", &[1]),
        ("*.example KEY", "example", &[]),
        ("n?de KEY", "node", &[1]),
        ("n?de KEY", "nde", &[]),
        ("10.0.*.1 KEY", "10.0.77.1", &[1]),
        ("*,!node KEY", "node", &[]),
        ("!node,* KEY", "other", &[1]),
        ("!node KEY", "other", &[]),
        ("node KEY\nnode KEY", "node", &[1, 2]),
        ("node ssh-ed25519 garbage\nnode KEY", "node", &[2]),
        ("node 1024 35 1234567", "node", &[]),
        ("node", "node", &[]),
        ("[*]:2222 KEY", "[node]:2222", &[1]),
    ];
    for (text, host, expected) in table {
        assert_eq!(lines(text, host), *expected, "{host} in {text:?}");
    }
}

/// Made by `ssh-keygen -H` from `[127.0.0.1]:2222` and `node`.
#[test]
fn hashed_names_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kh");
    std::fs::write(&file, format!("node {ED}\n[127.0.0.1]:2222 {ED}\n")).unwrap();
    let hashed = std::process::Command::new("ssh-keygen").arg("-H").arg("-f").arg(&file).output().unwrap();
    assert!(hashed.status.success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("|1|"), "{text}");
    assert_eq!(lines(&text, "node"), [1]);
    assert_eq!(lines(&text, "[127.0.0.1]:2222"), [2]);
    assert_eq!(lines(&text, "127.0.0.1"), [] as [usize; 0]);
}

#[test]
fn markers_take_trust_away_or_are_told() {
    let text = format!("@revoked node {ED}\n@cert-authority *\t{ED}\n");
    let found = lookup(&text, Path::new("kh"), "node");
    assert_eq!(
        found.entries.iter().map(|entry| (entry.line, entry.revoked)).collect::<Vec<_>>(),
        [(1, true)]
    );
    assert_eq!(found.warnings, ["kh:2: @cert-authority is not supported and ignored"]);
}

#[test]
fn the_port_is_part_of_the_name_unless_it_is_22() {
    assert_eq!(name("Node", 22), "node");
    assert_eq!(name("node", 2222), "[node]:2222");
    assert_eq!(name("fd00::1", 22), "fd00::1");
}

#[test]
fn ssh_g_is_understood() {
    let config = parse(
        "user admin\nhostname 10.0.0.4\nport 2222\naddressfamily any\nidentitiesonly yes\n\
         stricthostkeychecking accept-new\nhostkeyalias web\nidentityfile ~/.ssh/id_%h\n\
         identityfile /keys/with blank\nidentityfile none\nidentityagent none\n\
         globalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2\n\
         userknownhostsfile /home/a/.ssh/known_hosts /home/a/.ssh/known_hosts2\n\
         proxyjump u@gate:22,inner\r\n",
    );
    assert_eq!(config.user.as_deref(), Some("admin"));
    assert_eq!(config.hostname.as_deref(), Some("10.0.0.4"));
    assert_eq!(config.port, Some(2222));
    assert!(config.identities_only);
    assert_eq!(config.strict_host_key_checking.as_deref(), Some("accept-new"));
    assert_eq!(config.host_key_alias.as_deref(), Some("web"));
    assert_eq!(config.identity_files, ["~/.ssh/id_%h", "/keys/with blank"]);
    assert_eq!(config.identity_agent.as_deref(), Some("none"));
    assert_eq!(config.proxy_jump.as_deref(), Some("u@gate:22,inner"));
    let files = [
        "/home/a/.ssh/known_hosts",
        "/home/a/.ssh/known_hosts2",
        "/etc/ssh/ssh_known_hosts",
        "/etc/ssh/ssh_known_hosts2",
    ];
    assert_eq!(config.known_hosts, files.map(PathBuf::from));
    assert_eq!(parse("proxyjump none\nproxycommand none\n"), parse(""));
}
