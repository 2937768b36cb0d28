//! The seed of a Linux machine: what cloud-init reads from a disc called `cidata` (NoCloud).
//!
//! cloud-init reads YAML, and JSON is YAML: typed values go in, nothing has to be quoted by hand.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::iso::{Content, Disc};

/// What a machine shall be when it first answers.
pub struct Seed {
    /// Its name.
    pub hostname: String,
    /// Who may log in, and become root.
    pub user: String,
    /// With which key, `ssh-ed25519 AAAA…`.
    pub authorized_key: String,
    /// Its own key, planted, so that it is known before first contact: the private half, in OpenSSH's form.
    pub host_key: SecretString,
    /// The public half.
    pub host_key_public: String,
    /// Its one network card.
    pub network: Network,
    /// A new one makes cloud-init work again.
    pub instance: String,
}

/// A network card with a fixed address.
#[derive(Debug, Clone)]
pub struct Network {
    /// `52:54:00:…`, lower case.
    pub mac: String,
    /// The address and its range.
    pub address: Ipv4Net,
    /// The way out.
    pub gateway: Ipv4Addr,
    /// Who answers for names.
    pub dns: Vec<Ipv4Addr>,
}

impl Seed {
    /// The disc.
    pub fn disc(&self) -> Disc {
        let mut disc = Disc::new("cidata");
        let text = |value: &serde_json::Value| format!("{value:#}\n");
        disc.add("meta-data", Content::Bytes(text(&self.meta_data()).into_bytes()));
        disc.add(
            "user-data",
            Content::Bytes(format!("#cloud-config\n{}", text(&self.user_data())).into_bytes()),
        );
        disc.add("network-config", Content::Bytes(text(&self.network_config()).into_bytes()));
        disc
    }

    fn meta_data(&self) -> serde_json::Value {
        json!({ "instance-id": self.instance, "local-hostname": self.hostname })
    }

    fn user_data(&self) -> serde_json::Value {
        json!({
            "hostname": self.hostname,
            "users": [{
                "name": self.user,
                "shell": "/bin/bash",
                "sudo": "ALL=(ALL) NOPASSWD:ALL",
                "lock_passwd": true,
                "ssh_authorized_keys": [self.authorized_key],
            }],
            "ssh_pwauth": false,
            "disable_root": true,
            // Only the key that was planted: a host key that nobody knows would be asked about.
            "ssh_deletekeys": true,
            "ssh_genkeytypes": [],
            "ssh_keys": {
                "ed25519_private": self.host_key.expose_secret(),
                "ed25519_public": self.host_key_public,
            },
            "package_update": false,
            "package_upgrade": false,
        })
    }

    /// The format's second version. `set-name` and `gateway4` are left out: one fails on Ubuntu 26.04 (LP 2136392), the
    /// other is deprecated.
    fn network_config(&self) -> serde_json::Value {
        let network = &self.network;
        json!({
            "version": 2,
            "ethernets": {
                "id0": {
                    "match": { "macaddress": network.mac },
                    "dhcp4": false,
                    "addresses": [network.address],
                    "routes": [{ "to": "0.0.0.0/0", "via": network.gateway }],
                    "nameservers": { "addresses": network.dns },
                },
            },
        })
    }
}
