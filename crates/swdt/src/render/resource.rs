//! What a resource means, in words. Reads as "this shall be true".

use swdt_wire::{
    Archive, ClientConfig, Condition, Dir, EnvPath, Feature, File, HnsNetwork, Hostname, Image, KernelModule,
    Kind, Line, Manifest, Package, PortRange, Protocol, Registry, RegistryValue, Resource, Service,
    ServiceStart, SourceVip, Sysctl, Traces, WindowsService,
};

/// One sentence, without its full stop.
pub(crate) fn describe(kind: &Kind) -> String {
    match kind {
        Kind::File(File { path, mode, .. }) => format!("file {path}, mode {mode:04o}"),
        Kind::Dir(Dir { path, mode }) => format!("directory {path}, mode {mode:04o}"),
        Kind::Archive(Archive { into, blob, .. }) => {
            format!("archive {} is unpacked into {into}", blob.sha256.get(..12).unwrap_or(&blob.sha256))
        }
        Kind::Line(Line { path, line }) => format!("{path} has the line \"{line}\""),
        Kind::Hostname(Hostname { name }) => format!("the machine is called {name}"),
        Kind::Sysctl(Sysctl { key, value }) => format!("kernel setting {key} = {value}"),
        Kind::KernelModule(KernelModule { name }) => format!("kernel module {name} is loaded"),
        Kind::Swap(_) => "swap is off".into(),
        Kind::Package(Package { names }) => format!("packages are installed: {}", names.join(", ")),
        Kind::Service(Service { name, enabled, running, .. }) => {
            let boot = if *enabled { "starts at boot" } else { "does not start at boot" };
            let now = if *running { "runs" } else { "is stopped" };
            format!("service {name} {now} and {boot}")
        }
        Kind::Firewall(firewall) => {
            format!(
                "ports are reachable: {}",
                firewall.ports.iter().map(ports).collect::<Vec<_>>().join(", ")
            )
        }
        Kind::EnvPath(EnvPath { dir }) => format!("{dir} is in everybody's PATH"),
        Kind::Image(Image { reference, .. }) => format!("the runtime has the image {reference}"),
        Kind::KubeadmInit(_) => "kubeadm has made the control plane".into(),
        Kind::KubeadmJoin(_) => "kubeadm has joined the node".into(),
        Kind::Manifest(Manifest { name, .. }) => format!("the cluster has the objects of {name}"),
        Kind::Condition(Condition { what, .. }) => what.to_string(),
        Kind::Registry(Registry { key, name, value }) => {
            let value = match value {
                RegistryValue::Text(text) | RegistryValue::Expanded(text) => format!("\"{text}\""),
                RegistryValue::Number(number) => number.to_string(),
                RegistryValue::List(items) => items.join(", "),
            };
            format!(r"registry HKLM\{key}\{name} = {value}")
        }
        Kind::WindowsService(WindowsService { name, running, start, .. }) => {
            let boot = match start {
                ServiceStart::Automatic => "starts at boot",
                ServiceStart::Delayed => "starts a while after boot",
                ServiceStart::Manual => "does not start at boot",
            };
            match running {
                Some(true) => format!("service {name} runs and {boot}"),
                Some(false) => format!("service {name} is stopped and {boot}"),
                None => format!("service {name} is there and {boot}"),
            }
        }
        Kind::Feature(Feature { name }) => format!("Windows has the feature {name}"),
        Kind::Restart(_) => "nothing waits for a restart".into(),
        Kind::SourceVip(SourceVip { path, .. }) => format!("{path} names an address of this node's range"),
        Kind::ClientConfig(ClientConfig { path, account, .. }) => {
            format!("{path} has a token of the service account {account}")
        }
        Kind::HnsNetwork(HnsNetwork { name }) => {
            format!("it is recorded whether there was a network {name} before")
        }
        Kind::Traces(Traces { of, .. }) => format!("it is recorded what was there before {of}"),
    }
}

/// A machine that was given up, and what may still be on it, a line each.
pub(super) fn forgotten(why: &str, left: &[Resource]) -> impl Iterator<Item = String> {
    let head = match left {
        [] => format!("given up: {why}; nothing was changed on the machine but swdt's own directory"),
        _ => format!("given up, not undone: {why}; this may still be true there:"),
    };
    std::iter::once(head).chain(left.iter().map(|resource| format!("  {}", describe(&resource.kind))))
}

/// `6443/tcp`, `30000-32767/udp`.
fn ports(PortRange { protocol, from, to }: &PortRange) -> String {
    let protocol = match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
    };
    if from == to { format!("{from}/{protocol}") } else { format!("{from}-{to}/{protocol}") }
}
