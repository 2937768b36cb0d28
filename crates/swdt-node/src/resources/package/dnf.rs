//! Packages by dnf (4 and 5) and rpm.

use super::{
    Plan, Reverted,
    hints::{hinted, unreachable},
    locks, needed_by, strs,
};
use crate::{Ctx, Error, Result};

/// dnf by its names; `dnf` may be either generation.
pub(super) const PROGRAMS: [&str; 2] = ["dnf", "dnf5"];

/// Locks of rpm, at its new and its old place. dnf waits for its own by itself.
const LOCKS: [&str; 2] = ["/usr/lib/sysimage/rpm/.rpm.lock", "/var/lib/rpm/.rpm.lock"];

/// Which of these are not installed, and provided by nothing that is?
pub(super) fn missing(ctx: &Ctx, names: &[String]) -> Result<Vec<String>> {
    let mut argv = vec!["rpm", "-q", "--whatprovides"];
    argv.extend(strs(names));
    Ok(parse_missing(&ctx.query(&argv)?.stdout, names))
}

/// What `dnf install` would do.
pub(super) fn plan(ctx: &Ctx, names: &[String]) -> Result<Plan> {
    locks::wait(ctx, &LOCKS, locks::PATIENCE)?;
    // Ends with 1, "operation aborted", after it has shown the transaction.
    let mut argv = install_argv(ctx, names);
    argv.retain(|word| word != "-y");
    argv.insert(1, "--assumeno".into());
    let said = ctx.query(&strs(&argv))?;
    let plan = parse_transaction(&said.stdout);
    if !plan.adds.is_empty() && Some(plan.adds.len()) == announced(&said.stdout) {
        return Ok(plan);
    }
    let output: Vec<String> = said.stdout.lines().chain(said.stderr.lines()).map(str::to_owned).collect();
    let message = match unknown(&output) {
        Some(package) if unreachable(&output) => {
            format!("package {package} is not known, and a repository could not be reached")
        }
        Some(package) => format!("there is no package {package} for this machine"),
        None => "dnf does not say what it would install".to_owned(),
    };
    Err(hinted(Error { message, output, hint: None }))
}

/// Installs.
pub(super) fn install(ctx: &Ctx, names: &[String]) -> Result<()> {
    locks::wait(ctx, &LOCKS, locks::PATIENCE)?;
    if names.is_empty() {
        return Ok(());
    }
    ctx.change(&strs(&install_argv(ctx, names))).map_err(|error| {
        hinted(Error { message: format!("dnf could not install {}", names.join(", ")), ..error })
    })
}

/// Removes exactly `adds`.
pub(super) fn remove(ctx: &Ctx, adds: &[String], force: bool) -> Result<Reverted> {
    locks::wait(ctx, &LOCKS, locks::PATIENCE)?;
    let mut query = vec!["rpm", "-q", "--qf", "%{NAME}.%{ARCH}\\n"];
    query.extend(strs(adds));
    let installed = ctx.query(&query)?.stdout;
    let present: Vec<String> =
        adds.iter().filter(|name| installed.lines().any(|line| line == *name)).cloned().collect();
    if present.is_empty() {
        return Ok(Reverted::Yes);
    }
    let mut test = vec!["rpm", "-e", "--test"];
    test.extend(strs(&present));
    let said = ctx.query(&test)?;
    let others = dependents(&format!("{}\n{}", said.stdout, said.stderr));
    if !others.is_empty() && !force {
        return Ok(needed_by(&others));
    }
    // dnf, and not rpm, so that its memory of what was asked for stays right.
    let mut argv = vec![program(ctx), "-y", "--setopt=clean_requirements_on_remove=False", "remove"];
    argv.extend(strs(&present));
    ctx.change(&argv).map_err(hinted)?;
    Ok(Reverted::Yes)
}

fn program(ctx: &Ctx) -> &'static str {
    PROGRAMS.into_iter().find(|program| ctx.has_program(program)).unwrap_or(PROGRAMS[0])
}

fn install_argv(ctx: &Ctx, names: &[String]) -> Vec<String> {
    let head =
        [program(ctx), "-y", "--setopt=install_weak_deps=False", "--setopt=keepcache=False", "install"];
    head.iter().map(ToString::to_string).chain(names.iter().cloned()).collect()
}

/// Names for which rpm says `no package provides NAME`.
pub(crate) fn parse_missing(text: &str, names: &[String]) -> Vec<String> {
    let says = |name: &&String| {
        text.lines().any(|line| line.strip_prefix("no package provides ") == Some(name.as_str()))
    };
    names.iter().filter(says).cloned().collect()
}

/// The table of a transaction: sections with a title, rows of `name arch version repository size unit`.
/// Long names wrap, so rows are read word by word and not line by line.
pub(crate) fn parse_transaction(text: &str) -> Plan {
    enum Section {
        Adds,
        Upgrades,
        Removes,
        Other,
    }
    let mut plan = Plan::default();
    let mut section = Section::Other;
    let mut row: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.starts_with("Transaction Summary") {
            break;
        }
        // Rows are indented, titles are not.
        if !line.starts_with(' ') {
            row.clear();
            section = match line.trim_end_matches(':') {
                title if title.starts_with("Installing") => Section::Adds,
                title if title.starts_with("Upgrading") || title.starts_with("Downgrading") => {
                    Section::Upgrades
                }
                title if title.starts_with("Removing") => Section::Removes,
                _ => Section::Other,
            };
            continue;
        }
        // What a new package takes the place of is shown below it; an upgrade's own old version is no loss.
        if line.trim_start().starts_with("replacing ") {
            let old = line.split_whitespace().nth(1).unwrap_or_default();
            let upgraded = plan.upgrades.iter().any(|new| new == old || new.starts_with(&format!("{old}.")));
            if !upgraded {
                plan.removes.push(old.to_owned());
            }
            continue;
        }
        row.extend(line.split_whitespace());
        if row.len() >= 6 {
            let package = format!("{}.{}", row[0], row[1]);
            match section {
                Section::Adds => plan.adds.push(package),
                Section::Upgrades => plan.upgrades.push(package),
                Section::Removes => plan.removes.push(package),
                Section::Other => {}
            }
            row.clear();
        }
    }
    plan
}

/// How many packages the summary says will be new: `Install  3 Packages` (4), ` Installing:  3 packages` (5).
/// A table we misread must not become a receipt.
fn announced(text: &str) -> Option<usize> {
    let (_, summary) = text.split_once("Transaction Summary")?;
    summary.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let verb = words.next()?.trim_end_matches(':');
        matches!(verb, "Install" | "Installing").then(|| words.next()?.parse().ok())?
    })
}

/// The package dnf does not know: `Unable to find a match: NAME`, `No match for argument: NAME`.
pub(crate) fn unknown(output: &[String]) -> Option<String> {
    output.iter().find_map(|line| {
        let (_, name) = line
            .split_once("No match for argument: ")
            .or_else(|| line.split_once("Unable to find a match: "))?;
        Some(name.trim().to_owned())
    })
}

/// Packages that need what shall go: `X is needed by (installed) other-1.0-1.noarch`.
pub(crate) fn dependents(text: &str) -> Vec<String> {
    let mut others: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once(" is needed by (installed) "))
        .map(|(_, other)| other.trim().to_owned())
        .collect();
    others.sort();
    others.dedup();
    others
}

#[cfg(test)]
mod tests;
