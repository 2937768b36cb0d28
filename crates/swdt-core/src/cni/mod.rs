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
    /// The same network on Windows.
    fn on_windows(&self) -> &dyn OnWindows;
}

/// What the plan needs to know of a pod network on Windows, where its daemon runs as a service.
pub(crate) trait OnWindows {
    /// Plugins that go to every node.
    fn plugins(&self) -> &'static [&'static str];
    /// The daemon: its program, and the name of its service.
    fn daemon(&self) -> &'static str;
    /// The service, for people.
    fn title(&self) -> &'static str;
    /// The service account whose rights the daemon has: namespace and name.
    fn account(&self) -> (&'static str, &'static str);
    /// Where the daemon looks for its kubeconfig.
    fn kubeconfig(&self) -> &'static str;
    /// The daemon's arguments on a machine of this address.
    fn arguments(&self, address: &str) -> Vec<String>;
    /// The network that the daemon makes in Windows.
    fn hns_network(&self) -> &'static str;
    /// Written by the daemon when plugins can work; tells the node's range of addresses.
    fn written_when_ready(&self) -> &'static str;
    /// Directories that the daemon and the plugins make.
    fn dirs(&self) -> &'static [&'static str];
    /// Files that the daemon needs: id, path, text.
    fn files_before(&self, spec: &Spec) -> Vec<(&'static str, &'static str, String)>;
    /// Files that make the node count as ready: id, path, text.
    fn files(&self, spec: &Spec) -> Vec<(&'static str, &'static str, String)>;
}

/// The network of a name.
pub(crate) fn of(name: CniName) -> &'static dyn Cni {
    match name {
        CniName::Flannel => &flannel::Flannel,
    }
}
