//! Phase `runtime` on Windows: containerd with runhcs, as a service.

use swdt_wire::{Content, File, Kind, Resource, Traces};

use super::{
    super::{AFTER_FETCH, Known, List},
    CNI_BIN, CONTAINERD, HOST, Hosted, add_service, agent, host,
};
use crate::spec::{Node, Spec};

const CONFIG: &str = r"C:\Program Files\containerd\config.toml";
/// Where containerd keeps everything.
const DATA: &str = r"C:\ProgramData\containerd";

/// Directories that containerd makes by itself.
const MADE: &[&str] = &[DATA, r"C:\etc\cni", r"C:\etc\cni\net.d"];

/// What shall be true for pods to run at all.
pub(in crate::plan) fn resources(spec: &Spec, node: &Node, known: &Known) -> Vec<Resource> {
    let mut list = List::new("runtime");
    let dirs = MADE.iter().map(|&dir| dir.to_owned()).collect();
    list.add("traces", Kind::Traces(Traces { of: "containerd".into(), dirs, sysctls: Vec::new() }));
    let content = Content::Blob(agent(known));
    list.add("service-host", Kind::File(File { path: HOST.into(), content, mode: 0o755 }));
    for name in ["containerd", "ctr", "containerd-shim-runhcs-v1"] {
        list.program(known, node, name, CONTAINERD);
    }
    for name in ["host-local", "win-overlay"] {
        list.program(known, node, name, CNI_BIN);
    }
    let pause = known.image("pause").map_or(AFTER_FETCH, |image| &image.reference);
    list.text("config", CONFIG, config(pause));
    let arguments = ["--config".to_owned(), CONFIG.to_owned()];
    add_service(
        &mut list,
        spec,
        Hosted {
            name: "containerd",
            title: "containerd",
            host: host("containerd", format!(r"{CONTAINERD}\containerd.exe"), &arguments),
            depends_on: &[],
            running: Some(true),
            newer_than: &[CONFIG],
        },
    );
    list.resources
}

/// containerd 2's configuration, version 3. Its defaults put plugins and their configuration below its own
/// directory; everything written about Kubernetes on Windows expects them here.
fn config(pause: &str) -> String {
    format!(
        r"version = 3
root = '{DATA}\root'
state = '{DATA}\state'

[grpc]
  address = '\\.\pipe\containerd-containerd'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '{pause}'

[plugins.'io.containerd.cri.v1.images'.registry]
  config_path = '{DATA}\certs.d'

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ['{CNI_BIN}']
  conf_dir = 'C:\etc\cni\net.d'

[plugins.'io.containerd.cri.v1.runtime'.containerd]
  default_runtime_name = 'runhcs-wcow-process'
"
    )
}
