//! The questions, page by page. This list is the wizard.

use swdt_core::config::edit::Document;

use crate::{
    Host,
    field::{Choice, Field},
    finish, nodes,
};

/// A page of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    Cluster,
    Machines,
    Network,
    Login,
    Nodes,
    /// One node, opened from the list.
    Node(usize),
    Finish,
}

impl Page {
    /// In the order they are asked.
    pub(crate) const ALL: [Self; 6] =
        [Self::Cluster, Self::Machines, Self::Network, Self::Login, Self::Nodes, Self::Finish];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::Machines => "Machines",
            Self::Network => "Network",
            Self::Login => "Login",
            Self::Nodes | Self::Node(_) => "Nodes",
            Self::Finish => "Finish",
        }
    }

    /// What it is about, in a sentence or two.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Cluster => {
                "Enter takes what is there and goes on. Nothing is written before the last page."
            }
            Self::Machines => "Each node is a machine: one that you have, or one that is made on this host.",
            Self::Network => "The usual is right, unless your own network has addresses of these.",
            Self::Login => "How to get in to machines that you have. Those that are made need no answer.",
            Self::Nodes => "One Linux node is the control plane; workers run your pods, on Linux or Windows.",
            Self::Node(_) | Self::Finish => "",
        }
    }

    /// Where it is among the others; a node belongs to the nodes.
    pub(crate) fn step(self) -> usize {
        let own = if let Self::Node(_) = self { Self::Nodes } else { self };
        Self::ALL.iter().position(|&page| page == own).unwrap_or(0)
    }

    /// Its questions, where so many things are wrong with the file.
    pub(crate) fn fields(self, document: &Document, host: &Host, wrong: usize) -> Vec<Field> {
        match self {
            Self::Cluster => cluster(host),
            Self::Machines => machines(host),
            Self::Network => network(document),
            Self::Login => login(host),
            Self::Nodes => nodes::list(document),
            Self::Node(number) => nodes::one(document, host, number),
            Self::Finish => finish::fields(host, wrong),
        }
    }
}

fn cluster(host: &Host) -> Vec<Field> {
    let versions =
        host.versions.iter().enumerate().map(|(at, version)| {
            Choice::new(Some(version), version, if at == 0 { "the usual one" } else { "" })
        });
    vec![
        Field::text(
            "Name",
            "metadata.name",
            "How the cluster is called: in commands, in your kubeconfig, on its machines.",
        )
        .required(),
        Field::choice(
            "Kubernetes",
            "kubernetes.version",
            "The version of kubeadm, the kubelets and the control plane.",
            versions.collect(),
        ),
        Field::text(
            "Own kubelet",
            "components.kubelet.source.checkout.path",
            "A source tree of Kubernetes to build the kubelet from, if you change it.",
        )
        .or("the official one"),
    ]
}

fn machines(host: &Host) -> Vec<Field> {
    let make = host.cannot_make.as_deref().unwrap_or("by systemd-nspawn; gone with the cluster");
    let virtual_machines =
        host.cannot_virtualise.as_deref().unwrap_or("by QEMU: Linux, and Windows from Microsoft's disc");
    vec![Field::choice(
        "Machines",
        "defaults.machine.provider",
        "Where new nodes come from. Any node can still be of the other kind.",
        vec![
            Choice::new(None, "I have them", "VMs or bare metal, reached over SSH"),
            Choice::new(Some("nspawn"), "make them here", make),
            Choice::new(Some("qemu"), "virtual machines here", virtual_machines),
        ],
    )]
}

fn network(document: &Document) -> Vec<Field> {
    let windows = nodes::any_windows(document);
    let pods = if windows {
        "Each node takes a /24 of it, on Windows too. No machine may have an address or a route in it."
    } else {
        "Each node takes a /24 of it. No machine may have an address in it."
    };
    vec![
        Field::choice(
            "Pod network",
            "network.cni.name",
            "What connects the pods of all nodes. On Windows it runs as a service.",
            vec![Choice::new(None, "flannel", "VXLAN, on Linux and Windows alike")],
        ),
        Field::text("Pods", "network.podCIDR", pods).or("10.244.0.0/16"),
        Field::text(
            "Services",
            "network.serviceCIDR",
            "Addresses of services. Apart from the pods', and no machine's either.",
        )
        .or("10.96.0.0/16"),
    ]
}

fn login(host: &Host) -> Vec<Field> {
    let mut keys = vec![Choice::new(None, "as ssh does", "your agent and ~/.ssh/config decide")];
    keys.extend(host.keys.iter().map(|key| Choice::new(Some(key), key, "")));
    vec![
        Field::text(
            "User",
            "defaults.connection.user",
            "Who logs in to machines you have: root, or somebody with sudo and no password.",
        )
        .or("as ssh does"),
        Field::choice(
            "Key",
            "defaults.connection.key",
            "The private key that lets you in. It stays on this host.",
            keys,
        ),
        Field::text(
            "Through",
            "defaults.connection.jump",
            "A machine to go through, where the nodes cannot be reached directly.",
        )
        .or("directly"),
    ]
}
