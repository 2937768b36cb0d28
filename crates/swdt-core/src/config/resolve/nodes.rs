//! The nodes: names, roles and where their machines come from.

use std::collections::HashMap;

use super::{
    Resolver, Site, v1, values, vm,
    windows_image::{self, ISO},
};
use crate::{
    id,
    spec::{MachineSpec, Node, OsFamily, Place, ProviderName, Role},
};

/// NetBIOS allows no more, and Windows still cares.
const LONGEST_WINDOWS_NAME: usize = 15;
const LONGEST_NAME: usize = 63;
const CPUS: u32 = 2;
const MEMORY_MIB: u64 = 2048;
/// What `kubeadm init` asks of a control plane.
const CONTROL_PLANE: (u32, u64) = (2, 1700);
/// The same for a virtual machine, whose kernel keeps some for itself.
const CONTROL_PLANE_VM: (u32, u64) = (2, 1800);
/// Below this a kubelet with its runtime does not live.
const LEAST_MIB: u64 = 512;

impl Resolver<'_> {
    pub(super) fn nodes(&mut self, raw: &v1::Cluster, root: Site<'_>) -> Option<Vec<Node>> {
        let list = raw.nodes.as_deref()?;
        let site = root.key("nodes");
        let nodes =
            list.iter().enumerate().map(|(index, node)| self.node(raw, node.as_ref()?, site.item(index)));
        let nodes: Vec<_> = nodes.collect();
        self.one_network(&nodes, site);
        self.control_planes(list, site);
        self.unique(raw, list, site);
        self.used_somewhere(raw, root);
        nodes.into_iter().collect()
    }

    pub(super) fn node(&mut self, cluster: &v1::Cluster, raw: &v1::Node, site: Site<'_>) -> Option<Node> {
        let (os, role) = (raw.os.unwrap_or(OsFamily::Linux), raw.role.unwrap_or(Role::Worker));
        let defaults = cluster.defaults.as_ref();
        let name = self.node_name(raw, os, site.key("name"));
        if os == OsFamily::Windows && role == Role::ControlPlane {
            let hint = "make it a worker; a Linux node runs the control plane";
            self.report(
                id::SYSTEM_UNSUITED,
                site.key("role"),
                "Kubernetes has no control plane for Windows",
                hint,
            );
        }
        let connection = self.connection(raw, defaults, os, site);
        let place = self.place(raw, defaults, os, role, site);
        let set_hostname = self.hostname(raw, defaults, site);
        let components = self.components(cluster, raw, role, os, site);
        let provider = match &place {
            Some(Place::Machine(machine)) => Some(machine.provider),
            _ => None,
        };
        let labels = self.labels(raw, provider, site);
        let taints = self.taints(raw, provider, site);
        Some(Node {
            name: name?,
            role,
            os,
            set_hostname,
            place: place?,
            connection: connection?,
            labels,
            taints,
            components: components?,
        })
    }

    fn node_name(&mut self, raw: &v1::Node, os: OsFamily, site: Site<'_>) -> Option<String> {
        let text = raw.name.as_deref()?;
        let name = self.take(values::label(text, LONGEST_NAME), site)?;
        if os == OsFamily::Windows && name.len() > LONGEST_WINDOWS_NAME {
            let message = format!("`{name}` is too long for Windows: {} characters, at most 15", name.len());
            self.report(id::NAME_INVALID, site, message, "choose a shorter name, for example `win1`");
            return None;
        }
        if os == OsFamily::Windows && name.chars().all(|c| c.is_ascii_digit()) {
            self.report(
                id::NAME_INVALID,
                site,
                "Windows allows no name of digits only",
                format!("for example `win{name}`"),
            );
            return None;
        }
        Some(name)
    }

    /// Exactly one of `address` and `machine`.
    fn place(
        &mut self,
        raw: &v1::Node,
        defaults: Option<&v1::Defaults>,
        os: OsFamily,
        role: Role,
        site: Site<'_>,
    ) -> Option<Place> {
        let (address, machine) = (site.key("address"), site.key("machine"));
        match (address.written(), machine.written()) {
            (true, true) => {
                let hint = "keep `address` if the machine exists, `machine` if swdt shall make it";
                self.report(
                    id::CHOICE_UNCLEAR,
                    machine,
                    "a node has either an `address` or a `machine`, not both",
                    hint,
                );
                None
            }
            (false, false) => {
                let shared = defaults.and_then(|defaults| defaults.machine.as_ref()?.provider);
                let made = match (shared, os) {
                    (Some(_), _) => "{}".to_owned(),
                    (None, OsFamily::Linux) => "{provider: nspawn}".to_owned(),
                    (None, OsFamily::Windows) => format!("{{provider: qemu, image: {{iso: {ISO}}}}}"),
                };
                let hint = format!(
                    "write `address: 192.168.1.10` for a machine that exists, or `machine: {made}` for one that swdt makes"
                );
                self.report(
                    id::CHOICE_UNCLEAR,
                    site,
                    "the node has neither an `address` nor a `machine`",
                    hint,
                );
                None
            }
            (true, false) => {
                let port = port(raw, defaults);
                let address = self.text(raw.address.as_deref(), address, values::address)?;
                Some(Place::Existing { address, port })
            }
            (false, true) => {
                self.machine(raw.machine.as_ref()?, defaults, os, role, machine).map(Place::Machine)
            }
        }
    }

    fn machine(
        &mut self,
        raw: &v1::Machine,
        defaults: Option<&v1::Defaults>,
        os: OsFamily,
        role: Role,
        site: Site<'_>,
    ) -> Option<MachineSpec> {
        let shared = defaults.and_then(|defaults| defaults.machine.as_ref());
        let provider_site = site.key("provider");
        let provider = raw.provider.or_else(|| shared.and_then(|shared| shared.provider));
        let has_media = windows_image::system(self.said(site, "image")) == Some(OsFamily::Windows);
        if provider.is_none() && !provider_site.bad() {
            let is_vm = vm::OF_VMS.iter().any(|key| self.said(site, key).written());
            let hint = match (os, is_vm) {
                (OsFamily::Linux, false) => {
                    "write `provider: nspawn`, here or under `defaults.machine`".to_owned()
                }
                (OsFamily::Linux, true) => {
                    "write `provider: qemu`, here or under `defaults.machine`".to_owned()
                }
                (OsFamily::Windows, _) => with_windows(has_media),
            };
            self.report(id::FIELD_MISSING, site, "`provider` is missing: who makes the machine?", hint);
        }
        let whence = if provider_site.written() { "" } else { ", which `defaults` says," };
        match (os, provider) {
            (OsFamily::Windows, Some(ProviderName::Nspawn)) => {
                let hint = format!("{}, or give the `address` of a Windows machine", with_windows(has_media));
                let message = format!("`nspawn`{whence} makes Linux machines only");
                self.report(id::SYSTEM_UNSUITED, provider_site, message, hint);
            }
            (OsFamily::Linux, Some(ProviderName::Rehearsal)) => {
                let hint = "write `os: windows` for this node, or `provider: nspawn`";
                let message = format!("`rehearsal`{whence} makes Windows machines only");
                self.report(id::SYSTEM_UNSUITED, provider_site, message, hint);
            }
            _ => {}
        }
        let cpus = raw.cpus.or_else(|| shared.and_then(|shared| shared.cpus)).unwrap_or(CPUS);
        let real_windows = os == OsFamily::Windows && provider == Some(ProviderName::Qemu);
        let usual_mib = if real_windows { windows_image::MEMORY_MIB } else { MEMORY_MIB };
        // A wrong default is told once, where it stands.
        let shared_mib = shared.and_then(|shared| values::memory(shared.memory.as_deref()?).ok());
        let memory_mib = match raw.memory.as_deref() {
            Some(text) => self.take(values::memory(text), site.key("memory")),
            None => Some(shared_mib.unwrap_or(usual_mib)),
        };
        let (least_cpus, least_mib) = match role {
            Role::ControlPlane if provider == Some(ProviderName::Qemu) => CONTROL_PLANE_VM,
            Role::ControlPlane => CONTROL_PLANE,
            Role::Worker if real_windows => (1, windows_image::LEAST_MIB),
            Role::Worker => (1, LEAST_MIB),
        };
        if cpus < least_cpus {
            let message = format!("a control plane needs {least_cpus} processors");
            self.report(
                id::MACHINE_TOO_SMALL,
                self.said(site, "cpus"),
                message,
                format!("write `cpus: {least_cpus}` or more"),
            );
        }
        if memory_mib.is_some_and(|mib| mib < least_mib) {
            let what = match role {
                Role::ControlPlane => "a control plane",
                Role::Worker if real_windows => "a node of Windows",
                Role::Worker => "a node",
            };
            self.report(
                id::MACHINE_TOO_SMALL,
                self.said(site, "memory"),
                format!("{what} needs {least_mib}Mi of memory"),
                format!("write `memory: {}Gi` or more", usual_mib / 1024),
            );
        }
        let vm = match provider? {
            ProviderName::Qemu => Some(self.vm(raw, shared, os, site)?),
            ProviderName::Nspawn | ProviderName::Rehearsal => {
                self.no_vm(site);
                None
            }
        };
        Some(MachineSpec { provider: provider?, cpus, memory_mib: memory_mib?, vm })
    }

    /// Machines that exist keep their name unless asked; machines that swdt makes are called like their node.
    fn hostname(&mut self, raw: &v1::Node, defaults: Option<&v1::Defaults>, site: Site<'_>) -> bool {
        let own = raw.hostname.as_ref().and_then(|hostname| hostname.set);
        if raw.machine.is_some() {
            if own == Some(false) {
                let hint = "leave `hostname` out";
                self.report(
                    id::FIELD_MISPLACED,
                    site.key("hostname").key("set"),
                    "a machine that swdt makes is called like its node",
                    hint,
                );
            }
            return true;
        }
        let shared =
            defaults.and_then(|defaults| defaults.hostname.as_ref()).and_then(|hostname| hostname.set);
        own.or(shared).unwrap_or(false)
    }

    fn control_planes(&mut self, list: &[Option<v1::Node>], site: Site<'_>) {
        let role = |index| site.item(index).key("role");
        let planes: Vec<_> = (0..list.len())
            .filter(|index| list[*index].as_ref().is_some_and(|node| node.role == Some(Role::ControlPlane)))
            .collect();
        for extra in planes.iter().skip(1) {
            let hint = "keep one control plane and make the others workers";
            self.report(
                id::CONTROL_PLANE_COUNT,
                role(*extra),
                "several control planes are not possible yet",
                hint,
            );
        }
        let unknown = (0..list.len()).any(|index| site.item(index).bad() || role(index).bad());
        if planes.is_empty() && !list.is_empty() && !unknown && !site.bad() {
            let hint = "write `role: control-plane` for one of the Linux nodes";
            self.report(id::CONTROL_PLANE_COUNT, site, "no node is the control plane", hint);
        }
    }

    fn unique(&mut self, cluster: &v1::Cluster, list: &[Option<v1::Node>], site: Site<'_>) {
        let mut names = HashMap::new();
        let mut addresses: HashMap<String, &str> = HashMap::new();
        for (index, node) in list.iter().enumerate() {
            let Some(node) = node else { continue };
            let name = node.name.as_deref().unwrap_or("another node");
            if node.name.is_some() && names.insert(name, index).is_some() {
                let message = format!("two nodes are called `{name}`");
                self.report(
                    id::NODES_ALIKE,
                    site.item(index).key("name"),
                    message,
                    "each node needs a name of its own",
                );
            }
            let Some(address) = node.address.as_deref().and_then(|text| values::address(text).ok()) else {
                continue;
            };
            // Machines behind one address, each with its own port, are different machines.
            let port = port(node, cluster.defaults.as_ref());
            if let Some(other) = addresses.insert(format!("{address} {}", port.unwrap_or(22)), name) {
                let message = format!("`{address}` is the address of `{other}` already");
                self.report(
                    id::NODES_ALIKE,
                    site.item(index).key("address"),
                    message,
                    "one machine can be one node only",
                );
            }
        }
    }
}

/// Who makes a machine of Windows.
fn with_windows(has_media: bool) -> String {
    if has_media {
        return "write `provider: qemu`".to_owned();
    }
    format!(
        "write `provider: qemu` and `image: {{iso: {ISO}}}`, or `provider: rehearsal` for a node without Windows"
    )
}

fn port(raw: &v1::Node, defaults: Option<&v1::Defaults>) -> Option<u16> {
    let shared = defaults.and_then(|defaults| defaults.connection.as_ref());
    let own = raw.connection.as_ref().and_then(|connection| connection.port);
    own.or_else(|| shared.and_then(|connection| connection.port))
}
