//! `swdt quickstart`: a cluster of two nodes on this host, from nothing; and one that plays Windows, if asked.

use std::{
    io::{self, IsTerminal},
    path::Path,
};

use owo_colors::OwoColorize;
use swdt_core::{
    Error, Result, id,
    machine::HostPackages,
    run::{self, CreateOptions},
    spec::{Node, REHEARSAL_KEY, Spec},
    state::ClusterDir,
};

use super::{block_on, cluster::expect_makeable, resumable, support};
use crate::{
    args::{Format, Global, Windows},
    failure::Failed,
    host, out,
    render::{self, Volume},
};

/// The cluster, as anybody could write it.
const CONFIG: &str = include_str!("../../../../examples/quickstart.yaml");

/// Its name there.
const NAME: &str = "quickstart";

/// A node more, at the end of it.
const WINDOWS: &str =
    "  # Windows without Windows: it joins as a node of Windows Server 2022 does. No pods run on it.
  - name: win1
    os: windows
    machine:
      provider: rehearsal
";

pub(super) fn run(
    global: &Global,
    windows: Option<Windows>,
    yes: bool,
    format: Format,
) -> Result<(), Failed> {
    let config = config(windows.or(kept(&host::dirs(global)?.cluster(NAME))));
    let spec = swdt_core::config::load("quickstart.yaml", config.as_bytes(), None, Path::new("/"))?;
    let quiet = global.volume() == Volume::Quiet || format.json();
    let packages = HostPackages::missing(&spec.nodes)?;
    if !packages.names().is_empty() {
        agreed(&packages, yes)?;
        packages.install()?;
    }
    let host = host::host(global, false)?;
    expect_makeable(&host, &spec, quiet)?;
    let sink = render::renderer(format, global.volume());
    block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::create(&host, &spec, config.as_bytes(), &CreateOptions::default(), sink).await
    })
    .map_err(|error| resumable(support::offered(error)))?;
    if !quiet {
        out::line(&next(&spec, host.dirs.clusters()?.len() == 1));
    }
    Ok(())
}

/// A node that was added once stays when the command is given without it.
fn kept(dir: &ClusterDir) -> Option<Windows> {
    let made = dir.load_spec().ok()?;
    made.nodes.iter().any(Node::is_rehearsal).then_some(Windows::Rehearsal)
}

/// The file of the cluster.
fn config(windows: Option<Windows>) -> String {
    match windows {
        None => CONFIG.to_owned(),
        Some(Windows::Rehearsal) => format!("{CONFIG}{WINDOWS}"),
    }
}

/// Says which packages will be installed, and asks unless that was answered already.
fn agreed(packages: &HostPackages, yes: bool) -> Result<()> {
    let names = packages.names().join(" ");
    out::error_line(&format!("this host lacks packages that machines need: {names}"));
    if yes {
        return Ok(());
    }
    let refused = |message: &str| {
        Error::new(id::PROGRAM_MISSING, message)
            .hinted(format!("install them yourself: apt-get install --yes {names}"))
            .hinted(format!("or let swdt do it: {} --yes", host::command_line()))
    };
    if !io::stdin().is_terminal() {
        return Err(refused("packages are missing, and there is nobody to ask"));
    }
    out::error_line("install them now? [Y/n]");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    match (read, answer.trim().to_lowercase().as_str()) {
        (Ok(1..), "" | "y" | "yes") => Ok(()),
        _ => Err(refused("packages are missing")),
    }
}

/// Three commands that are worth a try, and what to expect of nodes that are no real ones.
pub(super) fn next(spec: &Spec, only: bool) -> String {
    let swdt = host::program();
    let which = if only { String::new() } else { format!(" --cluster {}", spec.name) };
    let commands = [
        (format!("{swdt} get pods -A{which}"), "what runs in the cluster"),
        (format!("{swdt} get kubeconfig --merge{which}"), "for your own kubectl"),
        (format!("{swdt} cluster destroy {}", spec.name), "leaves nothing behind"),
    ];
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let lines =
        commands.map(|(command, why)| format!("  {command:width$}   {}", format!("# {why}").dimmed()));
    let words: Vec<_> =
        spec.nodes.iter().filter(|node| node.is_rehearsal()).map(|node| rehearsal(&node.name)).collect();
    format!("\n{}Try next:\n{}", words.concat(), lines.join("\n"))
}

fn rehearsal(node: &str) -> String {
    format!(
        "{node} rehearses Windows Server 2022, on Wine. Real there: kubeadm, kubelet, containerd, labels,
taints, scheduling, drain, removal. Pods do not run on it: whatever is scheduled there waits.
So only what tolerates `{REHEARSAL_KEY}` is; the node has that label, too.\n\n"
    )
}

#[cfg(test)]
mod tests {
    use swdt_core::{spec::OsFamily, state::Dirs};

    use super::*;

    fn spec(windows: Option<Windows>) -> Spec {
        let text = config(windows);
        swdt_core::config::load("quickstart.yaml", text.as_bytes(), None, Path::new("/")).unwrap()
    }

    #[test]
    fn a_node_of_windows_comes_on_top_when_asked() {
        let names = |spec: &Spec| spec.nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
        let (plain, more) = (spec(None), spec(Some(Windows::Rehearsal)));
        assert_eq!(names(&plain), ["cp1", "w1"]);
        assert_eq!(names(&more), ["cp1", "w1", "win1"]);
        assert_eq!(more.nodes[..2], plain.nodes[..], "what was there stays as it was");
        assert!(more.nodes[2].is_rehearsal() && more.nodes[2].os == OsFamily::Windows);
        assert_eq!(plain.name, NAME);
    }

    #[test]
    fn what_was_added_once_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = Dirs { data: dir.path().to_owned(), cache: dir.path().to_owned() };
        let cluster = dirs.cluster(NAME);
        assert_eq!(kept(&cluster), None);
        for windows in [None, Some(Windows::Rehearsal)] {
            cluster.make().unwrap();
            cluster.save_spec(&spec(windows), b"").unwrap();
            assert_eq!(kept(&cluster), windows);
        }
    }

    #[test]
    fn what_runs_on_a_rehearsal_and_what_does_not_is_told() {
        assert!(!next(&spec(None), true).contains("Wine"));
        let told = next(&spec(Some(Windows::Rehearsal)), true);
        assert!(told.contains("win1 rehearses") && told.contains("Pods do not run on it"), "{told}");
        assert!(
            told.lines().take_while(|line| !line.contains("Try next")).all(|line| line.len() <= 100),
            "{told}"
        );
    }
}
