//! A program that runs on a machine, whatever the way there.
//!
//! A transport only has to give something to write to and to feed [`Chunk`]s into a channel from a
//! task of its own; dropping the [`Output`] tells that task to hang up.

use std::fmt;

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{mpsc, watch},
};

use super::TerminalSize;
use crate::{Error, Result, id};

/// How many pieces of output wait before the sender is made to wait.
const BACKLOG: usize = 64;

/// A program that runs.
#[derive(Debug)]
pub struct Running {
    /// What it reads.
    pub stdin: Stdin,
    /// What it says, and how it ends.
    pub output: Output,
}

/// A piece of output, or the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// Standard output.
    Stdout(Vec<u8>),
    /// Standard error.
    Stderr(Vec<u8>),
    /// The end; nothing follows.
    Exit(ExitStatus),
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself.
    Code(u32),
    /// By a signal, named without `SIG`.
    Signal(String),
    /// Unknown, because the connection is gone; says why.
    Lost(String),
    /// It never began: the machine would not run it.
    Refused,
}

impl ExitStatus {
    /// It ended by itself with code 0.
    pub fn success(&self) -> bool {
        *self == Self::Code(0)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(name) => write!(f, "killed by SIG{name}"),
            Self::Lost(why) => write!(f, "connection lost: {why}"),
            Self::Refused => f.write_str("the machine refused to run the command"),
        }
    }
}

/// What a program reads.
pub struct Stdin {
    writer: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    resize: mpsc::UnboundedSender<TerminalSize>,
    // A writer that waits for room is never woken when the connection dies; this wakes it.
    ended: watch::Receiver<bool>,
}

impl Stdin {
    /// Writes all of it; fails when the program has ended.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let gone = || Error::new(id::CONNECTION_LOST, "the program does not read its input any more");
        let Some(writer) = &mut self.writer else { return Err(gone()) };
        if bytes.is_empty() {
            return Ok(());
        }
        tokio::select! {
            biased;
            written = writer.write_all(bytes) => written.map_err(|_| gone()),
            _ = self.ended.wait_for(|ended| *ended) => Err(gone()),
        }
    }

    /// Tells the program that nothing follows.
    pub async fn close(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // A program that is gone needs no end of file.
            tokio::select! {
                biased;
                _ = writer.shutdown() => {}
                _ = self.ended.wait_for(|ended| *ended) => {}
            }
        }
    }

    /// Tells a terminal its new size.
    pub fn resize(&self, size: TerminalSize) {
        // No receiver: no terminal, or the program is gone.
        let _ = self.resize.send(size);
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdin").field("open", &self.writer.is_some()).finish_non_exhaustive()
    }
}

/// What a program says.
#[derive(Debug)]
pub struct Output {
    chunks: mpsc::Receiver<Chunk>,
    over: bool,
}

impl Output {
    /// The next piece; none after [`Chunk::Exit`], which always comes.
    pub async fn next(&mut self) -> Option<Chunk> {
        if self.over {
            return None;
        }
        let chunk = self.chunks.recv().await;
        let chunk = chunk.unwrap_or_else(|| Chunk::Exit(ExitStatus::Lost("no word of its end".into())));
        self.over = matches!(chunk, Chunk::Exit(_));
        Some(chunk)
    }
}

/// The ends that a transport's own task holds.
pub(super) struct Feed {
    pub(super) chunks: mpsc::Sender<Chunk>,
    pub(super) resize: mpsc::UnboundedReceiver<TerminalSize>,
    ended: watch::Sender<bool>,
}

impl Feed {
    /// Delivers the end and wakes whoever still writes.
    pub(super) async fn end(self, status: ExitStatus) {
        self.ended.send_replace(true);
        // Nobody listens any more: nobody wants to know.
        let _ = self.chunks.send(Chunk::Exit(status)).await;
    }
}

/// Everything a program said, up to a limit, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// The end.
    pub exit: ExitStatus,
}

impl Collected {
    /// The last lines of standard error, for people.
    pub fn last_errors(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.stderr);
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(10)..].iter().map(|line| (*line).to_owned()).collect()
    }
}

impl Running {
    /// A running program and the ends for its transport.
    pub(super) fn new(writer: impl AsyncWrite + Send + Unpin + 'static) -> (Self, Feed) {
        let (chunks, receiver) = mpsc::channel(BACKLOG);
        let (resize, resized) = mpsc::unbounded_channel();
        let (ended, watch) = watch::channel(false);
        let stdin = Stdin { writer: Some(Box::new(writer)), resize, ended: watch };
        let output = Output { chunks: receiver, over: false };
        (Self { stdin, output }, Feed { chunks, resize: resized, ended })
    }

    /// Gives it `input`, and collects what it says: the first `limit` bytes of either stream.
    pub async fn collect(self, input: &[u8], limit: usize) -> Collected {
        let Self { mut stdin, mut output } = self;
        let feed = async move {
            // A program may end without having read everything; its exit status tells more.
            let _ = stdin.write(input).await;
            stdin.close().await;
            stdin
        };
        let drain = async {
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            let mut exit = ExitStatus::Refused;
            while let Some(chunk) = output.next().await {
                match chunk {
                    Chunk::Stdout(bytes) => keep(&mut stdout, &bytes, limit),
                    Chunk::Stderr(bytes) => keep(&mut stderr, &bytes, limit),
                    Chunk::Exit(status) => exit = status,
                }
            }
            Collected { stdout, stderr, exit }
        };
        tokio::join!(feed, drain).1
    }
}

/// Adds as many bytes as fit under the limit.
pub(super) fn keep(into: &mut Vec<u8>, bytes: &[u8], limit: usize) {
    into.extend(bytes.iter().take(limit.saturating_sub(into.len())));
}
