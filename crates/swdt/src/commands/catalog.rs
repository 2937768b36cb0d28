//! `swdt catalog`

use owo_colors::OwoColorize;
use serde_json::json;
use swdt_core::{
    Result,
    catalog::{self, COMPARED, Minor, Rule, Verdict},
    source::Piece,
};

use crate::{
    args::Format,
    out,
    render::{Table, wrapped},
};

pub(super) fn run(kubernetes: Option<&str>, format: Format) -> Result<()> {
    let all = catalog::catalog()?;
    let minors: Vec<&Minor> = match kubernetes {
        Some(_) => vec![catalog::meant(kubernetes)?.minor()],
        None => all.kubernetes.iter().collect(),
    };
    if format.json() {
        let compared = COMPARED.iter().map(
            |(id, says, source)| json!({ "id": id, "verdict": "refuse", "says": says, "source": source }),
        );
        let document = json!({
            "default": all.default,
            "go": all.go,
            "kubernetes": minors,
            "windows": all.windows,
            "rules": all.rules,
            "compared": compared.collect::<Vec<_>>(),
        });
        out::line(&document.to_string());
        return Ok(());
    }
    let width = out::width();
    out::line(&"Versions that go together".bold().to_string());
    out::line(&versions(&minors).coloured(width));
    for minor in &minors {
        let ranges = minor.containerd.iter().map(|range| range.to_string().replace(' ', ""));
        let ranges = ranges.collect::<Vec<_>>().join(" or ");
        out::line(&wrapped(&format!("{}: containerd may be ", minor.minor), &ranges, width));
    }
    for minor in &minors {
        out::line(&wrapped(&format!("{} was read at ", minor.minor), &minor.seen, width));
        if let Some(note) = &minor.note {
            out::line(&wrapped(&format!("{}: ", minor.minor), note, width));
        }
    }
    out::line(&format!(
        "Without a version, Kubernetes {} is meant. Go {} builds.",
        all.default, all.go.version
    ));
    out::line(&format!("\n{}", "Windows".bold()));
    for release in &all.windows {
        let about = format!("build {}, base images {}", release.build, release.image);
        out::line(&format!("  {}: {about}, pause {} or later", release.name, release.pause));
    }
    out::line(&format!("\n{}", "What does not go together".bold()));
    for (id, says, source) in COMPARED {
        out::line(&rule(id, Verdict::Refuse, says, &[], source, width));
    }
    for Rule { id, verdict, says, reason, todo, source, .. } in &all.rules {
        out::line(&rule(id, *verdict, says, &[("why", reason), ("do", todo)], source, width));
    }
    Ok(())
}

/// A row for each component, a column for each minor. There are four at most.
fn versions(minors: &[&Minor]) -> Table<5> {
    let column = |of: &dyn Fn(&Minor) -> String, head: String| -> [String; 5] {
        let mut cells = [head, String::new(), String::new(), String::new(), String::new()];
        for (cell, minor) in cells.iter_mut().skip(1).zip(minors) {
            *cell = of(minor);
        }
        cells
    };
    let head = column(&|minor| minor.minor.clone(), "COMPONENT".to_owned());
    let mut table = Table::new([&head[0], &head[1], &head[2], &head[3], &head[4]]);
    table.row(column(&|minor| minor.newest.to_string(), "kubernetes".to_owned()));
    for piece in Piece::all()
        .map(Piece::as_str)
        .filter(|name| minors.iter().any(|one| one.versions.contains_key(*name)))
    {
        let version = |minor: &Minor| minor.versions.get(piece).map_or_else(String::new, ToString::to_string);
        table.row(column(&version, piece.to_owned()));
    }
    table
}

fn rule(
    id: &str,
    verdict: Verdict,
    says: &str,
    more: &[(&str, &String)],
    source: &str,
    width: Option<usize>,
) -> String {
    let verdict = match verdict {
        Verdict::Refuse => "refused".red().to_string(),
        Verdict::Warn => "warning".yellow().to_string(),
    };
    let mut lines = vec![format!("  {} ({verdict})", id.bold()), wrapped("    ", says, width)];
    lines.extend(more.iter().map(|(word, text)| wrapped(&format!("    {word}: "), text, width)));
    lines.push(format!("    {}", source.dimmed()));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns that do not fit are left out, and the newest are the last.
    #[test]
    fn all_versions_fit_an_ordinary_terminal() {
        let minors: Vec<&Minor> = catalog::catalog().unwrap().kubernetes.iter().collect();
        let table = versions(&minors);
        assert_eq!(table.text(Some(80)), table.text(None));
    }
}
