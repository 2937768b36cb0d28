//! One test machine, with doors that need no SSH.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use swdt_core::{
    Error, Result, id,
    machine::{
        Reached,
        nspawn::{self, Inside},
    },
    spec::{Node, OsFamily},
};
use tokio::process::Command;

use crate::ground::{Shared, cannot};

/// A Debian machine that runs.
#[derive(Debug, Clone)]
pub struct TestMachine {
    shared: Arc<Shared>,
    node: Node,
    reached: Reached,
}

/// A program that ran inside a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it said.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// How often a program that may have been stopped is told to go on.
const STOPPED: std::time::Duration = std::time::Duration::from_secs(1);

impl TestMachine {
    pub(crate) async fn boot(shared: Arc<Shared>, node: Node) -> Result<Self> {
        let reached = shared.machines.ensure(&node).await?;
        Ok(Self { shared, node, reached })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.node.name
    }

    /// It as a node of a specification.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Does it behave as Windows does?
    pub fn is_windows(&self) -> bool {
        self.node.os == OsFamily::Windows
    }

    /// Where it answers.
    pub fn address(&self) -> &str {
        &self.reached.endpoint.address
    }

    /// Its SSH port.
    pub fn port(&self) -> u16 {
        self.reached.endpoint.port
    }

    /// Its host key, `ssh-ed25519 AAAA…`, known without having asked it.
    pub fn host_key(&self) -> &str {
        self.reached.host_key.as_deref().unwrap_or_default()
    }

    /// The private key that may log in as root.
    pub fn key(&self) -> &Path {
        &self.shared.key
    }

    /// Its file system as a directory of the host, while it runs. What is bound over it (containerd,
    /// kubelet, etcd) and what is mounted inside is not there.
    pub fn root(&self) -> Result<PathBuf> {
        self.inside().map(|inside| inside.root)
    }

    /// Its first process, seen from the host.
    pub fn init_pid(&self) -> Result<i32> {
        self.inside().map(|inside| inside.init)
    }

    /// Runs a program inside, by argument vector, as root and without SSH.
    pub async fn exec<A: AsRef<OsStr>>(&self, argv: impl IntoIterator<Item = A>) -> Result<Done> {
        let init = self.init_pid()?.to_string();
        let namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd", "--"];
        // nsenter hands on the rights of the host's root. The provider keeps the clock from machines, and
        // what a test runs inside must not reach it either.
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-sys_time", "--inh-caps", "-sys_time", "nsenter"]);
        command.args(["--target", &init]).args(namespaces).args(argv);
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let cannot_run = |error| cannot("run", Path::new("setpriv"), &error);
        let child = command.spawn().map_err(cannot_run)?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let done = child.wait_with_output();
        tokio::pin!(done);
        let output = loop {
            tokio::select! {
                output = &mut done => break output.map_err(cannot_run)?,
                // A machine that goes down stops what runs in it, and nsenter then stops itself, for ever.
                () = tokio::time::sleep(STOPPED) => {
                    let _ = pid.map(|pid| kill(Pid::from_raw(pid), Signal::SIGCONT));
                }
            }
        };
        Ok(Done {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a program inside that must succeed; gives what it said.
    pub async fn must<A: AsRef<OsStr>>(&self, argv: impl IntoIterator<Item = A>) -> Result<String> {
        let done = self.exec(argv).await?;
        if done.code == Some(0) {
            return Ok(done.stdout);
        }
        let lines = done.stderr.lines().chain(done.stdout.lines()).map(str::to_owned).collect();
        Err(Error::new(id::TOOL_FAILED, format!("a program inside ended with {:?}", done.code))
            .on(self.name())
            .with_output(lines))
    }

    /// Runs a program of Windows, on a machine that plays it: by its name or its path in `C:`, and without SSH.
    pub async fn wine(&self, argv: &[&str]) -> Result<Done> {
        let script = "set -a; . /usr/lib/swdt/windows.env; set +a; cd /srv/windows/drive_c; exec wine \"$@\"";
        self.exec(["sh", "-c", script, "sh"].iter().chain(argv)).await
    }

    /// Puts a file into the machine; its directories are made.
    pub fn put(&self, path: &str, mode: u32, bytes: &[u8]) -> Result<()> {
        let target = self.host_path(path)?;
        let parent = target.parent().unwrap_or(&target);
        fs::create_dir_all(parent).map_err(|error| cannot("make", parent, &error))?;
        // A library that is written to, even with its own bytes, takes down whoever uses it.
        if fs::read(&target).ok().as_deref() != Some(bytes) {
            fs::write(&target, bytes).map_err(|error| cannot("write", &target, &error))?;
        }
        fs::set_permissions(&target, fs::Permissions::from_mode(mode))
            .map_err(|error| cannot("set the mode of", &target, &error))
    }

    /// Shuts it down.
    pub async fn stop(&self) -> Result<()> {
        self.shared.machines.stop(&self.node).await
    }

    /// Starts it again.
    pub async fn start(&mut self) -> Result<()> {
        self.reached = self.shared.machines.start(&self.node).await?;
        Ok(())
    }

    /// Makes it anew: the same name, nothing of what happened to it, a new host key.
    pub async fn reset(&mut self) -> Result<()> {
        self.shared.machines.destroy(&self.node).await?;
        self.reached = self.shared.machines.ensure(&self.node).await?;
        Ok(())
    }

    /// A machine that restarts has no inside for a moment.
    fn inside(&self) -> Result<Inside> {
        let looks = std::iter::repeat_with(|| nspawn::inside(&self.shared.ctx, self.name())).take(50);
        let mut looks = looks.inspect(|found| {
            if found.is_none() {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        looks
            .find_map(|found| found)
            .ok_or_else(|| Error::new(id::MACHINE_STOPPED, "the machine does not run").on(self.name()))
    }

    /// A path of the machine on the host, through the namespace of its first process, so that mounts are
    /// seen as the machine sees them. A link inside could lead out of the machine: refused.
    pub(crate) fn host_path(&self, path: &str) -> Result<PathBuf> {
        let mut target = PathBuf::from(format!("/proc/{}/root", self.init_pid()?));
        for part in Path::new(path).components() {
            match part {
                Component::Normal(name) => target.push(name),
                Component::RootDir | Component::CurDir => continue,
                Component::ParentDir | Component::Prefix(_) => {
                    return Err(Error::new(id::INTERNAL, format!("{path}: only plain paths")));
                }
            }
            if fs::symlink_metadata(&target).is_ok_and(|meta| meta.is_symlink()) {
                // /bin, /lib and their like are links to the same names below /usr.
                let link = fs::read_link(&target).map_err(|error| cannot("read", &target, &error))?;
                if link.is_absolute() || link.components().any(|part| part == Component::ParentDir) {
                    let message = format!("{path} leads through a link to {}", link.display());
                    return Err(Error::new(id::INTERNAL, message));
                }
            }
        }
        Ok(target)
    }
}
