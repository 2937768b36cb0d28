//! Phase `runtime` on Windows: containerd with runhcs, as a service.

use swdt_wire::{Condition, Content, File, Kind, Resource, Traces, Truth};

use super::{
    super::{AFTER_CONNECT, Known, List},
    CNI_BIN, CONTAINERD, HOST, Hosted, add_service, agent, host,
};
use crate::{
    catalog,
    spec::{Node, Spec},
};

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
    let pause = catalog::windows_pause(spec, node, known.facts.get(&node.name));
    list.text("config", CONFIG, config(pause.as_deref().unwrap_or(AFTER_CONNECT)));
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
    let what = Truth::RuntimeAnswers;
    list.add("answers", Kind::Condition(Condition { what, patience: 120 }));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{MIXED, load, windows};

    fn pause(text: &str, build: Option<u32>) -> String {
        let spec = load(&text.replace("1.36.3", "1.35.4"));
        let facts = build.map(|build| ("win1".to_owned(), windows(build)));
        let known = Known { facts: facts.into_iter().collect(), ..Known::default() };
        let resources = resources(&spec, &spec.nodes[1], &known);
        let file = resources.iter().find(|resource| resource.id == "runtime/config").unwrap();
        let Kind::File(File { content: Content::Text(text), .. }) = &file.kind else { panic!("{file:?}") };
        text.split("sandbox = '").nth(1).unwrap().split('\'').next().unwrap().to_owned()
    }

    #[test]
    fn pause_is_of_the_build_of_the_machine() {
        assert_eq!(pause(MIXED, Some(20348)), "registry.k8s.io/pause:3.10.1");
        assert_eq!(
            pause(MIXED, Some(26100)),
            "registry.k8s.io/pause:3.10.2",
            "3.10.1 has no manifest for 2025"
        );
        assert_eq!(pause(MIXED, None), AFTER_CONNECT);
        let own = MIXED.replace("192.168.1.11", "192.168.1.11, components: {pause: {version: 3.10.9}}");
        assert_eq!(pause(&own, Some(26100)), "registry.k8s.io/pause:3.10.9");
    }
}
