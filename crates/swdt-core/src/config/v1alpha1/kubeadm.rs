//! What the user adds to kubeadm's own configuration, in kubeadm's own words (`kubeadm.k8s.io/v1beta4`).
//!
//! Only what swdt does not decide has a field. What it does decide is answered with where to write it instead
//! ([`super::super::hint`]).

#![expect(clippy::struct_field_names, reason = "the names are kubeadm's")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Additions to kubeadm's configuration. Maps are merged with what swdt writes, arguments by their names; other
/// lists are joined.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct Kubeadm {
    /// The control plane, and what all nodes share.
    pub(in crate::config) cluster_configuration: Option<ClusterConfiguration>,
    /// The first control plane node.
    pub(in crate::config) init_configuration: Option<NodeConfiguration>,
    /// Every node that joins.
    pub(in crate::config) join_configuration: Option<NodeConfiguration>,
    /// The kubelets, `kubelet.config.k8s.io/v1beta1`: any field of it.
    #[schemars(example = serde_json::json!({"maxPods": 200}))]
    pub(in crate::config) kubelet_configuration: Option<Map<String, Value>>,
    /// kube-proxy, `kubeproxy.config.k8s.io/v1alpha1`: any field of it.
    #[schemars(example = serde_json::json!({"mode": "iptables"}))]
    pub(in crate::config) kube_proxy_configuration: Option<Map<String, Value>>,
}

/// The control plane, and what all nodes share.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct ClusterConfiguration {
    /// The API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) api_server: Option<ApiServer>,
    /// The controller manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) controller_manager: Option<Program>,
    /// The scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) scheduler: Option<Program>,
    /// The store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) etcd: Option<Etcd>,
    /// Feature gates of kubeadm itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) feature_gates: Option<BTreeMap<String, Option<bool>>>,
    /// For keys and certificates.
    #[schemars(example = &"ECDSA-P256")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) encryption_algorithm: Option<String>,
    /// How long certificates are valid.
    #[schemars(example = &"8760h0m0s")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) certificate_validity_period: Option<String>,
    /// How long the authorities are valid.
    #[schemars(example = &"87600h0m0s")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) ca_certificate_validity_period: Option<String>,
}

/// The API server.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct ApiServer {
    /// Further names and addresses in its certificate.
    #[serde(rename = "certSANs", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    pub(in crate::config) cert_sans: Option<Vec<Option<String>>>,
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Argument>>")]
    pub(in crate::config) extra_args: Option<Vec<Option<Argument>>>,
    /// Directories of the machine that it sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub(in crate::config) extra_volumes: Option<Vec<Option<Map<String, Value>>>>,
    /// Its environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub(in crate::config) extra_envs: Option<Vec<Option<Map<String, Value>>>>,
}

/// A program of the control plane.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct Program {
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Argument>>")]
    pub(in crate::config) extra_args: Option<Vec<Option<Argument>>>,
    /// Directories of the machine that it sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub(in crate::config) extra_volumes: Option<Vec<Option<Map<String, Value>>>>,
    /// Its environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub(in crate::config) extra_envs: Option<Vec<Option<Map<String, Value>>>>,
}

/// The store.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct Etcd {
    /// The one that kubeadm runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) local: Option<LocalEtcd>,
}

/// The store that kubeadm runs.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct LocalEtcd {
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Argument>>")]
    pub(in crate::config) extra_args: Option<Vec<Option<Argument>>>,
    /// Its environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub(in crate::config) extra_envs: Option<Vec<Option<Map<String, Value>>>>,
}

/// How a machine becomes a node.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct NodeConfiguration {
    /// The node as the cluster sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) node_registration: Option<NodeRegistration>,
    /// Phases of kubeadm to leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    pub(in crate::config) skip_phases: Option<Vec<Option<String>>>,
    /// How long kubeadm waits for what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) timeouts: Option<Map<String, Value>>,
}

/// The node as the cluster sees it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct NodeRegistration {
    /// What keeps pods away. An empty list takes the control plane's own taint away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub(in crate::config) taints: Option<Vec<Option<Map<String, Value>>>>,
    /// Arguments of the kubelet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Argument>>")]
    pub(in crate::config) kubelet_extra_args: Option<Vec<Option<Argument>>>,
    /// Checks of kubeadm whose failures are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>", example = ["NumCPU"])]
    pub(in crate::config) ignore_preflight_errors: Option<Vec<Option<String>>>,
    /// When a node asks a registry for the images of kubeadm.
    #[schemars(example = &"IfNotPresent")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) image_pull_policy: Option<String>,
}

/// An argument of a program, `--name=value`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::config) struct Argument {
    /// Its name, without dashes.
    #[schemars(required, example = &"audit-log-path")]
    pub(in crate::config) name: Option<String>,
    /// Its value; always text.
    #[schemars(required, example = &"/var/log/audit.log")]
    pub(in crate::config) value: Option<String>,
}
