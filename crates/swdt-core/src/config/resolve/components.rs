//! Own versions and sources of components: what the node says, over what the cluster says.

use std::collections::BTreeMap;

use super::{NO_LOGIN, Resolver, Site, v1, values};
use crate::{
    id,
    spec::{Component, ComponentName, Download, OsFamily, Platform, Role, Source},
};

impl Resolver<'_> {
    /// The components of one node.
    pub(super) fn components(
        &mut self,
        cluster: &v1::Cluster,
        node: &v1::Node,
        role: Role,
        os: OsFamily,
        site: Site<'_>,
    ) -> Option<BTreeMap<ComponentName, Component>> {
        let before = self.problems.len();
        let mut resolved = BTreeMap::new();
        for (name, raw) in cluster.components.iter().flatten().filter(|(name, _)| name.runs_on(role, os)) {
            let mut component = self.quiet_component(raw);
            if !serves(component.source.as_ref(), os) {
                component.source = None;
            }
            resolved.insert(*name, component);
        }
        // What the node runs is only certain if its system and role are.
        let clear = site.sound();
        for (name, raw) in node.components.iter().flatten() {
            let site = site.key("components").key(name.as_str());
            let component = self.component(raw, site);
            if clear && !name.runs_on(role, os) {
                let hint = "write it under the node that runs it, or under `components` of the cluster";
                self.report(id::FIELD_MISPLACED, site, format!("this node does not run `{name}`"), hint);
            } else if clear && !serves(component.source.as_ref(), os) {
                let (word, example) = words(os);
                let message = format!("the node runs {word}, but no {name} for {word} is given");
                self.report(
                    id::SOURCE_LACKS,
                    site.key("source"),
                    message,
                    format!("add an entry `{example}`"),
                );
            }
            let entry = resolved.entry(*name).or_insert(Component { version: None, source: None });
            entry.version = component.version.or(entry.version.take());
            entry.source = component.source.or(entry.source.take());
        }
        (self.problems.len() == before).then_some(resolved)
    }

    /// Tells the problems of the components of the cluster once, and those that no node would use.
    pub(super) fn used_somewhere(&mut self, cluster: &v1::Cluster, root: Site<'_>) {
        let nodes: Vec<_> = cluster.nodes.iter().flatten().flatten().collect();
        // A node whose system was misspelt may be the one that uses it.
        let clear = root.key("nodes").sound();
        for (name, raw) in cluster.components.iter().flatten() {
            let site = root.key("components").key(name.as_str());
            let component = self.component(raw, site);
            let used = |os| {
                nodes.iter().any(|node| {
                    let role = node.role.unwrap_or(Role::Worker);
                    node.os.unwrap_or(OsFamily::Linux) == os && name.runs_on(role, os)
                })
            };
            let source = site.key("source");
            for (key, platform) in component.source.iter().flat_map(platforms) {
                if clear && !used(platform.os()) {
                    let word = words(platform.os()).0;
                    let site = source.key(key).key(platform.as_str());
                    let message = format!("no {word} node of this cluster runs `{name}`");
                    self.report(
                        id::FIELD_MISPLACED,
                        site,
                        message,
                        format!("remove it, or add a {word} node"),
                    );
                }
            }
        }
    }

    fn quiet_component(&self, raw: &v1::Component) -> Component {
        self.silent().component(raw, Site::nowhere())
    }

    fn component(&mut self, raw: &v1::Component, site: Site<'_>) -> Component {
        let version = self.text(raw.version.as_deref(), site.key("version"), values::version);
        let source = raw.source.as_ref().and_then(|source| self.source(source, site.key("source")));
        Component { version, source }
    }

    fn source(&mut self, raw: &v1::Source, site: Site<'_>) -> Option<Source> {
        if let Some(files) = &raw.files {
            let mut resolved = BTreeMap::new();
            for (platform, text) in files {
                let site = site.key("files").key(platform.as_str());
                let path = self.path(Some(text), site, "./kubelet.exe");
                resolved.extend(path.map(|path| (*platform, path)));
            }
            return Some(Source::Files(resolved));
        }
        if let Some(checkout) = &raw.checkout {
            let site = site.key("checkout").key("path");
            let path = self.path(checkout.path.as_deref(), site, "~/src/kubernetes")?;
            return Some(Source::Checkout { path });
        }
        if let Some(bundle) = &raw.bundle {
            let site = site.key("bundle").key("path");
            let path = self.path(bundle.path.as_deref(), site, "./swdt-bundle.tar")?;
            return Some(Source::Bundle { path });
        }
        if let Some(downloads) = &raw.url {
            return Some(Source::Url(self.downloads(downloads, site.key("url"))));
        }
        if let Some(build) = &raw.build {
            let site = site.key("build");
            let hint = "let Git ask its own credential helper";
            let repository =
                self.address(build.repository.as_deref(), site.key("repository"), values::repository, hint);
            let reference = self.text(build.r#ref.as_deref(), site.key("ref"), values::reference)?;
            return Some(Source::Build { repository, reference });
        }
        let mirror = raw.release.as_ref().and_then(|release| release.mirror.as_deref());
        let mirror = self.address(mirror, site.key("release").key("mirror"), values::mirror, NO_LOGIN);
        Some(Source::Release { mirror })
    }

    fn downloads(
        &mut self,
        raw: &BTreeMap<Platform, v1::Download>,
        site: Site<'_>,
    ) -> BTreeMap<Platform, Download> {
        let mut resolved = BTreeMap::new();
        for (platform, download) in raw {
            let site = site.key(platform.as_str());
            let hint = "fetch the file yourself and write its path under `files`";
            let url = self.address(download.url.as_deref(), site.key("url"), values::url, hint);
            let sha256 = self.text(download.sha256.as_deref(), site.key("sha256"), values::sha256);
            if let (Some(url), Some(sha256)) = (url, sha256) {
                resolved.insert(*platform, Download { url, sha256 });
            }
        }
        resolved
    }
}

/// The platforms a source lists, and the key it lists them under.
fn platforms(source: &Source) -> Vec<(&'static str, Platform)> {
    match source {
        Source::Files(files) => files.keys().map(|platform| ("files", *platform)).collect(),
        Source::Url(downloads) => downloads.keys().map(|platform| ("url", *platform)).collect(),
        _ => Vec::new(),
    }
}

/// Can a node of this system use the source? One that lists no platform serves them all.
fn serves(source: Option<&Source>, os: OsFamily) -> bool {
    match source {
        Some(source @ (Source::Files(_) | Source::Url(_))) => {
            platforms(source).iter().any(|(_, platform)| platform.os() == os)
        }
        _ => true,
    }
}

fn words(os: OsFamily) -> (&'static str, &'static str) {
    match os {
        OsFamily::Linux => ("Linux", "linux/amd64"),
        OsFamily::Windows => ("Windows", "windows/amd64"),
    }
}
