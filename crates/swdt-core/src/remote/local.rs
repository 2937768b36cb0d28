//! This very machine, behind the same interface as every other.

use std::{process::Stdio, sync::Arc, time::Duration};

#[cfg(unix)]
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    sync::mpsc,
};

use super::{BoxFuture, Chunk, Connect, ExitStatus, Running, TerminalSize, Transport, running::Feed};
use crate::{Error, Result, id};

/// This machine.
#[derive(Debug, Clone)]
pub struct Local {
    user: String,
}

impl Local {
    /// This machine, as this user.
    pub fn new(user: impl Into<String>) -> Self {
        Self { user: user.into() }
    }

    /// This machine, as the user of this process. The name is for people; whether we are root the kernel
    /// knows better than the environment.
    pub fn as_ourselves(name: &str) -> Self {
        #[cfg(unix)]
        if nix::unistd::Uid::effective().is_root() {
            return Self::new("root");
        }
        Self::new(name)
    }

    fn start(command: &str) -> Result<Running> {
        let failed = |error: std::io::Error| {
            Error::new(id::PROGRAM_MISSING, format!("cannot start a shell on this machine: {error}"))
        };
        let mut child = shell_command(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::new(id::INTERNAL, "a child process without pipes"));
        };
        let (running, feed) = Running::new(stdin);
        tokio::spawn(pump(Group(child), stdout, stderr, feed));
        Ok(running)
    }
}

impl Transport for Local {
    fn exec<'a>(&'a self, command: &'a str) -> BoxFuture<'a, Result<Running>> {
        Box::pin(async move { Self::start(command) })
    }

    fn terminal<'a>(
        &'a self,
        _: Option<&'a str>,
        _: &'a str,
        _: TerminalSize,
    ) -> BoxFuture<'a, Result<Running>> {
        Box::pin(async {
            Err(Error::new(id::NODE_IS_HERE, "this node is the machine you are on")
                .hinted("you have a terminal of it already: run the command there"))
        })
    }

    fn leave<'a>(&'a self, _: &'a str, _: Option<&'a [u8]>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Err(Error::new(id::INTERNAL, "files are sent only to other machines")) })
    }

    fn place(&self) -> &'static str {
        "this machine"
    }

    fn user(&self) -> &str {
        &self.user
    }

    fn is_alive(&self) -> bool {
        true
    }
}

impl Connect for Local {
    fn connect(&self, _: Duration) -> BoxFuture<'_, Result<Arc<dyn Transport>>> {
        Box::pin(async { Ok(Arc::new(self.clone()) as Arc<dyn Transport>) })
    }
}

#[cfg(unix)]
fn shell_command(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    // A group of its own, so that everything it started can be hung up on.
    shell.arg("-c").arg(command).process_group(0);
    shell
}

#[cfg(windows)]
fn shell_command(command: &str) -> Command {
    let mut shell = Command::new("cmd.exe");
    // cmd does not follow the usual quoting rules, so the line goes to it untouched.
    shell.arg("/D").arg("/C").raw_arg(command);
    shell
}

/// A child, and what it started unless that has detached itself; all of it ends when nobody listens.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // The child itself is killed by tokio; the rest of its group is not.
        #[cfg(unix)]
        if let Some(group) = self.0.id().and_then(|id| id.try_into().ok()) {
            // It may have ended by itself in the meantime.
            let _ = killpg(Pid::from_raw(group), Signal::SIGHUP);
        }
    }
}

/// Moves output until the child is gone, or nobody listens.
async fn pump(mut child: Group, stdout: impl AsyncRead + Unpin, stderr: impl AsyncRead + Unpin, feed: Feed) {
    let copied = async {
        tokio::join!(copy(stdout, &feed.chunks, Chunk::Stdout), copy(stderr, &feed.chunks, Chunk::Stderr),);
        child.0.wait().await
    };
    let status = tokio::select! {
        status = copied => Some(status),
        () = feed.chunks.closed() => None,
    };
    let Some(status) = status else { return };
    let status = status.map_or_else(|error| ExitStatus::Lost(error.to_string()), exit_status);
    feed.end(status).await;
}

async fn copy(mut from: impl AsyncRead + Unpin, to: &mpsc::Sender<Chunk>, wrap: fn(Vec<u8>) -> Chunk) {
    let mut buffer = vec![0; 32 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if to.send(wrap(buffer[..read].to_vec())).await.is_err() {
            return;
        }
    }
}

fn exit_status(status: std::process::ExitStatus) -> ExitStatus {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = Signal::try_from(signal).map(Signal::as_str);
        return ExitStatus::Signal(
            name.map_or_else(|_| signal.to_string(), |name| name.trim_start_matches("SIG").to_owned()),
        );
    }
    match status.code() {
        Some(code) => ExitStatus::Code(code.cast_unsigned()),
        None => ExitStatus::Lost("no exit code".into()),
    }
}
