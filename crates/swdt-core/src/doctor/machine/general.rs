//! Rules for every machine.

use ipnet::Ipv4Net;
use swdt_wire::Facts;

use super::Machine;
use crate::{
    doctor::{Found, Grade, Look, On, Rule},
    spec::{OsFamily, Role},
};

/// The kubelet's port, on every node. Whatever else a machine tells is the control plane's.
const KUBELET_PORT: u16 = 10250;

/// A certificate is valid from the moment it is made, by the clock of whoever made it. kubeadm and the API server
/// backdate theirs by five minutes; beyond that a node refuses what it is given, or is refused.
const BEARABLE: u64 = 5 * 60;

pub(in crate::doctor) const RULES: &[Rule] = &[
    Rule {
        id: "machine-family",
        grade: Grade::Problem,
        title: "the machine runs another system than the file says",
        cause: "What a node gets depends on its system; the file says `os: linux` where nothing is written.",
        fix: &[(On::Anywhere, "write `os: windows` or `os: linux` for NODE, or give it another address")],
        look: Look::Family(family),
    },
    Rule {
        id: "machine-clock",
        grade: Grade::Problem,
        title: "clocks are too far apart",
        cause: "Certificates are valid from the moment they are made, by the clock of who made them. kubeadm and the \
                API server backdate theirs by five minutes; beyond that a node refuses what it is given.",
        fix: &[(On::Linux, "timedatectl set-ntp true"), (On::Windows, "w32tm /resync /force")],
        look: Look::Machine(|it| clock(it).into_iter().collect()),
    },
    Rule {
        id: "machine-strangers",
        grade: Grade::Problem,
        title: "another container runtime or cluster is on the machine",
        cause: "Two container runtimes or clusters on one machine would ruin each other. Often it is what is left of \
                an earlier kubeadm, k3s, Docker or another CNI.",
        fix: &[
            (On::Anywhere, "if it is in use, choose another machine: what follows ends what runs there"),
            (On::Debian, "`kubeadm reset`, then `apt-get purge` of the packages that brought what was seen"),
            (On::Fedora, "`kubeadm reset`, then `dnf remove` of the packages that brought what was seen"),
            (On::Windows, "`sc.exe stop NAME`, `sc.exe delete NAME`, then remove its directories"),
        ],
        look: Look::Machine(strangers),
    },
    Rule {
        id: "machine-ports",
        grade: Grade::Problem,
        title: "another program listens at a port of Kubernetes",
        cause: "kubelet, kube-proxy, the API server and etcd have fixed ports. Whoever listens there keeps them from \
                starting.",
        fix: &[
            (On::Linux, "`ss -ltnp 'sport = :PORT'` shows who it is; stop it"),
            (On::Windows, "`netstat -abno | findstr :PORT` shows who it is; stop it"),
        ],
        look: Look::Machine(ports),
    },
    Rule {
        id: "machine-routes",
        grade: Grade::Problem,
        title: "the network of pods or services is in use",
        cause: "A network that is routed elsewhere (a VPN, another cluster, a lab) cannot be that of pods or \
                services: packets would go there.",
        fix: &[(
            On::Anywhere,
            "choose another network: `network: {podCIDR: …}` or `network: {serviceCIDR: …}`",
        )],
        look: Look::Machine(routes),
    },
];

fn family(it: &Machine<'_>) -> Vec<Found> {
    let wanted = match it.node.os {
        OsFamily::Linux => "linux",
        OsFamily::Windows => "windows",
    };
    let Facts { os, .. } = it.facts;
    let what = format!("the configuration says `os: {wanted}`, but this machine runs {}", os.name);
    Found::new(what)
        .seen(format!("family {}, {}", os.family, os.name))
        .todo(format!("write `os: {}` for this node, or give it another address", os.family))
        .only_if(os.family != wanted)
}

/// A machine that says 0 does not tell.
fn clock(it: &Machine<'_>) -> Option<Found> {
    let (theirs, ours) = it.clock.filter(|(theirs, _)| *theirs != 0)?;
    let apart = theirs.abs_diff(ours);
    let way = if theirs > ours { "ahead of" } else { "behind" };
    let what =
        format!("its clock is {} {way} the clock here, and certificates bear five minutes", words(apart));
    let todo = "set the clock right, on the machine or here: `timedatectl set-ntp true` on Linux, `w32tm /resync \
                /force` on Windows";
    let found =
        Found::new(what).seen(format!("{theirs} there, {ours} here, in seconds since 1970")).todo(todo);
    (apart > BEARABLE).then_some(found)
}

fn words(seconds: u64) -> String {
    match seconds {
        0..=7199 => format!("{} minutes", seconds / 60),
        7200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn strangers(it: &Machine<'_>) -> Vec<Found> {
    let found = it.facts.strangers.join(", ");
    let how = match it.node.os {
        OsFamily::Linux => "`kubeadm reset` for a cluster, the package manager for packages",
        OsFamily::Windows => "`kubeadm reset` for a cluster, `sc.exe stop` and `sc.exe delete` for services",
    };
    Found::new(format!("there is a container runtime or a cluster that swdt did not make: {found}"))
        .seen(format!("found {found}, and no receipt of swdt for it"))
        .todo(format!(
            "use another machine; or take it away, if it is not needed any more ({how}), and its data with it"
        ))
        .only_if(!found.is_empty())
}

fn ports(it: &Machine<'_>) -> Vec<Found> {
    // What a Windows machine tells are ports of a node; a Linux machine tells those of a control plane too.
    let all = it.node.role == Role::ControlPlane || it.node.os == OsFamily::Windows;
    let owners = it.facts.windows.as_ref().map(|windows| &windows.port_owners);
    let taken = it.facts.taken_ports.iter().filter(|port| all || **port == KUBELET_PORT);
    let one = |port: &u16| {
        let owner = owners.and_then(|owners| owners.get(port)).map_or("another program", String::as_str);
        let find = match it.node.os {
            OsFamily::Linux => format!("ss -ltnp 'sport = :{port}'"),
            OsFamily::Windows => format!("netstat -abno | findstr :{port}"),
        };
        Found::new(format!("{owner} listens at port {port}, which Kubernetes needs"))
            .seen(format!("TCP {port} is in state LISTEN"))
            .todo(format!("find it with `{find}` on the machine, and stop it"))
    };
    taken.map(one).collect()
}

/// A network that is routed elsewhere cannot be that of pods or services.
fn routes(it: &Machine<'_>) -> Vec<Found> {
    let network = &it.spec.network;
    let ours = [("podCIDR", "pods", network.pod_cidr), ("serviceCIDR", "services", network.service_cidr)];
    let mut found = Vec::new();
    for route in &it.facts.routes {
        let Ok(to) = route.to.parse::<Ipv4Net>() else { continue };
        for (field, whose, ours) in ours.iter().filter(|(_, _, ours)| to.contains(ours) || ours.contains(&to))
        {
            let over = &route.interface;
            let what =
                format!("the network of {whose}, {ours}, overlaps the machine's route to {to} over {over}");
            let todo = format!(
                "choose a network for {whose} that the machines do not use: `network: {{{field}: …}}`"
            );
            found.push(Found::new(what).seen(format!("route {to} dev {over}")).todo(todo));
        }
    }
    found
}
