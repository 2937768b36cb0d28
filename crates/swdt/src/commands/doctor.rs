//! `swdt doctor`

mod mend;
mod show;

use owo_colors::OwoColorize;
use swdt_core::{
    Error, Result,
    doctor::{self, Report, Scope},
    id, run,
    spec::{Node, Place, Spec},
    state::Dirs,
};

use super::{block_on, config};
use crate::{
    args::{Doctor, Global},
    failure::Failed,
    host, out,
    render::Volume,
};

/// What to look at.
struct Patient {
    /// Of the cluster that is meant, as it was made; of the file where it is not made yet.
    spec: Option<Spec>,
    /// Is the cluster there?
    made: bool,
    /// What machines that are not there yet would be made from: the file, or the cluster as it was made.
    ahead: Option<Spec>,
    /// The file of a cluster that is there, with the nodes alone that it does not have yet.
    coming: Option<Spec>,
    /// Others that are there and were not looked into.
    others: Vec<String>,
    /// This host, or why it cannot reach machines.
    host: Result<run::Host>,
}

pub(super) fn run(global: &Global, wish: &Doctor) -> Result<u8, Failed> {
    let quiet = global.volume() == Volume::Quiet || wish.format.json();
    let patient = Patient::of(global, wish, quiet)?;
    if !quiet && out::width().is_some() {
        out::error_line(&format!("looking at {} …", patient.words().join(", ")));
    }
    let mut report = patient.examine(global)?;
    let show = |report: &Report| show::text(report, patient.spec.as_ref(), global.volume());
    if !wish.format.json() {
        out::line(&show(&report));
    }
    if wish.fix {
        let mended = mend::all(global, wish, &patient.host, &report)?;
        if mended > 0 {
            report = patient.examine(global)?;
            if !wish.format.json() {
                out::line(&format!("\nafter mending:\n{}", show(&report)));
            }
        }
    }
    if wish.format.json() {
        let text = serde_json::to_string(&report);
        out::line(&text.map_err(|error| Error::new(id::INTERNAL, error.to_string()))?);
    } else if !quiet && !patient.others.is_empty() {
        let names = patient.others.join(", ");
        out::error_line(&format!("not looked into: {names}; name one with --cluster NAME"));
    }
    Ok(report.worst().map_or(0, |finding| finding.kind.exit_code()))
}

impl Patient {
    fn of(global: &Global, wish: &Doctor, quiet: bool) -> Result<Self, Failed> {
        let dirs = host::dirs(global)?;
        let there = dirs.clusters()?;
        let host = host::host(global, wish.hosts.accept_new_host_keys);
        let (mut ahead, mut coming) = (None, None);
        let (spec, others) = match (&wish.config, &global.cluster) {
            (Some(path), _) => {
                let file = config::read(global, path, wish.format)?.0;
                ahead = Some(file.clone());
                if there.contains(&file.name) {
                    let made = remembered(&dirs, &file.name);
                    coming = made.as_ref().and_then(|made| newcomers(quiet, made, file, path));
                    (made, Vec::new())
                } else {
                    (Some(file), Vec::new())
                }
            }
            (None, Some(_)) => (remembered(&dirs, &super::chosen(global, &dirs)?), Vec::new()),
            (None, None) => match there.as_slice() {
                [only] => (remembered(&dirs, only), Vec::new()),
                several => (None, several.to_vec()),
            },
        };
        let made = spec.as_ref().is_some_and(|spec| there.contains(&spec.name));
        Ok(Self { ahead: ahead.or_else(|| spec.clone()), spec, made, coming, others, host })
    }

    /// What is looked at, in words.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["this host".to_owned()];
        if let (Some(spec), Ok(_)) = (&self.spec, &self.host) {
            // Machines that are still to be made are not there to be looked at.
            let is_there = |node: &&Node| matches!(node.place, Place::Existing { .. });
            let made = spec.nodes.iter().filter(|node| self.made || is_there(node));
            let coming = self.coming.iter().flat_map(|spec| &spec.nodes).filter(is_there);
            let machines: Vec<&str> = made.chain(coming).map(|node| node.name.as_str()).collect();
            if !machines.is_empty() {
                words.push(format!("the machines {}", machines.join(", ")));
            }
            if self.made {
                words.push(format!("the cluster {}", spec.name));
            }
        }
        words
    }

    fn examine(&self, global: &Global) -> Result<Report> {
        let dirs = host::dirs(global)?;
        let mut facts = block_on(run::look_at_host(&dirs, self.ahead.as_ref(), &host::keys()))?;
        let mut scopes = vec![Scope::Host];
        let mut findings = Vec::new();
        match &self.host {
            Err(error) => facts.no_agent = Some(error.to_string()),
            Ok(host) => {
                if host.agents.windows.is_none() {
                    facts.no_windows_agent = Some("it is not beside `swdt`".to_owned());
                }
                if let Some(spec) = &self.spec {
                    scopes.push(Scope::Machine);
                    findings = if self.made {
                        scopes.push(Scope::Cluster);
                        block_on(run::look_at_cluster(host, spec))?
                    } else {
                        block_on(run::look_at_machines(host, spec))?
                    };
                }
                if let Some(ahead) = &self.ahead {
                    findings.extend(block_on(run::look_ahead(host, ahead, &mut facts))?);
                }
                if let Some(coming) = &self.coming {
                    findings.extend(block_on(run::look_at_machines(host, coming))?);
                }
            }
        }
        findings.extend(doctor::host(&facts));
        Ok(Report::new(self.words(), &scopes, findings))
    }
}

/// A cluster as it was made. One that cannot be read is a finding, and no reason to say nothing else.
fn remembered(dirs: &Dirs, name: &str) -> Option<Spec> {
    let dir = dirs.cluster(name);
    dir.load(name).and_then(|_| dir.load_spec()).ok()
}

/// A cluster is judged, and mended, as it was made; what its file says by now is for `update` to do. That is told, and
/// the machines that would join are looked at as any that are new.
fn newcomers(quiet: bool, made: &Spec, file: Spec, path: &std::path::Path) -> Option<Spec> {
    if file == *made {
        return None;
    }
    if !quiet {
        let (name, path) = (&made.name, path.display());
        out::error_line(&format!(
            "{} {name} is looked at as it was made; `swdt cluster plan --config {path}` shows what the file would change",
            "note:".cyan()
        ));
    }
    let nodes: Vec<_> = file.nodes.iter().filter(|node| made.node(&node.name).is_none()).cloned().collect();
    (!nodes.is_empty()).then_some(Spec { nodes, ..file })
}
