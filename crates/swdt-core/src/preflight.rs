//! Rules a machine must meet before it is touched. All problems of all machines at once.

mod clock;
mod fixed;
mod windows;

pub use clock::clock;
pub use fixed::{changed, moved, reconfigured};
use ipnet::Ipv4Net;
use swdt_wire::Facts;

use crate::{
    Error, ErrorKind,
    catalog::{self, Verdict},
    plan::Known,
    spec::{Node, OsFamily, Role, Spec},
};

/// Distributions we know, with the oldest release that works.
const SYSTEMS: &[(&str, u32, &str)] =
    &[("debian", 12, "Debian 12"), ("ubuntu", 22, "Ubuntu 22.04"), ("fedora", 41, "Fedora 41")];

/// kubeadm refuses less than 1700 MiB on a control plane.
const CONTROL_PLANE_MEMORY_MIB: u64 = 1700;
/// A worker with less cannot run kubelet, containerd and a pod together.
const WORKER_MEMORY_MIB: u64 = 900;
/// kubeadm refuses fewer on a control plane.
const CONTROL_PLANE_CPUS: u32 = 2;

/// The kubelet's port, on every node. Whatever else a machine tells is the control plane's.
const KUBELET_PORT: u16 = 10250;

/// What is wrong (the run stops) and what is worth a word (it goes on).
#[derive(Debug, Default)]
pub struct Findings {
    /// The run stops.
    pub errors: Vec<Error>,
    /// Node and sentence.
    pub warnings: Vec<(String, String)>,
}

/// Looks at every machine.
pub fn preflight(spec: &Spec, known: &Known) -> Findings {
    let mut findings = Findings::default();
    for node in &spec.nodes {
        if let Some(facts) = known.facts.get(&node.name) {
            Judge { spec, node, facts, findings: &mut findings }.all();
        }
    }
    twins(spec, known, &mut findings);
    compatible(spec, known, &mut findings);
    findings
}

/// Versions and machines that do not go together, as the catalog knows.
fn compatible(spec: &Spec, known: &Known, findings: &mut Findings) {
    match catalog::check(spec, &known.facts) {
        Err(error) => findings.errors.push(error),
        Ok(found) => {
            for finding in found {
                match (finding.verdict, &finding.node) {
                    (Verdict::Warn, Some(node)) => {
                        findings.warnings.push((node.clone(), finding.to_string()));
                    }
                    _ => findings.errors.push(finding.into()),
                }
            }
        }
    }
}

struct Judge<'a> {
    spec: &'a Spec,
    node: &'a Node,
    facts: &'a Facts,
    findings: &'a mut Findings,
}

impl Judge<'_> {
    fn all(&mut self) {
        // Nothing else can be judged on the wrong system.
        if self.family() {
            match self.node.os {
                OsFamily::Linux => self.linux(),
                OsFamily::Windows => self.windows(),
            }
            self.strangers();
            self.ports();
            self.routes();
        }
    }

    fn linux(&mut self) {
        self.release();
        self.size();
        self.system();
    }

    fn family(&mut self) -> bool {
        let wanted = match self.node.os {
            OsFamily::Linux => "linux",
            OsFamily::Windows => "windows",
        };
        let found = &self.facts.os.family;
        if found == wanted {
            return true;
        }
        let message =
            format!("the configuration says `os: {wanted}`, but this machine runs {}", self.facts.os.name);
        self.error(message, format!("write `os: {found}` for this node, or give it another address"));
        false
    }

    fn release(&mut self) {
        let os = &self.facts.os;
        let known: Vec<&str> = SYSTEMS.iter().map(|(_, _, name)| *name).collect();
        let hint = format!("use {} or newer", known.join(", "));
        match SYSTEMS.iter().find(|(id, _, _)| *id == os.id) {
            None => self.error(format!("{} is not a system that swdt knows", os.name), hint),
            Some((_, oldest, name)) => {
                let major = os.version.split('.').next().and_then(|major| major.parse::<u32>().ok());
                // No version at all is a rolling release (Debian testing): newer than any.
                if major.is_some_and(|major| major < *oldest) {
                    self.error(format!("{} is too old; the oldest that works is {name}", os.name), hint);
                }
            }
        }
    }

    fn size(&mut self) {
        let control_plane = self.node.role == Role::ControlPlane;
        let (role, memory) = if control_plane {
            ("a control plane", CONTROL_PLANE_MEMORY_MIB)
        } else {
            ("a worker", WORKER_MEMORY_MIB)
        };
        let have = self.facts.memory_mib;
        if have < memory {
            self.error(
                format!("{have} MiB of memory is too little for {role}, which needs {memory} MiB"),
                "give the machine more memory".into(),
            );
        }
        let cpus = self.facts.cpus;
        if control_plane && cpus < CONTROL_PLANE_CPUS {
            self.error(
                format!("{cpus} processor is too few for a control plane, which needs {CONTROL_PLANE_CPUS}"),
                "give the machine more processors".into(),
            );
        }
        for disk in self.facts.disks.clone() {
            if disk.nearly_full {
                self.error(
                    format!("fewer than 2 GiB are free on the file system of {}", disk.path),
                    "free some space there".into(),
                );
            }
        }
    }

    fn system(&mut self) {
        if !self.facts.writable {
            self.error(
                "the root file system is read-only".into(),
                "remount it read-write; if it turned read-only by itself, look at `dmesg` on the machine"
                    .into(),
            );
        }
        if self.facts.init != "systemd" {
            self.error(
                format!(
                    "the machine was started by `{}`; kubelet and containerd are run by systemd",
                    self.facts.init
                ),
                "use a system that boots with systemd".into(),
            );
        }
        if self.facts.packages.is_none() {
            self.error("the machine has neither apt nor dnf".into(), "use Debian, Ubuntu or Fedora".into());
        }
        if self.facts.selinux.as_deref() == Some("enforcing") {
            self.warn("SELinux is enforcing; if pods are denied access to volumes, `setenforce 0` tells whether that is why");
        }
    }

    /// Two container runtimes or clusters on one machine would ruin each other.
    fn strangers(&mut self) {
        let found = self.facts.strangers.join(", ");
        if !found.is_empty() {
            let how = match self.node.os {
                OsFamily::Linux => "`kubeadm reset` for a cluster, the package manager for packages",
                OsFamily::Windows => {
                    "`kubeadm reset` for a cluster, `sc.exe stop` and `sc.exe delete` for services"
                }
            };
            self.error(
                format!("there is a container runtime or a cluster that swdt did not make: {found}"),
                format!(
                    "use another machine; or take it away, if it is not needed any more ({how}), and its data with it"
                ),
            );
        }
    }

    fn ports(&mut self) {
        // What a Windows machine tells are ports of a node; a Linux machine tells those of a control plane too.
        let all = self.node.role == Role::ControlPlane || self.node.os == OsFamily::Windows;
        let needed = |port: &&u16| all || **port == KUBELET_PORT;
        let owners = self.facts.windows.as_ref().map(|windows| &windows.port_owners);
        let taken: Vec<u16> = self.facts.taken_ports.iter().filter(needed).copied().collect();
        for port in taken {
            let owner = owners.and_then(|owners| owners.get(&port)).map_or("another program", String::as_str);
            let find = match self.node.os {
                OsFamily::Linux => format!("ss -ltnp 'sport = :{port}'"),
                OsFamily::Windows => format!("netstat -abno | findstr :{port}"),
            };
            self.error(
                format!("{owner} listens at port {port}, which Kubernetes needs"),
                format!("find it with `{find}` on the machine, and stop it"),
            );
        }
    }

    /// A network that is routed elsewhere cannot be that of pods or services.
    fn routes(&mut self) {
        let network = &self.spec.network;
        let ours = [("podCIDR", "pods", network.pod_cidr), ("serviceCIDR", "services", network.service_cidr)];
        for route in self.facts.routes.clone() {
            let Ok(to) = route.to.parse::<Ipv4Net>() else { continue };
            for (field, whose, ours) in ours {
                if to.contains(&ours) || ours.contains(&to) {
                    self.error(
                        format!(
                            "the network of {whose}, {ours}, overlaps the machine's route to {to} over {}",
                            route.interface
                        ),
                        format!("choose a network for {whose} that the machines do not use: `network: {{{field}: …}}`"),
                    );
                }
            }
        }
    }

    fn error(&mut self, message: String, hint: String) {
        let error = Error::new(ErrorKind::Prerequisite, message).on(&self.node.name).hinted(hint);
        self.findings.errors.push(error);
    }

    fn warn(&mut self, message: &str) {
        self.findings.warnings.push((self.node.name.clone(), message.to_owned()));
    }
}

/// Two nodes on one machine, or clones that kubelet could not tell apart.
fn twins(spec: &Spec, known: &Known, findings: &mut Findings) {
    let machines: Vec<(&str, &Facts)> = spec
        .nodes
        .iter()
        .filter_map(|node| Some((node.name.as_str(), known.facts.get(&node.name)?)))
        .collect();
    for (index, (name, facts)) in machines.iter().enumerate() {
        let earlier = machines[..index]
            .iter()
            .find(|(_, other)| !facts.machine_id.is_empty() && other.machine_id == facts.machine_id);
        if let Some((other, _)) = earlier {
            findings.errors.push(
                Error::new(ErrorKind::Prerequisite, format!("has the same machine id as {other}"))
                    .on(name)
                    .hinted("give each node a machine of its own; after cloning a VM, empty /etc/machine-id and restart it"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use swdt_wire::Route;

    use crate::plan::tests::debian;

    const TWO: &str = "
apiVersion: swdt.dev/v1alpha1
kind: Cluster
metadata: {name: two}
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, role: control-plane, address: 192.168.1.10}
  - {name: w1, address: 192.168.1.11}
";

    /// The findings when cp1 is sound and w1, or cp1, is spoiled.
    fn findings(spoil: impl Fn(&mut Facts, &mut Facts)) -> (Vec<String>, Vec<String>) {
        let spec = crate::config::load("two.yaml", TWO.as_bytes(), None, Path::new("/")).unwrap();
        let (mut cp1, mut w1) = (debian(), debian());
        w1.machine_id = "another".into();
        spoil(&mut cp1, &mut w1);
        let mut known = Known::default();
        known.facts.insert("cp1".into(), cp1);
        known.facts.insert("w1".into(), w1);
        let found = preflight(&spec, &known);
        (
            found.errors.iter().map(ToString::to_string).collect(),
            found.warnings.into_iter().map(|(node, warning)| format!("{node}: {warning}")).collect(),
        )
    }

    fn route(to: &str) -> Route {
        Route { to: to.into(), interface: "tun0".into() }
    }

    #[test]
    fn sound_machines_pass() {
        assert_eq!(findings(|_, _| ()), (Vec::new(), Vec::new()));
    }

    #[test]
    fn each_rule_finds_its_fault() {
        type Spoil = fn(&mut Facts, &mut Facts);
        let cases: &[(&str, Spoil)] = &[
            ("w1: the configuration says `os: linux`", |_, w1| w1.os.family = "windows".into()),
            ("w1: Gentoo is not a system", |_, w1| {
                (w1.os.id, w1.os.name) = ("gentoo".into(), "Gentoo".into());
            }),
            ("is too old; the oldest that works is Debian 12", |_, w1| w1.os.version = "11".into()),
            ("cp1: 1024 MiB of memory is too little for a control plane", |cp1, _| cp1.memory_mib = 1024),
            ("w1: 512 MiB of memory is too little for a worker", |_, w1| w1.memory_mib = 512),
            ("cp1: 1 processor is too few", |cp1, _| cp1.cpus = 1),
            ("fewer than 2 GiB are free", |_, w1| w1.disks[0].nearly_full = true),
            ("root file system is read-only", |_, w1| w1.writable = false),
            ("started by `init`", |_, w1| w1.init = "init".into()),
            ("neither apt nor dnf", |_, w1| w1.packages = None),
            (
                "w1: there is a container runtime or a cluster that swdt did not make: /usr/bin/containerd",
                |_, w1| {
                    w1.strangers = vec!["/usr/bin/containerd".into()];
                },
            ),
            ("cp1: another program listens at port 6443", |cp1, w1| {
                (cp1.taken_ports, w1.taken_ports) = (vec![6443], vec![6443]);
            }),
            ("w1: another program listens at port 10250", |_, w1| w1.taken_ports = vec![10250]),
            (
                "w1: the network of pods, 10.244.0.0/16, overlaps the machine's route to 10.244.7.0/24 over tun0",
                |_, w1| {
                    w1.routes = vec![route("10.244.7.0/24"), route("192.168.1.0/24")];
                },
            ),
            (
                "w1: the network of services, 10.96.0.0/16, overlaps the machine's route to 10.0.0.0/9 over tun0",
                |_, w1| {
                    w1.routes = vec![route("10.0.0.0/9")];
                },
            ),
            ("w1: has the same machine id as cp1", |cp1, w1| w1.machine_id = cp1.machine_id.clone()),
        ];
        for (message, spoil) in cases {
            let (errors, _) = findings(spoil);
            assert_eq!(errors.len(), 1, "{message}: {errors:?}");
            assert!(errors[0].contains(message), "{message}: {errors:?}");
        }
    }

    #[test]
    fn all_problems_of_all_machines_are_told_at_once() {
        let (errors, warnings) = findings(|cp1, w1| {
            cp1.memory_mib = 100;
            cp1.cpus = 1;
            w1.os.version = "9".into();
            w1.selinux = Some("enforcing".into());
        });
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert_eq!(warnings.len(), 1);
    }

    #[test]
    fn a_rolling_release_counts_as_new() {
        assert_eq!(findings(|_, w1| w1.os.version = String::new()).0, Vec::<String>::new());
    }
}
