//! Big bytes into the node's store, streamed from files.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{fs::File, io::AsyncReadExt, sync::Semaphore, task::JoinSet};

use super::{
    super::{Chunk, ExitStatus, Running, Stdin, Transport},
    Agent, trouble,
};
use crate::{Error, ErrorKind, Result, id};

/// At the same time; more would only share the same line.
const PARALLEL: usize = 3;
/// Read at a time.
const PIECE: usize = 256 << 10;
/// Error output that is kept.
const OUTPUT: usize = 16 << 10;

pub(super) async fn put_all(agent: &Agent, blobs: Vec<(String, PathBuf)>) -> Result<()> {
    let slots = Arc::new(Semaphore::new(PARALLEL));
    let mut tasks = JoinSet::new();
    for (sha256, path) in blobs {
        let (agent, slots) = (agent.clone(), slots.clone());
        tasks.spawn(async move {
            // The semaphore is never closed.
            let _slot = slots.acquire().await;
            agent.put(&sha256, &path).await
        });
    }
    let mut errors = Vec::new();
    while let Some(done) = tasks.join_next().await {
        let done = done.map_err(|error| Error::new(id::INTERNAL, error.to_string()));
        if let Err(error) = done.and_then(|result| result) {
            errors.push(error);
        }
    }
    Error::all(errors).map_or(Ok(()), Err)
}

impl Agent {
    /// Stores one file on the machine under its SHA-256; once more if the connection is lost.
    pub async fn put(&self, sha256: &str, path: &Path) -> Result<()> {
        if sha256.len() != 64 || !sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(Error::new(id::INTERNAL, format!("`{sha256}` is no SHA-256")));
        }
        let mut lost = None;
        for _ in 0..2 {
            let transport = self.connect(self.shared.options.patience).await?;
            match self.try_put(&transport, sha256, path).await {
                Err(error) if error.kind() == ErrorKind::Connection => {
                    self.forget(&transport).await;
                    lost = Some(error);
                }
                done => return done,
            }
        }
        lost.map_or(Ok(()), Err)
    }

    async fn try_put(&self, transport: &Arc<dyn Transport>, sha256: &str, path: &Path) -> Result<()> {
        let mut file = File::open(path).await.map_err(|error| unreadable(path, &error))?;
        let command = self.command(transport.as_ref(), &format!("put {sha256}"));
        let Running { mut stdin, mut output } = self.exec(transport.as_ref(), &command).await?;
        let mut stderr = Vec::new();
        let listen = async {
            loop {
                match output.next().await {
                    Some(Chunk::Stderr(bytes)) => super::super::running::keep(&mut stderr, &bytes, OUTPUT),
                    Some(Chunk::Stdout(_)) => {}
                    Some(Chunk::Exit(exit)) => return exit,
                    None => return ExitStatus::Lost("no word of its end".into()),
                }
            }
        };
        let (sent, exit) = tokio::join!(send(&mut file, &mut stdin, path), listen);
        match exit {
            ExitStatus::Code(0) => sent,
            ExitStatus::Lost(why) => Err(Error::new(
                id::CONNECTION_LOST,
                format!("the connection to {} was lost during an upload: {why}", transport.place()),
            )),
            exit => {
                let text = String::from_utf8_lossy(&stderr);
                let lines: Vec<_> = text.lines().map(str::to_owned).collect();
                Err(trouble::explain(&lines, transport.as_ref()).unwrap_or_else(|| {
                    let (path, place) = (path.display(), transport.place());
                    Error::new(id::BYTES_NOT_STORED, format!("{place} did not store {path} ({exit})"))
                        .with_output(lines)
                }))
            }
        }
    }
}

async fn send(file: &mut File, stdin: &mut Stdin, path: &Path) -> Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece).await {
            Ok(0) => break,
            // A program that stops reading says why when it ends.
            Ok(read) if stdin.write(&piece[..read]).await.is_err() => break,
            Ok(_) => {}
            Err(error) => {
                stdin.close().await;
                return Err(unreadable(path, &error));
            }
        }
    }
    stdin.close().await;
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(id::FILE_FAILED, format!("cannot read {}: {error}", path.display()))
}
