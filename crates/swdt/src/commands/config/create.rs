//! `swdt config create`: a file from options, from questions, or from both.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use swdt_core::{
    Error, Result, catalog,
    config::{
        self,
        edit::{self, Document, Refused},
    },
    id,
    spec::LinuxRelease,
};
use swdt_wizard::{Model, Outcome};

use super::{
    super::cluster,
    ask, judge_file, load,
    written::{self, Place},
};
use crate::{
    args::{CreateFile, Format, Global, HostKeys},
    failure::Failed,
    host, out,
    render::{self, Volume},
};

/// Where a file goes if nobody says so.
const USUAL: &str = "cluster.yaml";

pub(in super::super) fn run(global: &Global, wish: &CreateFile) -> Result<(), Failed> {
    let output = wish.output.clone().or_else(|| wish.from.clone()).unwrap_or_else(|| USUAL.into());
    let place = Place::look(&output, wish.from.as_deref(), wish.force)?;
    let document = document(wish, &place)?;
    if !document.readable() {
        // Nothing can be asked of such a file; what is wrong with it is told instead.
        load(&output, document.text().as_bytes())?;
    }
    if wish.yes {
        place.refuse_to_replace()?;
        return write(global, &place, &output, document.text(), wish.format);
    }
    if wish.format.json() || !asks() {
        let example = "swdt config create --yes --node cp1,role=control-plane,address=192.168.1.10";
        return Err(Error::new(id::TERMINAL_MISSING, "there is no terminal to ask questions on")
            .hinted(format!("say it with options: {example}"))
            .into());
    }
    let mut model = Model::new(document, ask::host(&output, &place)?);
    let outcome = ask::run(global, &mut model)?;
    if outcome == Outcome::Left {
        let error = Error::new(id::INTERRUPTED, "left without writing anything");
        return Err(error.into());
    }
    write(global, &place, &output, model.text(), wish.format)?;
    if outcome == Outcome::WriteAndCreate {
        let hosts = HostKeys { accept_new_host_keys: false };
        let created = cluster::create(global, &output, None, &hosts, wish.format);
        return created.map_err(|failed| match failed {
            // The file is written: nobody need answer questions again.
            Failed::Error(error, Some(_)) => {
                let file = host::shell_word(&output.to_string_lossy());
                Failed::Error(error, Some(format!("swdt cluster create --config {file}")))
            }
            failed => failed,
        });
    }
    Ok(())
}

/// Can questions be asked here?
fn asks() -> bool {
    let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb" && !term.is_empty());
    io::stdin().is_terminal() && io::stdout().is_terminal() && able
}

/// The file as the options want it, sound or not.
fn document(wish: &CreateFile, place: &Place) -> Result<Document> {
    let usual = catalog::catalog()?.default.to_string();
    let mut document = place.text().map_or_else(|| Model::template(&usual), Document::new);
    let mut set = |path: &str, value: &Value| document.set(path, value).map_err(|why| refused(path, &why));
    if let Some(name) = &wish.name {
        set("metadata.name", &json!(name))?;
    }
    if let Some(version) = &wish.kubernetes {
        set("kubernetes.version", &json!(catalog::meant(Some(version))?.kubernetes().to_string()))?;
    }
    for node in &wish.node {
        put_node(&mut document, node)?;
    }
    for setting in &wish.set {
        let (path, word) = setting.split_once('=').ok_or_else(|| {
            Error::new(id::ARGUMENT_INVALID, format!("`--set {setting}` says no value"))
                .hinted("write PATH=VALUE, for example `--set network.podCIDR=10.32.0.0/16`")
        })?;
        document.set(path, &read(path, word)?).map_err(|why| refused(path, &why))?;
    }
    Ok(document)
}

/// Fields that have a short name on the command line, and where they stand below a node.
const SHORT: &[(&str, &[&str])] =
    &[("connection", &["user", "key", "port", "jump"]), ("machine", &["provider", "cpus", "memory"])];

/// `NAME[,FIELD=VALUE]…`: a new node, or more about one that is there.
fn put_node(document: &mut Document, text: &str) -> Result<()> {
    let mut parts = text.split(',');
    let name = parts.next().filter(|name| !name.is_empty() && !name.contains('=')).ok_or_else(|| {
        Error::new(id::ARGUMENT_INVALID, format!("`--node {text}` names no node"))
            .hinted("its name comes first: `--node win1,os=windows,address=192.168.1.20`")
    })?;
    let count = document.len("nodes");
    let there = (0..count).find(|at| document.get(&format!("nodes[{at}].name")) == Some(json!(name)));
    let node = format!("nodes[{}]", there.unwrap_or(count));
    let mut set =
        |path: String, value: Value| document.set(&path, &value).map_err(|why| refused(&path, &why));
    set(format!("{node}.name"), json!(name))?;
    let mut lost = Vec::new();
    for part in parts {
        let (field, word) = part.split_once('=').ok_or_else(|| {
            Error::new(id::ARGUMENT_INVALID, format!("`{part}` in `--node {text}` says no value"))
                .hinted("write FIELD=VALUE, for example `role=control-plane`")
        })?;
        let holder = SHORT.iter().find(|(_, fields)| fields.contains(&field));
        let path = holder.map_or_else(|| field.to_owned(), |(holder, _)| format!("{holder}.{field}"));
        match elsewhere(&path, word) {
            Some(meant) => {
                let whole = host::shell_word(&format!("{node}.{meant}"));
                let message = format!("`--node {name}` has no field `{field}`");
                let hint = format!("write `{meant}` in its place, or `--set {whole}`");
                lost.push(Error::new(id::ARGUMENT_INVALID, message).hinted(hint));
            }
            None => set(format!("{node}.{path}"), read(field, word)?)?,
        }
    }
    Error::all(lost).map_or(Ok(()), Err)
}

/// Where a field stands that a node does not have itself, with its value. What may be a secret is not repeated.
fn elsewhere(field: &str, word: &str) -> Option<String> {
    let known = |path: &str| config::explain(&format!("nodes.{path}")).is_ok();
    if known(field) {
        return None;
    }
    let holders = ["machine", "machine.image", "connection"];
    let holder = holders.into_iter().find(|holder| known(&format!("{holder}.{field}")))?;
    let plain = (holder == "machine" || field == "iso") && !word.contains("://");
    let word = if plain { word } else { "VALUE" };
    // An image is a map; its keys tell what a file is.
    let ending = Path::new(word).extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let below = match ending.as_deref() {
        _ if field != "image" || word.starts_with('{') => "",
        Some("iso") => ".iso",
        Some("vhdx") => ".vhdx",
        _ if LinuxRelease::ALL.iter().any(|release| release.as_str() == word) => ".cloud",
        _ => ".file",
    };
    Some(format!("{holder}.{field}{below}={word}"))
}

/// The value that an option has for a field. It may hold a secret, and so is not repeated.
fn read(field: &str, word: &str) -> Result<Value> {
    edit::value(word).ok_or_else(|| {
        Error::new(
            id::ARGUMENT_INVALID,
            format!("what is to be `{field}` is no list or map that can be read"),
        )
        .hinted("close what is opened, for example `{name: lab}` or `[a, b]`")
    })
}

fn refused(path: &str, why: &Refused) -> Error {
    match why {
        Refused::Unreadable => Error::new(id::EDIT_REFUSED, "the file cannot be read as it is")
            .hinted("`swdt config validate` says what is wrong with it"),
        Refused::Beyond { list, count } => {
            let message =
                format!("there is no `{path}`: `{list}` has {}", render::count(*count as u64, "item"));
            Error::new(id::ARGUMENT_INVALID, message).hinted(format!("the next one is `{list}[{count}]`"))
        }
        Refused::Unchangeable { .. } => {
            let message = format!("`{path}` cannot be changed as a whole without losing something");
            Error::new(id::EDIT_REFUSED, message).hinted(
                "change what is below it, or the file by hand; `swdt config explain` lists the fields",
            )
        }
    }
}

/// Writes a sound file, whole.
fn write(global: &Global, place: &Place, output: &Path, text: &str, format: Format) -> Result<(), Failed> {
    let spec = load(output, text.as_bytes())?;
    judge_file(global, output, text.as_bytes(), &spec, format)?;
    let written: PathBuf = place.write(text)?;
    if format.json() {
        let document = json!({ "written": written, "cluster": spec.name, "nodes": spec.nodes.len() });
        out::line(&document.to_string());
    } else if global.volume() != Volume::Quiet {
        out::line(&written::told(&written, &spec));
    }
    Ok(())
}
