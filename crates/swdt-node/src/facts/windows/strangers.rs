//! Services of container runtimes and clusters that are not ours. Pure: what is there comes in as data.

use std::collections::BTreeSet;

/// Programs of which a machine can have only one that works, as files and services are called.
const PROGRAMS: [&str; 11] = [
    "containerd",
    "docker",
    "dockerd",
    "flanneld",
    "k3s",
    "kube-proxy",
    "kubelet",
    "rancher-wins",
    "rke2",
    "rke2-agent",
    "wins",
];

/// Turns any program into a service, and says which in a value of its own.
const WRAPPER: &str = "nssm";

/// A service as the service manager has it.
#[derive(Debug, Default)]
pub(super) struct Service {
    pub(super) name: String,
    /// Program and arguments.
    pub(super) command: String,
    pub(super) description: String,
    /// What a wrapper runs.
    pub(super) wrapped: String,
}

/// Those of others, each with its program. Ours are known by their description, and by a receipt while a run that
/// was killed had not come to that yet.
pub(super) fn services(all: &[Service], ours: &BTreeSet<String>, mark: &str) -> Vec<String> {
    let foreign = |it: &&Service| {
        !it.description.ends_with(mark) && !ours.contains(&format!("service:{}", it.name)) && matters(it)
    };
    let mut found: Vec<String> = all
        .iter()
        .filter(foreign)
        .map(|it| match program(it) {
            "" => format!("service {}", it.name),
            program => format!("service {} ({program})", it.name),
        })
        .collect();
    found.sort();
    found
}

fn matters(it: &Service) -> bool {
    let known = |name: &str| PROGRAMS.contains(&name.to_lowercase().as_str());
    known(&it.name) || known(stem(program(it)))
}

/// The file that does the work.
fn program(it: &Service) -> &str {
    let file = first_word(&it.command);
    if stem(file).eq_ignore_ascii_case(WRAPPER) && !it.wrapped.is_empty() {
        return first_word(&it.wrapped);
    }
    file
}

/// `"C:\a b\c.exe" -x`, `C:\a\c.exe -x`, and the path with a blank that nobody quoted.
fn first_word(command: &str) -> &str {
    let command = command.trim();
    if let Some(rest) = command.strip_prefix('"') {
        return rest.split('"').next().unwrap_or_default();
    }
    let end = command.to_ascii_lowercase().find(".exe").map(|at| at + ".exe".len());
    end.map_or_else(|| command.split(' ').next().unwrap_or_default(), |end| &command[..end])
}

fn stem(path: &str) -> &str {
    let name = path.rsplit(['\\', '/']).next().unwrap_or_default();
    let end = name.len().saturating_sub(".exe".len());
    match name.get(end..) {
        Some(ending) if ending.eq_ignore_ascii_case(".exe") => &name[..end],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str, command: &str, description: &str, wrapped: &str) -> Service {
        let [name, command, description, wrapped] =
            [name, command, description, wrapped].map(ToOwned::to_owned);
        Service { name, command, description, wrapped }
    }

    #[test]
    fn services_of_others_are_told_with_their_program() {
        let all = [
            service("Spooler", r"C:\windows\system32\spoolsv.exe", "Prints", ""),
            service("docker", r#""C:\Program Files\Docker\dockerd.exe" --run-service"#, "Docker Engine", ""),
            service("MyRuntime", r"C:\Program Files\containerd\Containerd.EXE --run-service", "", ""),
            service("kubelet", r"C:\k\nssm.exe", "", r"C:\Windows\powershell.exe"),
            service("net", r"C:\nssm\nssm.exe", "", r"C:\flannel\flanneld.exe"),
            service("kube-proxy", r"C:\swdt\swdt-node.exe service kube-proxy", "Of demo (swdt)", ""),
            service("containerd", r"C:\swdt\swdt-node.exe service containerd", "", ""),
            service("rke2", "", "", ""),
        ];
        let ours = BTreeSet::from(["service:containerd".to_owned()]);
        assert_eq!(
            services(&all, &ours, "(swdt)"),
            [
                r"service MyRuntime (C:\Program Files\containerd\Containerd.EXE)",
                r"service docker (C:\Program Files\Docker\dockerd.exe)",
                r"service kubelet (C:\Windows\powershell.exe)",
                r"service net (C:\flannel\flanneld.exe)",
                "service rke2",
            ]
        );
    }

    #[test]
    fn names_that_are_no_ascii_do_not_trouble() {
        assert_eq!(stem(r"C:\Größe\ü"), "ü");
        assert_eq!(first_word(r"C:\Größe\k.exe -x"), r"C:\Größe\k.exe");
    }
}
