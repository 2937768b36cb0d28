//! `swdt quickstart`: a cluster of two nodes on this host, from nothing.

use std::{
    io::{self, IsTerminal},
    path::Path,
};

use owo_colors::OwoColorize;
use swdt_core::{
    Error, ErrorKind, Result,
    machine::HostPackages,
    run::{self, CreateOptions},
    spec::Spec,
};

use super::{block_on, resumable};
use crate::{
    args::{Format, Global},
    failure::Failed,
    host, out,
    render::{self, Volume},
};

/// The cluster, as anybody could write it.
const CONFIG: &str = include_str!("../../../../examples/quickstart.yaml");

pub(super) fn run(global: &Global, yes: bool, format: Format) -> Result<(), Failed> {
    let spec = swdt_core::config::load("quickstart.yaml", CONFIG.as_bytes(), None, Path::new("/"))?;
    let quiet = global.volume() == Volume::Quiet || format.json();
    let packages = HostPackages::missing(&spec.nodes)?;
    if !packages.names().is_empty() {
        agreed(&packages, yes)?;
        packages.install()?;
    }
    let host = host::host(global, false)?;
    let sink = render::renderer(format, global.volume());
    block_on(async {
        host::stop_on_ctrl_c(host.interrupt.clone());
        run::create(&host, &spec, CONFIG.as_bytes(), &CreateOptions::default(), sink).await
    })
    .map_err(resumable)?;
    if !quiet {
        out::line(&next(&spec, host.dirs.clusters()?.len() == 1));
    }
    Ok(())
}

/// Says which packages will be installed, and asks unless that was answered already.
fn agreed(packages: &HostPackages, yes: bool) -> Result<()> {
    let names = packages.names().join(" ");
    out::error_line(&format!("this host lacks packages that machines need: {names}"));
    if yes {
        return Ok(());
    }
    let refused = |message: &str| {
        Error::new(ErrorKind::Prerequisite, message)
            .hinted(format!("install them yourself: apt-get install --yes {names}"))
            .hinted("or let swdt do it: swdt quickstart --yes")
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

/// Three commands that are worth a try.
fn next(spec: &Spec, only: bool) -> String {
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
    format!("\nTry next:\n{}", lines.join("\n"))
}
