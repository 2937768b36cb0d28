//! From what the user wrote to a cluster with nothing left to decide: defaults and rules.

mod components;
mod connection;
mod kubeadm;
mod marks;
mod network;
mod nodes;
mod vm;
mod windows_image;

use std::path::{Path, PathBuf};

use super::{
    paths::Paths,
    problem::{Problem, Span},
    shape::Findings,
    site::Site,
    v1alpha1 as v1,
    values::{self, Parsed},
};
use crate::{
    error::Entry,
    id,
    spec::{Node, Runtime, Spec},
};

/// Names of machines and of the control plane are made from it.
const LONGEST_CLUSTER_NAME: usize = 40;
/// What to do where a mirror wants a login.
const NO_LOGIN: &str = "name a mirror that asks for no login";

/// The resolved cluster, or everything that keeps it from being one.
pub(super) fn cluster(
    raw: &v1::Cluster,
    root: Site<'_>,
    home: Option<&Path>,
    base: &Path,
) -> (Option<Spec>, Findings) {
    let mut resolver = Resolver::new(Paths { home, base }, root.key("defaults"));
    let spec = resolver.cluster(raw, root);
    (spec, Findings { problems: resolver.problems, secrets: resolver.secrets, foreign: false })
}

/// The nodes for themselves; none where something is wrong with one.
pub(super) fn each_node(
    raw: &v1::Cluster,
    root: Site<'_>,
    home: Option<&Path>,
    base: &Path,
) -> Vec<Option<Node>> {
    let resolve = |(index, node): (usize, &Option<v1::Node>)| {
        let mut resolver = Resolver::new(Paths { home, base }, root.key("defaults"));
        let node = resolver.node(raw, node.as_ref()?, root.key("nodes").item(index));
        node.filter(|_| resolver.problems.is_empty())
    };
    raw.nodes.iter().flatten().enumerate().map(resolve).collect()
}

/// Gathers problems while it resolves; a value with a problem is `None`.
struct Resolver<'a> {
    paths: Paths<'a>,
    /// What the nodes share.
    defaults: Site<'a>,
    problems: Vec<Problem>,
    /// What a report must not show.
    secrets: Vec<Span>,
}

impl<'a> Resolver<'a> {
    fn new(paths: Paths<'a>, defaults: Site<'a>) -> Self {
        Self { paths, defaults, problems: Vec::new(), secrets: Vec::new() }
    }

    /// One whose problems are told elsewhere.
    fn silent(&self) -> Self {
        Self::new(self.paths, Site::nowhere())
    }

    /// Where a field of a machine is said: by its node, else for all.
    fn said<'s>(&self, machine: Site<'s>, key: &str) -> Site<'s>
    where
        'a: 's,
    {
        let (own, shared) = (machine.key(key), self.defaults.key("machine").key(key));
        if !own.written() && shared.written() { shared } else { own }
    }

    fn cluster(&mut self, raw: &v1::Cluster, root: Site<'_>) -> Option<Spec> {
        let name = raw.metadata.as_ref().and_then(|metadata| metadata.name.as_deref());
        let name = self
            .text(name, root.key("metadata").key("name"), |text| values::label(text, LONGEST_CLUSTER_NAME));
        let version = raw.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
        let kubernetes = self.text(version, root.key("kubernetes").key("version"), values::kubernetes);
        let network = self.network(raw, root);
        self.defaults(raw, root);
        let nodes = self.nodes(raw, root);
        let endpoint = self.endpoint(raw, root, name.as_deref());
        let kubeadm = self.kubeadm(raw, root);
        let runtime = raw.runtime.as_ref().and_then(|runtime| runtime.name).unwrap_or(Runtime::Containerd);
        Some(Spec {
            name: name?,
            kubernetes: kubernetes?,
            endpoint: endpoint?,
            runtime,
            network: network?,
            kubeadm,
            nodes: nodes?,
        })
    }

    /// Nodes reach the control plane under this name. A node's own name will not do: the hosts file of that node
    /// often says that it is 127.0.1.1.
    fn endpoint(&mut self, raw: &v1::Cluster, root: Site<'_>, cluster: Option<&str>) -> Option<String> {
        let site = root.key("controlPlane").key("endpoint");
        let given = raw.control_plane.as_ref().and_then(|plane| plane.endpoint.as_deref());
        let endpoint = match given {
            Some(text) => self.text(Some(text), site, values::endpoint)?,
            None => format!("{}-control-plane", cluster?),
        };
        let mut nodes = raw.nodes.iter().flatten().map(|node| node.as_ref()?.name.as_ref());
        if let Some(index) = nodes.position(|name| name == Some(&endpoint)) {
            let site = if given.is_some() { site } else { root.key("nodes").item(index).key("name") };
            let message = format!("`{endpoint}` is the name of a node and of the control plane's endpoint");
            self.report(id::NODES_ALIKE, site, message, "give `controlPlane.endpoint` a name of its own");
            return None;
        }
        Some(endpoint)
    }

    fn report(&mut self, entry: &Entry, site: Site<'_>, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(Problem::new(entry, site.span(), message).hint(hint));
    }

    /// A value, or its problem.
    fn take<T>(&mut self, parsed: Parsed<T>, site: Site<'_>) -> Option<T> {
        parsed.map_err(|wrong| self.report(wrong.entry, site, wrong.message, wrong.hint)).ok()
    }

    /// An address, if there is one; a login in it is neither taken nor shown, and `instead` is what to do without it.
    fn address<T>(
        &mut self,
        text: Option<&str>,
        site: Site<'_>,
        parse: impl Fn(&str) -> Parsed<T>,
        instead: &str,
    ) -> Option<T> {
        if text.is_some_and(values::holds_login) {
            self.secrets.push(site.span());
            let hint = format!("addresses stand in logs and records; {instead}");
            self.report(id::SECRET_IN_FILE, site, "an address must not hold a login", hint);
            return None;
        }
        self.text(text, site, parse)
    }

    /// A path, if there is one.
    fn path(&mut self, text: Option<&str>, site: Site<'_>, example: &str) -> Option<PathBuf> {
        let paths = self.paths;
        let instead = format!("fetch it yourself and write its path, for example `{example}`");
        self.address(text, site, |text| paths.resolve(text, example), &instead)
    }

    /// A value made from text, if there is some.
    fn text<T>(
        &mut self,
        text: Option<&str>,
        site: Site<'_>,
        parse: impl Fn(&str) -> Parsed<T>,
    ) -> Option<T> {
        text.and_then(|text| self.take(parse(text), site))
    }
}
