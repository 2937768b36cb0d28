//! `swdt config …`

mod ask;
pub(super) mod create;
pub(super) mod explain;
pub(super) mod migrate;
mod written;

use std::{collections::BTreeMap, io, path::Path};

use owo_colors::OwoColorize;
use swdt_core::{
    Error, ErrorKind, Result,
    catalog::{self, Finding, Verdict},
    config::{self, Problems},
    id,
    spec::{Place, Spec},
};
use swdt_wire::Facts;

use crate::{
    args::{Format, Global},
    failure::{self, Failed},
    host,
    mistyped::is_yaml,
    out,
    render::{Volume, count},
};

/// Reads and checks a configuration file, also whether its versions go together. Doubts are told.
pub(super) fn read(global: &Global, path: &Path, format: Format) -> Result<(Spec, Vec<u8>), Failed> {
    let (spec, bytes) = parse(global, path)?;
    judge_file(global, path, &bytes, &spec, format)?;
    Ok((spec, bytes))
}

/// What does not go together, as far as the file and these facts tell. All refusals are one error; doubts are given back,
/// and told unless a program reads what is said.
pub(super) fn judge(
    global: &Global,
    spec: &Spec,
    facts: &BTreeMap<String, Facts>,
    format: Format,
) -> Result<Vec<String>> {
    let (refused, doubts) = parted(catalog::check(spec, facts)?);
    let told = doubted(global, spec, &doubts, format);
    Error::all(refused.into_iter().map(Error::from).collect()).map_or(Ok(told), Err)
}

/// The same as far as the file tells, each refusal at its place in it.
fn judge_file(
    global: &Global,
    path: &Path,
    bytes: &[u8],
    spec: &Spec,
    format: Format,
) -> Result<Vec<String>, Failed> {
    let (refused, doubts) = parted(catalog::check(spec, &BTreeMap::new())?);
    let told = doubted(global, spec, &doubts, format);
    apart(path, bytes, refused).map_or(Ok(told), |problems| Err(problems.into()))
}

/// Refusals and doubts.
fn parted(findings: Vec<Finding>) -> (Vec<Finding>, Vec<Finding>) {
    findings.into_iter().partition(|finding| finding.verdict == Verdict::Refuse)
}

/// Refusals as problems of the file.
fn apart(path: &Path, bytes: &[u8], refused: Vec<Finding>) -> Option<Problems> {
    let of = |finding: Finding| {
        let node = finding.node.as_ref().map_or(String::new(), |node| format!("{node}: "));
        config::Apart {
            message: format!("{node}{} ({})", finding.message, finding.reason),
            hint: format!("{}; see {}", finding.todo, finding.source),
            node: finding.node,
            component: finding.component,
        }
    };
    let refused: Vec<_> = refused.into_iter().map(of).collect();
    config::apart(&path.to_string_lossy(), bytes, &refused)
}

/// What is doubted, told unless a program reads what is said.
fn doubted(global: &Global, spec: &Spec, doubts: &[Finding], format: Format) -> Vec<String> {
    let mut told = Vec::new();
    for (doubt, nodes) in by_words(doubts) {
        let place = if nodes.is_empty() { String::new() } else { format!("{}: ", nodes.join(", ")) };
        told.push(format!("{place}{doubt}"));
    }
    for (key, nodes) in lost_keys(spec) {
        told.push(format!("{}: there is no SSH key {}", nodes.join(", "), key.display()));
    }
    if global.volume() != Volume::Quiet && !format.json() {
        for doubt in &told {
            out::error_line(&format!("{} {doubt}", "warning:".yellow()));
        }
    }
    told
}

/// What is doubted of several nodes is said once.
fn by_words(doubts: &[Finding]) -> Vec<(String, Vec<&str>)> {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for finding in doubts {
        let words = finding.to_string();
        let at = told.iter().position(|(known, _)| *known == words).unwrap_or(told.len());
        if at == told.len() {
            told.push((words, Vec::new()));
        }
        told[at].1.extend(finding.node.as_deref());
    }
    told
}

/// Keys that are named and not there. Another host may have them, so that the file is none the worse.
fn lost_keys(spec: &Spec) -> BTreeMap<&Path, Vec<&str>> {
    let mut lost: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    for node in &spec.nodes {
        if let (Place::Existing { .. }, Some(key)) = (&node.place, node.connection.key.as_deref())
            && !key.exists()
        {
            lost.entry(key).or_default().push(&node.name);
        }
    }
    lost
}

/// Which file may have been meant, or how to get one.
fn other_file(path: &Path) -> String {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let yaml = names.iter().map(String::as_str).filter(|name| is_yaml(name));
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    match swdt_core::words::nearest(&wanted, yaml) {
        Some(near) => format!("did you mean `{}`?", path.with_file_name(near).display()),
        None => "`swdt config create --output my-cluster.yaml` writes one, by questions".to_owned(),
    }
}

/// The cluster that bytes describe, or every problem of them.
fn load(path: &Path, bytes: &[u8]) -> Result<Spec, Failed> {
    let (home, base) = (host::home(), base_dir(path)?);
    config::load(&path.to_string_lossy(), bytes, home.as_deref(), &base).map_err(|problems| {
        // As much as can be read is judged, too.
        let refused = || {
            let (kubernetes, cni) = config::kubernetes(bytes)?;
            let nodes = config::nodes(bytes, home.as_deref(), &base);
            let found = catalog::check_nodes(&kubernetes, cni, nodes.iter().flatten(), &BTreeMap::new());
            apart(path, bytes, parted(found.ok()?).0)
        };
        Failed::Config(problems.and(refused()))
    })
}

fn parse(global: &Global, path: &Path) -> Result<(Spec, Vec<u8>), Failed> {
    let bytes = written::bytes(path).map_err(|error| {
        let told = written::unreadable(path, &error);
        match error.kind() {
            io::ErrorKind::NotFound => told.hinted(other_file(path)),
            _ => told,
        }
    })?;
    let spec = load(path, &bytes)?;
    match &global.cluster {
        Some(named) if *named != spec.name => {
            let message = format!("`{named}` was asked for, but the file describes `{}`", spec.name);
            let hint = "the file names the cluster: leave --cluster and SWDT_CLUSTER out";
            Err(Error::new(id::ARGUMENTS_CONFLICT, message).hinted(hint).into())
        }
        _ => Ok((spec, bytes)),
    }
}

/// Relative paths in a file are relative to the file.
fn base_dir(path: &Path) -> Result<std::path::PathBuf> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::new(id::CONFIG_UNREADABLE, format!("{}: {error}", path.display())))?;
    Ok(absolute.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Says whether a file is valid; every problem at once if not.
pub(super) fn validate(global: &Global, path: &Path, format: Format) -> Result<u8, Failed> {
    let checked = parse(global, path).and_then(|(spec, bytes)| {
        let doubts = judge_file(global, path, &bytes, &spec, format)?;
        Ok((spec, doubts))
    });
    let (spec, doubts) = match checked {
        // Here the problems are the answer, not a failure to give one.
        Err(Failed::Config(problems)) if format.json() => {
            let document = serde_json::json!({ "valid": false, "problems": failure::list(&problems) });
            out::line(&document.to_string());
            return Ok(ErrorKind::Config.exit_code());
        }
        checked => checked?,
    };
    if format.json() {
        let document = serde_json::json!({
            "valid": true, "cluster": spec.name, "nodes": spec.nodes.len(), "warnings": doubts
        });
        out::line(&document.to_string());
    } else if global.volume() != Volume::Quiet {
        out::line(&format!(
            "{} is valid: cluster {}, Kubernetes {}, {}",
            path.display(),
            spec.name,
            spec.kubernetes,
            count(spec.nodes.len() as u64, "node")
        ));
    }
    Ok(0)
}

pub(super) fn schema(output: Option<&Path>) -> Result<()> {
    let text = format!("{:#}\n", config::schema());
    match output {
        None => out::raw(text.as_bytes()),
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Error::new(id::OUTPUT_NOT_WRITTEN, format!("cannot write {}: {error}", path.display()))
        })?,
    }
    Ok(())
}
