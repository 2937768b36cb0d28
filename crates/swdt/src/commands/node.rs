//! `swdt node …`

use std::{
    io::{self, IsTerminal, Read},
    time::Duration,
};

use swdt_core::{
    Error, ErrorKind, Result,
    remote::{Chunk, ExitStatus, Running, TerminalSize},
    run,
    spec::{Node, Spec},
    state::Dirs,
};

use super::{block_on, chosen};
use crate::{args::Global, host, out, render::Volume};

/// A cluster's spec and the node of that name in it.
fn find(global: &Global, dirs: &Dirs, name: &str) -> Result<(Spec, Node)> {
    let cluster = chosen(global, dirs)?;
    let spec = dirs.cluster(&cluster).load_spec()?;
    let node = spec.node(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = spec.nodes.iter().map(|node| node.name.as_str()).collect();
        Error::new(ErrorKind::Usage, format!("the cluster {cluster} has no node `{name}`"))
            .hinted(format!("it has: {}", names.join(", ")))
    })?;
    Ok((spec, node))
}

pub(super) fn exec(global: &Global, name: &str, command: &[String]) -> Result<u8> {
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    block_on(async {
        let transport = run::transport(&host, &spec, &node).await?;
        let line = command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        pump(transport.exec(&line).await?).await
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
            return Err(Error::new(
                ErrorKind::Prerequisite,
                format!("cannot read {}: {error}", path.display()),
            ));
        }
    }
    Ok(())
}

pub(super) fn start(global: &Global, name: &str) -> Result<()> {
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    block_on(run::start_node(&host, &spec, &node))?;
    say(global, &format!("{name} runs"));
    Ok(())
}

pub(super) fn stop(global: &Global, name: &str) -> Result<()> {
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    block_on(run::stop_node(&host, &spec, &node))?;
    say(global, &format!("{name} is stopped"));
    Ok(())
}

fn say(global: &Global, text: &str) {
    if global.volume() != Volume::Quiet {
        out::line(text);
    }
}

/// A login shell on the machine, on this terminal.
pub(super) fn shell(global: &Global, name: &str) -> Result<u8> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::new(ErrorKind::Usage, "a shell needs a terminal")
            .hinted(format!("to run one command, use `swdt node exec {name} -- COMMAND`")));
    }
    let host = host::host(global, false)?;
    let (spec, node) = find(global, &host.dirs, name)?;
    block_on(async {
        let transport = run::transport(&host, &spec, &node).await?;
        let term = std::env::var("TERM").unwrap_or_else(|_| "xterm-256color".into());
        let running = transport.shell(&term, size()).await?;
        let _raw = RawMode::enter()?;
        converse(running).await
    })
}

/// The terminal passes every key on; put back however we leave.
struct RawMode;

impl RawMode {
    fn enter() -> Result<Self> {
        crossterm::terminal::enable_raw_mode().map_err(|error| {
            Error::new(ErrorKind::Usage, format!("this terminal cannot be used: {error}"))
        })?;
        Ok(Self)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

fn size() -> TerminalSize {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    TerminalSize { columns: columns.into(), rows: rows.into() }
}

/// Keys one way, output the other, until the shell ends.
async fn converse(running: Running) -> Result<u8> {
    let Running { mut stdin, mut output } = running;
    let mut keys = keys();
    let mut looked = tokio::time::interval(Duration::from_millis(250));
    let mut shown = size();
    loop {
        tokio::select! {
            Some(bytes) = keys.recv() => { let _ = stdin.write(&bytes).await; }
            chunk = output.next() => match chunk {
                Some(chunk) => if let Some(code) = show(chunk)? { return Ok(code) },
                None => return Ok(0),
            },
            _ = looked.tick() => {
                let now = size();
                if now != shown {
                    shown = now;
                    stdin.resize(now);
                }
            }
        }
    }
}

/// What is typed. The thread ends with the program: a read of the terminal cannot be called off.
fn keys() -> tokio::sync::mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(16);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = std::io::stdin().lock().read(&mut buffer) {
            if sender.blocking_send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Input piped to us goes to the command; its output comes here.
async fn pump(running: Running) -> Result<u8> {
    let Running { mut stdin, mut output } = running;
    // A terminal that nobody types on would otherwise hold the command back for ever.
    let mut keys = (!std::io::stdin().is_terminal()).then(keys);
    if keys.is_none() {
        stdin.close().await;
    }
    loop {
        let typed = async {
            match &mut keys {
                Some(keys) => keys.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            bytes = typed => if let Some(bytes) = bytes {
                let _ = stdin.write(&bytes).await;
            } else {
                stdin.close().await;
                keys = None;
            },
            chunk = output.next() => match chunk {
                Some(chunk) => if let Some(code) = show(chunk)? { return Ok(code) },
                None => return Ok(0),
            },
        }
    }
}

/// Shows a piece of output; gives the exit code at the end.
fn show(chunk: Chunk) -> Result<Option<u8>> {
    match chunk {
        Chunk::Stdout(bytes) => out::raw(&bytes),
        Chunk::Stderr(bytes) => out::raw_error(&bytes),
        Chunk::Exit(ExitStatus::Code(code)) => return Ok(Some(u8::try_from(code).unwrap_or(u8::MAX))),
        Chunk::Exit(other) => return Err(Error::new(ErrorKind::Connection, other.to_string())),
    }
    Ok(None)
}

/// One word for a POSIX shell, whatever is in it: everything between single quotes is literal.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_other_side_unchanged() {
        for word in ["plain", "two words", "it's", "$HOME", "a;b", "\"q\"", "", "new\nline", "*"] {
            let line = format!("printf %s {}", quoted(word));
            let printed = std::process::Command::new("sh").args(["-c", &line]).output().unwrap().stdout;
            assert_eq!(String::from_utf8(printed).unwrap(), word);
        }
    }
}
