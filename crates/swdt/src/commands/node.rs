//! `swdt node …`

use std::io::{self, IsTerminal};

use serde::Serialize;
use swdt_core::{
    Error, Result,
    event::{EventKind, Reporter},
    id,
    run::{self, Drain},
    spec::{Node, OsFamily, Spec},
    state::Dirs,
};

use super::{
    block_on, chosen,
    streams::{self, Input},
};
use crate::{
    args::{DrainOptions, Format, Global},
    host, out,
    render::Volume,
};

/// A cluster's spec and the node of that name in it.
pub(super) fn find(global: &Global, dirs: &Dirs, name: &str) -> Result<(Spec, Node)> {
    let cluster = chosen(global, dirs)?;
    let spec = dirs.cluster(&cluster).load_spec()?;
    let node = spec.node(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = spec.nodes.iter().map(|node| node.name.as_str()).collect();
        Error::new(id::NO_SUCH_NODE, format!("the cluster {cluster} has no node `{name}`"))
            .hinted(format!("it has: {}", names.join(", ")))
    })?;
    Ok((spec, node))
}

pub(super) fn exec(global: &Global, name: &str, command: &[String]) -> Result<u8> {
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    let quote = match node.os {
        OsFamily::Linux => |word: &String| Ok(quoted(word)),
        OsFamily::Windows => |word: &String| quoted_for_windows(word),
    };
    let line = command.iter().map(quote).collect::<Result<Vec<_>>>()?.join(" ");
    block_on(async {
        let transport = run::transport(&host, &spec, &node).await?;
        // A terminal that nobody types on would otherwise hold the command back for ever.
        let input = if io::stdin().is_terminal() { Input::None } else { Input::Ours };
        streams::pump(transport.exec(&line).await?, input).await
    })
}

pub(super) fn logs(global: &Global, name: &str) -> Result<()> {
    let dirs = host::dirs(global)?;
    let (spec, node) = find(global, &dirs, name)?;
    let path = dirs.cluster(&spec.name).log(&node.name);
    match std::fs::read(&path) {
        Ok(bytes) => out::raw(&bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            out::error_line(&format!("{name} has said nothing yet"));
        }
        Err(error) => {
            return Err(Error::new(id::FILE_FAILED, format!("cannot read {}: {error}", path.display())));
        }
    }
    Ok(())
}

pub(super) fn start(global: &Global, name: &str, format: Format) -> Result<()> {
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    let started = block_on(run::start_node(&host, &spec, &node, &progress(global, name, format)))?;
    let mut text = format!("{name} {}", if started.ready { "runs and is ready" } else { "runs" });
    if started.uncordoned {
        text.push_str(", and takes pods again");
    }
    say(global, format, name, &text, &started, started.why.as_deref());
    Ok(())
}

pub(super) fn stop(global: &Global, name: &str, options: &DrainOptions, format: Format) -> Result<()> {
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    let drain = drain(options);
    let stopped = block_on(run::stop_node(&host, &spec, &node, &drain, &progress(global, name, format)))?;
    let drained = if stopped.drained { "drained and stopped" } else { "stopped, not drained" };
    say(global, format, name, &format!("{name} is {drained}"), &stopped, stopped.why.as_deref());
    Ok(())
}

pub(super) fn drain(options: &DrainOptions) -> Drain {
    Drain { skip: options.no_drain, force: options.force, timeout: options.timeout }
}

/// What goes on, where somebody may wait for it.
fn progress(global: &Global, name: &str, format: Format) -> Reporter {
    if global.volume() == Volume::Quiet || format.json() {
        return Reporter::silent();
    }
    let name = name.to_owned();
    Reporter::new(move |_, kind| {
        if let EventKind::Doing { what } = kind {
            out::error_line(&format!("{name}: {what}"));
        }
    })
}

/// The result: as JSON, or as a sentence and its reason.
fn say(global: &Global, format: Format, name: &str, text: &str, result: &impl Serialize, why: Option<&str>) {
    if format.json() {
        let mut document = serde_json::json!(result);
        document["node"] = name.into();
        out::line(&document.to_string());
    } else if global.volume() != Volume::Quiet {
        out::line(&why.map_or_else(|| text.to_owned(), |why| format!("{text}: {why}")));
    }
}

/// A login shell on the machine, on this terminal.
pub(super) fn shell(global: &Global, name: &str) -> Result<u8> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::new(id::TERMINAL_MISSING, "a shell needs a terminal")
            .hinted(format!("to run one command, use `swdt node exec {name} -- COMMAND`")));
    }
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    block_on(async {
        let transport = run::transport(&host, &spec, &node).await?;
        let running = transport.terminal(None, &streams::term(), streams::size()).await?;
        streams::converse(running).await
    })
}

/// One word for a POSIX shell, whatever is in it: everything between single quotes is literal.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// One word for cmd, in quotes only where they are needed. cmd replaces some things even between quotes, and no two
/// programs agree on how a quote itself is written: such words are refused.
fn quoted_for_windows(word: &str) -> Result<String> {
    if word.contains(['"', '%', '!', '\r', '\n']) || word.ends_with('\\') && word.contains(' ') {
        return Err(Error::new(
            id::ARGUMENT_INVALID,
            format!("cmd on Windows would not pass on `{word}` unchanged"),
        )
        .hinted("`swdt node shell` gives a shell there"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || r"\/:._-=+@".contains(c);
    Ok(if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("\"{word}\"") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_windows_are_quoted_or_refused() {
        let quoted = |word: &str| quoted_for_windows(word).ok();
        assert_eq!(quoted(r"C:\k\kubelet.exe").as_deref(), Some(r"C:\k\kubelet.exe"));
        assert_eq!(quoted(r"C:\Program Files\a&b").as_deref(), Some(r#""C:\Program Files\a&b""#));
        assert_eq!(quoted("").as_deref(), Some(r#""""#));
        for bad in ["%PATH%", "a\"b", "two\nlines", r"a b\"] {
            assert_eq!(quoted(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn words_reach_the_other_side_unchanged() {
        for word in ["plain", "two words", "it's", "$HOME", "a;b", "\"q\"", "", "new\nline", "*"] {
            let line = format!("printf %s {}", quoted(word));
            let printed = std::process::Command::new("sh").args(["-c", &line]).output().unwrap().stdout;
            assert_eq!(String::from_utf8(printed).unwrap(), word);
        }
    }
}
