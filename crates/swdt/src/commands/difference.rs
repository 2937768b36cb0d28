//! `swdt cluster plan` of a cluster that is there: what `update` would change.

use std::collections::BTreeMap;

use owo_colors::OwoColorize;
use serde_json::json;
use swdt_core::{
    Error, id,
    run::{self, CreateOptions, Difference, Looked},
    spec::Spec,
};
use swdt_wire::{Resource, Status};

use super::{block_on, plan::Wish};
use crate::{
    args::{Format, Global, HostKeys},
    failure::Failed,
    host, out,
    render::{count, describe, wrapped},
};

/// What is to become of a resource.
enum Fate<'a> {
    /// It differs, in this way.
    Change(&'a str),
    /// What it shall be is known during the run only.
    Later,
}

pub(super) fn run(
    global: &Global,
    spec: &Spec,
    wish: &Wish<'_>,
    hosts: &HostKeys,
    format: Format,
) -> Result<(), Failed> {
    let host = host::host(global, hosts.accept_new_host_keys)?;
    let options = CreateOptions { until: wish.until.map(ToOwned::to_owned) };
    let difference = block_on(run::difference(&host, spec, wish.prune, &options))?.ok_or_else(|| {
        let message = format!("there is no cluster {} yet that a node could leave", spec.name);
        Error::new(id::CLUSTER_NONE, message).hinted("`swdt cluster create` with the same file makes it")
    })?;
    if format.json() {
        out::line(&as_json(spec, &difference).to_string());
    } else {
        as_text(spec, &difference);
    }
    // Told as `update` would.
    difference.refused.map_or(Ok(()), |error| Err(error.into()))
}

/// What is not true, in order.
fn fates(looked: &Looked) -> Vec<(&Resource, Fate<'_>)> {
    let found: BTreeMap<&str, &Status> =
        looked.checked.iter().map(|checked| (checked.id.as_str(), &checked.status)).collect();
    let fate = |resource: &Resource| match found.get(resource.id.as_str()) {
        Some(Status::Satisfied) => None,
        Some(Status::Differs(why)) => Some(Fate::Change(why)),
        None => Some(Fate::Later),
    };
    let resources = looked.plan.resources();
    resources.filter_map(|resource| Some((resource, fate(resource)?))).collect()
}

fn as_text(spec: &Spec, difference: &Difference) {
    let width = out::width();
    out::line(&format!("cluster {}, Kubernetes {}: what `update` would do", spec.name, spec.kubernetes));
    for leaves in &difference.leaves {
        let what = match leaves.changes {
            Some(changes) => {
                format!("leaves: drained, deleted, {} undone on its machine", count(changes as u64, "change"))
            }
            None if difference.refused.is_some() => "would leave".to_owned(),
            None => "leaves: drained, deleted, its machine removed".to_owned(),
        };
        out::line(&wrapped(&format!("\n{}  ", leaves.node.bold()), &what, width));
    }
    for name in &difference.comes {
        if !difference.looked.iter().any(|looked| looked.node == *name) {
            let what = if difference.refused.is_some() { "would come" } else { "comes: its machine is made" };
            out::line(&format!("\n{}  {what}", name.bold()));
        }
    }
    for looked in &difference.looked {
        node(looked, difference, width);
    }
    out::line(&format!("\n{}", verdict(difference)));
}

fn node(looked: &Looked, difference: &Difference, width: Option<usize>) {
    let fates = fates(looked);
    let undone = difference.undone.get(&looked.node).map(Vec::as_slice).unwrap_or_default();
    if fates.is_empty() && undone.is_empty() {
        out::line(&format!("\n{}  stays as it is", looked.node.bold()));
        return;
    }
    let comes = if difference.comes.contains(&looked.node) { "  comes" } else { "" };
    out::line(&format!("\n{}{comes}", looked.node.bold()));
    for id in undone {
        out::line(&format!("  - {id}").yellow().to_string());
    }
    for (resource, fate) in fates {
        let (mark, now) = match fate {
            Fate::Change(why) => ('~', Some(why)),
            Fate::Later => ('?', None),
        };
        out::line(&format!("  {mark} {}", resource.id).yellow().to_string());
        out::line(&wrapped("      ", &describe(&resource.kind), width));
        if let Some(now) = now {
            out::line(&wrapped("      now: ", now, width).dimmed().to_string());
        }
    }
}

/// Everything in one line that also says what the marks mean.
fn verdict(difference: &Difference) -> String {
    if difference.refused.is_some() {
        return "nothing, because it is refused:".to_owned();
    }
    let fates: Vec<_> = difference.looked.iter().flat_map(fates).collect();
    let later = fates.iter().filter(|(_, fate)| matches!(fate, Fate::Later)).count();
    let undone: usize = difference.undone.values().map(Vec::len).sum();
    if fates.is_empty() && undone == 0 && difference.comes.is_empty() && difference.leaves.is_empty() {
        return "nothing: everything is true already".to_owned();
    }
    format!(
        "~ to be changed: {}   - to be undone: {undone}   ? known during the run: {later}",
        fates.len() - later
    )
}

fn as_json(spec: &Spec, difference: &Difference) -> serde_json::Value {
    let leaves = difference.leaves.iter().map(|it| json!({ "node": it.node, "changes": it.changes }));
    let nodes = difference.looked.iter().map(|looked| {
        let change = fates(looked).into_iter().map(|(resource, fate)| {
            let now = match fate {
                Fate::Change(why) => Some(why),
                Fate::Later => None,
            };
            json!({ "resource": resource.redacted(), "now": now })
        });
        let undone = difference.undone.get(&looked.node).map(Vec::as_slice).unwrap_or_default();
        (looked.node.clone(), json!({ "change": change.collect::<Vec<_>>(), "undo": undone }))
    });
    json!({
        "cluster": spec.name,
        "comes": difference.comes,
        "leaves": leaves.collect::<Vec<_>>(),
        "nodes": nodes.collect::<serde_json::Map<_, _>>(),
        "refused": difference.refused.is_some(),
    })
}
