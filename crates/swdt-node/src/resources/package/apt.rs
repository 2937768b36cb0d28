//! Packages by apt and dpkg.

use super::{Plan, Reverted, hints::hinted, locks, needed_by, strs};
use crate::{Ctx, Error, Result};

/// Locks that apt and dpkg take. apt itself waits only for the first.
const LOCKS: [&str; 4] = [
    "/var/lib/dpkg/lock-frontend",
    "/var/lib/dpkg/lock",
    "/var/lib/apt/lists/lock",
    "/var/cache/apt/archives/lock",
];

/// apt-get in a known mood: waits for a lock that is taken between our look and its own, keeps
/// configuration files, keeps no downloads, removes nothing by itself, and restarts no service of
/// others (needrestart only lists).
const APT: [&str; 17] = [
    "env",
    "NEEDRESTART_MODE=l",
    "APT_LISTCHANGES_FRONTEND=none",
    "UCF_FORCE_CONFFOLD=1",
    "apt-get",
    "-q",
    "-o",
    "DPkg::Lock::Timeout=300",
    "-o",
    "Dpkg::Options::=--force-confold",
    "-o",
    "Dpkg::Use-Pty=0",
    "-o",
    "APT::Keep-Downloaded-Packages=false",
    "-o",
    "APT::Get::AutomaticRemove=false",
    "-y",
];

/// How long a first boot may keep us waiting.
const CLOUD_INIT_SECONDS: &str = "600";

/// Which of these are not installed?
pub(super) fn missing(ctx: &Ctx, names: &[String]) -> Result<Vec<String>> {
    let states = states(ctx, names)?;
    let installed =
        |name: &str| states.iter().any(|(package, state)| package == name && state == "installed");
    Ok(names.iter().filter(|name| !installed(name)).cloned().collect())
}

/// Which of these have left configuration files behind?
pub(super) fn with_config_files(ctx: &Ctx, names: &[String]) -> Result<Vec<String>> {
    let states = states(ctx, names)?;
    let left = |name: &str| states.iter().any(|(package, state)| package == name && state == "config-files");
    Ok(names.iter().filter(|name| left(name)).cloned().collect())
}

/// What `apt-get install` would do; brings package lists when a package is not known without.
pub(super) fn plan(ctx: &Ctx, names: &[String]) -> Result<Plan> {
    settle(ctx)?;
    repair(ctx)?;
    let argv = install_argv(names);
    match simulate(ctx, &argv) {
        Err(error) if unknown(&error.output).is_some() => {
            // One broken repository of the user's must not stop us, if the others have what we need.
            let update = update(ctx).map_err(hinted);
            simulate(ctx, &argv).map_err(|error| {
                let package = unknown(&error.output).unwrap_or_default();
                match update {
                    Err(update) => Error {
                        message: format!("package {package} is not known, and the package lists could not be brought up to date"),
                        ..update
                    },
                    Ok(()) => Error { message: format!("there is no package {package} for this machine"), ..hinted(error) },
                }
            })
        }
        other => other.map_err(hinted),
    }
}

/// Installs. Also finishes what a killed run left half-way.
pub(super) fn install(ctx: &Ctx, names: &[String]) -> Result<()> {
    settle(ctx)?;
    repair(ctx)?;
    let argv = install_argv(names);
    simulate(ctx, &argv).map_err(hinted)?.refuse_removals(names)?;
    let install = || ctx.change(&strs(&argv));
    let stale = |error: &Error| {
        error.output.iter().any(|line| line.contains("404 ") || line.contains("Hash Sum mismatch"))
    };
    match install() {
        Err(error) if stale(&error) => update(ctx).and_then(|()| install()),
        other => other,
    }
    .map_err(|error| {
        hinted(Error { message: format!("apt-get could not install {}", names.join(", ")), ..error })
    })
}

/// Removes exactly `adds`; `config_files` of them keep their configuration, as they did before us.
pub(super) fn remove(ctx: &Ctx, adds: &[String], config_files: &[String], force: bool) -> Result<Reverted> {
    settle(ctx)?;
    if interrupted(ctx)? {
        // Fails when dependencies never arrived; such packages can be removed all the same.
        let _ = configure(ctx);
    }
    let states = states(ctx, adds)?;
    let in_state = |wanted: fn(&str) -> bool| -> Vec<String> {
        let has = |name: &&String| states.iter().any(|(package, state)| package == *name && wanted(state));
        adds.iter().filter(has).cloned().collect()
    };
    let present = in_state(|state| state != "config-files" && state != "not-installed");
    if !present.is_empty() {
        let argv = argv("remove", &present);
        let others: Vec<String> = simulate(ctx, &argv)
            .map_err(hinted)?
            .removes
            .into_iter()
            .filter(|name| !adds.contains(name))
            .collect();
        if !others.is_empty() && !force {
            return Ok(needed_by(&others));
        }
        ctx.change(&strs(&argv)).map_err(hinted)?;
    }
    // Removing first and purging after lets dpkg forget packages one by one, whatever depends on what.
    let mut purge = in_state(|state| state != "not-installed");
    purge.retain(|name| !config_files.contains(name));
    if !purge.is_empty() {
        ctx.change(&strs(&argv("purge", &purge))).map_err(hinted)?;
    }
    Ok(Reverted::Yes)
}

/// Waits for a first boot that still installs things, and for package managers at work.
fn settle(ctx: &Ctx) -> Result<()> {
    let booting = ctx.path("/run/cloud-init").exists()
        && !ctx.path("/run/cloud-init/result.json").exists()
        && !ctx.path("/run/cloud-init/disabled").exists();
    if booting && ctx.has_program("cloud-init") {
        ctx.note("waiting for cloud-init to finish the first boot");
        // How cloud-init ended is not our business; packages will tell.
        let _ = ctx.query(&["timeout", CLOUD_INIT_SECONDS, "cloud-init", "status", "--wait"])?;
    }
    locks::wait(ctx, &LOCKS, locks::PATIENCE)
}

fn update(ctx: &Ctx) -> Result<()> {
    // Without this mode, apt-get answers 0 when a mirror cannot be reached.
    let mut argv: Vec<&str> = APT.to_vec();
    argv.extend(["-o", "APT::Update::Error-Mode=any", "update"]);
    ctx.change(&argv)
}

fn argv(verb: &str, names: &[String]) -> Vec<String> {
    let options = APT.iter().map(ToString::to_string);
    options.chain([verb.to_owned(), "--".to_owned()]).chain(names.iter().cloned()).collect()
}

fn install_argv(names: &[String]) -> Vec<String> {
    let mut argv = argv("install", names);
    argv.insert(APT.len() + 1, "--no-install-recommends".into());
    argv
}

fn install_with(option: &str, names: &[String]) -> Vec<String> {
    let mut argv = install_argv(names);
    argv.insert(APT.len() + 1, option.into());
    argv
}

/// Finishes what a killed run left half-way: ours, whose receipt is written, or somebody's, which is
/// not ours to undo. apt refuses everything else until then.
fn repair(ctx: &Ctx) -> Result<()> {
    if !interrupted(ctx)? {
        return Ok(());
    }
    let configured = configure(ctx);
    unpack_again(ctx)?;
    if configured.is_ok() {
        return Ok(());
    }
    // Unpacked before what they depend on: only apt can bring the rest, and only when it is not asked for more.
    let argv = install_with("--fix-broken", &[]);
    simulate(ctx, &argv).map_err(hinted)?.refuse_removals(&["packages that are half installed".into()])?;
    ctx.change(&strs(&argv)).map_err(|error| {
        hinted(Error {
            message: "packages that were left half installed could not be finished".into(),
            ..error
        })
    })
}

/// Packages that a dpkg died over while it unpacked them: apt takes them for installed, and does nothing unless it is told.
/// What is somebody's, and no repository has any more, need not be mended by us; whatever we miss is told later.
fn unpack_again(ctx: &Ctx) -> Result<()> {
    let states = states(ctx, &[])?.into_iter();
    let half = states.filter(|(name, state)| state == "half-installed" && name.contains(':'));
    let half: Vec<String> = half.map(|(name, _)| name).collect();
    let argv = install_with("--reinstall", &half);
    if !half.is_empty() && simulate(ctx, &argv).is_ok_and(|plan| plan.removes.is_empty()) {
        let _ = ctx.change(&strs(&argv));
    }
    Ok(())
}

fn configure(ctx: &Ctx) -> Result<()> {
    ctx.change(&["dpkg", "--configure", "-a", "--force-confold"])
}

/// What an apt-get command would do.
fn simulate(ctx: &Ctx, argv: &[String]) -> Result<Plan> {
    let mut argv = strs(argv);
    argv.insert(APT.len(), "-s");
    let said = ctx.query(&argv)?;
    if said.ok() {
        return Ok(parse_simulation(&said.stdout));
    }
    let output = said.stderr.lines().chain(said.stdout.lines().rev().take(10)).map(str::to_owned).collect();
    Err(Error { message: "apt-get refuses".into(), output, hint: None })
}

/// `Inst name (new …)`, `Inst name [old] (new …)`, `Remv name [old]`, `Purg name [old]`.
pub(crate) fn parse_simulation(text: &str) -> Plan {
    let mut plan = Plan::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(verb), Some(name)) = (words.next(), words.next()) else { continue };
        let list = match verb {
            "Inst" if words.next().is_some_and(|word| word.starts_with('[')) => &mut plan.upgrades,
            "Inst" => &mut plan.adds,
            "Remv" | "Purg" => &mut plan.removes,
            _ => continue,
        };
        list.push(name.to_owned());
    }
    plan
}

/// The package apt-get does not know.
pub(crate) fn unknown(output: &[String]) -> Option<String> {
    output.iter().find_map(|line| {
        let line = line.strip_prefix("E: ")?;
        let name = line.strip_prefix("Unable to locate package ").or_else(|| {
            line.strip_prefix("Package ")?
                .strip_suffix(" has no installation candidate")
                .map(|name| name.trim_matches('\''))
        })?;
        Some(name.to_owned())
    })
}

/// Did a dpkg die half-way?
fn interrupted(ctx: &Ctx) -> Result<bool> {
    let journal =
        std::fs::read_dir(ctx.path("/var/lib/dpkg/updates")).is_ok_and(|mut files| files.next().is_some());
    Ok(journal || states(ctx, &[])?.iter().any(|(_, state)| half_way(state)))
}

fn half_way(state: &str) -> bool {
    matches!(
        state,
        "unpacked" | "half-configured" | "half-installed" | "triggers-awaited" | "triggers-pending"
    )
}

/// Names and states of packages; of all that dpkg knows when `names` is empty.
fn states(ctx: &Ctx, names: &[String]) -> Result<Vec<(String, String)>> {
    let mut argv = vec!["dpkg-query", "-W", "-f", "${Package}\\t${Architecture}\\t${db:Status-Status}\\n"];
    argv.extend(names.iter().map(String::as_str));
    let said = ctx.query(&argv)?;
    // 1: some are not known at all, which is an answer.
    if matches!(said.code, Some(0 | 1)) {
        return Ok(parse_states(&said.stdout));
    }
    Err(Error {
        message: "dpkg-query cannot read the package database".into(),
        output: said.stderr.lines().map(str::to_owned).collect(),
        hint: None,
    })
}

/// Each package under its plain name and under `name:arch`, as apt calls it when it is foreign.
pub(crate) fn parse_states(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let [name, arch, state] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
            Some([(name.to_owned(), state.to_owned()), (format!("{name}:{arch}"), state.to_owned())])
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulations() {
        let text = "\
NOTE: This is only a simulation!
Reading package lists...
The following NEW packages will be installed:
  conntrack libnetfilter-conntrack3
Remv mawk [1.3.4.20200120-3.1]
Inst libc6 [2.36-9] (2.36-9+deb12u10 Debian:12.11/stable [amd64]) []
Inst libnetfilter-conntrack3 (1.0.9-3 Debian:12.11/stable [amd64])
Inst conntrack (1:1.4.7-1+b2 Debian:12.11/stable [amd64])
Conf conntrack (1:1.4.7-1+b2 Debian:12.11/stable [amd64])
";
        assert_eq!(
            parse_simulation(text),
            Plan {
                adds: vec!["libnetfilter-conntrack3".into(), "conntrack".into()],
                upgrades: vec!["libc6".into()],
                removes: vec!["mawk".into()],
            }
        );
    }

    #[test]
    fn unknown_packages() {
        let of = |line: &str| unknown(&[line.to_owned()]);
        assert_eq!(of("E: Unable to locate package nonsense").as_deref(), Some("nonsense"));
        assert_eq!(of("E: Package 'gone' has no installation candidate").as_deref(), Some("gone"));
        assert_eq!(of("E: Could not get lock"), None);
    }

    #[test]
    fn states_by_either_name() {
        let states = parse_states("a\tamd64\tinstalled\nb\ti386\tconfig-files\n");
        assert!(states.contains(&("a".into(), "installed".into())));
        assert!(states.contains(&("b:i386".into(), "config-files".into())));
    }
}
