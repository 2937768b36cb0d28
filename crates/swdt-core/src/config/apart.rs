//! Versions that do not go together, each where it is written.

use semver::Version;

use super::{
    decode,
    problem::{Problem, Problems},
    schema, shape,
    site::Site,
    tree, v1alpha1, values,
};
use crate::{
    id,
    spec::{Cni, ComponentName},
};

/// A version that does not go with the others.
#[derive(Debug, Clone)]
pub struct Apart {
    /// The node that it was found at.
    pub node: Option<String>,
    /// Whose version it is.
    pub component: Option<ComponentName>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// The problems of a file whose versions are apart; none if there is nothing to tell.
pub fn apart(file_name: &str, bytes: &[u8], list: &[Apart]) -> Option<Problems> {
    let text = decode::decode(file_name, bytes).ok()?;
    let tree = tree::parse(text).0?;
    let root = Site::root(&tree);
    let nodes = &tree.to_json()["nodes"];
    let index = |name: &str| nodes.as_array()?.iter().position(|node| node["name"] == name);
    let place = |apart: &Apart| {
        let version = |holder: Site<'_>| {
            let site = holder.key("components").key(apart.component?.as_str()).key("version");
            site.written().then(|| site.span())
        };
        let own = apart.node.as_deref().and_then(index).map(|index| root.key("nodes").item(index));
        own.and_then(version)
            .or_else(|| version(root))
            .unwrap_or_else(|| root.key("kubernetes").key("version").span())
    };
    let problem =
        |apart: &Apart| Problem::new(id::VERSIONS_APART, place(apart), &apart.message).hint(&apart.hint);
    let problems: Vec<_> = list.iter().map(problem).collect();
    (!problems.is_empty()).then(|| Problems::new(file_name, text, Vec::new(), problems))
}

/// The Kubernetes and the pod network of a file that may have problems elsewhere.
pub fn kubernetes(bytes: &[u8]) -> Option<(Version, Cni)> {
    let mut tree = tree::parse(decode::decode("", bytes).ok()?).0?;
    let foreign = shape::check(&mut tree, schema()).foreign;
    let raw: v1alpha1::Cluster = serde_json::from_value(tree.to_json()).ok().filter(|_| !foreign)?;
    let version = values::kubernetes(raw.kubernetes?.version.as_deref()?).ok()?;
    let cni = raw.network.and_then(|network| network.cni?.name).unwrap_or(Cni::Flannel);
    Some((version, cni))
}
