//! Pod networks. A new one is one folder and one line in [`of`].

mod flannel;

use crate::spec::{Cni as CniName, Spec};

/// What the plan needs to know of a pod network.
pub(crate) trait Cni: Sync {
    /// Its name, for people and ids.
    fn name(&self) -> &'static str;
    /// Plugins that go to every node.
    fn programs(&self) -> &'static [&'static str];
    /// Written on a node by the network's own pod when plugins can work. Before it is there, a node must not count as
    /// ready: the first pods would fail, and be tried again only after ten seconds.
    fn written_when_ready(&self) -> &'static str;
    /// Files that go to every node then: id, path, text.
    fn files(&self, spec: &Spec) -> Vec<(&'static str, &'static str, String)>;
    /// Its objects in the cluster, YAML, with this image, and the address of the API server.
    fn manifest(&self, spec: &Spec, image: &str, api: &str) -> String;
    /// DaemonSets to wait for: namespace and name.
    fn daemon_sets(&self) -> &'static [(&'static str, &'static str)];
}

/// The network of a name.
pub(crate) fn of(name: CniName) -> &'static dyn Cni {
    match name {
        CniName::Flannel => &flannel::Flannel,
    }
}
