//! Programs on machines and our own streams: pipes, or a terminal.

use std::{io::Read, time::Duration};

use swdt_core::{
    Error, Result, id,
    remote::{Chunk, ExitStatus, Running, TerminalSize},
};

use crate::out;

/// The terminal passes every key on; put back however we leave.
struct RawMode;

impl RawMode {
    fn enter() -> Result<Self> {
        crossterm::terminal::enable_raw_mode().map_err(|error| {
            Error::new(id::TERMINAL_MISSING, format!("this terminal cannot be used: {error}"))
        })?;
        Ok(Self)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

/// The size of this terminal.
pub(super) fn size() -> TerminalSize {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    TerminalSize { columns: columns.into(), rows: rows.into() }
}

/// What this terminal calls itself.
pub(super) fn term() -> String {
    std::env::var("TERM").unwrap_or_else(|_| "xterm-256color".into())
}

/// Keys one way, output the other, until the program on the other terminal ends.
pub(super) async fn converse(running: Running) -> Result<u8> {
    let _raw = RawMode::enter()?;
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

/// Ctrl-], as telnet has it: no shell needs it.
const LEAVE: u8 = 0x1d;

/// Keys to a socket, what comes from it to the terminal, until somebody leaves.
#[cfg(unix)]
pub(super) async fn line(socket: &std::path::Path) -> Result<()> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let cannot = |error: std::io::Error| Error::new(id::QEMU_SILENT, format!("the serial line: {error}"));
    let mut stream = tokio::net::UnixStream::connect(socket).await.map_err(cannot)?;
    let _raw = RawMode::enter()?;
    let mut keys = keys();
    let mut bytes = [0; 4096];
    loop {
        tokio::select! {
            typed = keys.recv() => match typed {
                Some(typed) if !typed.contains(&LEAVE) => stream.write_all(&typed).await.map_err(cannot)?,
                _ => return Ok(()),
            },
            count = stream.read(&mut bytes) => match count.map_err(cannot)? {
                0 => return Ok(()),
                count => out::raw(&bytes[..count]),
            },
        }
    }
}

#[cfg(not(unix))]
pub(super) async fn line(_: &std::path::Path) -> Result<()> {
    Err(Error::new(id::HOST_UNFIT, "virtual machines by QEMU need a Linux host"))
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

/// What a program on a machine reads.
pub(super) enum Input {
    /// Nothing.
    None,
    /// What we read ourselves.
    Ours,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// Input goes to the program; its output comes here.
pub(super) async fn pump(running: Running, input: Input) -> Result<u8> {
    pass(running, input, &mut show).await
}

/// The same, with somebody else to take the output.
pub(super) async fn pass(
    running: Running,
    input: Input,
    take: &mut (dyn FnMut(Chunk) -> Result<Option<u8>> + Send),
) -> Result<u8> {
    let Running { mut stdin, mut output } = running;
    let mut source = match input {
        Input::Ours => Some(keys()),
        Input::None => None,
        Input::Bytes(bytes) => {
            let (sender, receiver) = tokio::sync::mpsc::channel(1);
            // There is room for one.
            let _ = sender.try_send(bytes);
            Some(receiver)
        }
    };
    if source.is_none() {
        stdin.close().await;
    }
    // In a task of its own, because a program may say much before it reads on.
    let writer = tokio::spawn(async move {
        while let Some(bytes) = match &mut source {
            Some(source) => source.recv().await,
            None => None,
        } {
            if stdin.write(&bytes).await.is_err() {
                break;
            }
        }
        stdin.close().await;
        // Not dropped: the end of this half would hang up on the other.
        stdin
    });
    let code = loop {
        match output.next().await {
            Some(chunk) => {
                if let Some(code) = take(chunk)? {
                    break code;
                }
            }
            None => break 0,
        }
    };
    writer.abort();
    Ok(code)
}

/// Shows a piece of output; gives the exit code at the end.
pub(super) fn show(chunk: Chunk) -> Result<Option<u8>> {
    match chunk {
        Chunk::Stdout(bytes) => out::raw(&bytes),
        Chunk::Stderr(bytes) => out::raw_error(&bytes),
        Chunk::Exit(ExitStatus::Code(code)) => return Ok(Some(u8::try_from(code).unwrap_or(u8::MAX))),
        Chunk::Exit(other) => return Err(Error::new(id::CONNECTION_LOST, other.to_string())),
    }
    Ok(None)
}
