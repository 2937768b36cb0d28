//! Where a cluster's programs and images came from, for `swdt cluster status`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use swdt_core::{artifact::Artifacts, state::State};

use crate::{
    out,
    render::{Table, count, wrapped},
};

/// Programs of one origin in a row; nodes are named only where they differ.
pub(super) fn print(artifacts: Option<&Artifacts>, state: &State) {
    let programs = artifacts.map(programs).unwrap_or_default();
    list("PROGRAMS", programs.into_iter().map(|(from, names)| [names.join(", "), from]).collect());
    let ours = artifacts.iter().flat_map(|artifacts| &artifacts.images);
    let ours = ours.map(|image| [image.reference.clone(), image.archive.from.clone()]);
    let brought = state.images.iter().map(|(reference, image)| {
        [reference.clone(), format!("{}, on {}", image.from, count(image.nodes.len() as u64, "node"))]
    });
    list("IMAGES", ours.chain(brought).collect());
}

/// A table; where the terminal is too narrow for one, the origins go below.
fn list(what: &str, rows: Vec<[String; 2]>) {
    if rows.is_empty() {
        return;
    }
    out::line("");
    let width = out::width();
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    if width.is_none_or(|width| width >= widest(0) + widest(1) + 2) {
        let mut table = Table::new([what, "FROM"]);
        for row in rows {
            table.row(row);
        }
        out::line(&table.coloured(width));
        return;
    }
    out::line(&format!("{what} and where they are from").to_lowercase());
    for [names, from] in rows {
        out::line(&wrapped("  ", &names, width));
        out::line(&wrapped("      ", &from, width));
    }
}

fn programs(artifacts: &Artifacts) -> Vec<(String, Vec<String>)> {
    let mut found: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (node, programs) in &artifacts.programs {
        for (name, artifact) in programs {
            found.entry((&artifact.from, name)).or_default().push(node);
        }
    }
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((from, name), nodes) in found {
        let everywhere = nodes.len() == artifacts.programs.len();
        let name = if everywhere { name.to_owned() } else { format!("{name} ({})", nodes.join(", ")) };
        rows.entry(from.to_owned()).or_default().push(name);
    }
    rows.into_iter().collect()
}

pub(super) fn as_json(artifacts: Option<&Artifacts>, state: &State) -> Value {
    let images = artifacts
        .iter()
        .flat_map(|artifacts| &artifacts.images)
        .map(|image| json!({ "image": image.reference, "digest": image.digest, "from": image.archive.from }));
    let brought = state.images.iter().map(|(reference, image)| {
        json!({ "image": reference, "digest": image.digest, "from": image.from, "nodes": image.nodes })
    });
    json!({
        "programs": artifacts.map(|artifacts| &artifacts.programs),
        "images": images.chain(brought).collect::<Vec<_>>(),
    })
}
