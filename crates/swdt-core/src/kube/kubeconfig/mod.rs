//! A kubeconfig for the user of this host, and its way into files that others write to as well.
//!
//! * `mod.rs` – what is in it
//! * `yaml.rs` – YAML with places, so that a file can be changed without being written anew
//! * `merge.rs` – our three entries in somebody's text
//! * `place.rs` – the files themselves

pub(crate) mod merge;
mod place;
mod yaml;

use serde_json::{Value, json};
use swdt_wire::Secret;

pub use place::{merge_into, write};

use crate::{Error, Result, id};

/// A cluster and its administrator, under one name.
pub struct Kubeconfig {
    name: String,
    cluster: Value,
    user: Value,
}

impl Kubeconfig {
    /// From what `kubectl config view --raw --flatten -o json` says, for a host that reaches the API server at
    /// `server`. `tls_name` is the name in the server's certificate, where that address is not in it.
    pub fn new(cluster: &str, view: &Secret, server: &str, tls_name: Option<&str>) -> Result<Self> {
        let unclear = || Error::new(id::ANSWER_UNREADABLE, "the administrator's kubeconfig cannot be read");
        let view: Value = serde_json::from_str(view.expose()).map_err(|_| unclear())?;
        let mut made = Self {
            name: context(cluster),
            cluster: view["clusters"][0]["cluster"].clone(),
            user: view["users"][0]["user"].clone(),
        };
        if !made.cluster.is_object() || !made.user.is_object() {
            return Err(unclear());
        }
        made.cluster["server"] = json!(server);
        if let Some(name) = tls_name {
            made.cluster["tls-server-name"] = json!(name);
        }
        // A key may be longer than YAML allows.
        yaml::parse(made.yaml().expose()).map_err(|_| unclear())?;
        Ok(made)
    }

    /// The name of its context, its cluster and its user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole as YAML.
    pub fn yaml(&self) -> Secret {
        Secret::new(yaml::block(&self.document(), 0))
    }

    /// The whole as JSON.
    pub fn json(&self) -> Secret {
        Secret::new(format!("{:#}\n", self.document()))
    }

    fn document(&self) -> Value {
        let mut document = json!({ "apiVersion": "v1", "kind": "Config", "current-context": self.name });
        for (list, entry) in self.entries() {
            document[list] = json!([entry]);
        }
        document
    }

    /// The lists of a kubeconfig, and what is ours in each.
    fn entries(&self) -> [(&'static str, Value); 3] {
        let name = &self.name;
        [
            ("clusters", json!({ "name": name, "cluster": self.cluster })),
            ("contexts", json!({ "name": name, "context": { "cluster": name, "user": name } })),
            ("users", json!({ "name": name, "user": self.user })),
        ]
    }
}

/// The name of a cluster's context.
fn context(cluster: &str) -> String {
    format!("swdt-{cluster}")
}

#[cfg(test)]
fn example() -> Kubeconfig {
    let view = json!({
        "clusters": [{ "name": "kubernetes", "cluster": { "certificate-authority-data": "Q0E=", "server": "https://x-control-plane:6443" } }],
        "users": [{ "name": "admin", "user": { "client-certificate-data": "Q1JU", "client-key-data": "S0VZ" } }],
    });
    Kubeconfig::new("x", &Secret::new(view.to_string()), "https://10.0.0.1:6443", None).expect("a kubeconfig")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_of_its_own() {
        let expected = "\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Q0E=
    server: https://10.0.0.1:6443
  name: swdt-x
contexts:
- context:
    cluster: swdt-x
    user: swdt-x
  name: swdt-x
current-context: swdt-x
kind: Config
users:
- name: swdt-x
  user:
    client-certificate-data: Q1JU
    client-key-data: S0VZ
";
        assert_eq!(example().yaml().expose(), expected);
        let json: Value = serde_json::from_str(example().json().expose()).unwrap();
        assert_eq!(json["users"][0]["user"]["client-key-data"], "S0VZ");
    }

    #[test]
    fn what_is_no_kubeconfig_is_refused() {
        for view in ["", "{}", r#"{"clusters":[{}],"users":null}"#] {
            assert!(Kubeconfig::new("x", &Secret::new(view), "https://y", None).is_err(), "{view}");
        }
    }

    #[test]
    fn a_certificate_for_another_name_is_still_checked() {
        let view = Secret::new(example().json().expose());
        let made = Kubeconfig::new("x", &view, "https://203.0.113.9:6443", Some("x-control-plane")).unwrap();
        assert!(made.yaml().expose().contains("    tls-server-name: x-control-plane\n"));
    }
}
