//! Single values: from text to what it means, or what is wrong with it.

mod web;

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use semver::Version;
use swdt_media::answer::ProductKey;

use crate::{error::Entry, id, words::brief};
pub(super) use web::{holds_login, mirror, mirror_for_machines, url};

/// Kubernetes minor versions that swdt knows how to install.
const MINORS: std::ops::RangeInclusive<u64> = 34..=37;

/// What is wrong with a value, and what to write instead.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) entry: &'static Entry,
    pub(super) message: String,
    pub(super) hint: String,
}

/// A value, or what is wrong with it.
pub(super) type Parsed<T> = Result<T, Wrong>;

pub(super) fn wrong<T>(
    entry: &'static Entry,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Parsed<T> {
    Err(Wrong { entry, message: message.into(), hint: hint.into() })
}

/// An RFC 1123 label of at most `most` characters.
pub(super) fn label(text: &str, most: usize) -> Parsed<String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let shape =
        text.chars().all(allowed) && !text.is_empty() && !text.starts_with('-') && !text.ends_with('-');
    if !shape {
        let better: String =
            text.to_lowercase().chars().map(|c| if allowed(c) { c } else { '-' }).take(most).collect();
        let better = better.trim_matches('-');
        let hint = if better.is_empty() || better.contains("--") { "node-1" } else { better };
        return wrong(
            id::NAME_INVALID,
            format!(
                "`{}` is not a valid name: only lower-case letters, digits and, inside, `-`",
                brief(text)
            ),
            format!("for example `{hint}`"),
        );
    }
    if text.len() > most {
        return wrong(
            id::NAME_INVALID,
            format!("`{}` is too long: {} characters, at most {most} are possible", brief(text), text.len()),
            "choose a shorter name",
        );
    }
    if text == "localhost" {
        return wrong(id::NAME_INVALID, "`localhost` means every machine itself", "choose a name of its own");
    }
    Ok(text.to_owned())
}

/// A host name with or without a domain.
fn host_name(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let sound = text.len() <= 253 && text.split('.').all(|part| label(part, 63).is_ok());
    // All digits and dots is a mistyped IP address, not a name.
    (sound && text.contains(|c: char| c.is_ascii_alphabetic())).then_some(text)
}

/// The name of the control plane.
pub(super) fn endpoint(text: &str) -> Parsed<String> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    if text.parse::<IpAddr>().is_ok() || host.parse::<Ipv4Addr>().is_ok() {
        return wrong(
            id::ADDRESS_INVALID,
            format!("the endpoint must be a name, not the address `{}`", brief(text)),
            "kubeadm can never change an address into a name later; leave it out to get `<cluster>-control-plane`",
        );
    }
    if !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()) && host_name(host).is_some() {
        return wrong(
            id::ADDRESS_INVALID,
            "the endpoint is a name without a port",
            format!("write `{host}`"),
        );
    }
    match host_name(text) {
        Some(name) => Ok(name),
        None => wrong(
            id::ADDRESS_INVALID,
            format!("`{}` is not a DNS name", brief(text)),
            "for example `k8s-api.example.com`",
        ),
    }
}

/// A semantic version, with or without a leading `v`.
pub(super) fn version(text: &str) -> Parsed<Version> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    Version::parse(bare).or_else(|_| {
        let numbers: Vec<_> = bare.split('.').collect();
        let short = numbers.len() == 2 && numbers.iter().all(|part| part.parse::<u16>().is_ok());
        let example = if short { format!("{bare}.0") } else { "1.36.3".to_owned() };
        wrong(
            id::VERSION_INVALID,
            format!("`{}` is not a version: three numbers are needed", brief(text)),
            format!("for example `{example}`"),
        )
    })
}

/// A Kubernetes version that swdt supports.
pub(super) fn kubernetes(text: &str) -> Parsed<Version> {
    let version = version(text)?;
    if version.major == 1 && MINORS.contains(&version.minor) {
        return Ok(version);
    }
    let (first, last) = (MINORS.start(), MINORS.end());
    wrong(
        id::VERSION_UNKNOWN,
        format!("Kubernetes {version} is not supported"),
        format!("this swdt installs Kubernetes 1.{first} to 1.{last}"),
    )
}

/// An amount of memory, in MiB.
pub(super) fn memory(text: &str) -> Parsed<u64> {
    amount(text, "an amount of memory", "4Gi")
}

/// The size of a disk, in MiB.
pub(super) fn disk(text: &str) -> Parsed<u64> {
    amount(text, "the size of a disk", "60Gi")
}

fn amount(text: &str, what: &str, example: &str) -> Parsed<u64> {
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "Mi" => Some(1),
        "Gi" => Some(1024),
        _ => None,
    };
    let amount = factor.and_then(|factor| number.parse::<u64>().ok()?.checked_mul(factor));
    match amount {
        Some(mib @ 1..=67_108_864) => Ok(mib),
        Some(_) => wrong(
            id::VALUE_INVALID,
            format!("`{}` is not an amount that a machine can have", brief(text)),
            format!("for example `{example}`"),
        ),
        None => wrong(
            id::VALUE_INVALID,
            format!("`{}` is not {what}: a whole number and `Mi` or `Gi`", brief(text)),
            format!("for example `{example}`"),
        ),
    }
}

/// An IPv4 network whose address is its first.
pub(super) fn cidr(text: &str) -> Parsed<Ipv4Net> {
    if text.contains(':') {
        return wrong(
            id::NETWORK_INVALID,
            "IPv6 networks are not supported yet",
            "for example `10.244.0.0/16`",
        );
    }
    let Ok(net) = text.parse::<Ipv4Net>() else {
        return wrong(
            id::NETWORK_INVALID,
            format!("`{}` is not a network: an IPv4 address and the length of its prefix", brief(text)),
            "for example `10.244.0.0/16`",
        );
    };
    if net.addr() != net.network() {
        return wrong(
            id::NETWORK_INVALID,
            format!("`{text}` has bits set beyond its prefix"),
            format!("write `{}`", net.trunc()),
        );
    }
    let first = net.network();
    if first.is_loopback() || first.is_multicast() || first.is_link_local() || first.octets()[0] == 0 {
        return wrong(
            id::NETWORK_INVALID,
            format!("`{text}` is reserved and cannot be used in a cluster"),
            "take a private network, for example `10.244.0.0/16`",
        );
    }
    Ok(net)
}

/// Where a machine is: an IP address or a host name.
pub(super) fn address(text: &str) -> Parsed<String> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
        if ip.is_unspecified() || ip.is_multicast() || broadcast {
            return wrong(
                id::ADDRESS_INVALID,
                format!("`{text}` is not the address of a machine"),
                "for example `192.168.1.10`",
            );
        }
        return Ok(ip.to_string());
    }
    if let Some(name) = host_name(text) {
        return Ok(name);
    }
    let hint = if let Some((user, host)) = text.split_once('@') {
        format!("the user goes elsewhere: `address: {host}` and `connection: {{user: {user}}}`")
    } else if let Some((host, port)) = text.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()) {
        format!("the port goes elsewhere: `address: {host}` and `connection: {{port: {port}}}`")
    } else {
        "for example `192.168.1.10` or `node1.example.com`".to_owned()
    };
    wrong(id::ADDRESS_INVALID, format!("`{}` is neither an IP address nor a host name", brief(text)), hint)
}

/// A login name. No blanks, and no leading `-` that a program could take for an option.
pub(super) fn user(text: &str) -> Parsed<String> {
    let sound = !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace);
    if !sound || text.contains(char::is_control) || text.contains(['@', '/', ':']) {
        return wrong(
            id::VALUE_INVALID,
            format!("`{}` is not a login name", brief(text)),
            "for example `root` or `Administrator`",
        );
    }
    Ok(text.to_owned())
}

/// `[user@]host[:port]`.
pub(super) fn jump(text: &str) -> Parsed<String> {
    let (login, rest) = text.split_once('@').map_or((None, text), |(login, rest)| (Some(login), rest));
    let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
    };
    let port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if address(host).is_ok() && port && login.is_none_or(|login| user(login).is_ok()) {
        return Ok(text.to_owned());
    }
    wrong(
        id::VALUE_INVALID,
        format!("`{}` is not `[user@]host[:port]`", brief(text)),
        "for example `admin@bastion.example.com`",
    )
}

/// A public host key: its type and its base64 text.
pub(super) fn host_key(text: &str) -> Parsed<String> {
    let mut words = text.split_whitespace();
    let (kind, key) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let known = ["ssh-", "ecdsa-", "sk-"].iter().any(|prefix| kind.starts_with(prefix));
    if known && key.starts_with("AAAA") && key.chars().all(base64) {
        return Ok(format!("{kind} {key}"));
    }
    let message = if text.starts_with("SHA256:") || text.starts_with("MD5:") {
        "this is the fingerprint of a host key, not the key".to_owned()
    } else {
        format!("`{}` is not a host key", brief(text))
    };
    wrong(
        id::HOST_KEY_INVALID,
        message,
        "write what `ssh-keyscan -t ed25519 ADDRESS` prints, without the address: `ssh-ed25519 AAAA…`",
    )
}

/// The name of an environment variable.
pub(super) fn variable(text: &str) -> Parsed<String> {
    let sound = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if sound && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Ok(text.to_owned());
    }
    wrong(
        id::VALUE_INVALID,
        "this is not the name of an environment variable",
        "write its name, not its value: `env: WIN1_PASSWORD`",
    )
}

/// Does text look like the key of a Windows? It is worth money.
pub(super) fn is_product_key(text: &str) -> bool {
    ProductKey::new(text.trim()).is_ok()
}

/// Where a Git repository is.
pub(super) fn repository(text: &str) -> Parsed<String> {
    let known = ["https://", "ssh://", "git@", "file:///"].iter().any(|prefix| text.starts_with(prefix));
    if known && !text.contains(char::is_whitespace) {
        return Ok(text.to_owned());
    }
    wrong(
        id::VALUE_INVALID,
        format!("`{}` is not the address of a Git repository", brief(text)),
        "for example `https://github.com/kubernetes/kubernetes`; for a directory on this host use `checkout`",
    )
}

/// A Git tag, branch or commit. No leading `-` that Git could take for an option.
pub(super) fn reference(text: &str) -> Parsed<String> {
    let sound = !text.is_empty() && !text.starts_with('-') && !text.contains("..");
    if sound && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+".contains(c)) {
        return Ok(text.to_owned());
    }
    wrong(
        id::VALUE_INVALID,
        format!("`{}` is not a tag, branch or commit", brief(text)),
        "for example `v1.37.0-alpha.1` or `master`",
    )
}

/// A SHA-256, in lower case.
pub(super) fn sha256(text: &str) -> Parsed<String> {
    hex(text, 64, "SHA-256", "`sha256sum FILE` prints it, on Windows `Get-FileHash FILE`")
}

/// A SHA-512, in lower case.
pub(super) fn sha512(text: &str) -> Parsed<String> {
    hex(text, 128, "SHA-512", "`sha512sum FILE` prints it")
}

fn hex(text: &str, digits: usize, what: &str, hint: &str) -> Parsed<String> {
    if text.len() == digits && text.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    wrong(
        id::VALUE_INVALID,
        format!("`{}` is not a {what}: {digits} hexadecimal digits are needed", brief(text)),
        hint,
    )
}
