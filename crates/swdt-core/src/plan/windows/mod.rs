//! The same phases on Windows. What runs in pods of the system on Linux runs as services here: no image of anybody
//! else is needed, and nothing that Windows would have to pull first.

pub(super) mod kubernetes;
pub(super) mod network;
pub(super) mod prepare;
pub(super) mod runtime;
mod settings;

use swdt_wire::{
    Blob, Content, Dir, File, Kind, ServiceHost, ServiceStart, WINDOWS_STATE_DIR, WindowsService,
};

use super::{AFTER_CONNECT, Known, List};
use crate::spec::Spec;

/// Programs of Kubernetes; every guide has them there.
const K: &str = r"C:\k";
/// containerd's own place.
const CONTAINERD: &str = r"C:\Program Files\containerd";
/// Where containerd looks for network plugins.
const CNI_BIN: &str = r"C:\opt\cni\bin";
/// The node program at a place that does not change with its version: what Windows starts for each service.
const HOST: &str = r"C:\Program Files\swdt\swdt-node.exe";
const LOGS: &str = r"C:\var\log";

/// A service that runs a program of ours.
struct Hosted<'a> {
    name: &'a str,
    title: &'a str,
    host: ServiceHost,
    depends_on: &'a [&'a str],
    running: Option<bool>,
    /// Besides the program and its configuration.
    newer_than: &'a [&'a str],
}

/// How a program is run: what is not said here is usual.
fn host(name: &str, program: String, arguments: &[String]) -> ServiceHost {
    ServiceHost {
        program,
        arguments: arguments.to_vec(),
        arguments_from: None,
        waits_for: None,
        environment: std::collections::BTreeMap::new(),
        directory: r"C:\".into(),
        log: format!(r"{LOGS}\{name}\{name}.log"),
        log_mib: 10,
        logs: 3,
        stop_seconds: 20,
    }
}

/// Adds a service: the place of its log, what it runs, and the service itself.
fn add_service(list: &mut List, spec: &Spec, hosted: Hosted<'_>) {
    let Hosted { name, title, host, depends_on, running, newer_than } = hosted;
    let path = format!(r"{WINDOWS_STATE_DIR}\services\{name}.json");
    list.add(&format!("{name}/log"), Kind::Dir(Dir { path: format!(r"{LOGS}\{name}"), mode: 0o755 }));
    let mut text = serde_json::to_string_pretty(&host).unwrap_or_default();
    text.push('\n');
    let file = File { path: path.clone(), content: Content::Text(text), mode: 0o600 };
    list.add(&format!("{name}/command"), Kind::File(file));
    let mut files = vec![path, host.program];
    files.extend(newer_than.iter().map(|&file| file.to_owned()));
    list.add(&format!("{name}/service"), service(spec, name, title, depends_on, running, files));
}

fn service(
    spec: &Spec,
    name: &str,
    title: &str,
    depends_on: &[&str],
    running: Option<bool>,
    newer_than: Vec<String>,
) -> Kind {
    Kind::WindowsService(WindowsService {
        name: name.to_owned(),
        display_name: title.to_owned(),
        description: format!("{title}, for the cluster {} (swdt)", spec.name),
        program: HOST.to_owned(),
        arguments: vec!["service".to_owned(), name.to_owned()],
        start: ServiceStart::Automatic,
        depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        running,
        newer_than,
    })
}

/// The node program, or a placeholder.
fn agent(known: &Known) -> Blob {
    known.windows_agent.clone().unwrap_or_else(|| Blob { sha256: AFTER_CONNECT.to_owned(), size: 0 })
}
