//! The plan: what shall be true on each machine, phase by phase. Pure: the same cluster and the
//! same knowledge give the same plan.
//!
//! [`PHASES`] is the whole life of a `create`, in order. Phases are barriers; inside a phase nodes
//! run in parallel; on a node resources run in order.

mod init;
mod join;
pub(crate) mod kubeadm;
mod kubernetes;
mod network;
mod prepare;
mod runtime;
mod runtime_class;
mod verify;
mod windows;

use std::{collections::BTreeMap, net::IpAddr};

use swdt_wire::{Blob, Content, Facts, File, Kind, Resource};

use crate::{
    artifact::{Artifact, Artifacts, ImageArtifact},
    spec::{Endpoint, Node, OsFamily, Place, Spec},
};

/// One step in the life of a cluster.
pub struct Phase {
    /// Stable, for `--until` and for resource ids.
    pub id: &'static str,
    /// For people, a few words.
    pub title: &'static str,
    /// For people, one sentence.
    pub about: &'static str,
    /// Who works.
    pub work: Work,
}

/// Who works in a phase.
pub enum Work {
    /// The host half itself.
    Host,
    /// Every node: these resources shall be true on it.
    Nodes(OnNodes),
}

/// What shall be true on nodes.
pub struct OnNodes {
    linux: Planner,
    windows: Planner,
}

type Planner = fn(&Spec, &Node, &Known) -> Vec<Resource>;

/// The line itself.
pub const PHASES: &[Phase] = &[
    Phase {
        id: "machines",
        title: "Machines",
        about: "make and start the machines that swdt provides",
        work: Work::Host,
    },
    Phase {
        id: "connect",
        title: "Connect",
        about: "log in, learn what each machine is, and look at everything that shall be true on it",
        work: Work::Host,
    },
    Phase {
        id: "preflight",
        title: "Preflight",
        about: "find every reason why a machine could not become a node, before anything is changed",
        work: Work::Host,
    },
    Phase {
        id: "prepare",
        title: "Prepare",
        about: "host name, hosts file, packages, swap, kernel modules and settings, firewall",
        work: Work::Nodes(OnNodes { linux: prepare::resources, windows: windows::prepare::resources }),
    },
    Phase {
        id: "fetch",
        title: "Fetch",
        about: "get every program and image, from the cache, a release, or by building it",
        work: Work::Host,
    },
    Phase {
        id: "runtime",
        title: "Runtime",
        about: "containerd, its configuration for this machine, network plugins, images",
        work: Work::Nodes(OnNodes { linux: runtime::resources, windows: windows::runtime::resources }),
    },
    Phase {
        id: "kubernetes",
        title: "Kubernetes",
        about: "kubelet, kubeadm and kubectl; the kubelet's service, not started yet",
        work: Work::Nodes(OnNodes { linux: kubernetes::resources, windows: windows::kubernetes::resources }),
    },
    Phase {
        id: "init",
        title: "Init",
        about: "`kubeadm init` on the control plane",
        work: Work::Nodes(OnNodes { linux: init::resources, windows: nothing }),
    },
    Phase {
        id: "network",
        title: "Network",
        about: "the pod network: its objects in the cluster, its plugins on every node",
        work: Work::Nodes(OnNodes { linux: network::resources, windows: windows::network::resources }),
    },
    Phase {
        id: "join",
        title: "Join",
        about: "`kubeadm join` on every worker, with a token that lives for minutes",
        work: Work::Nodes(OnNodes { linux: join::resources, windows: windows::kubernetes::join }),
    },
    Phase {
        id: "node-net",
        title: "Node network",
        about: "the network's configuration on every node, once its daemon works there",
        work: Work::Nodes(OnNodes { linux: network::on_nodes, windows: windows::network::on_nodes }),
    },
    Phase {
        id: "verify",
        title: "Verify",
        about: "wait until nodes, network and DNS are ready",
        work: Work::Nodes(OnNodes { linux: verify::resources, windows: windows::network::verify }),
    },
    Phase {
        id: "smoke",
        title: "Smoke test",
        about: "pods on every node speak to each other by address, service and name; only after a change",
        work: Work::Host,
    },
];

/// Control planes run on Linux.
fn nothing(_spec: &Spec, _node: &Node, _known: &Known) -> Vec<Resource> {
    Vec::new()
}

/// The phase of an id.
pub fn phase(id: &str) -> Option<&'static Phase> {
    PHASES.iter().find(|phase| phase.id == id)
}

/// The place of a phase in the life of a cluster; none before all.
pub(crate) fn order(id: Option<&str>) -> Option<usize> {
    PHASES.iter().position(|phase| Some(phase.id) == id)
}

/// Stands for what is known only after a machine was reached. Printed, never sent.
pub const AFTER_CONNECT: &str = "<after connect>";
/// Stands for the digest of bytes that were not fetched yet.
pub const AFTER_FETCH: &str = "<after fetch>";
/// Stands for what only a control plane can tell.
pub const AFTER_INIT: &str = "<after init>";

/// What is known of the machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// What each machine is, by node name.
    pub facts: BTreeMap<String, Facts>,
    /// Where each machine is reached, by node name.
    pub endpoints: BTreeMap<String, Endpoint>,
    /// What nodes get, once it was fetched.
    pub artifacts: Option<Artifacts>,
    /// Digest of the cluster's authority, `sha256:…`, once there is one.
    pub ca_hash: Option<String>,
    /// The cluster's authority itself, PEM in base64, once there is one.
    pub authority: Option<String>,
    /// The node program for Windows, which also runs services there.
    pub windows_agent: Option<Blob>,
}

impl Known {
    /// The address of a node in the cluster's network, or a placeholder.
    pub fn address(&self, node: &Node) -> String {
        self.ip(node).map_or_else(|| AFTER_CONNECT.to_owned(), |ip| ip.to_string())
    }

    /// How many times as long as usual things take: on a processor that is a program, much longer.
    pub(crate) fn slowness(&self) -> u32 {
        if self.facts.values().any(|facts| facts.emulated) { 10 } else { 1 }
    }

    /// A program for a node, or a placeholder.
    fn program(&self, node: &Node, name: &str) -> Blob {
        let programs = self.artifacts.as_ref().and_then(|artifacts| artifacts.programs.get(&node.name));
        let found = programs.and_then(|programs| programs.get(name));
        found.map_or_else(|| Blob { sha256: AFTER_FETCH.to_owned(), size: 0 }, Artifact::blob)
    }

    /// The image whose name ends like that, once it is known: `pause` for `registry.k8s.io/pause:3.10.2`.
    pub(crate) fn image(&self, name: &str) -> Option<&ImageArtifact> {
        let images = self.artifacts.iter().flat_map(|artifacts| &artifacts.images);
        images.into_iter().find(|image| {
            let path = image.reference.rsplit_once(':').map_or(image.reference.as_str(), |(path, _)| path);
            path.rsplit('/').next() == Some(name)
        })
    }

    /// The tag of that image, or a placeholder.
    fn image_tag(&self, name: &str) -> String {
        let tag = self.image(name).and_then(|image| image.reference.rsplit_once(':'));
        tag.map_or(AFTER_FETCH, |(_, tag)| tag).to_owned()
    }

    /// The address the user gave, where it is one; the machine's own first address otherwise.
    fn ip(&self, node: &Node) -> Option<IpAddr> {
        if let Place::Existing { address, .. } = &node.place
            && let Ok(ip) = address.parse()
        {
            return Some(ip);
        }
        if let Some(ip) = self.endpoints.get(&node.name).and_then(|endpoint| endpoint.ip) {
            return Some(ip);
        }
        let facts = self.facts.get(&node.name)?;
        let networks = facts.addresses.iter().filter_map(|address| address.cidr.parse::<ipnet::IpNet>().ok());
        networks.map(|network| network.addr()).find(IpAddr::is_ipv4)
    }
}

/// Everything that shall be true, by phase, for one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePlan {
    /// Phase ids in order, each with its resources.
    pub phases: Vec<(&'static str, Vec<Resource>)>,
}

impl NodePlan {
    /// All resources of all phases, in order.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.phases.iter().flat_map(|(_, resources)| resources)
    }

    /// The resources of a phase.
    pub fn of_phase(&self, id: &str) -> &[Resource] {
        self.phases.iter().find(|(phase, _)| *phase == id).map_or(&[], |(_, resources)| resources)
    }
}

/// The plan of one node, up to and including the phase `until`.
pub fn plan_node(spec: &Spec, node: &Node, known: &Known, until: Option<&str>) -> NodePlan {
    let mut phases = Vec::new();
    for phase in PHASES {
        if let Work::Nodes(OnNodes { linux, windows }) = phase.work {
            let resources = match node.os {
                OsFamily::Linux => linux,
                OsFamily::Windows => windows,
            };
            let mut resources = resources(spec, node, known);
            for resource in &mut resources {
                if let Kind::Condition(condition) = &mut resource.kind {
                    condition.patience *= u64::from(known.slowness());
                }
            }
            phases.push((phase.id, resources));
        }
        if until == Some(phase.id) {
            break;
        }
    }
    NodePlan { phases }
}

/// The resources of a phase while they are gathered.
struct List {
    phase: &'static str,
    resources: Vec<Resource>,
}

impl List {
    fn new(phase: &'static str) -> Self {
        Self { phase, resources: Vec::new() }
    }

    fn add(&mut self, name: &str, kind: Kind) {
        self.resources.push(Resource::new(format!("{}/{name}", self.phase), kind));
    }

    /// A program at its place.
    fn program(&mut self, known: &Known, node: &Node, name: &str, dir: &str) {
        let (file, path) = match node.os {
            OsFamily::Linux => (name.to_owned(), format!("{dir}/{name}")),
            OsFamily::Windows => (format!("{name}.exe"), format!(r"{dir}\{name}.exe")),
        };
        let content = Content::Blob(known.program(node, &file));
        self.add(name, Kind::File(File { path, content, mode: 0o755 }));
    }

    /// A text file that everybody may read.
    fn text(&mut self, name: &str, path: &str, text: impl Into<String>) {
        let content = Content::Text(text.into());
        self.add(name, Kind::File(File { path: path.to_owned(), content, mode: 0o644 }));
    }
}

#[cfg(test)]
pub(crate) mod tests;
