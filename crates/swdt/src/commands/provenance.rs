//! Where a cluster's programs and images came from, for `swdt cluster status`.

use std::collections::BTreeMap;

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use swdt_core::{artifact::Artifacts, state::State};

use crate::{
    out,
    render::{Table, count, wrapped},
};

/// Programs of one origin in a row; nodes are named only where they differ. In brief, only what the user put there: a
/// screenful of origins would push the nodes off the screen.
pub(super) fn print(artifacts: Option<&Artifacts>, state: &State, brief: bool) {
    let mut programs = artifacts.map(programs).unwrap_or_default();
    let count_programs = programs.iter().map(|(_, names)| names.len() as u64).sum();
    programs.retain(|(from, _)| !brief || from.contains("swdt node replace"));
    list("PROGRAMS", programs.into_iter().map(|(from, names)| [names.join(", "), from]).collect());
    let ours: Vec<_> = artifacts.iter().flat_map(|artifacts| &artifacts.images).collect();
    let count_images = ours.len() as u64;
    let ours = ours.into_iter().filter(|_| !brief);
    let ours = ours.map(|image| [image.reference.clone(), image.archive.from.clone()]);
    let brought = state.images.iter().map(|(reference, image)| {
        [reference.clone(), format!("{}, on {}", image.from, count(image.nodes.len() as u64, "node"))]
    });
    list("IMAGES", ours.chain(brought).collect());
    if brief && artifacts.is_some() {
        let (programs, images) = (count(count_programs, "program"), count(count_images, "image"));
        out::line(&format!("\n{programs}, {images}; {} says where each is from", "--verbose".bold()));
    }
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
