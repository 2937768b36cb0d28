//! `swdt source …`

use std::path::Path;

use serde_json::{Value, json};
use swdt_core::{
    Error, Result,
    catalog::{self, Versions},
    id,
    interrupt::Interrupt,
    run::{self, Fetched},
    source::{self, Artifact, Piece, Scope, Settings, Sources, Want, lock::Lock, wants},
    spec::Platform,
};

use super::{block_on, config, resumable};
use crate::{
    args::{Format, Global, Which},
    failure::Failed,
    host, out,
    render::{self, Table, Volume, bytes},
};

/// How much of a digest tells one from another.
const SHORT: usize = 12;

/// What was asked for: wants, the versions they go with, and what is pinned already.
struct Asked {
    wants: Vec<Want>,
    versions: Versions,
    lock: Lock,
    /// Variables that hold passwords of the cluster.
    secret_variables: Vec<String>,
}

pub(super) fn list(
    global: &Global,
    config: Option<&Path>,
    which: &Which,
    format: Format,
) -> Result<(), Failed> {
    let asked = asked(global, config, which, format)?;
    let sources = Sources::new(host::sources(global)?, swdt_core::event::Reporter::silent())?;
    let mut table = head();
    let mut documents = Vec::new();
    for want in &asked.wants {
        let looked = sources.look(want, &asked.lock)?;
        if format.json() {
            documents.push(document(want, &looked.source, looked.here, &looked.programs));
        }
        rows(&mut table, want, &looked.source, &looked.programs);
    }
    if format.json() {
        out::line(&json!({ "kubernetes": asked.versions.kubernetes(), "components": documents }).to_string());
    } else {
        out::line(&table.coloured(out::width()));
    }
    Ok(())
}

pub(super) fn fetch(
    global: &Global,
    config: Option<&Path>,
    which: &Which,
    bundle: Option<&Path>,
    format: Format,
) -> Result<(), Failed> {
    let fetched = get(global, asked(global, config, which, format)?, format)?;
    if let Some(path) = bundle {
        let packed: Vec<_> =
            fetched.iter().map(|one| (one.want.clone(), one.supply.programs().to_vec())).collect();
        source::write_bundle(path, &packed)?;
        if global.volume() != Volume::Quiet && !format.json() {
            out::line(&format!("packed into {}; SWDT_BUNDLES names it to other hosts", path.display()));
        }
    }
    Ok(())
}

pub(super) fn build(
    global: &Global,
    which: &Which,
    version: Option<&str>,
    format: Format,
) -> Result<(), Failed> {
    let mut asked = asked(global, None, which, format)?;
    if let Some(text) = version {
        asked.wants = asked.wants.into_iter().map(|want| want.at(text)).collect::<Result<_>>()?;
    }
    asked.wants = asked.wants.into_iter().map(Want::built).collect();
    get(global, asked, format)?;
    Ok(())
}

/// Fetches, shows it while it happens, and then what is there.
fn get(global: &Global, asked: Asked, format: Format) -> Result<Vec<Fetched>, Failed> {
    let Asked { wants, versions, mut lock, secret_variables } = asked;
    Error::all(source::early(&wants)).map_or(Ok(()), Err)?;
    let settings = Settings { secret_variables, ..host::sources(global)? };
    let sink = render::renderer(format, global.volume());
    let interrupt = Interrupt::default();
    let fetched = block_on(async {
        host::stop_on_ctrl_c(interrupt.clone());
        run::fetch(settings, wants, Some(&versions), &mut lock, &interrupt, sink).await
    })
    .map_err(resumable)?;
    if format.json() {
        let documents = fetched.iter().map(|one| {
            let source =
                one.supply.programs().first().map_or_else(String::new, |program| program.from.clone());
            let mut document = document(&one.want, &source, true, one.supply.programs());
            document["image"] = json!(one.image.as_ref().map(|(name, archive)| {
                json!({ "name": name, "sha256": archive.sha256, "size": archive.size })
            }));
            document
        });
        out::line(&json!({ "components": documents.collect::<Vec<_>>() }).to_string());
    } else if global.volume() != Volume::Quiet {
        let mut table = head();
        for one in &fetched {
            let programs = one.supply.programs();
            let source = programs.first().map_or_else(String::new, |program| program.from.clone());
            rows(&mut table, &one.want, &source, programs);
        }
        out::line(&table.coloured(out::width()));
    }
    Ok(fetched)
}

pub(super) fn scope(go: bool, artifacts: bool) -> Scope {
    match (go, artifacts) {
        (true, _) => Scope::Go,
        (_, true) => Scope::Artifacts,
        _ => Scope::Everything,
    }
}

pub(super) fn prune(global: &Global, scope: Scope, yes: bool, format: Format) -> Result<()> {
    let dirs = host::dirs(global)?;
    let used = run::used_artifacts(&dirs)?;
    let cache = source::Cache::new(&dirs.cache);
    let found = if yes { cache.prune(scope, &used)? } else { cache.prunable(scope, &used) };
    let all: u64 = found.iter().map(|one| one.size).sum();
    if format.json() {
        out::line(&json!({ "removed": yes, "size": all, "what": found }).to_string());
        return Ok(());
    }
    if global.volume() == Volume::Quiet {
        return Ok(());
    }
    if found.is_empty() {
        out::line(&format!("nothing can go from {}", dirs.cache.display()));
        return Ok(());
    }
    let mut table = Table::new(["SIZE", "WHAT"]);
    for one in &found {
        table.row([bytes(one.size), one.what.clone()]);
    }
    out::line(&table.coloured(out::width()));
    if yes {
        out::line(&format!("removed {} from {}", bytes(all), dirs.cache.display()));
    } else {
        out::line(&format!("{} can go from {}; --yes removes it", bytes(all), dirs.cache.display()));
        out::line("all of it is fetched or built again when it is needed");
    }
    Ok(())
}

fn asked(global: &Global, config: Option<&Path>, which: &Which, format: Format) -> Result<Asked, Failed> {
    let named: Vec<Piece> = which.component.iter().filter_map(|name| Piece::named(name)).collect();
    if let Some(path) = config {
        let (spec, _) = config::read(global, path, format)?;
        let mut wants = wants::of_cluster(&spec)?;
        if !named.is_empty() {
            wants.retain(|want| named.contains(&want.piece));
        }
        let lock = Lock::load(host::dirs(global)?.cluster(&spec.name).root())?;
        let (versions, secret_variables) = (catalog::defaults(&spec.kubernetes)?, spec.secret_variables());
        return Ok(Asked { wants, versions, lock, secret_variables });
    }
    let versions = catalog::meant(which.kubernetes.as_deref())?;
    let platform = platform(which)?;
    let wants = if named.is_empty() {
        wants::usual(&versions, platform)
    } else {
        named.into_iter().map(|piece| wants::plain(piece, platform, &versions)).collect()
    };
    Ok(Asked { wants, versions, lock: Lock::default(), secret_variables: Vec::new() })
}

fn platform(which: &Which) -> Result<Platform> {
    let name =
        format!("{}/{}", which.os.as_deref().unwrap_or("linux"), which.arch.as_deref().unwrap_or("amd64"));
    Platform::ALL.iter().copied().find(|platform| platform.as_str() == name).ok_or_else(|| {
        let known: Vec<_> = Platform::ALL.iter().map(|platform| platform.as_str()).collect();
        Error::new(id::NAME_UNKNOWN, format!("there are no nodes of {name}"))
            .hinted(format!("there are {}", known.join(", ")))
    })
}

fn head() -> Table<7> {
    Table::new(["COMPONENT", "VERSION", "PLATFORM", "HERE", "SIZE", "DIGEST", "SOURCE"])
}

/// One row for each program; one for all where none is here.
fn rows(table: &mut Table<7>, want: &Want, source: &str, programs: &[Artifact]) {
    let row = |name: String, here: &str, size: String, digest: String| {
        let (version, platform) = (want.version.to_string(), want.platform.as_str().to_owned());
        [name, version, platform, here.to_owned(), size, digest, source.to_owned()]
    };
    if programs.is_empty() {
        table.row(row(want.piece.to_string(), "no", "-".to_owned(), "-".to_owned()));
    }
    for program in programs {
        let name = match programs {
            [_] => want.piece.to_string(),
            _ => format!("{}/{}", want.piece, program.name),
        };
        let digest = program.sha256.chars().take(SHORT).collect();
        table.row(row(name, "yes", bytes(program.size), digest));
    }
}

fn document(want: &Want, source: &str, here: bool, programs: &[Artifact]) -> Value {
    json!({
        "component": want.piece.as_str(),
        "version": want.version,
        "platform": want.platform,
        "source": source,
        "here": here,
        "programs": programs,
    })
}
